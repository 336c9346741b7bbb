"""AmountField: exact amounts in a BIGINT column, on SQLite and PostgreSQL."""

from decimal import Decimal

import pytest
from django.core.exceptions import FieldError, ValidationError
from django.db import IntegrityError, connection, models, transaction
from django.db.models import F, Max, Min, Sum
from hypothesis import given
from hypothesis import strategies as st

from payouts.models.commission_types import CommissionType, RateKind
from tests.factories.tracking import ProgramFactory
from tracking.amounts import AmountField

LARGEST = Decimal("922337203685477.5807")

field = AmountField()


@pytest.fixture
def store_amounts(account):
    """Store each amount in a row: `store_amounts("0.1", "0.2")`."""

    def store(*amounts):
        for amount in amounts:
            CommissionType.objects.create(
                account=account,
                program=ProgramFactory(account=account),
                identifier="standard",
                title="Standard",
                kind=RateKind.FIXED,
                value=Decimal(amount),
            )
        return account.commission_types.order_by("id")

    return store


EXACT = [
    *("0", "0.0001", "0.1", "49.9", "3.7425", "9999999999999.99"),
    *("999999999999.999", "90071992547409.93", "922337203685477.5807"),
]


@pytest.mark.parametrize("amount", EXACT)
def test_returns_the_stored_amount(store_amounts, amount):
    stored = store_amounts(amount).get().value

    assert stored == Decimal(amount)
    assert isinstance(stored, Decimal)


@pytest.mark.parametrize("amount", EXACT)
def test_finds_a_row_by_its_amount(store_amounts, amount):
    rows = store_amounts(amount)

    assert rows.filter(value=Decimal(amount)).exists()
    assert rows.filter(value__lte=Decimal(amount)).exists()
    assert not rows.filter(value__lt=Decimal(amount)).exists()
    assert rows.filter(value__in=[Decimal(amount)]).exists()


def test_stores_an_integer(store_amounts):
    store_amounts("49.9")

    with connection.cursor() as cursor:
        cursor.execute("SELECT value FROM payouts_commissiontype")
        assert cursor.fetchone() == (499000,)


@pytest.mark.parametrize(
    ("amounts", "total"),
    [
        (["0.1"] * 10, "1"),
        (["0.1", "0.2"], "0.3"),
        (["90071992547.9399"] * 3, "270215977643.8197"),
        (["90071992547409.93"] * 3, "270215977642229.79"),
        (["9999999999999.99"] * 9, "89999999999999.91"),
    ],
    ids=["tenths", "inexact floats", "four decimals", "sixteen digits", "nine large"],
)
def test_sums_exactly(store_amounts, amounts, total):
    rows = store_amounts(*amounts)

    summed = rows.aggregate(total=Sum("value"))["total"]

    assert summed == Decimal(total)
    assert isinstance(summed, Decimal)


def test_sums_groups_exactly(store_amounts):
    rows = store_amounts("0.1", "0.2", "0.7").order_by()

    groups = rows.values("kind").annotate(total=Sum("value"))

    assert [group["total"] for group in groups] == [Decimal(1)]


def test_sum_of_no_rows_is_none(account):
    assert account.commission_types.aggregate(total=Sum("value"))["total"] is None


def test_finds_the_largest_and_the_smallest(store_amounts):
    rows = store_amounts("9.5", "10.25", "0.0001")

    extremes = rows.aggregate(max=Max("value"), min=Min("value"))

    assert extremes == {"max": Decimal("10.25"), "min": Decimal("0.0001")}


def test_orders_as_numbers(store_amounts):
    rows = store_amounts("9.5", "10.25", "0.0001").order_by("value")

    assert list(rows.values_list("value", flat=True)) == [
        Decimal("0.0001"),
        Decimal("9.5"),
        Decimal("10.25"),
    ]


def test_check_constraints_apply(store_amounts):
    with pytest.raises(IntegrityError), transaction.atomic():
        store_amounts("-0.0001")


INVALID = {
    "a float": 49.9,
    "a whole float": 50.0,
    "a fifth decimal": Decimal("0.00001"),
    "a fifth decimal after a long amount": Decimal("1234567890.12345"),
    "a digit far after the point": Decimal("1." + "0" * 40 + "1"),
    "many decimals": Decimal(1) / Decimal(3),
    "too large": LARGEST + Decimal("0.0001"),
    "too small": -LARGEST - Decimal("0.0002"),
    "immense": Decimal("1E+50"),
    "infinite": Decimal("Infinity"),
    "not a number": Decimal("NaN"),
}


@pytest.mark.parametrize("value", INVALID.values(), ids=INVALID)
def test_rejects_an_invalid_value_before_any_query(store_amounts, value, capture_queries):
    row = store_amounts("1").get()
    row.value = value

    with capture_queries() as update_queries, pytest.raises(ValidationError):
        row.update_row(value=value)
    with capture_queries() as save_queries, pytest.raises(ValidationError):
        row.save()

    assert len(update_queries) == len(save_queries) == 0


@pytest.mark.parametrize("value", [49.9, Decimal("0.00001")], ids=str)
def test_rejects_an_invalid_value_in_a_filter(account, value):
    with pytest.raises(ValidationError):
        account.commission_types.filter(value=value).exists()


@pytest.mark.parametrize("amount", ["1.0000", "1.00000", "1.0", "1"])
def test_accepts_trailing_zeros(amount):
    assert field.get_prep_value(Decimal(amount)) == 10000


@pytest.mark.parametrize(("given", "stored"), [(5, 50000), ("5.25", 52500), (None, None)])
def test_accepts_integers_and_text(given, stored):
    assert field.get_prep_value(given) == stored


@given(st.decimals(-LARGEST, LARGEST, allow_nan=False, places=4))
def test_round_trip_is_exact(amount):
    stored = field.get_prep_value(amount)

    assert isinstance(stored, int)
    assert field.from_db_value(stored, None, connection) == amount


def test_rejects_arithmetic_of_columns_without_output_field(account):
    with pytest.raises(FieldError):
        str(account.commission_types.annotate(twice=F("value") + F("value")).query)


def test_is_not_an_integer_field():
    """With an integer field, arithmetic of columns would silently be wrong."""
    assert not isinstance(field, models.IntegerField | models.DecimalField)
    assert field.db_type(connection) == "bigint"
