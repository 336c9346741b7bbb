"""The JSON Schemas of error bodies and of the error responses of operations."""

from affiliate_site.http_errors import MESSAGES

INTEGER_SCHEMA, STRING_SCHEMA = {"type": "integer"}, {"type": "string"}

# Too many requests are text in the API, and a page elsewhere.
HTTP_ERROR_MESSAGES = [text for status, text in MESSAGES.items() if status != 429]
ERROR_SCHEMA = {
    "type": "object",
    "properties": {
        "message": STRING_SCHEMA,
        "message_raw": STRING_SCHEMA,
        "property_path": STRING_SCHEMA,
        "code": STRING_SCHEMA,
    },
    "required": ["message"],
    "additionalProperties": False,
}
ERRORS_SCHEMA = {
    "type": "object",
    "properties": {
        "errors": {
            "type": "array",
            "minItems": 1,
            "items": {"$ref": "#/components/schemas/Error"},
        }
    },
    "required": ["errors"],
    "additionalProperties": False,
}
HTTP_ERROR_SCHEMA = {
    "type": "object",
    "properties": {
        "message": {"type": "string", "enum": HTTP_ERROR_MESSAGES},
        "code": INTEGER_SCHEMA,
        "traceId": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
    },
    "required": ["message", "code"],
    "additionalProperties": False,
}
ERRORS = {"$ref": "#/components/schemas/Errors"}
HTTP_ERROR = {"$ref": "#/components/schemas/HttpError"}
ANY_ERROR = {"$ref": "#/components/schemas/AnyError"}
ERROR_SCHEMAS = {
    "Error": ERROR_SCHEMA,
    "Errors": ERRORS_SCHEMA,
    "HttpError": HTTP_ERROR_SCHEMA,
    "AnyError": {"oneOf": [ERRORS, HTTP_ERROR]},
}


def _build_response(description: str, schema: dict, media_type: str = "application/json") -> dict:
    return {"description": description, "content": {media_type: {"schema": schema}}}


def _add_html_variant(response: dict) -> dict:
    """Add the HTML page, which is the body if `Accept` names no JSON type."""
    return response | {"content": response["content"] | {"text/html": {"schema": STRING_SCHEMA}}}


SHARED_RESPONSES = {
    "400": _build_response("Invalid request; the message says what to change", ANY_ERROR),
    "401": _add_html_variant(_build_response("The key is missing or wrong", HTTP_ERROR)),
    "403": _build_response("Not on the plan, or the role is too low", HTTP_ERROR),
    "404": _add_html_variant(_build_response("No such object in this account", ANY_ERROR)),
    "405": _build_response("The path does not take this method", HTTP_ERROR),
    "409": _build_response("The object's state forbids it", ERRORS),
    "413": _build_response("The body is over 1 MiB", HTTP_ERROR),
    "429": _build_response("Over the rate limit", STRING_SCHEMA, "text/plain"),
}
