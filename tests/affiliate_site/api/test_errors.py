"""Error bodies and field paths (docs/api-contract.md, section 1.7)."""

import pytest
from rest_framework.exceptions import ErrorDetail, ValidationError

from affiliate_site.api.errors import (
    FieldError,
    flatten_errors,
    format_map_key,
    join_path,
    serialize_error,
)
from tests.affiliate_site.responses import build_field_error
from tests.dummy_endpoints import (
    FAILURES,
    DummyConflict,
    DummyError,
    DummyFieldError,
    DummyNotFound,
)
from tracking.errors import ArchivedProgramReadOnly, InvalidNumber, UnknownCurrency

pytestmark = pytest.mark.urls("tests.dummy_endpoints")


def list_flat_errors(detail):
    return list(flatten_errors(detail))


# Paths


@pytest.mark.parametrize(
    ("path", "step", "joined"),
    [
        ("", "email", "email"),
        ("address", "city", "address.city"),
        ("address.country", "code", "address.country.code"),
        ("", 1, "[1]"),
        ("[1]", "amount", "[1].amount"),
        ("commissions", 0, "commissions[0]"),
        ("commissions[0]", "sub_amount", "commissions[0].sub_amount"),
        ("meta_data", "[plan]", "meta_data[plan]"),
        ("meta_data", "[plan.of.the.year]", "meta_data[plan.of.the.year]"),
        ("", "[plan]", "[plan]"),
        ("items[2].meta_data", "[]", "items[2].meta_data[]"),
    ],
)
def test_joins_the_steps_of_a_path(path, step, joined):
    assert join_path(path, step) == joined


@pytest.mark.parametrize(
    ("key", "step"),
    [
        ("plan", "[plan]"),
        ("", "[]"),
        ("0", "[0]"),
        ("a.b", "[a.b]"),
        ("k" * 255, f"[{'k' * 255}]"),
        ("k" * 256, f"[{'k' * 255}]"),
    ],
    ids=["plain", "empty", "digit", "dot", "255", "256"],
)
def test_formats_a_map_key_in_brackets(key, step):
    assert format_map_key(key) == step


# Field errors


def test_lists_one_error():
    error = FieldError("This value should be true or false.")

    assert list_flat_errors(error.detail) == [
        build_field_error("", "This value should be true or false.")
    ]


def test_includes_the_template_of_the_message():
    error = FieldError("This value is too long, {{ limit }} characters at most.", limit=64)

    assert list_flat_errors({"meta_data": {"[plan-of-the-year]": error.detail}}) == [
        {
            "message": "This value is too long, 64 characters at most.",
            "message_raw": "This value is too long, {{ limit }} characters at most.",
            "property_path": "meta_data[plan-of-the-year]",
        }
    ]


@pytest.mark.parametrize(
    "value",
    ["{{ values }}", "{{ value }}", "{values}", "%s", "{0}", "\\1", "{{ limit }}"],
)
def test_echoes_a_value_unchanged(value):
    template = "Invalid value '{{ value }}'. Valid are {{ values }}"

    error = FieldError(template, value=value, values="'new', 'lead'")

    assert list_flat_errors({"status": error.detail}) == [
        {
            "message": f"Invalid value '{value}'. Valid are 'new', 'lead'",
            "message_raw": template,
            "property_path": "status",
        }
    ]


def test_lists_all_errors_in_order():
    missing = FieldError("Missing mandatory parameter(s)").detail
    detail = {
        "firstname": missing,
        "address": {"city": missing, "country": {"code": missing}},
        "items": {0: {"amount": missing}, 12: missing},
        "tags": [missing, missing],
        "lastname": missing,
    }

    paths = [error["property_path"] for error in list_flat_errors(detail)]
    assert paths == [
        *("firstname", "address.city", "address.country.code", "items[0].amount"),
        *("items[12]", "tags[0]", "tags[1]", "lastname"),
    ]


def test_lists_the_errors_of_a_list_of_objects():
    detail = [{}, {"amount": FieldError("This value should be a number.").detail}, {}]

    assert list_flat_errors(detail) == [
        build_field_error("[1].amount", "This value should be a number.")
    ]


def test_lists_two_errors_of_one_field():
    detail = {"name": [ErrorDetail("One."), ErrorDetail("Two.")]}

    assert list_flat_errors(detail) == [
        build_field_error("name", "One."),
        build_field_error("name", "Two."),
    ]


@pytest.mark.parametrize("detail", [[], {}, {"name": []}], ids=str)
def test_lists_nothing_for_an_empty_detail(detail):
    assert list_flat_errors(detail) == []


def test_uses_a_plain_message_as_template():
    detail = ValidationError("Odd.", code="odd").detail

    assert list_flat_errors({"name": detail}) == [build_field_error("name", "Odd.")]


# Domain errors


@pytest.mark.parametrize(
    ("error", "body"),
    [
        (DummyError(reason="{braces}"), {"message": "Refused for {braces}"}),
        (DummyNotFound(), {"message": "Dummy not found"}),
        (
            DummyFieldError(limit=7),
            build_field_error("amount", "At most {{ limit }}", 7),
        ),
        (UnknownCurrency(), build_field_error("currency", "Unknown currency")),
        (
            UnknownCurrency(path="[1].currency"),
            build_field_error("[1].currency", "Unknown currency"),
        ),
        (
            InvalidNumber(path=""),
            build_field_error("", "This value should be a number."),
        ),
        (DummyConflict(), {"message": "The dummy is in use.", "code": "dummy_in_use"}),
        (
            ArchivedProgramReadOnly(),
            {"message": "This program is archived.", "code": "program_archived"},
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_serializes_a_domain_error(error, body):
    assert serialize_error(error) == body


# Responses


ERRORS_BY_NAME = {
    "refused": (400, {"message": "Refused for a reason"}),
    "refused-field": (400, build_field_error("amount", "At most {{ limit }}", 7)),
    "invalid-field": (400, build_field_error("", "At least {{ limit }}", 3)),
    "missing": (404, {"message": "Dummy not found"}),
    "conflict": (409, {"message": "The dummy is in use.", "code": "dummy_in_use"}),
}


@pytest.mark.parametrize(
    ("name", "status", "error"),
    [(name, *error) for name, error in ERRORS_BY_NAME.items()],
    ids=ERRORS_BY_NAME,
)
@pytest.mark.parametrize("accept", ["text/html", "application/json"])
def test_returns_an_errors_body(api, name, status, error, accept):
    response = api.get(f"/dummies/{name}/", Accept=accept)

    assert response.status_code == status
    assert response["Content-Type"] == "application/json"
    assert response.json() == {"errors": [error]}


def test_returns_the_errors_of_a_body(api):
    response = api.post("/dummies/", {"note": ["a"], "unknown": 1})

    assert response.status_code == 400
    assert response.json() == {
        "errors": [
            build_field_error("name", "Missing mandatory parameter(s)"),
            build_field_error("note", "This value should be of type {{ type }}.", "string"),
        ]
    }


def test_returns_an_invalid_body_without_a_path(api):
    response = api.post("/dummies/", "[]")

    assert response.status_code == 400
    assert response.json() == {"errors": [{"message": "Request body was not valid JSON"}]}


def test_covers_every_client_error_of_the_dummy_endpoints():
    server_errors = {name for name in FAILURES if name not in ERRORS_BY_NAME}

    assert server_errors == {"crash", "recursion", "away", "cut-off", "full"}
