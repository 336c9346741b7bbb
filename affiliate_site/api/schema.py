"""The OpenAPI document, made of what the viewsets declare.

What a viewset reads, filters and answers is said once, on its class; here it is
only handed to the generator.
"""

from drf_spectacular.extensions import (
    OpenApiAuthenticationExtension,
    OpenApiSerializerFieldExtension,
)
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

from affiliate_site.api.examples import example_of
from affiliate_site.api.fields import OwnRules
from affiliate_site.api.limits import rate_of
from affiliate_site.door import MESSAGES
from tracking.meta_data import LONGEST_KEY, LONGEST_VALUE, MOST_KEYS
from tracking.money import WHOLE_DIGITS

INTEGER, TEXT = {"type": "integer"}, {"type": "string"}
RATE_HEADERS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")

ERRORS = {
    "type": "object",
    "properties": {
        "errors": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {
                    "message": TEXT,
                    "message_raw": TEXT,
                    "property_path": TEXT,
                    "code": TEXT,
                },
                "required": ["message"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["errors"],
    "additionalProperties": False,
}
REFUSAL = {
    "type": "object",
    "properties": {
        "message": {"type": "string", "enum": list(MESSAGES.values())},
        "code": INTEGER,
        "traceId": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
    },
    "required": ["message", "code"],
    "additionalProperties": False,
}
EITHER = {
    "oneOf": [
        {"$ref": "#/components/schemas/Errors"},
        {"$ref": "#/components/schemas/Refusal"},
    ]
}


ALIASES = {("POST", "replace"), ("POST", "put_below"), ("PUT", "partial_update")}
IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"},
    OpenApiParameter.HEADER,
    description="The same key and request: one effect, the same answer, for 24 hours",
)


def _answer(meaning: str, schema: dict, media_type: str = "application/json") -> dict:
    return {"description": meaning, "content": {media_type: {"schema": schema}}}


def _or_page(answer: dict) -> dict:
    """Where `Accept` names no JSON type, it may be a page for a person."""
    return answer | {"content": answer["content"] | {"text/html": {"schema": TEXT}}}


SHARED_ANSWERS = {
    "400": _answer("Invalid request; the message says what to change", EITHER),
    "401": _or_page(_answer("The key is missing or wrong", EITHER["oneOf"][1])),
    "403": _answer("Not on the plan, or the role is too low", EITHER["oneOf"][1]),
    "404": _or_page(_answer("No such object in this account", EITHER)),
    "405": _answer("The path does not take this method", EITHER["oneOf"][1]),
    "409": _answer("The object's state forbids it", EITHER["oneOf"][0]),
    "413": _answer("The body is over 1 MiB", EITHER["oneOf"][1]),
    "429": _answer("Over the rate limit", TEXT, "text/plain"),
}


class KeyHeaderScheme(OpenApiAuthenticationExtension):
    """How a key is sent."""

    target_class = "affiliate_site.api.authentication.KeyHeader"
    name = "ApiKey"

    def get_security_definition(self, auto_schema):
        return {"type": "apiKey", "in": "header", "name": "X-Api-Key"}


# What our fields refuse by themselves; the generator cannot see it.

NOT_BLANK = {"pattern": r"[^\s\u001c-\u001f]"}
AMOUNT = {"type": "number", "minimum": 0, "exclusiveMaximum": 10**WHOLE_DIGITS}
DIGITS = {"type": "string", "pattern": rf"^[0-9]{{1,{WHOLE_DIGITS}}}(\.[0-9]+)?$"}
META_DATA_VALUE = {"type": "string", "maxLength": LONGEST_VALUE}
META_DATA = {
    "type": "object",
    "maxProperties": MOST_KEYS,
    "propertyNames": {
        "minLength": 1,
        "maxLength": LONGEST_KEY,
        "pattern": r"""^[^":{}\]\\'/&]*$""",
    },
    "additionalProperties": META_DATA_VALUE,
}
CUSTOM_FIELD = {"type": "string", "maxLength": 5000}
CUSTOM_FIELDS = {
    "type": "object",
    "additionalProperties": {
        "oneOf": [
            CUSTOM_FIELD,
            {"type": "array", "items": CUSTOM_FIELD, "maxItems": 50},
            {"type": "null"},
        ]
    },
}
DETAILS = {
    "type": "object",
    "maxProperties": 20,
    "propertyNames": {"maxLength": 64},
    "additionalProperties": {"type": "string", "maxLength": 255},
}
FORMS = {
    "CountryCode": {"pattern": "^[A-Za-z]{2}$"},
    "Currency": {"pattern": "^[A-Za-z]{3}$"},
    "Decision": {"enum": ["approved", "disapproved", "pending"]},
    "Email": {"format": "email"},
    "ReferralCode": {"pattern": "^[A-Za-z0-9_-]+$"},
}
NEW_CUSTOMER = {"enum": ["new", "trial", "lead"]}
FORMS_IN = {
    ("CustomerInput", "status"): NEW_CUSTOMER,
    ("CustomerTold", "status"): NEW_CUSTOMER,
    ("CustomerFollowUp", "status"): {
        "enum": ["new", "trial", "lead", "paying", "canceled"]
    },
}
ONE_OF = {"WhoInput": ("id", "email"), "ParentInput": ("affiliate_id", "via")}
DAY = {"pattern": "^(19[7-9]|2[0-9]{2})[0-9]-"}
FILTER_FORMS = {"page": {"maximum": 10**9 - 1}, "date_from": DAY, "date_to": DAY}


class FieldSchema(OpenApiSerializerFieldExtension):
    """What a field of our own takes; `self.target` is the field."""

    match_subclasses = True
    takes: dict = {}

    def map_serializer_field(self, auto_schema, direction):
        return self.takes


class AmountSchema(FieldSchema):
    """An amount is a number; its digits as text are taken too, never given."""

    target_class = "affiliate_site.api.fields.Amount"

    def map_serializer_field(self, auto_schema, direction):
        if direction == "response":
            return {"type": "number"}
        return {"oneOf": [AMOUNT, DIGITS]}


class TextSchema(FieldSchema):
    """Text: how long, of which form, and whether it may be blank."""

    target_class = "affiliate_site.api.fields.Text"

    def map_serializer_field(self, auto_schema, direction):
        field = self.target
        kind, place = type(field).__name__, type(field.parent).__name__
        bounds = {
            "minLength": field.min_length,
            "maxLength": None if field.cut else field.max_length,
        }
        return {
            **TEXT,
            **{name: bound for name, bound in bounds.items() if bound},
            **(NOT_BLANK if field.required or field.filled else {}),
            **FORMS.get(kind, {}),
            **FORMS_IN.get((place, field.field_name), {}),
        }


class HearsaySchema(FieldSchema):
    """Text; whatever else is sent counts as nothing."""

    target_class = "affiliate_site.api.clues.Hearsay"
    takes = TEXT


class MetaDataSchema(FieldSchema):
    """Few keys, short ones."""

    target_class = "affiliate_site.api.fields.MetaData"
    takes = META_DATA


class MetaDataValueSchema(FieldSchema):
    """One value of meta data."""

    target_class = "affiliate_site.api.fields.MetaDataValue"
    takes = META_DATA_VALUE


class CustomFieldsSchema(FieldSchema):
    """Text, or texts, by the name of a field."""

    target_class = "affiliate_site.api.people.CustomFields"
    takes = CUSTOM_FIELDS


class DetailsSchema(FieldSchema):
    """Text by name."""

    target_class = "affiliate_site.api.resources.payout_methods.Details"
    takes = DETAILS


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
        return {"application/json": META_DATA} if isinstance(reads, dict) else reads

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
                    rule.schema | FILTER_FORMS.get(name, {}),
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
            elif parameter["schema"].get("oneOf") == [AMOUNT, DIGITS]:
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
    # Whatever else stands beside `details` and `primary` is a detail itself.
    method = components["schemas"]["PayoutMethodInput"]
    method["additionalProperties"] = DETAILS["additionalProperties"]
    method["propertyNames"] = DETAILS["propertyNames"]
    for shape, names in ONE_OF.items():
        components["schemas"][shape]["anyOf"] = [
            {"required": [name], "properties": {name: NOT_BLANK}} for name in names
        ]
    return result
