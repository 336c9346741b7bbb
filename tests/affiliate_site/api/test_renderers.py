"""JSON of responses (docs/api-contract.md, sections 1.2 and 1.3)."""

import json
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from accounts.exact_json import format_decimal, serialize_exact_json
from affiliate_site.api.renderers import ExactJSONRenderer, JSONContentNegotiation
from tests.factories.tracking import ProgramFactory


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        ("20", "20"),
        ("20.00", "20"),
        ("49.90", "49.9"),
        ("-5", "-5"),
        ("-5.0", "-5"),
        ("0", "0"),
        ("0.00", "0"),
        ("-0", "0"),
        ("-0.00", "0"),
        ("0E+9", "0"),
        ("100", "100"),
        ("1E+2", "100"),
        ("1.0E+3", "1000"),
        ("1E-7", "0.0000001"),
        ("0.0100", "0.01"),
        ("1000000", "1000000"),
        ("90071992547409.93", "90071992547409.93"),
        ("12345678901234567.89", "12345678901234567.89"),
        ("9999999999999.99", "9999999999999.99"),
        ("0.3", "0.3"),
        ("0.10000000000000000001", "0.10000000000000000001"),
    ],
)
def test_renders_an_amount_exactly(amount, text):
    rendered = ExactJSONRenderer().render({"amount": Decimal(amount)})

    assert format_decimal(Decimal(amount)) == text
    assert rendered == b'{"amount":%s}' % text.encode()


@pytest.mark.parametrize("amount", ["90071992547409.93", "0.1", "1E+12", "-7.5"])
def test_rendered_amount_parses_to_the_same_number(amount):
    rendered = serialize_exact_json([Decimal(amount)])

    assert json.loads(rendered, parse_float=Decimal, parse_int=Decimal) == [Decimal(amount)]


@pytest.mark.parametrize(
    "moment",
    [
        datetime(2026, 3, 4, 9, 15, 27, tzinfo=UTC),
        datetime(2026, 3, 4, 9, 15, 27, 999_999, tzinfo=UTC),
    ],
    ids=["whole", "with a fraction"],
)
def test_renders_a_timestamp_in_utc_with_seconds(moment):
    assert serialize_exact_json(moment) == b'"2026-03-04T09:15:27+00:00"'


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(1970, 1, 1, tzinfo=UTC), "1970-01-01T00:00:00+00:00"),
        (datetime(2024, 2, 29, 23, 59, 59, tzinfo=UTC), "2024-02-29T23:59:59+00:00"),
        (datetime(2026, 10, 25, 1, 30, tzinfo=UTC), "2026-10-25T01:30:00+00:00"),
    ],
)
def test_renders_timestamps_in_one_format(moment, text):
    assert json.loads(serialize_exact_json({"created_at": moment})) == {"created_at": text}


def test_renders_a_timestamp_of_another_time_zone_correctly():
    other_zone = timezone(timedelta(hours=2))

    rendered = json.loads(serialize_exact_json(datetime(2026, 3, 4, 11, 15, 27, tzinfo=other_zone)))

    assert datetime.fromisoformat(rendered) == datetime(2026, 3, 4, 9, 15, 27, tzinfo=UTC)


@pytest.mark.parametrize(
    ("data", "rendered"),
    [
        ({}, b"{}"),
        ([], b"[]"),
        (None, b""),
        ({"a": None}, b'{"a":null}'),
        ({"a": True}, b'{"a":true}'),
        ({"meta_data": {}}, b'{"meta_data":{}}'),
        ({"a": "š🙂<&>"}, '{"a":"š🙂<&>"}'.encode()),
        ({"a": 'q"\\\n\x01'}, b'{"a":"q\\"\\\\\\n\\u0001"}'),
        ({"b": 1, "a": 2}, b'{"b":1,"a":2}'),
    ],
    ids=str,
)
def test_renders_json_in_utf_8(data, rendered):
    assert ExactJSONRenderer().render(data) == rendered


@pytest.mark.parametrize(
    "value", [{1, 2}, object(), b"bytes", 1j], ids=lambda value: type(value).__name__
)
def test_rejects_values_without_a_json_form(value):
    with pytest.raises(TypeError):
        serialize_exact_json({"a": value})


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_renders_nan_and_infinity_as_null(value):
    assert serialize_exact_json([value]) == b"[null]"


def test_selects_the_only_parser_and_renderer():
    negotiation = JSONContentNegotiation()

    assert negotiation.select_parser(None, ["only"]) == "only"
    assert negotiation.select_renderer(None, [ExactJSONRenderer()])[1] == "application/json"


def test_content_type_has_no_charset(api, program):
    for path in ("/programs/", "/programs/harbor-lamp-partners/", "/programs/no/"):
        assert api.get(path)["Content-Type"] == "application/json"


@pytest.mark.parametrize(
    "title", ["Lučka & sin", "<img src=x onerror=alert(1)>", "\u2028\U0001f642\x7f"]
)
def test_returns_text_unchanged(api, account, title):
    program = ProgramFactory(account=account, title=title)

    response = api.get(f"/programs/{program.slug}/")

    assert response.json()["title"] == title
    assert title in response.content.decode()
