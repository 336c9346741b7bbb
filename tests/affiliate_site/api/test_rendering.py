"""Contract 1.2 and 1.3: what answers look like, digit by digit."""

import json
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from accounts.exact_json import exact_json, plain
from affiliate_site.api.rendering import AlwaysJSON, ExactJSON
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
def test_writes_an_amount_exactly(amount, text):
    written = ExactJSON().render({"amount": Decimal(amount)})

    assert plain(Decimal(amount)) == text
    assert written == b'{"amount":%s}' % text.encode()


@pytest.mark.parametrize("amount", ["90071992547409.93", "0.1", "1E+12", "-7.5"])
def test_writes_what_reads_back_as_the_same_number(amount):
    written = exact_json([Decimal(amount)])

    assert json.loads(written, parse_float=Decimal, parse_int=Decimal) == [
        Decimal(amount)
    ]


@pytest.mark.parametrize(
    "moment",
    [
        datetime(2026, 3, 4, 9, 15, 27, tzinfo=UTC),
        datetime(2026, 3, 4, 9, 15, 27, 999_999, tzinfo=UTC),
    ],
    ids=["whole", "with a fraction"],
)
def test_writes_a_moment_in_utc_with_seconds(moment):
    assert exact_json(moment) == b'"2026-03-04T09:15:27+00:00"'


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(1970, 1, 1, tzinfo=UTC), "1970-01-01T00:00:00+00:00"),
        (datetime(2024, 2, 29, 23, 59, 59, tzinfo=UTC), "2024-02-29T23:59:59+00:00"),
        (datetime(2026, 10, 25, 1, 30, tzinfo=UTC), "2026-10-25T01:30:00+00:00"),
    ],
)
def test_writes_every_moment_in_one_form(moment, text):
    assert json.loads(exact_json({"created_at": moment})) == {"created_at": text}


def test_writes_no_moment_of_another_zone_as_if_it_were_utc():
    elsewhere = timezone(timedelta(hours=2))

    written = json.loads(exact_json(datetime(2026, 3, 4, 11, 15, 27, tzinfo=elsewhere)))

    assert datetime.fromisoformat(written) == datetime(
        2026, 3, 4, 9, 15, 27, tzinfo=UTC
    )


@pytest.mark.parametrize(
    ("data", "written"),
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
def test_writes_plain_json_in_utf_8(data, written):
    assert ExactJSON().render(data) == written


@pytest.mark.parametrize(
    "odd", [{1, 2}, object(), b"bytes", 1j], ids=lambda odd: type(odd).__name__
)
def test_writes_nothing_that_has_no_form(odd):
    with pytest.raises(TypeError):
        exact_json({"a": odd})


@pytest.mark.parametrize("odd", [float("nan"), float("inf")])
def test_writes_no_word_for_what_is_no_number(odd):
    assert exact_json([odd]) == b"[null]"


def test_has_one_parser_and_one_renderer():
    negotiation = AlwaysJSON()

    assert negotiation.select_parser(None, ["only"]) == "only"
    assert negotiation.select_renderer(None, [ExactJSON()])[1] == "application/json"


def test_names_the_type_without_a_character_set(api, program):
    for path in ("/programs/", "/programs/harbor-lamp-partners/", "/programs/no/"):
        assert api.get(path)["Content-Type"] == "application/json"


@pytest.mark.parametrize(
    "title", ["Lučka & sin", "<img src=x onerror=alert(1)>", "\u2028\U0001f642\x7f"]
)
def test_answers_with_text_as_it_is_kept(api, account, title):
    program = ProgramFactory(account=account, title=title)

    response = api.get(f"/programs/{program.slug}/")

    assert response.json()["title"] == title
    assert title in response.content.decode()
