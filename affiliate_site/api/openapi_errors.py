"""The JSON Schemas of error bodies and of the error responses of operations."""

from affiliate_site.http_errors import MESSAGES

INTEGER_SCHEMA, STRING_SCHEMA = {"type": "integer"}, {"type": "string"}

# Too many requests are text in the API, and a page elsewhere.
HTTP_ERROR_MESSAGES = [text for status, text in MESSAGES.items() if status != 429]
ERRORS_SCHEMA = {
    "type": "object",
    "properties": {
        "errors": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {
                    "message": STRING_SCHEMA,
                    "message_raw": STRING_SCHEMA,
                    "property_path": STRING_SCHEMA,
                    "code": STRING_SCHEMA,
                },
                "required": ["message"],
                "additionalProperties": False,
            },
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
ANY_ERROR_SCHEMA = {
    "oneOf": [
        {"$ref": "#/components/schemas/Errors"},
        {"$ref": "#/components/schemas/HttpError"},
    ]
}


def _build_response(
    description: str, schema: dict, media_type: str = "application/json"
) -> dict:
    return {"description": description, "content": {media_type: {"schema": schema}}}


def _add_html_variant(response: dict) -> dict:
    """Add the HTML page that is sent when `Accept` names no JSON type."""
    return response | {
        "content": response["content"] | {"text/html": {"schema": STRING_SCHEMA}}
    }


SHARED_RESPONSES = {
    "400": _build_response(
        "Invalid request; the message says what to change", ANY_ERROR_SCHEMA
    ),
    "401": _add_html_variant(
        _build_response("The key is missing or wrong", ANY_ERROR_SCHEMA["oneOf"][1])
    ),
    "403": _build_response(
        "Not on the plan, or the role is too low", ANY_ERROR_SCHEMA["oneOf"][1]
    ),
    "404": _add_html_variant(
        _build_response("No such object in this account", ANY_ERROR_SCHEMA)
    ),
    "405": _build_response(
        "The path does not take this method", ANY_ERROR_SCHEMA["oneOf"][1]
    ),
    "409": _build_response(
        "The object's state forbids it", ANY_ERROR_SCHEMA["oneOf"][0]
    ),
    "413": _build_response("The body is over 1 MiB", ANY_ERROR_SCHEMA["oneOf"][1]),
    "429": _build_response("Over the rate limit", STRING_SCHEMA, "text/plain"),
}
