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


def build_field_error(path, template, **values):
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
def test_keeps_text_unchanged(sent, kept):
    assert validate_body(make_serializer(note=TextField()), {"note": sent}) == {
        "note": kept
    }


@pytest.mark.parametrize("blank", ["", " ", "\n\t"], ids=repr)
def test_keeps_blank_text_of_an_optional_field(blank):
    serializer_class = make_serializer(note=TextField(required=False))

    assert validate_body(serializer_class, {"note": blank}) == {"note": blank}


@pytest.mark.parametrize(
    "body",
    [{}, {"note": None}, {"note": ""}, {"note": " \t\n"}, {"note": "\u00a0"}],
    ids=str,
)
@pytest.mark.parametrize("kind", [TextField, TrimmedTextField, EmailField])
def test_requires_text_that_is_not_blank(kind, body):
    assert list_validation_errors(make_serializer(note=kind()), body) == [
        build_field_error("note", MISSING)
    ]


@pytest.mark.parametrize(
    "value",
    [True, False, Decimal("1.5"), Decimal("1E+2"), [], ["a"], {}, {"a": "b"}],
    ids=repr,
)
@pytest.mark.parametrize("kind", [TextField, TrimmedTextField, EmailField])
@pytest.mark.parametrize("required", [True, False])
def test_rejects_other_types_for_text(kind, value, required):
    errors = list_validation_errors(
        make_serializer(note=kind(required=required)), {"note": value}
    )

    assert errors == [build_field_error("note", WRONG_TYPE, type="string")]


@pytest.mark.parametrize(
    ("limit", "length"), [(255, 256), (64, 65), (1000, 1001)], ids=str
)
@pytest.mark.parametrize("letter", ["x", "é", "🙂", " x"])
def test_limits_the_characters_of_text(limit, length, letter):
    serializer_class = make_serializer(note=TextField(max_length=limit))
    longest, longer = ((letter * length)[:n] for n in (limit, length))

    assert validate_body(serializer_class, {"note": longest}) == {"note": longest}
    assert list_validation_errors(serializer_class, {"note": longer}) == [
        build_field_error("note", TOO_LONG, limit=limit)
    ]


def test_limits_the_digits_of_an_integer():
    errors = list_validation_errors(
        make_serializer(note=TextField(max_length=5)), {"note": 123456}
    )

    assert errors == [build_field_error("note", TOO_LONG, limit=5)]


def test_rejects_text_that_is_too_short():
    errors = list_validation_errors(
        make_serializer(word=TextField(min_length=8)), {"word": "1234567"}
    )

    assert errors == [build_field_error("word", TOO_SHORT, limit=8)]
    assert validate_body(
        make_serializer(word=TextField(min_length=8)), {"word": "12345678"}
    )


def test_truncates_text():
    serializer_class = make_serializer(
        referrer=TextField(max_length=2048, truncate=True)
    )

    kept = validate_body(serializer_class, {"referrer": "x" * 3000})

    assert kept == {"referrer": "x" * 2048}


# Trimmed text


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
def test_trims_outer_ascii_white_space(sent, kept):
    assert validate_body(make_serializer(code=TrimmedTextField()), {"code": sent}) == {
        "code": kept
    }


def test_limits_text_after_trimming():
    serializer_class = make_serializer(code=TrimmedTextField())

    assert validate_body(serializer_class, {"code": f"  {'x' * 255}  "}) == {
        "code": "x" * 255
    }


@pytest.mark.parametrize("sent", ["", "  "])
def test_distinguishes_empty_text_from_missing_text(sent):
    serializer_class = make_serializer(code=TrimmedTextField(required=False))

    assert validate_body(serializer_class, {"code": sent}) == {"code": ""}
    assert validate_body(serializer_class, {}) == {}


# E-mail


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("odette@example.org", "odette@example.org"),
        (" Odette.Varga+a@Example.ORG\n", "Odette.Varga+a@Example.ORG"),
        ("o@localhost", "o@localhost"),
    ],
)
def test_keeps_the_case_of_an_email_address(sent, kept):
    assert validate_body(make_serializer(email=EmailField()), {"email": sent}) == {
        "email": kept
    }


@pytest.mark.parametrize(
    "value",
    ["odette", "@", "a@", "@b.example", "a b@c.example", "a@b@c.example", "a@b..c", 7],
)
def test_rejects_an_invalid_email_address(value):
    errors = list_validation_errors(
        make_serializer(email=EmailField()), {"email": value}
    )

    assert errors == [build_field_error("email", "This is not a valid email address.")]


def test_rejects_an_email_address_that_is_too_long():
    errors = list_validation_errors(
        make_serializer(email=EmailField()), {"email": "a" * 250 + "@b.example"}
    )

    assert [error["property_path"] for error in errors] == ["email"]


# Booleans


@pytest.mark.parametrize("value", [True, False])
def test_accepts_true_and_false_in_a_body(value):
    assert validate_body(
        make_serializer(flag=StrictBooleanField()), {"flag": value}
    ) == {"flag": value}


@pytest.mark.parametrize(
    "value",
    [0, 1, "true", "false", "1", "", "on", [], {}, Decimal("1.0"), [True]],
    ids=repr,
)
def test_rejects_other_values_of_a_boolean_in_a_body(value):
    errors = list_validation_errors(
        make_serializer(flag=StrictBooleanField()), {"flag": value}
    )

    assert errors == [build_field_error("flag", "This value should be true or false.")]


def test_requires_a_boolean_unless_it_is_optional():
    assert list_validation_errors(
        make_serializer(flag=StrictBooleanField()), {"flag": None}
    ) == [build_field_error("flag", MISSING)]
    assert (
        validate_body(
            make_serializer(flag=StrictBooleanField(required=False)), {"flag": None}
        )
        == {}
    )


def test_accepts_null_for_a_boolean_that_allows_it():
    serializer_class = make_serializer(approved=StrictBooleanField(allow_null=True))

    assert validate_body(serializer_class, {"approved": None}) == {"approved": None}


@pytest.mark.parametrize(
    ("sent", "parsed"),
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
def test_accepts_four_values_of_a_boolean_in_a_query(sent, parsed):
    assert validate_body(make_serializer(flag=QueryBooleanField()), {"flag": sent}) == {
        "flag": parsed
    }


@pytest.mark.parametrize(
    "sent", ["yes", "on", "2", "01", " true", "true ", "tru", "\uff11", "null", "İ"]
)
def test_rejects_other_values_of_a_boolean_in_a_query(sent):
    errors = list_validation_errors(
        make_serializer(flag=QueryBooleanField()), {"flag": sent}
    )

    assert errors == [build_field_error("flag", "This value should be true or false.")]


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
def test_keeps_the_exact_amount(sent, kept):
    amount = validate_body(
        make_serializer(amount=ExactAmountField()), {"amount": sent}
    )["amount"]

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
def test_rejects_an_invalid_amount(value):
    errors = list_validation_errors(
        make_serializer(amount=ExactAmountField()), {"amount": value}
    )

    assert errors == [build_field_error("amount", NOT_A_NUMBER)]


def test_requires_an_amount():
    serializer_class = make_serializer(amount=ExactAmountField())

    assert list_validation_errors(serializer_class, {"amount": None}) == [
        build_field_error("amount", MISSING)
    ]
    assert list_validation_errors(serializer_class, {}) == [
        build_field_error("amount", MISSING)
    ]


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

    assert list(flatten_errors(raised.value.detail)) == [
        build_field_error("", template)
    ]


# Meta data


def validate_meta_data(value):
    return validate_body(
        make_serializer(meta_data=MetaDataField()), {"meta_data": value}
    )["meta_data"]


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
        ([], {}),  # PHP encodes an empty map so
    ],
    ids=lambda value: repr(value)[:24],
)
def test_stores_meta_data_as_text(sent, kept):
    assert validate_meta_data(sent) == kept
    assert list(validate_meta_data(sent)) == list(kept)


@pytest.mark.parametrize("value", [[{}], "", "plan", 1, True], ids=repr)
def test_rejects_other_types_for_meta_data(value):
    errors = list_validation_errors(
        make_serializer(meta_data=MetaDataField()), {"meta_data": value}
    )

    assert errors == [build_field_error("meta_data", WRONG_TYPE, type="object")]


NOT_ALLOWED = "This key holds a character that is not allowed."


@pytest.mark.parametrize(
    ("sent", "path", "template", "values"),
    [
        ({"": "v"}, "meta_data[]", TOO_SHORT, {"limit": 1}),
        ({"k" * 65: "v"}, f"meta_data[{'k' * 65}]", TOO_LONG, {"limit": 64}),
        ({"plan": "v" * 256}, "meta_data[plan]", TOO_LONG, {"limit": 255}),
        ({"plan": None}, "meta_data[plan]", WRONG_TYPE, {"type": "string"}),
        ({"plan": []}, "meta_data[plan]", WRONG_TYPE, {"type": "string"}),
        ({"plan": {}}, "meta_data[plan]", WRONG_TYPE, {"type": "string"}),
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
def test_rejects_meta_data_with_the_path_of_the_key(sent, path, template, values):
    errors = list_validation_errors(
        make_serializer(meta_data=MetaDataField()), {"meta_data": sent}
    )

    assert errors == [build_field_error(path, template, **values)]


def test_lists_every_error_of_meta_data():
    sent = {"a&b": "v", "plan": None, "fine": "v", "long": "v" * 256}

    errors = list_validation_errors(
        make_serializer(meta_data=MetaDataField()), {"meta_data": sent}
    )

    assert errors == [
        build_field_error("meta_data[a&b]", NOT_ALLOWED),
        build_field_error("meta_data[plan]", WRONG_TYPE, type="string"),
        build_field_error("meta_data[long]", TOO_LONG, limit=255),
    ]


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
    assert validate_body(DummyConversionSerializer, {"comment": None}) == {
        "comment": None
    }


def test_treats_an_empty_object_as_not_sent():
    assert validate_body(DummyConversionSerializer, {"place": {}}) == {}
    assert validate_body(DummyConversionSerializer, {"meta_data": {}}) == {
        "meta_data": {}
    }


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
        build_field_error("tracking_id", WRONG_TYPE, type="string")
    ]


def test_lists_errors_in_the_order_of_the_fields():
    body = {
        "meta_data": ["a"],
        "place": {"country": {"code": 1.5}},
        "click_id": True,
        "tracking_id": [],
    }

    paths = [
        error["property_path"]
        for error in list_validation_errors(DummyConversionSerializer, body)
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
        build_field_error("place", WRONG_TYPE, type="object")
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
    commissions = ObjectListField(
        child=DummyLineItemSerializer(), max_items=3, required=False
    )


def test_keeps_the_order_of_a_list():
    body = {"commissions": [{"sub_amount": 2}, {"sub_amount": "1.5"}]}

    items = validate_body(DummyLineItemsSerializer, body)["commissions"]

    assert [item["sub_amount"] for item in items] == [Decimal(2), Decimal("1.5")]


@pytest.mark.parametrize(
    ("sent", "errors"),
    [
        ({}, [build_field_error("commissions", WRONG_TYPE, type="array")]),
        ("a", [build_field_error("commissions", WRONG_TYPE, type="array")]),
        ([{}], [build_field_error("commissions[0].sub_amount", MISSING)]),
        (
            [{"sub_amount": 1}, {"sub_amount": "x"}],
            [build_field_error("commissions[1].sub_amount", NOT_A_NUMBER)],
        ),
        (
            [{"sub_amount": 1}, 7],
            [build_field_error("commissions[1]", WRONG_TYPE, type="object")],
        ),
        (
            [{"sub_amount": 1}] * 4,
            [
                build_field_error(
                    "commissions", "This list holds {{ limit }} items at most.", limit=3
                )
            ],
        ),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_rejects_a_list_with_the_path_of_the_item(sent, errors):
    assert (
        list_validation_errors(DummyLineItemsSerializer, {"commissions": sent})
        == errors
    )


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
