"""The OpenAPI document, made of what the viewsets declare.

What a viewset reads, filters and answers is said once, on its class; here it is
only handed to the generator.
"""

from drf_spectacular.extensions import (
    OpenApiAuthenticationExtension,
    OpenApiSerializerExtension,
    OpenApiSerializerFieldExtension,
)
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

from affiliate_site.api.examples import example_of
from affiliate_site.api.fields import DIGITS, Amount, OwnRules
from affiliate_site.api.limits import rate_of
from affiliate_site.api.maps import MetaData
from affiliate_site.api.refusals import (
    ERRORS,
    INTEGER,
    REFUSAL,
    SHARED_ANSWERS,
    TEXT,
)

RATE_HEADERS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")

ALIASES = {("POST", "replace"), ("POST", "put_below"), ("PUT", "partial_update")}
IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"},
    OpenApiParameter.HEADER,
    description="The same key and request: one effect, the same answer, for 24 hours",
)


class KeyHeaderScheme(OpenApiAuthenticationExtension):
    """How a key is sent."""

    target_class = "affiliate_site.api.authentication.KeyHeader"
    name = "ApiKey"

    def get_security_definition(self, auto_schema):
        return {"type": "apiKey", "in": "header", "name": "X-Api-Key"}


class OwnField(OpenApiSerializerFieldExtension):
    """What a field of our own takes, as it says itself."""

    target_class = "affiliate_site.api.fields.OwnRules"
    match_subclasses = True

    def map_serializer_field(self, auto_schema, direction):
        if direction == "response" and isinstance(self.target, Amount):
            return {"type": "number"}  # its digits as text are taken, never given
        return self.target.schema or auto_schema._map_serializer_field(  # noqa: SLF001
            self.target, direction, bypass_extensions=True
        )


class OwnInput(OpenApiSerializerExtension):
    """What an object that we read takes besides its fields."""

    target_class = "affiliate_site.api.inputs.Input"
    match_subclasses = True

    def map_serializer(self, auto_schema, direction):
        fields = auto_schema._map_serializer(  # noqa: SLF001 - as its manual says
            self.target, direction, bypass_extensions=True
        )
        return fields | self.target.schema


class DeclaredSchema(AutoSchema):
    """Reads an operation off its viewset's declarations."""

    def declared(self, kind):
        return getattr(self.view, kind).get(self.view.action)

    def get_operation_id(self):
        name = type(self.view).__name__.removesuffix("ViewSet")
        is_alias = (
            self.path.endswith("/approval/")
            or (self.method, self.view.action) in ALIASES
        )
        by_query = "_by_query" if self.reads_query else ""
        return f"{name}_{self.view.action}{'_alias' if is_alias else ''}{by_query}"

    @property
    def reads_query(self):
        """Does a query say here what elsewhere a body says?"""
        return self.method == "GET" and bool(self.declared("reads"))

    def get_tags(self):
        _, version, first, *_ = self.path.split("/")
        return ["postbacks" if version == "1.7" else first]

    def get_summary(self):
        """What stands beside the path in the list of operations."""
        return self.get_description().rstrip(".")

    def get_description(self):
        """The docstring of the action: one sentence, or a few clauses."""
        said = getattr(self.view, self.view.action).__doc__ or ""
        return " ".join(said.split())

    def get_request_serializer(self):
        reads = self.declared("reads")
        # The one body that is no Input is a map of meta data.
        is_map = isinstance(reads, dict)
        return {"application/json": MetaData.schema} if is_map else reads

    def get_response_serializers(self):
        shape = self.view.answers[self.view.action]
        if shape is None:
            return {204: OpenApiResponse(description="Done; there is no body")}
        return {200: shape}

    def get_override_parameters(self):
        query, filters = self.declared("query"), self.declared("filters")
        rules = filters.base_filters if filters else {}
        said = self.declared("reads") if self.reads_query else query
        return [
            *([said] if said else []),
            *([IDEMPOTENCY_KEY] if self.method == "POST" else []),
            *(
                OpenApiParameter(
                    name,
                    rule.schema,
                    description=type(rule).__doc__,
                )
                for name, rule in rules.items()
            ),
        ]

    def get_operation(self, *args, **kwargs):
        operation = super().get_operation(*args, **kwargs)
        for status in self.refusals():
            operation["responses"][status] = {
                "$ref": f"#/components/responses/{status}"
            }
        if "requestBody" in operation:
            operation["requestBody"]["required"] = True  # an empty body is no JSON
        self.allow_array(operation)
        self.spell_brackets(operation)
        for said in (operation.get("requestBody"), operation["responses"].get("200")):
            for content in (said or {}).get("content", {}).values():
                content["example"] = example_of(content["schema"])
        for answer in operation["responses"].values():
            if self.rate and "$ref" not in answer:
                answer["headers"] = {name: {"schema": INTEGER} for name in RATE_HEADERS}
            if self.declared("filters") and "$ref" not in answer:
                answer.setdefault("headers", {})["Link"] = {"schema": TEXT}
        return operation

    def allow_array(self, operation):
        """Some operations take one object or an array of them."""
        most = self.view.arrays.get(self.view.action)
        if most:
            content = operation["requestBody"]["content"]["application/json"]
            one = content["schema"]
            many = {"type": "array", "items": one, "minItems": 1, "maxItems": most}
            content["schema"] = {"oneOf": [one, many]}

    def spell_brackets(self, operation):
        """In a query, maps and lists are written with brackets."""
        for parameter in operation.get("parameters", []) if self.reads_query else []:
            if parameter["schema"].get("type") == "object":
                parameter |= {"style": "deepObject", "explode": True}
            elif parameter["schema"].get("type") == "array":
                parameter |= {
                    "name": f"{parameter['name']}[0][sub_amount]",
                    "schema": DIGITS,
                    "description": "The parts of a sale: [0], [1] and so on",
                }
            elif parameter["schema"].get("oneOf") == Amount.schema["oneOf"]:
                parameter["schema"] = DIGITS

    def _insert_field_validators(self, field, schema):
        """What a field of our own takes has been said by its `FieldSchema`."""
        if not isinstance(field, OwnRules):
            super()._insert_field_validators(field, schema)

    @property
    def rate(self):
        return rate_of(self.view, self.view.action)

    def refusals(self):
        """The statuses, besides success, that this operation can answer with."""
        yield from ("401", "403", "405")
        if self.declared("reads") and not self.reads_query:
            yield "413"
        if any(self.declared(kind) for kind in ("reads", "query", "filters")):
            yield "400"
        if "{" in self.path or self.view.action == "follow_up":
            yield "404"
        if self.view.action in self.view.conflicts or self.method == "POST":
            yield "409"
        if self.rate:
            yield "429"


def add_shared_answers(result, generator, request, public):
    """The two error bodies, and the refusals that operations share."""
    components = result.setdefault("components", {})
    components["responses"] = SHARED_ANSWERS
    components["schemas"] = {
        **components.get("schemas", {}),
        "Errors": ERRORS,
        "Refusal": REFUSAL,
    }
    return result
