"""The API reference at `/docs/`: `openapi.json` as one page, which needs no script."""

import json
import shlex
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

from affiliate_site import http_errors
from affiliate_site.env import BASE_DIR
from affiliate_site.guide import create_markdown

JSON_TYPE = "application/json"


@dataclass(frozen=True)
class Field:
    """A parameter or a property."""

    name: str
    type: str
    place: str  # of a parameter: path, query or header
    is_required: bool
    description: str
    schema: str = ""  # the name of the object, which the page describes, too


@dataclass(frozen=True)
class Operation:
    """An operation of the API, or a webhook: then `path` is the name of its event."""

    id: str
    method: str
    path: str
    summary: str
    description: str
    parameters: list[Field]
    body: Field | None
    answer: Field | None
    curl: str
    example: str  # the body of the answer or of the webhook


@http_errors.allow_methods("GET", "HEAD")
def show_reference(request):
    """Serve the API reference."""
    return HttpResponse(render_reference())


@cache
def render_reference() -> str:
    """Render the OpenAPI document, once per process."""
    document = json.loads((BASE_DIR / "openapi.json").read_text())
    operations: dict[str, list[Operation]] = {}
    for path, method, operation in list_operations(document):
        described = describe_operation(path, method, operation)
        operations.setdefault(operation["tags"][0], []).append(described)
    schemas = document["components"]["schemas"]
    context = {
        "info": document["info"],
        "introduction": render_text(document["info"]["description"]),
        "tags": [(tag, operations[tag["name"]]) for tag in document["tags"]],
        "schemas": {name: list_properties(schemas[name]) for name in sorted(schemas)},
    }
    return render_to_string("guide/reference.html", context)


def list_operations(document: dict[str, Any]):
    for paths in (document["paths"], document["webhooks"]):
        for path, methods in paths.items():
            for method, operation in methods.items():
                yield path, method, operation


def describe_operation(path: str, method: str, operation: dict[str, Any]) -> Operation:
    """What the page shows of an operation."""
    body = operation.get("requestBody", {}).get("content", {}).get(JSON_TYPE)
    success: dict[str, Any] = next(
        (each for status, each in operation["responses"].items() if status < "300"), {}
    )
    answer = success.get("content", {}).get(JSON_TYPE)
    is_webhook = not path.startswith("/")
    shown = (body if is_webhook else answer) or {}
    return Operation(
        id=operation["operationId"],
        method=method.upper(),
        path=path,
        summary=operation["summary"],
        description=render_text(operation["description"]),
        parameters=[
            describe_field(each["name"], each["schema"], each)
            for each in operation.get("parameters", [])
        ],
        body=body and describe_field("body", body["schema"], {"required": True}),
        answer=answer and describe_field("answer", answer["schema"], {}),
        curl="" if is_webhook else build_curl(path, method, operation, body),
        example=format_json(shown["example"]) if "example" in shown else "",
    )


def describe_field(name: str, schema: dict[str, Any], declaration: dict[str, Any]) -> Field:
    """A parameter or property with its type in words."""
    type_text, linked_schema = describe_type(schema)
    return Field(
        name,
        type_text,
        declaration.get("in", ""),
        declaration.get("required", False),
        render_text(declaration.get("description") or schema.get("description", "")),
        linked_schema,
    )


def list_properties(schema: dict[str, Any]) -> list[Field]:
    """The properties of an object."""
    required = schema.get("required", [])
    return [
        describe_field(name, each, {"required": name in required})
        for name, each in schema.get("properties", {}).items()
    ]


def describe_type(schema: dict[str, Any]) -> tuple[str, str]:
    """The type in words, and the name of the object that it refers to or `""`."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return name, name
    for combination in ("oneOf", "anyOf", "allOf"):
        if combination in schema:
            parts = [describe_type(part) for part in schema[combination]]
            names = list(dict.fromkeys(text for text, _ in parts))
            return " or ".join(names), next((name for _, name in parts if name), "")
    if "enum" in schema:
        return " | ".join(map(json.dumps, schema["enum"])), ""
    types = schema.get("type", "any")
    text = " or ".join(types) if isinstance(types, list) else types
    if "items" in schema:
        item, name = describe_type(schema["items"])
        return text.replace("array", f"array of {item}"), name
    return text, ""


def build_curl(
    path: str, method: str, operation: dict[str, Any], body: dict[str, Any] | None
) -> str:
    """A command for the shell that performs the operation with the example."""
    query = "&".join(
        f"{each['name']}=…"
        for each in operation.get("parameters", [])
        if each["in"] == "query" and each.get("required")
    )
    url = f"{settings.PUBLIC_URL}{path}" + (f"?{query}" if query else "")
    lines = [f'curl -X {method.upper()} "{url}"', '-H "X-Api-Key: $API_KEY"']
    if body:
        lines.append(f'-H "Content-Type: {JSON_TYPE}"')
        lines.append(f"-d {shlex.quote(format_json(body['example']))}")
    return " \\\n  ".join(lines)


def render_text(text: str) -> SafeString:
    """A line of Markdown as HTML."""
    return mark_safe(create_markdown().renderInline(text))  # noqa: S308 - escaped


def format_json(value: Any) -> str:
    """JSON for people."""
    return json.dumps(value, indent=2, ensure_ascii=False)
