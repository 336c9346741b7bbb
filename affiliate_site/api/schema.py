"""Generates the OpenAPI document from the declarations of the view sets."""

from typing import Any

from drf_spectacular.extensions import (
    OpenApiAuthenticationExtension,
    OpenApiSerializerExtension,
    OpenApiSerializerFieldExtension,
)
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

from affiliate_site.api.access import get_rate
from affiliate_site.api.examples import get_input_example
from affiliate_site.api.fields import (
    AMOUNT_STRING_SCHEMA,
    ApiFieldMixin,
    ExactAmountField,
)
from affiliate_site.api.map_fields import CustomFieldValuesField
from affiliate_site.api.openapi_errors import (
    ERROR_SCHEMAS,
    INTEGER_SCHEMA,
    SHARED_RESPONSES,
    STRING_SCHEMA,
)
from affiliate_site.api.viewsets import TenantViewSet

AMOUNT_INPUT = {"$ref": "#/components/schemas/AmountInput"}
RATE_LIMIT_HEADERS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")

ALIAS_OPERATIONS = {
    ("POST", "replace"),
    ("POST", "set_parent"),
    ("PUT", "partial_update"),
}
IDEMPOTENCY_KEY_PARAMETER = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"},
    OpenApiParameter.HEADER,
    description="A repeated request with this key is replayed, for 24 hours",
)


class ApiKeyScheme(OpenApiAuthenticationExtension):
    """Describes the API key header."""

    target_class = "affiliate_site.api.access.ApiKeyAuthentication"
    name = "ApiKey"

    def get_security_definition(self, auto_schema):
        return {"type": "apiKey", "in": "header", "name": "X-Api-Key"}


class ApiFieldExtension(OpenApiSerializerFieldExtension):
    """Describes an `ApiFieldMixin` field by its `schema`."""

    target_class = "affiliate_site.api.fields.ApiFieldMixin"
    match_subclasses = True

    def map_serializer_field(self, auto_schema, direction):
        if isinstance(self.target, ExactAmountField):
            # Text is accepted in requests only.
            return {"type": "number"} if direction == "response" else AMOUNT_INPUT
        return self.target.schema or auto_schema._map_serializer_field(  # noqa: SLF001
            self.target, direction, bypass_extensions=True
        )


class InputSerializerExtension(OpenApiSerializerExtension):
    """Adds `InputSerializer.schema` to the schema of the fields."""

    target_class = "affiliate_site.api.input_serializers.InputSerializer"
    match_subclasses = True

    def map_serializer(self, auto_schema, direction):
        fields = auto_schema._map_serializer(  # noqa: SLF001 - as documented
            self.target, direction, bypass_extensions=True
        )
        return fields | self.target.schema


class ViewSetAutoSchema(AutoSchema):
    """Describes an operation by the declarations of its view set."""

    view: TenantViewSet  # type: ignore[override]  # DRF: any view

    @property
    def serializer_class(self):
        return self.view.get_serializer_class()

    @property
    def query_serializer_class(self):
        return self.view.query_serializer_classes.get(self.view.action)

    @property
    def filterset_class(self):
        """Return the filter set of a list, None for other operations."""
        representation = self.view.get_representation()
        is_list = self.method == "GET" and isinstance(representation, list)
        return self.view.filterset_class if is_list else None

    def get_operation_id(self):
        name = type(self.view).__name__.removesuffix("ViewSet")
        is_alias = (
            self.path.endswith("/approval/") or (self.method, self.view.action) in ALIAS_OPERATIONS
        )
        suffix = "_alias" if is_alias else ""
        suffix += "_by_query" if self.has_query_input else ""
        return f"{name}_{self.view.action}{suffix}"

    @property
    def has_query_input(self):
        """Return whether a GET has its input in the query, instead of a body."""
        return self.method == "GET" and bool(self.serializer_class)

    def get_tags(self):
        _, version, first, *_ = self.path.split("/")
        return ["postbacks" if version == "1.7" else first]

    def get_summary(self):
        """Return the title of the operation."""
        return self.get_description().rstrip(".")

    def get_description(self):  # type: ignore[override]  # as drf-spectacular's
        """Return the docstring of the action as one line."""
        docstring = getattr(self.view, self.view.action).__doc__ or ""
        return " ".join(docstring.split())

    def get_request_serializer(self):
        return self.serializer_class

    def get_response_serializers(self):
        representation = self.view.get_representation()
        if representation is None:
            return {204: OpenApiResponse(description="No content")}
        return {200: build_response_serializer(representation)}

    def get_filter_backends(self):
        """Return no backends: `get_override_parameters` describes the filters."""
        return []

    def _get_paginator(self):
        """Return no paginator: a page is a bare array."""

    def get_override_parameters(self):
        filters = self.filterset_class.base_filters if self.filterset_class else {}
        query = self.query_serializer_class
        if self.has_query_input:
            query = self.serializer_class
        return [
            *([query] if query else []),
            *([IDEMPOTENCY_KEY_PARAMETER] if self.method == "POST" else []),
            *(
                OpenApiParameter(
                    name,
                    list_filter.schema,
                    description=type(list_filter).__doc__ or "",
                )
                for name, list_filter in filters.items()
            ),
        ]

    def get_operation(self, *args, **kwargs):
        operation = super().get_operation(*args, **kwargs)
        if operation is None:
            return None  # excluded from the document
        for status in self.list_error_statuses():
            operation["responses"][status] = {"$ref": f"#/components/responses/{status}"}
        if "requestBody" in operation:
            operation["requestBody"]["required"] = True  # an empty body is not JSON
        self.add_array_variant(operation)
        self.add_bracket_parameters(operation)
        for content in operation.get("requestBody", {}).get("content", {}).values():
            content["example"] = get_input_example(content["schema"])
        response = operation["responses"].get("200", {})
        for content in response.get("content", {}).values():
            content["example"] = get_response_example(self.view.get_representation())
        self.add_response_headers(operation)
        return operation

    def add_array_variant(self, operation):
        """Add the array of objects to a body that may be one object or an array."""
        max_items = getattr(self.serializer_class, "max_items", None)
        if max_items:
            content = operation["requestBody"]["content"]["application/json"]
            item = content["schema"]
            array = {
                "type": "array",
                "items": item,
                "minItems": 1,
                "maxItems": max_items,
            }
            content["schema"] = {"oneOf": [item, array]}

    def add_response_headers(self, operation):
        """Add the rate limit headers and the `Link` header of a list."""
        for response in operation["responses"].values():
            if self.rate_limit and "$ref" not in response:
                response["headers"] = {
                    name: {"schema": INTEGER_SCHEMA} for name in RATE_LIMIT_HEADERS
                }
            if self.filterset_class and "$ref" not in response:
                response.setdefault("headers", {})["Link"] = {"schema": STRING_SCHEMA}

    def add_bracket_parameters(self, operation):
        """Describe the bracket notation of maps and lists in a query."""
        has_query = self.has_query_input or self.query_serializer_class
        for parameter in operation.get("parameters", []) if has_query else []:
            if parameter["schema"].get("type") == "object":
                parameter |= {"style": "deepObject", "explode": True}
            elif parameter["schema"].get("type") == "array":
                parameter |= {
                    "name": f"{parameter['name']}[0][sub_amount]",
                    "schema": AMOUNT_STRING_SCHEMA,
                    "description": "The line items of a conversion: [0], [1] and so on",
                }
            elif parameter["schema"] == AMOUNT_INPUT:
                parameter["schema"] = AMOUNT_STRING_SCHEMA

    def _insert_field_validators(self, field, schema):
        """Skip `ApiFieldMixin` fields, which `ApiFieldExtension` describes."""
        if not isinstance(field, ApiFieldMixin):
            super()._insert_field_validators(field, schema)

    @property
    def rate_limit(self):
        return get_rate(self.view, self.view.action)

    def list_error_statuses(self):
        """Yield the error statuses of this operation."""
        yield from ("401", "403", "405")
        if self.serializer_class and not self.has_query_input:
            yield "413"
        if self.serializer_class or self.query_serializer_class or self.filterset_class:
            yield "400"
        if "{" in self.path or self.view.action == "follow_up":
            yield "404"
        if self.view.action in self.view.conflict_actions or self.method == "POST":
            yield "409"
        if self.rate_limit:
            yield "429"


def build_response_serializer(representation: Any) -> Any:
    """Return the serializer, or JSON schema, of a view set's answer."""
    if isinstance(representation, list):
        return representation[0].get_serializer_class()(many=True)
    if isinstance(representation, dict):
        return representation
    return representation.get_serializer_class()


def get_response_example(representation: Any) -> Any:
    """Return an example of a view set's answer."""
    if isinstance(representation, list):
        return [representation[0].get_example()]
    if isinstance(representation, dict):
        return get_input_example(representation)
    return representation.get_example()


def add_shared_components(result, generator, request, public):
    """Add the error responses that operations share, and names of shared schemas, which
    clients would otherwise name after the first place of use."""
    components = result.setdefault("components", {})
    components["responses"] = SHARED_RESPONSES
    components["schemas"] = {
        **components.get("schemas", {}),
        **ERROR_SCHEMAS,
        "AmountInput": ExactAmountField.schema,
        "CustomFieldInput": CustomFieldValuesField.value_schema,
    }
    return result
