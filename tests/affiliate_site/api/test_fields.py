"""Fields of requests (docs/api-contract.md, sections 1.3, 1.10 and 1.11)."""

from decimal import Decimal

import pytest
from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from affiliate_site.api.errors import flatten_errors
from affiliate_site.api.fields import (
    EmailField,
    ExactAmountField,
    QueryBooleanField,
    StrictBooleanField,
    TextField,
    TrimmedTextField,
    clean_amount,
)
from affiliate_site.api.input_serializers import InputSerializer, ObjectListField
from affiliate_site.api.map_fields import MetaDataField
from tests.affiliate_site.responses import build_field_error

MISSING = "Missing mandatory parameter(s)"
WRONG_TYPE = "This value should be of type {{ type }}."
TOO_LONG = "This value is too long, {{ limit }} characters at most."
TOO_SHORT = "This value is too short, {{ limit }} characters at least."


def make_serializer(**fields):
    """Return a serializer class with these fields."""
    return type("DummySerializer", (InputSerializer,), fields)


def validate_body(serializer_class, body):
    serializer = serializer_class(data=body)
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)


def list_validation_errors(serializer_class, body):
    """Return message, template and path of each error."""
    with pytest.raises(ValidationError) as raised:
        validate_body(serializer_class, body)
    return list(flatten_errors(raised.value.detail))


# Fields and their values


EMAIL = "This is not a valid email address."
FLAG = "This value should be true or false."
NOT_A_NUMBER = "This value should be a number."
TOO_MANY_DIGITS = "This value has too many digits."
NOT_ALLOWED = "This key holds a character that is not allowed."
NOT_SENT = object()

# Field, values that it keeps as they are.
KEPT = [
    (TextField(), ["lamp", " lamp\t\n", "e\u0301", "\u00a0x\u3000", "🙂" * 255]),
    (TextField(required=False), ["", " ", "\n\t"]),
    (TextField(min_length=8), ["12345678"]),
    (TrimmedTextField(), ["lamp", "\u00a0lamp\u3000", "\x1flamp\x1c", "\u2028a\x85"]),
    (EmailField(), ["odette@example.org", "o@localhost"]),
    (StrictBooleanField(), [True, False]),
    (StrictBooleanField(allow_null=True), [None]),
    (ExactAmountField(), [Decimal("49.90"), Decimal("0.30000000000000004")]),
    (ExactAmountField(), [Decimal("90071992547409.93")]),
    (MetaDataField(), [{}, {"plan": " gold "}, {"plan": ""}, {"a": "\":{}]\\'/&"}]),
    (MetaDataField(), [{"k" * 64: "v" * 255}, {"🙂" * 64: "🙂" * 255}]),
    (MetaDataField(), [{"[": "a", " ": "b", ".": "c"}]),
    (MetaDataField(), [{f"k{n}": "v" for n in range(10)}]),
]
# Field, value, and what it becomes.
CHANGED = [
    *((TextField(), number, str(number)) for number in (0, -7, 10**30)),
    (TextField(max_length=2048, truncate=True), "x" * 3000, "x" * 2048),
    *((TrimmedTextField(), text, "lamp") for text in (" \t\r\n\f\vlamp \n", " lamp")),
    (TrimmedTextField(), " a b ", "a b"),
    (TrimmedTextField(), 7, "7"),
    (TrimmedTextField(), f"  {'x' * 255}  ", "x" * 255),
    (TrimmedTextField(required=False), "  ", ""),
    (EmailField(), " Odette.Varga+a@Example.ORG\n", "Odette.Varga+a@Example.ORG"),
    *((QueryBooleanField(), text, True) for text in ("true", "TRUE", "True", "1")),
    *((QueryBooleanField(), text, False) for text in ("false", "fAlSe", "0")),
    (ExactAmountField(), 20, Decimal(20)),
    (ExactAmountField(), "0", Decimal(0)),
    (ExactAmountField(), "007.50", Decimal("7.50")),
    (ExactAmountField(), Decimal("1E+2"), Decimal(100)),
    (MetaDataField(), {"a": True, "b": False}, {"a": "true", "b": "false"}),
    (MetaDataField(), {"a": 7, "b": -7, "c": 0}, {"a": "7", "b": "-7", "c": "0"}),
    (MetaDataField(), {"a": Decimal("1.50")}, {"a": "1.50"}),
    (MetaDataField(), {"a": Decimal("1E+2")}, {"a": "100"}),
    (MetaDataField(), {"a": Decimal("1E-5")}, {"a": "0.00001"}),
    (MetaDataField(), [], {}),  # PHP encodes an empty map so
    *(
        (kind(required=False), value, NOT_SENT)
        for kind in (TrimmedTextField, StrictBooleanField)
        for value in (None, NOT_SENT)
    ),
]
TEXTS = (TextField, TrimmedTextField, EmailField)
# Field, values that it rejects, template of the message, value in the message, path.
REJECTED = [
    *((kind(), [NOT_SENT, None, "", " \t\n", "\u00a0"], MISSING) for kind in TEXTS),
    *(
        (
            kind(required=required),
            [True, False, Decimal("1.5"), Decimal("1E+2"), [], ["a"], {}, {"a": "b"}],
            *(WRONG_TYPE, "string"),
        )
        for kind in TEXTS
        for required in (True, False)
    ),
    (TextField(max_length=5), [123456], TOO_LONG, 5),
    (TextField(min_length=8), ["1234567"], TOO_SHORT, 8),
    (EmailField(), ["odette", "@", "a@", "@b.example", "a b@c.example"], EMAIL),
    (EmailField(), ["a@b@c.example", "a@b..c", 7], EMAIL),
    (EmailField(), ["=?utf-8?q?b=6Fmb?=@x.test", '"b"@x.test', "b@[10.0.0.1]"], EMAIL),
    (EmailField(), ["a" * 250 + "@b.example"], TOO_LONG, 254),
    (
        StrictBooleanField(),
        [0, 1, "true", "false", "1", "", "on", [], {}, [True]],
        FLAG,
    ),
    (StrictBooleanField(), [Decimal("1.0")], FLAG),
    (StrictBooleanField(), [None], MISSING),
    (QueryBooleanField(), ["yes", "on", "2", "01", " true", "true ", "tru"], FLAG),
    (QueryBooleanField(), ["\uff11", "null", "İ"], FLAG),
    (ExactAmountField(), [None, NOT_SENT], MISSING),
    (
        ExactAmountField(),
        [
            *("", " ", " 5 ", "5 ", "+5", ".5", "5.", "5,0", "1e2", "1_000", "1 000"),
            *("1,000.00", "--5", "0x10", "NaN", "Infinity", "-Infinity", "\uff15"),
            *("\u0665", "5\n", "5\x00", "€5", True, False, [], [5], {}, {"amount": 5}),
        ],
        NOT_A_NUMBER,
    ),
    (MetaDataField(), [[{}], "", "plan", 1, True], WRONG_TYPE, "object"),
    (MetaDataField(), [{"": "v"}], TOO_SHORT, 1, "[]"),
    (MetaDataField(), [{"k" * 65: "v"}], TOO_LONG, 64, f"[{'k' * 65}]"),
    (MetaDataField(), [{"plan": "v" * 256}], TOO_LONG, 255, "[plan]"),
    (
        MetaDataField(),
        [{"plan": None}, {"plan": []}, {"plan": {}}],
        *(WRONG_TYPE, "string", "[plan]"),
    ),
    (
        MetaDataField(),
        [{f"k{n}": "v" for n in range(11)}],
        *("Meta data holds {{ limit }} keys at most.", 10),
    ),
    *(
        (MetaDataField(), [{f"a{letter}b": "v"}], NOT_ALLOWED, None, f"[a{letter}b]")
        for letter in "\":{}]\\'/&"
    ),
    (
        MetaDataField(),
        [{"a": 10**13}, {"a": Decimal("1234567890.123456")}],
        *(TOO_MANY_DIGITS, None, "[a]"),
    ),
]


def build_body(value):
    return {} if value is NOT_SENT else {"note": value}


def format_value(value):
    if isinstance(value, serializers.Field):
        return type(value).__name__
    return "not sent" if value is NOT_SENT else ascii(value)[:24]


@pytest.mark.parametrize(
    ("field", "sent", "kept"),
    [(field, value, value) for field, values in KEPT for value in values] + CHANGED,
    ids=format_value,
)
def test_keeps_a_value(field, sent, kept):
    stored = validate_body(make_serializer(note=field), build_body(sent))

    assert stored == build_body(kept)
    if kept is not NOT_SENT:
        assert type(stored["note"]) is type(kept)
        if isinstance(kept, dict):
            assert list(stored["note"]) == list(kept)


@pytest.mark.parametrize(
    ("field", "value", "template", "words", "path"),
    [
        (field, value, template, *more, *(None, "")[len(more) :])
        for field, values, template, *more in REJECTED
        for value in values
    ],
    ids=format_value,
)
def test_rejects_a_value(field, value, template, words, path):
    errors = list_validation_errors(make_serializer(note=field), build_body(value))

    assert errors == [build_field_error(f"note{path}", template, words)]


def test_lists_every_error_of_meta_data():
    sent = {"a&b": "v", "plan": None, "fine": "v", "long": "v" * 256}

    errors = list_validation_errors(make_serializer(note=MetaDataField()), {"note": sent})

    assert errors == [
        build_field_error("note[a&b]", NOT_ALLOWED),
        build_field_error("note[plan]", WRONG_TYPE, "string"),
        build_field_error("note[long]", TOO_LONG, 255),
    ]


@pytest.mark.parametrize(("limit", "length"), [(255, 256), (64, 65), (1000, 1001)], ids=str)
@pytest.mark.parametrize("letter", ["x", "é", "🙂", " x"])
def test_limits_the_characters_of_text(limit, length, letter):
    serializer_class = make_serializer(note=TextField(max_length=limit))
    longest, longer = ((letter * length)[:n] for n in (limit, length))

    assert validate_body(serializer_class, {"note": longest}) == {"note": longest}
    assert list_validation_errors(serializer_class, {"note": longer}) == [
        build_field_error("note", TOO_LONG, limit)
    ]


# Amounts


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
    amount = clean_amount(Decimal(exact), currency)

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
def test_rejects_an_amount_that_cannot_be_stored(exact, currency, template):
    with pytest.raises(ValidationError) as raised:
        clean_amount(Decimal(exact), currency)

    assert list(flatten_errors(raised.value.detail)) == [build_field_error("", template)]


# Objects


class DummyCountrySerializer(InputSerializer):
    code = TrimmedTextField()


class DummyPlaceSerializer(InputSerializer):
    city = TextField()
    country = DummyCountrySerializer()


class DummyConversionSerializer(InputSerializer):
    aliases = {"visitor_id": "tracking_id", "click.id": "click_id"}

    tracking_id = TrimmedTextField(required=False)
    click_id = TrimmedTextField(required=False)
    comment = TextField(required=False, allow_null=True)
    place = DummyPlaceSerializer(required=False)
    meta_data = MetaDataField(required=False)


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
def test_ignores_unknown_fields(body):
    assert validate_body(DummyConversionSerializer, body) == {}


@pytest.mark.parametrize("name", ["tracking_id", "click_id", "place", "meta_data"])
def test_treats_null_as_not_sent(name):
    assert validate_body(DummyConversionSerializer, {name: None}) == {}


def test_accepts_null_for_a_field_that_allows_it():
    assert validate_body(DummyConversionSerializer, {"comment": None}) == {"comment": None}


def test_treats_an_empty_object_as_not_sent():
    assert validate_body(DummyConversionSerializer, {"place": {}}) == {}
    assert validate_body(DummyConversionSerializer, {"meta_data": {}}) == {"meta_data": {}}


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
def test_resolves_aliases(body, kept):
    assert validate_body(DummyConversionSerializer, body) == kept


def test_error_of_an_alias_has_the_canonical_name():
    assert list_validation_errors(DummyConversionSerializer, {"visitor_id": []}) == [
        build_field_error("tracking_id", WRONG_TYPE, "string")
    ]


def test_lists_errors_in_the_order_of_the_fields():
    body = {
        "meta_data": ["a"],
        "place": {"country": {"code": 1.5}},
        "click_id": True,
        "tracking_id": [],
    }

    paths = [
        error["property_path"] for error in list_validation_errors(DummyConversionSerializer, body)
    ]
    assert paths == [
        "tracking_id",
        "click_id",
        "place.city",
        "place.country.code",
        "meta_data",
    ]


@pytest.mark.parametrize("value", ["a", 1, True, [], ["a"]], ids=repr)
def test_rejects_other_types_for_an_object(value):
    assert list_validation_errors(DummyConversionSerializer, {"place": value}) == [
        build_field_error("place", WRONG_TYPE, "object")
    ]


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
def test_lists_the_paths_of_missing_nested_fields(place, paths):
    errors = list_validation_errors(DummyConversionSerializer, {"place": place})

    assert [error["property_path"] for error in errors] == paths


# Lists


class DummyLineItemSerializer(InputSerializer):
    sub_amount = ExactAmountField()


class DummyLineItemsSerializer(InputSerializer):
    commissions = ObjectListField(child=DummyLineItemSerializer(), max_items=3, required=False)


def test_keeps_the_order_of_a_list():
    body = {"commissions": [{"sub_amount": 2}, {"sub_amount": "1.5"}]}

    items = validate_body(DummyLineItemsSerializer, body)["commissions"]

    assert [item["sub_amount"] for item in items] == [Decimal(2), Decimal("1.5")]


@pytest.mark.parametrize(
    ("sent", "errors"),
    [
        ({}, [build_field_error("commissions", WRONG_TYPE, "array")]),
        ("a", [build_field_error("commissions", WRONG_TYPE, "array")]),
        ([{}], [build_field_error("commissions[0].sub_amount", MISSING)]),
        (
            [{"sub_amount": 1}, {"sub_amount": "x"}],
            [build_field_error("commissions[1].sub_amount", NOT_A_NUMBER)],
        ),
        (
            [{"sub_amount": 1}, 7],
            [build_field_error("commissions[1]", WRONG_TYPE, "object")],
        ),
        (
            [{"sub_amount": 1}] * 4,
            [build_field_error("commissions", "This list holds {{ limit }} items at most.", 3)],
        ),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_rejects_a_list_with_the_path_of_the_item(sent, errors):
    assert list_validation_errors(DummyLineItemsSerializer, {"commissions": sent}) == errors


# Fields as declarations


def list_input_serializers(base=InputSerializer):
    """All classes of the site, without those of tests."""
    for serializer_class in base.__subclasses__():
        if serializer_class.__module__.startswith("affiliate_site."):
            yield serializer_class
            yield from list_input_serializers(serializer_class)


def test_declares_only_what_validation_reads():
    for serializer_class in list_input_serializers():
        assert not [name for name in vars(serializer_class) if "validate_" in name]
        for field in serializer_class._declared_fields.values():
            assert field.default is serializers.empty
            assert field.source is None
            assert not field.read_only


def test_does_not_change_the_declared_fields():
    item_class = make_serializer(sub_amount=ExactAmountField())
    serializer_class = make_serializer(
        items=ObjectListField(child=item_class(), max_items=2), item=item_class()
    )
    declared = serializer_class._declared_fields
    child = declared["items"].child
    body = {"items": [{"sub_amount": 1}], "item": {"sub_amount": 2}}

    assert validate_body(serializer_class, body) == {
        "items": [{"sub_amount": Decimal(1)}],
        "item": {"sub_amount": Decimal(2)},
    }

    assert declared["items"].child is child
    assert child.parent is declared["items"]
    assert declared["item"].parent is None
    assert not hasattr(child, "sent_values")
    assert not hasattr(declared["item"], "sent_values")
