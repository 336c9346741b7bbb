"""Contract 1.3, 1.10, 1.11: what a field takes, and what it says when it does not."""

from decimal import Decimal

import pytest
from rest_framework.exceptions import ValidationError

from affiliate_site.api.errors import flat
from affiliate_site.api.fields import (
    Amount,
    Email,
    Flag,
    Lookup,
    QueryFlag,
    Text,
    admitted,
)
from affiliate_site.api.inputs import Input, Items
from affiliate_site.api.maps import MetaData

MISSING = "Missing mandatory parameter(s)"
OF_TYPE = "This value should be of type {{ type }}."
TOO_LONG = "This value is too long, {{ limit }} characters at most."
TOO_SHORT = "This value is too short, {{ limit }} characters at least."


def reading(**fields):
    """An input of these fields."""
    return type("Probe", (Input,), fields)


def read(declaration, body):
    reader = declaration(data=body)
    reader.is_valid(raise_exception=True)
    return dict(reader.validated_data)


def refused(declaration, body):
    """What is said of this body: message, template and path of each flaw."""
    with pytest.raises(ValidationError) as refusal:
        read(declaration, body)
    return list(flat(refusal.value.detail))


def entry(path, template, **values):
    message = template
    for name, value in values.items():
        message = message.replace(f"{{{{ {name} }}}}", str(value))
    return {"message": message, "message_raw": template, "property_path": path}


# Text


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("lamp", "lamp"),
        (" lamp\t\n", " lamp\t\n"),
        ("e\u0301", "e\u0301"),
        ("\u00a0x\u3000", "\u00a0x\u3000"),
        ("🙂" * 255, "🙂" * 255),
        (0, "0"),
        (-7, "-7"),
        (10**30, "1" + "0" * 30),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_keeps_text_exactly_as_sent(sent, kept):
    assert read(reading(note=Text()), {"note": sent}) == {"note": kept}


@pytest.mark.parametrize("blank", ["", " ", "\n\t"], ids=repr)
def test_keeps_blank_text_where_none_is_needed(blank):
    declaration = reading(note=Text(required=False))

    assert read(declaration, {"note": blank}) == {"note": blank}


@pytest.mark.parametrize(
    "body",
    [{}, {"note": None}, {"note": ""}, {"note": " \t\n"}, {"note": "\u00a0"}],
    ids=str,
)
@pytest.mark.parametrize("kind", [Text, Lookup, Email])
def test_misses_text_that_is_not_sent_or_blank(kind, body):
    assert refused(reading(note=kind()), body) == [entry("note", MISSING)]


@pytest.mark.parametrize(
    "value",
    [True, False, Decimal("1.5"), Decimal("1E+2"), [], ["a"], {}, {"a": "b"}],
    ids=repr,
)
@pytest.mark.parametrize("kind", [Text, Lookup, Email])
@pytest.mark.parametrize("required", [True, False])
def test_refuses_what_is_no_text(kind, value, required):
    found = refused(reading(note=kind(required=required)), {"note": value})

    assert found == [entry("note", OF_TYPE, type="string")]


@pytest.mark.parametrize(
    ("limit", "length"), [(255, 256), (64, 65), (1000, 1001)], ids=str
)
@pytest.mark.parametrize("letter", ["x", "é", "🙂", " x"])
def test_counts_the_characters_of_text(limit, length, letter):
    declaration = reading(note=Text(max_length=limit))
    longest, longer = ((letter * length)[:n] for n in (limit, length))

    assert read(declaration, {"note": longest}) == {"note": longest}
    assert refused(declaration, {"note": longer}) == [
        entry("note", TOO_LONG, limit=limit)
    ]


def test_counts_the_digits_of_an_integer():
    found = refused(reading(note=Text(max_length=5)), {"note": 123456})

    assert found == [entry("note", TOO_LONG, limit=5)]


def test_refuses_text_that_is_too_short():
    found = refused(reading(word=Text(min_length=8)), {"word": "1234567"})

    assert found == [entry("word", TOO_SHORT, limit=8)]
    assert read(reading(word=Text(min_length=8)), {"word": "12345678"})


def test_cuts_text_that_may_be_cut():
    declaration = reading(referrer=Text(max_length=2048, cut=True))

    kept = read(declaration, {"referrer": "x" * 3000})

    assert kept == {"referrer": "x" * 2048}


# Lookup


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("lamp", "lamp"),
        (" \t\r\n\f\vlamp \n", "lamp"),
        (" a b ", "a b"),
        ("\u00a0lamp\u3000", "\u00a0lamp\u3000"),
        ("\x1flamp\x1c", "\x1flamp\x1c"),
        ("\u2028lamp\x85", "\u2028lamp\x85"),
        (7, "7"),
    ],
    ids=repr,
)
def test_trims_outer_ascii_white_space_of_what_is_looked_up(sent, kept):
    assert read(reading(code=Lookup()), {"code": sent}) == {"code": kept}


def test_counts_a_looked_up_text_after_trimming():
    declaration = reading(code=Lookup())

    assert read(declaration, {"code": f"  {'x' * 255}  "}) == {"code": "x" * 255}


@pytest.mark.parametrize("sent", ["", "  "])
def test_keeps_an_empty_attribution_apart_from_none(sent):
    declaration = reading(code=Lookup(required=False))

    assert read(declaration, {"code": sent}) == {"code": ""}
    assert read(declaration, {}) == {}


# E-mail


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("odette@example.org", "odette@example.org"),
        (" Odette.Varga+a@Example.ORG\n", "Odette.Varga+a@Example.ORG"),
        ("o@localhost", "o@localhost"),
    ],
)
def test_takes_an_email_address_as_it_is_spelled(sent, kept):
    assert read(reading(email=Email()), {"email": sent}) == {"email": kept}


@pytest.mark.parametrize(
    "value",
    ["odette", "@", "a@", "@b.example", "a b@c.example", "a@b@c.example", "a@b..c", 7],
)
def test_refuses_what_is_no_email_address(value):
    found = refused(reading(email=Email()), {"email": value})

    assert found == [entry("email", "This is not a valid email address.")]


def test_refuses_an_email_address_that_is_too_long():
    found = refused(reading(email=Email()), {"email": "a" * 250 + "@b.example"})

    assert [flaw["property_path"] for flaw in found] == ["email"]


# Booleans


@pytest.mark.parametrize("value", [True, False])
def test_takes_true_and_false_in_a_body(value):
    assert read(reading(flag=Flag()), {"flag": value}) == {"flag": value}


@pytest.mark.parametrize(
    "value",
    [0, 1, "true", "false", "1", "", "on", [], {}, Decimal("1.0"), [True]],
    ids=repr,
)
def test_takes_nothing_else_for_a_boolean_in_a_body(value):
    found = refused(reading(flag=Flag()), {"flag": value})

    assert found == [entry("flag", "This value should be true or false.")]


def test_misses_a_boolean_that_is_not_sent():
    assert refused(reading(flag=Flag()), {"flag": None}) == [entry("flag", MISSING)]
    assert read(reading(flag=Flag(required=False)), {"flag": None}) == {}


def test_takes_null_for_a_boolean_where_it_has_a_meaning():
    declaration = reading(approved=Flag(allow_null=True))

    assert read(declaration, {"approved": None}) == {"approved": None}


@pytest.mark.parametrize(
    ("sent", "read_as"),
    [
        ("true", True),
        ("TRUE", True),
        ("True", True),
        ("1", True),
        ("false", False),
        ("fAlSe", False),
        ("0", False),
    ],
)
def test_takes_four_words_for_a_boolean_in_a_query(sent, read_as):
    assert read(reading(flag=QueryFlag()), {"flag": sent}) == {"flag": read_as}


@pytest.mark.parametrize(
    "sent", ["yes", "on", "2", "01", " true", "true ", "tru", "\uff11", "null", "İ"]
)
def test_takes_nothing_else_for_a_boolean_in_a_query(sent):
    found = refused(reading(flag=QueryFlag()), {"flag": sent})

    assert found == [entry("flag", "This value should be true or false.")]


# Amounts


NOT_A_NUMBER = "This value should be a number."
TOO_MANY_DIGITS = "This value has too many digits."


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (20, "20"),
        (0, "0"),
        (Decimal("49.90"), "49.90"),
        ("49.90", "49.90"),
        ("0", "0"),
        ("007.50", "7.50"),
        (Decimal("1E+2"), "100"),
        (Decimal("0.30000000000000004"), "0.30000000000000004"),
        (Decimal("90071992547409.93"), "90071992547409.93"),
    ],
    ids=repr,
)
def test_takes_an_amount_digit_by_digit(sent, kept):
    amount = read(reading(amount=Amount()), {"amount": sent})["amount"]

    assert isinstance(amount, Decimal)
    assert amount == Decimal(kept)


@pytest.mark.parametrize(
    "value",
    [
        "",
        " ",
        " 5 ",
        "5 ",
        "+5",
        ".5",
        "5.",
        "5,0",
        "1e2",
        "1_000",
        "1 000",
        "1,000.00",
        "--5",
        "0x10",
        "NaN",
        "Infinity",
        "-Infinity",
        "\uff15",
        "\u0665",
        "5\n",
        "5\x00",
        "€5",
        True,
        False,
        [],
        [5],
        {},
        {"amount": 5},
    ],
    ids=repr,
)
def test_refuses_what_is_no_amount(value):
    found = refused(reading(amount=Amount()), {"amount": value})

    assert found == [entry("amount", NOT_A_NUMBER)]


def test_misses_an_amount_that_is_not_sent():
    declaration = reading(amount=Amount())

    assert refused(declaration, {"amount": None}) == [entry("amount", MISSING)]
    assert refused(declaration, {}) == [entry("amount", MISSING)]


@pytest.mark.parametrize(
    ("exact", "currency", "kept"),
    [
        ("0.30000000000000004", "EUR", "0.3"),
        ("0.005", "EUR", "0.01"),
        ("0.0049999999999999999999999999999999", "EUR", "0"),
        ("2.675", "EUR", "2.68"),
        ("0.5", "JPY", "1"),
        ("0.4999", "JPY", "0"),
        ("1.0005", "KWD", "1.001"),
        ("1E-99", "EUR", "0"),
        ("0E+99", "EUR", "0"),
        ("-0", "EUR", "0"),
        ("-0.004", "EUR", "0"),
        ("9999999999999.99", "EUR", "9999999999999.99"),
        ("9999999999999.994", "EUR", "9999999999999.99"),
        ("999999999999.995", "EUR", "1000000000000"),
        ("9999999999999.000", "KWD", "9999999999999"),
        ("999999999999.999", "KWD", "999999999999.999"),
        ("9999999999999.12", "KWD", "9999999999999.12"),
        ("9999999999999.4", "JPY", "9999999999999"),
    ],
)
def test_rounds_an_amount_to_its_currency(exact, currency, kept):
    amount = admitted(Decimal(exact), currency)

    assert amount == Decimal(kept)
    assert not amount.is_signed()


@pytest.mark.parametrize(
    ("exact", "currency", "template"),
    [
        ("10000000000000", "EUR", TOO_MANY_DIGITS),
        ("9999999999999.995", "EUR", TOO_MANY_DIGITS),
        ("9999999999999.5", "JPY", TOO_MANY_DIGITS),
        ("9999999999999.123", "KWD", TOO_MANY_DIGITS),
        ("1E+13", "EUR", TOO_MANY_DIGITS),
        ("9E+99", "JPY", TOO_MANY_DIGITS),
        ("-1", "EUR", "This value should be 0 or more."),
        ("-0.005", "EUR", "This value should be 0 or more."),
    ],
)
def test_refuses_an_amount_that_cannot_be_kept(exact, currency, template):
    with pytest.raises(ValidationError) as refusal:
        admitted(Decimal(exact), currency)

    assert list(flat(refusal.value.detail)) == [entry("", template)]


# Meta data


def meta(value):
    return read(reading(meta_data=MetaData()), {"meta_data": value})["meta_data"]


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ({}, {}),
        ({"plan": " gold "}, {"plan": " gold "}),
        ({"plan": ""}, {"plan": ""}),
        ({"a": True, "b": False}, {"a": "true", "b": "false"}),
        ({"a": 7, "b": -7, "c": 0}, {"a": "7", "b": "-7", "c": "0"}),
        ({"a": Decimal("1.50")}, {"a": "1.50"}),
        ({"a": Decimal("1E+2")}, {"a": "100"}),
        ({"a": Decimal("-0.5")}, {"a": "-0.5"}),
        ({"a": Decimal("1E-5")}, {"a": "0.00001"}),
        ({"a": "\":{}]\\'/&"}, {"a": "\":{}]\\'/&"}),
        ({"k" * 64: "v" * 255}, {"k" * 64: "v" * 255}),
        ({"🙂" * 64: "🙂" * 255}, {"🙂" * 64: "🙂" * 255}),
        ({"[": "a", " ": "b", ".": "c"}, {"[": "a", " ": "b", ".": "c"}),
        ({f"k{n}": "v" for n in range(10)}, {f"k{n}": "v" for n in range(10)}),
    ],
    ids=lambda value: repr(value)[:24],
)
def test_keeps_meta_data_as_text(sent, kept):
    assert meta(sent) == kept
    assert list(meta(sent)) == list(kept)


@pytest.mark.parametrize("value", [[], [{}], "", "plan", 1, True], ids=repr)
def test_wants_an_object_of_meta_data(value):
    found = refused(reading(meta_data=MetaData()), {"meta_data": value})

    assert found == [entry("meta_data", OF_TYPE, type="object")]


NOT_ALLOWED = "This key holds a character that is not allowed."


@pytest.mark.parametrize(
    ("sent", "path", "template", "values"),
    [
        ({"": "v"}, "meta_data[]", TOO_SHORT, {"limit": 1}),
        ({"k" * 65: "v"}, f"meta_data[{'k' * 65}]", TOO_LONG, {"limit": 64}),
        ({"plan": "v" * 256}, "meta_data[plan]", TOO_LONG, {"limit": 255}),
        ({"plan": None}, "meta_data[plan]", OF_TYPE, {"type": "string"}),
        ({"plan": []}, "meta_data[plan]", OF_TYPE, {"type": "string"}),
        ({"plan": {}}, "meta_data[plan]", OF_TYPE, {"type": "string"}),
        (
            {f"k{n}": "v" for n in range(11)},
            "meta_data",
            "Meta data holds {{ limit }} keys at most.",
            {"limit": 10},
        ),
        *(
            ({f"a{letter}b": "v"}, f"meta_data[a{letter}b]", NOT_ALLOWED, {})
            for letter in "\":{}]\\'/&"
        ),
        ({"a": 10**13}, "meta_data[a]", TOO_MANY_DIGITS, {}),
        ({"a": Decimal("1234567890.123456")}, "meta_data[a]", TOO_MANY_DIGITS, {}),
    ],
    ids=lambda value: repr(value)[:24],
)
def test_refuses_meta_data_by_its_key(sent, path, template, values):
    found = refused(reading(meta_data=MetaData()), {"meta_data": sent})

    assert found == [entry(path, template, **values)]


def test_names_every_flaw_of_meta_data():
    sent = {"a&b": "v", "plan": None, "fine": "v", "long": "v" * 256}

    found = refused(reading(meta_data=MetaData()), {"meta_data": sent})

    assert found == [
        entry("meta_data[a&b]", NOT_ALLOWED),
        entry("meta_data[plan]", OF_TYPE, type="string"),
        entry("meta_data[long]", TOO_LONG, limit=255),
    ]


# Inputs


class Country(Input):
    code = Lookup()


class Place(Input):
    city = Text()
    country = Country()


class Sale(Input):
    aliases = {"visitor_id": "tracking_id", "click.id": "click_id"}

    tracking_id = Lookup(required=False)
    click_id = Lookup(required=False)
    comment = Text(required=False, allow_null=True)
    place = Place(required=False)
    meta_data = MetaData(required=False)


@pytest.mark.parametrize(
    "body",
    [
        {"unknown": 1},
        {"metadata": {"a": "b"}},
        {"Tracking_id": "a"},
        {"id": "a", "created_at": "2026-01-01"},
        {"unknown": {"deep": [None]}},
        {"": ""},
    ],
    ids=str,
)
def test_ignores_what_it_does_not_know(body):
    assert read(Sale, body) == {}


@pytest.mark.parametrize("name", ["tracking_id", "click_id", "place", "meta_data"])
def test_takes_null_for_not_sent(name):
    assert read(Sale, {name: None}) == {}


def test_takes_null_where_it_has_a_meaning():
    assert read(Sale, {"comment": None}) == {"comment": None}


def test_takes_an_empty_object_for_not_sent():
    assert read(Sale, {"place": {}}) == {}
    assert read(Sale, {"meta_data": {}}) == {"meta_data": {}}


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        ({"visitor_id": "v"}, {"tracking_id": "v"}),
        ({"click": {"id": "c"}}, {"click_id": "c"}),
        ({"click": {"id": "c", "more": 1}}, {"click_id": "c"}),
        ({"click": {"id": 7}}, {"click_id": "7"}),
        ({"visitor_id": "v", "tracking_id": "t"}, {"tracking_id": "t"}),
        ({"click": {"id": "c"}, "click_id": "p"}, {"click_id": "p"}),
        ({"visitor_id": "v", "tracking_id": ""}, {"tracking_id": ""}),
        ({"visitor_id": "v", "tracking_id": None}, {"tracking_id": "v"}),
        ({"visitor_id": "", "click": {"id": " "}}, {"tracking_id": "", "click_id": ""}),
        ({"visitor_id": None, "click": {"id": None}}, {}),
        ({"click": {}}, {}),
        ({"click": None}, {}),
        ({"click": "c"}, {}),
        ({"click": ["c"]}, {}),
    ],
    ids=str,
)
def test_knows_other_names_of_a_field(body, kept):
    assert read(Sale, body) == kept


def test_refuses_a_field_by_its_proper_name():
    assert refused(Sale, {"visitor_id": []}) == [
        entry("tracking_id", OF_TYPE, type="string")
    ]


def test_names_every_flaw_in_the_order_of_the_fields():
    body = {
        "meta_data": [],
        "place": {"country": {"code": 1.5}},
        "click_id": True,
        "tracking_id": [],
    }

    paths = [flaw["property_path"] for flaw in refused(Sale, body)]
    assert paths == [
        "tracking_id",
        "click_id",
        "place.city",
        "place.country.code",
        "meta_data",
    ]


@pytest.mark.parametrize("value", ["a", 1, True, [], ["a"]], ids=repr)
def test_wants_an_object_where_one_belongs(value):
    assert refused(Sale, {"place": value}) == [entry("place", OF_TYPE, type="object")]


@pytest.mark.parametrize(
    ("place", "paths"),
    [
        ({"city": "Piran"}, ["place.country"]),
        ({"city": "", "country": {}}, ["place.city", "place.country"]),
        ({"city": "Piran", "country": {"code": " "}}, ["place.country.code"]),
        ({"city": "Piran", "country": 7}, ["place.country"]),
    ],
    ids=str,
)
def test_names_the_path_of_what_is_missing_inside(place, paths):
    found = refused(Sale, {"place": place})

    assert [flaw["property_path"] for flaw in found] == paths


# Lists


class Line(Input):
    sub_amount = Amount()


class Order(Input):
    commissions = Items(child=Line(), most=3, required=False)


def test_reads_a_list_in_order():
    body = {"commissions": [{"sub_amount": 2}, {"sub_amount": "1.5"}]}

    lines = read(Order, body)["commissions"]

    assert [line["sub_amount"] for line in lines] == [Decimal(2), Decimal("1.5")]


@pytest.mark.parametrize(
    ("sent", "flaws"),
    [
        ({}, [entry("commissions", OF_TYPE, type="array")]),
        ("a", [entry("commissions", OF_TYPE, type="array")]),
        ([{}], [entry("commissions[0].sub_amount", MISSING)]),
        (
            [{"sub_amount": 1}, {"sub_amount": "x"}],
            [entry("commissions[1].sub_amount", NOT_A_NUMBER)],
        ),
        (
            [{"sub_amount": 1}, 7],
            [entry("commissions[1]", OF_TYPE, type="object")],
        ),
        (
            [{"sub_amount": 1}] * 4,
            [
                entry(
                    "commissions", "This list holds {{ limit }} items at most.", limit=3
                )
            ],
        ),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_refuses_a_list_by_the_place(sent, flaws):
    assert refused(Order, {"commissions": sent}) == flaws
