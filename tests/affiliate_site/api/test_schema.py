"""The committed OpenAPI document is the one that the code generates."""

import json
from io import StringIO

import pytest
from django.core.management import call_command

from accounts.models.webhooks import TEST_EVENT, WEBHOOK_EVENTS
from affiliate_site.api.openapi_descriptions import DESCRIPTIONS
from affiliate_site.env import BASE_DIR

METHODS = ("get", "post", "put", "patch", "delete")


def export_openapi(*args):
    out = StringIO()
    call_command("export_openapi", *args, stdout=out)
    return out.getvalue()


@pytest.fixture(scope="module")
def document():
    return json.loads((BASE_DIR / "openapi.json").read_text())


def list_operations(document):
    return {
        f"{method} {path}": operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if method in METHODS
    }


def test_committed_document_is_up_to_date():
    assert export_openapi() == (BASE_DIR / "openapi.json").read_text()


def test_export_is_deterministic():
    assert export_openapi() == export_openapi()


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["plain", "--json"])
def test_writes_the_document_to_a_file_without_output(tmp_path, options):
    file = tmp_path / "openapi.json"

    output = export_openapi(str(file), *options)

    assert output == ""
    assert file.read_text() == export_openapi()


def test_serves_the_committed_document(client):
    response = client.get("/openapi.json")

    assert response.status_code == 200
    assert response["Content-Type"] == "application/json"
    assert response.content == (BASE_DIR / "openapi.json").read_bytes()


def test_describes_version_1_6(document):
    assert document["openapi"] == "3.1.1"
    assert document["info"]["version"] == "1.6"


def test_describes_paths_that_end_with_a_slash(document):
    paths = list(document["paths"])

    assert "/1.6/programs/" in paths
    assert all(path.startswith(("/1.6/", "/1.7/pb/")) for path in paths)
    assert all(path.endswith("/") for path in paths)


def test_every_operation_requires_the_key(document):
    scheme = document["components"]["securitySchemes"]["ApiKey"]
    operations = list_operations(document).values()

    assert scheme == {"type": "apiKey", "in": "header", "name": "X-Api-Key"}
    assert all(operation["security"] == [{"ApiKey": []}] for operation in operations)


def test_describes_the_errors_of_every_operation(document):
    for name, operation in list_operations(document).items():
        assert {"401", "403", "405"} <= set(operation["responses"]), name


def test_describes_no_201_or_422(document):
    statuses = {
        status
        for operation in list_operations(document).values()
        for status in operation["responses"]
    }

    assert statuses.isdisjoint({"201", "202", "406", "415", "422"})


def test_operation_ids_are_unique(document):
    ids = [operation["operationId"] for operation in list_operations(document).values()]

    assert len(ids) == len(set(ids))


def test_describes_every_property_parameter_and_response(document):
    """Generated clients and the reference show these texts."""
    missing = [
        f"{schema_name}.{name}"
        for schema_name, schema in document["components"]["schemas"].items()
        for name, value in schema.get("properties", {}).items()
        if not value.get("description")
    ]
    for operation_name, operation in list_operations(document).items():
        described = operation.get("parameters", []) + [
            response for response in operation["responses"].values() if "$ref" not in response
        ]
        missing += [
            f"{operation_name} {value.get('name', 'response')}"
            for value in described
            if not value.get("description")
        ]

    assert missing == []  # add them to api/openapi_descriptions.py


def test_texts_belong_to_names_that_occur(document):
    names = {
        name
        for schema_name, schema in document["components"]["schemas"].items()
        for key in schema.get("properties", {})
        for name in (key, f"{schema_name}.{key}")
    }
    for operation in list_operations(document).values():
        for parameter in operation.get("parameters", []):
            name = parameter["name"].partition("[")[0]
            names |= {name, f"{parameter['in']}.{name}"}

    assert set(DESCRIPTIONS) - names == set()


def test_patterns_have_a_type(document):
    """A generator of clients stops at a pattern without one."""

    def find_patterns(value, path=""):
        if isinstance(value, dict):
            if "pattern" in value and value.get("type") != "string":
                yield path
            for key, inner in value.items():
                yield from find_patterns(inner, f"{path}/{key}")
        elif isinstance(value, list):
            for index, inner in enumerate(value):
                yield from find_patterns(inner, f"{path}/{index}")

    assert list(find_patterns(document)) == []


def test_names_licence_server_tags_and_webhooks(document):
    tags = {tag["name"] for tag in document["tags"] if tag["description"]}
    used = {tag for operation in list_operations(document).values() for tag in operation["tags"]}

    assert document["info"]["license"] == {"name": "MIT", "identifier": "MIT"}
    assert document["servers"] == [{"url": "/", "description": "This installation"}]
    assert tags == used | {"webhooks"}
    assert set(document["webhooks"]) == {*WEBHOOK_EVENTS, TEST_EVENT}


def test_describes_both_error_bodies(document):
    schemas = document["components"]["schemas"]

    assert schemas["Errors"]["required"] == ["errors"]
    assert schemas["HttpError"]["required"] == ["message", "code"]


def test_describes_every_property_of_a_program(document):
    response = document["paths"]["/1.6/programs/{program_id}/"]["get"]["responses"]["200"]
    name = response["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    schema = document["components"]["schemas"][name]

    assert set(schema["properties"]) == set(schema["required"])
    assert list(schema["properties"]) == [
        *("id", "title", "currency", "currency_symbol", "cookie_time"),
        *("default_landing_page_url", "recurring", "recurring_cap"),
        *("recurring_period_days", "program_category"),
    ]


def list_schemas(node, path=()):
    """Yield each schema with its path; below `allOf` and the like, too."""
    if isinstance(node, dict):
        yield path, node
        for key, value in node.items():
            yield from list_schemas(value, (*path, key))
    elif isinstance(node, list):
        for number, value in enumerate(node):
            yield from list_schemas(value, (*path, number))


def test_names_every_alternative(document):
    """Generators call others after the first place where they occur."""
    unnamed = [
        path
        for path, schema in list_schemas(document["components"]["schemas"])
        for alternatives in (schema.get("oneOf", []), schema.get("anyOf", []))
        if len(path) > 1 and {"type": "null"} not in alternatives and alternatives
    ]
    untitled = [
        path
        for path, schema in list_schemas(document["components"]["schemas"])
        for alternative in schema.get("anyOf", [])
        if "title" not in alternative
    ]

    assert unnamed + untitled == []
