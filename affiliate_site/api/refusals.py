"""The two error bodies, and the refusals that operations share, as JSON Schema."""

from affiliate_site.door import MESSAGES

INTEGER, TEXT = {"type": "integer"}, {"type": "string"}

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
