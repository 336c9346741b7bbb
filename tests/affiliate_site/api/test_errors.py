"""Contract 1.7: two shapes of bodies, and the path of the field that is wrong."""

import pytest
from rest_framework.exceptions import ErrorDetail, ValidationError

from affiliate_site.api.errors import Flaw, bracketed, flat, joined, told
from tests.probes import FAILURES, ProbeIsShut, ProbeNotFound, Refused, RefusedField
from tracking.errors import NotANumber, ProgramIsLocked, UnknownCurrency

pytestmark = pytest.mark.urls("tests.probes")


def listed(detail):
    return list(flat(detail))


def entry(path, message, raw=None):
    return {"message": message, "message_raw": raw or message, "property_path": path}


# Paths


@pytest.mark.parametrize(
    ("path", "step", "whole"),
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
def test_joins_the_steps_of_a_path(path, step, whole):
    assert joined(path, step) == whole


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
def test_brackets_the_key_of_a_map(key, step):
    assert bracketed(key) == step


# Field errors


def test_lists_one_flaw():
    flaw = Flaw("This value should be true or false.")

    assert listed(flaw.detail) == [entry("", "This value should be true or false.")]


def test_tells_the_template_beside_the_message():
    flaw = Flaw("This value is too long, {{ limit }} characters at most.", limit=64)

    assert listed({"meta_data": {"[plan-of-the-year]": flaw.detail}}) == [
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
def test_repeats_a_value_as_sent(value):
    template = "Invalid value '{{ value }}'. Valid are {{ values }}"

    flaw = Flaw(template, value=value, values="'new', 'lead'")

    assert listed({"status": flaw.detail}) == [
        entry("status", f"Invalid value '{value}'. Valid are 'new', 'lead'", template)
    ]


def test_lists_every_flaw_in_order():
    missing = Flaw("Missing mandatory parameter(s)").detail
    detail = {
        "firstname": missing,
        "address": {"city": missing, "country": {"code": missing}},
        "items": {0: {"amount": missing}, 12: missing},
        "tags": [missing, missing],
        "lastname": missing,
    }

    paths = [found["property_path"] for found in listed(detail)]
    assert paths == [
        "firstname",
        "address.city",
        "address.country.code",
        "items[0].amount",
        "items[12]",
        "tags[0]",
        "tags[1]",
        "lastname",
    ]


def test_lists_the_flaws_of_a_list_of_objects():
    detail = [{}, {"amount": Flaw("This value should be a number.").detail}, {}]

    assert listed(detail) == [entry("[1].amount", "This value should be a number.")]


def test_lists_two_flaws_of_one_field():
    detail = {"name": [ErrorDetail("One."), ErrorDetail("Two.")]}

    assert listed(detail) == [entry("name", "One."), entry("name", "Two.")]


@pytest.mark.parametrize("detail", [[], {}, {"name": []}], ids=str)
def test_lists_nothing_of_nothing(detail):
    assert listed(detail) == []


def test_takes_a_plain_message_for_its_own_template():
    detail = ValidationError("Odd.", code="odd").detail

    assert listed({"name": detail}) == [entry("name", "Odd.")]


# Refusals of the domain


@pytest.mark.parametrize(
    ("refusal", "body"),
    [
        (Refused(reason="{braces}"), {"message": "Refused for {braces}"}),
        (ProbeNotFound(), {"message": "Probe not found"}),
        (
            RefusedField(limit=7),
            {
                "message": "At most 7",
                "message_raw": "At most {{ limit }}",
                "property_path": "amount",
            },
        ),
        (
            UnknownCurrency(),
            {
                "message": "Unknown currency",
                "message_raw": "Unknown currency",
                "property_path": "currency",
            },
        ),
        (
            UnknownCurrency(path="[1].currency"),
            {
                "message": "Unknown currency",
                "message_raw": "Unknown currency",
                "property_path": "[1].currency",
            },
        ),
        (
            NotANumber(path=""),
            {
                "message": "This value should be a number.",
                "message_raw": "This value should be a number.",
                "property_path": "",
            },
        ),
        (ProbeIsShut(), {"message": "The probe is shut.", "code": "probe_shut"}),
        (
            ProgramIsLocked(),
            {"message": "This program is archived.", "code": "program_archived"},
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_tells_a_refusal(refusal, body):
    assert told(refusal) == body


# As the caller sees them


ANSWERS = {
    "refused": (400, {"message": "Refused for a reason"}),
    "refused-field": (
        400,
        {
            "message": "At most 7",
            "message_raw": "At most {{ limit }}",
            "property_path": "amount",
        },
    ),
    "flaw": (
        400,
        {
            "message": "At least 3",
            "message_raw": "At least {{ limit }}",
            "property_path": "",
        },
    ),
    "missing": (404, {"message": "Probe not found"}),
    "conflict": (409, {"message": "The probe is shut.", "code": "probe_shut"}),
}


@pytest.mark.parametrize(
    ("name", "status", "error"),
    [(name, *answer) for name, answer in ANSWERS.items()],
    ids=ANSWERS,
)
@pytest.mark.parametrize("accept", ["text/html", "application/json"])
def test_answers_a_refusal_in_the_first_shape(api, name, status, error, accept):
    response = api.get(f"/probes/{name}/", Accept=accept)

    assert response.status_code == status
    assert response["Content-Type"] == "application/json"
    assert response.json() == {"errors": [error]}


def test_answers_the_flaws_of_a_body(api):
    response = api.post("/probes/", {"note": ["a"], "unknown": 1})

    assert response.status_code == 400
    assert response.json() == {
        "errors": [
            entry("name", "Missing mandatory parameter(s)"),
            entry(
                "note",
                "This value should be of type string.",
                "This value should be of type {{ type }}.",
            ),
        ]
    }


def test_answers_the_flaws_of_a_query(api):
    response = api.get("/probes/?page=0&currency=USD&date_from=x")

    assert response.status_code == 400
    assert response.json() == {
        "errors": [
            entry("date_from", "Invalid date"),
            entry(
                "currency",
                "Invalid value 'USD'. Valid are 'EUR', 'JPY'",
                "Invalid value '{{ value }}'. Valid are {{ values }}",
            ),
            entry("page", "Invalid page"),
        ]
    }


def test_answers_a_refused_body_without_a_path(api):
    response = api.post("/probes/", "[]")

    assert response.status_code == 400
    assert response.json() == {
        "errors": [{"message": "Request body was not valid JSON"}]
    }


def test_has_a_row_for_every_refusal_of_the_probes():
    ours = {name for name in FAILURES if name not in ANSWERS}

    assert ours == {"crash", "recursion", "away", "cut-off"}
