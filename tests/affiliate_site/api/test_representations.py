"""One declaration gives the columns, the answer, its schema and its example."""

import pytest
from rest_framework import serializers

from affiliate_site.api.representations.base import (
    ACCOUNT,
    AlwaysNull,
    Amount,
    Boolean,
    Choice,
    Inline,
    Integer,
    List,
    Map,
    Nested,
    NestedList,
    Representation,
    Text,
    TextMap,
    Time,
)

ACCOUNT_OBJECT = object()


class ShopRepresentation(Representation):
    """A shop."""

    id = Text("slug", example="tea")
    city = Text(null=True)


class TagRepresentation(Representation):
    """A tag."""

    name = Text(example="new")


def join(first, second):
    return f"{first}-{second}"


def get_account(name, account):
    return account


class TagQuery:
    """Stands for a compiled query of tags."""

    def all(self, **values):
        self.values = values
        return [(2, "a"), (1, "b"), (2, "c")]


TAG_QUERY = TagQuery()


class OrderRepresentation(Representation):
    """An order."""

    id = Integer(example=7)
    number = Text("year", "serial", function=join, example="2026-7")
    owner = Text("name", ACCOUNT, function=get_account)
    shop = Nested(ShopRepresentation, "shop")
    buyer = Nested(ShopRepresentation, "buyer", null=True, hidden_by="deleted_at")
    seal = AlwaysNull(TagRepresentation)
    tags = NestedList(TagRepresentation, TAG_QUERY)


class PaidOrderRepresentation(OrderRepresentation):
    """A paid order."""

    price = Amount(example=1.5)


class DeliveryRepresentation(Representation):
    """A delivery with the keys of its order's shop."""

    shop_keys = Inline(ShopRepresentation, "order__shop")
    shop = Nested(ShopRepresentation, "order__shop")
    at = Time(example="2026-05-01T07:30:00+00:00")


COLUMNS = (
    *("id", "year", "serial", "name", "shop__slug", "shop__city", "buyer__slug"),
    *("buyer__city", "buyer__deleted_at"),
)
ROW = (2, 2026, 7, "x", "tea", "Oslo", "ann", None, None)


def represent(row=ROW):
    return OrderRepresentation.represent(row, ACCOUNT_OBJECT)


def test_lists_each_column_once_in_the_order_of_the_keys():
    assert OrderRepresentation.columns == COLUMNS
    assert PaidOrderRepresentation.columns == (*COLUMNS, "price")
    assert DeliveryRepresentation.columns == (
        "order__shop__slug",
        "order__shop__city",
        "at",
    )


def test_represents_a_row():
    answer = represent()

    assert answer == {
        "id": 2,
        "number": "2026-7",
        "owner": ACCOUNT_OBJECT,
        "shop": {"id": "tea", "city": "Oslo"},
        "buyer": {"id": "ann", "city": None},
        "seal": None,
        "tags": [{"name": "a"}, {"name": "c"}],
    }
    assert list(answer) == list(OrderRepresentation.keys)


def test_represents_the_keys_of_an_included_representation():
    answer = DeliveryRepresentation.represent(("tea", "Oslo", "now"), ACCOUNT_OBJECT)

    assert answer == {
        "id": "tea",
        "city": "Oslo",
        "shop": {"id": "tea", "city": "Oslo"},
        "at": "now",
    }
    assert list(answer) == ["id", "city", "shop", "at"]


@pytest.mark.parametrize(
    ("changes", "is_null"),
    [
        ({}, False),
        ({"buyer__slug": None, "buyer__city": "Bergen"}, False),
        ({"buyer__slug": None}, True),
        ({"buyer__deleted_at": "now"}, True),
    ],
)
def test_nested_object_is_null_without_values_or_if_hidden(changes, is_null):
    row = OrderRepresentation.replace(ROW, **changes)

    assert (represent(row)["buyer"] is None) is is_null


def test_loads_nested_lists_of_all_rows_once():
    rows = [ROW, OrderRepresentation.replace(ROW, id=3)]

    answers = OrderRepresentation.represent_all(rows, ACCOUNT_OBJECT)

    assert TAG_QUERY.values == {"account": ACCOUNT_OBJECT, "parents": [2, 3]}
    assert [len(answer["tags"]) for answer in answers] == [2, 0]


def test_replaces_values_by_column():
    assert OrderRepresentation.replace(ROW, name="y") == (*ROW[:3], "y", *ROW[4:])


def test_has_an_example():
    assert PaidOrderRepresentation.get_example() == {
        "id": 7,
        "number": "2026-7",
        "owner": None,
        "shop": {"id": "tea", "city": None},
        "buyer": {"id": "tea", "city": None},
        "seal": None,
        "tags": [{"name": "new"}],
        "price": 1.5,
    }


def test_describes_its_keys_by_a_serializer():
    class EveryTypeRepresentation(OrderRepresentation):
        """Every type."""

        kind = Choice(choices=["a", "b"])
        words = List(null=True)
        numbers = Map(child=serializers.IntegerField())
        texts = TextMap(null=True)
        is_new = Boolean(help_text="since a week")

    serializer_class = EveryTypeRepresentation.get_serializer_class()
    fields = serializer_class().fields

    assert serializer_class.__name__ == "EveryTypeSerializer"
    assert serializer_class.__doc__ == "Every type."
    assert serializer_class is EveryTypeRepresentation.get_serializer_class()
    assert list(fields) == list(EveryTypeRepresentation.keys)
    assert {name for name, field in fields.items() if field.allow_null} == {
        "buyer",
        "seal",
        "words",
        "texts",
    }
    assert isinstance(fields["numbers"].child, serializers.IntegerField)
    assert fields["is_new"].help_text == "since a week"
