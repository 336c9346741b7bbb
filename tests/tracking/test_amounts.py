"""AmountField: BIGINT of a ten-thousandth, exact on both engines."""

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
def keep(account):
    """Store amounts, one row each: `keep("0.1", "0.2")`."""

    def kept(*amounts):
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

    return kept


EXACT = [
    "0",
    "0.0001",
    "0.1",
    "49.9",
    "3.7425",
    "9999999999999.99",
    "999999999999.999",
    "90071992547409.93",
    "922337203685477.5807",
]


@pytest.mark.parametrize("amount", EXACT)
def test_gives_back_what_it_was_given(keep, amount):
    stored = keep(amount).get().value

    assert stored == Decimal(amount)
    assert isinstance(stored, Decimal)


@pytest.mark.parametrize("amount", EXACT)
def test_finds_a_row_by_its_amount(keep, amount):
    rows = keep(amount)

    assert rows.filter(value=Decimal(amount)).exists()
    assert rows.filter(value__lte=Decimal(amount)).exists()
    assert not rows.filter(value__lt=Decimal(amount)).exists()
    assert rows.filter(value__in=[Decimal(amount)]).exists()


def test_is_a_whole_number_in_the_database(keep):
    keep("49.9")

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
    ids=["tenths", "floats' trap", "four decimals", "sixteen digits", "nine largest"],
)
def test_sums_exactly(keep, amounts, total):
    rows = keep(*amounts)

    summed = rows.aggregate(total=Sum("value"))["total"]

    assert summed == Decimal(total)
    assert isinstance(summed, Decimal)


def test_sums_groups_exactly(keep):
    rows = keep("0.1", "0.2", "0.7").order_by()

    groups = rows.values("kind").annotate(total=Sum("value"))

    assert [group["total"] for group in groups] == [Decimal(1)]


def test_sums_nothing_to_nothing(account):
    assert account.commission_types.aggregate(total=Sum("value"))["total"] is None


def test_finds_the_largest_and_the_smallest(keep):
    rows = keep("9.5", "10.25", "0.0001")

    found = rows.aggregate(most=Max("value"), least=Min("value"))

    assert found == {"most": Decimal("10.25"), "least": Decimal("0.0001")}


def test_orders_as_numbers(keep):
    rows = keep("9.5", "10.25", "0.0001").order_by("value")

    assert list(rows.values_list("value", flat=True)) == [
        Decimal("0.0001"),
        Decimal("9.5"),
        Decimal("10.25"),
    ]


def test_is_checked_by_the_database(keep):
    with pytest.raises(IntegrityError), transaction.atomic():
        keep("-0.0001")


REFUSED = {
    "a float": 49.9,
    "a whole float": 50.0,
    "a fifth decimal": Decimal("0.00001"),
    "a fifth decimal after a long amount": Decimal("1234567890.12345"),
    "a digit far behind the point": Decimal("1." + "0" * 40 + "1"),
    "many decimals": Decimal(1) / Decimal(3),
    "too large": LARGEST + Decimal("0.0001"),
    "too small": -LARGEST - Decimal("0.0002"),
    "immense": Decimal("1E+50"),
    "infinite": Decimal("Infinity"),
    "not a number": Decimal("NaN"),
}


@pytest.mark.parametrize("odd", REFUSED.values(), ids=REFUSED)
def test_refuses_an_odd_value_before_any_sql(keep, odd, statements):
    row = keep("1").get()
    row.value = odd

    with statements() as asked, pytest.raises(ValidationError):
        row.change(value=odd)
    with statements() as asked_too, pytest.raises(ValidationError):
        row.save()

    assert len(asked) == len(asked_too) == 0


@pytest.mark.parametrize("odd", [49.9, Decimal("0.00001")], ids=str)
def test_refuses_an_odd_value_in_a_filter(account, odd):
    with pytest.raises(ValidationError):
        account.commission_types.filter(value=odd).exists()


@pytest.mark.parametrize("amount", ["1.0000", "1.00000", "1.0", "1"])
def test_takes_noughts_behind_the_point(amount):
    assert field.get_prep_value(Decimal(amount)) == 10000


@pytest.mark.parametrize(
    ("given", "stored"), [(5, 50000), ("5.25", 52500), (None, None)]
)
def test_takes_whole_numbers_and_text(given, stored):
    assert field.get_prep_value(given) == stored


@given(st.decimals(-LARGEST, LARGEST, allow_nan=False, places=4))
def test_loses_nothing_on_the_way_there_and_back(amount):
    stored = field.get_prep_value(amount)

    assert isinstance(stored, int)
    assert field.from_db_value(stored, None, connection) == amount


def test_refuses_arithmetic_of_columns_without_a_type(account):
    with pytest.raises(FieldError):
        str(account.commission_types.annotate(twice=F("value") + F("value")).query)


def test_is_no_integer_field():
    """An integer's own field would make arithmetic of columns silently wrong."""
    assert not isinstance(field, models.IntegerField | models.DecimalField)
    assert field.db_type(connection) == "bigint"
