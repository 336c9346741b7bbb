"""The committed OpenAPI document is the one that the code describes."""

import json
from io import StringIO

import pytest
from django.core.management import call_command

from affiliate_site.env import ROOT

METHODS = ("get", "post", "put", "patch", "delete")


def exported(*args):
    out = StringIO()
    call_command("export_openapi", *args, stdout=out)
    return out.getvalue()


@pytest.fixture(scope="module")
def document():
    return json.loads((ROOT / "openapi.json").read_text())


def operations(document):
    return {
        f"{method} {path}": operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if method in METHODS
    }


def test_is_committed_as_it_is_generated():
    assert exported() == (ROOT / "openapi.json").read_text()


def test_is_the_same_bytes_every_time():
    assert exported() == exported()


@pytest.mark.parametrize("switch", [[], ["--json"]], ids=["plain", "--json"])
def test_is_written_to_a_file_in_silence(tmp_path, switch):
    file = tmp_path / "openapi.json"

    told = exported(str(file), *switch)

    assert told == ""
    assert file.read_text() == exported()


def test_is_served_as_it_is_committed(client):
    response = client.get("/openapi.json")

    assert response.status_code == 200
    assert response["Content-Type"] == "application/json"
    assert response.content == (ROOT / "openapi.json").read_bytes()


def test_describes_version_1_6(document):
    assert document["openapi"] == "3.1.1"
    assert document["info"]["version"] == "1.6"


def test_describes_paths_that_end_with_a_slash(document):
    paths = list(document["paths"])

    assert "/1.6/programs/" in paths
    assert all(path.startswith(("/1.6/", "/1.7/pb/")) for path in paths)
    assert all(path.endswith("/") for path in paths)


def test_asks_for_the_key_at_every_operation(document):
    scheme = document["components"]["securitySchemes"]["ApiKey"]
    asked = {name: found["security"] for name, found in operations(document).items()}

    assert scheme == {"type": "apiKey", "in": "header", "name": "X-Api-Key"}
    assert all(security == [{"ApiKey": []}] for security in asked.values())


def test_describes_the_refusals_of_every_operation(document):
    for name, operation in operations(document).items():
        assert {"401", "403", "405"} <= set(operation["responses"]), name


def test_never_answers_201_or_422(document):
    statuses = {
        status
        for operation in operations(document).values()
        for status in operation["responses"]
    }

    assert statuses.isdisjoint({"201", "202", "406", "415", "422"})


def test_names_every_operation_once(document):
    names = [found["operationId"] for found in operations(document).values()]

    assert len(names) == len(set(names))


def test_describes_both_shapes_of_errors(document):
    schemas = document["components"]["schemas"]

    assert schemas["Errors"]["required"] == ["errors"]
    assert schemas["Refusal"]["required"] == ["message", "code"]


def test_describes_a_program_property_by_property(document):
    answer = document["paths"]["/1.6/programs/{program_id}/"]["get"]["responses"]["200"]
    named = answer["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    shape = document["components"]["schemas"][named]

    assert set(shape["properties"]) == set(shape["required"])
    assert list(shape["properties"]) == [
        "id",
        "title",
        "currency",
        "currency_symbol",
        "cookie_time",
        "default_landing_page_url",
        "recurring",
        "recurring_cap",
        "recurring_period_days",
        "program_category",
    ]
