"""Commission calculation (docs/api-contract.md, section 7.2)."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from payouts.calculation import (
    ApprovalContext,
    CalculationInput,
    CommissionRate,
    LineItem,
    RateSource,
    RateSourceKind,
    calculate_commissions,
)
from tracking.money import get_exponent

CURRENCIES = ["EUR", "JPY", "KWD"]


def percent(value):
    source = RateSource(RateSourceKind.COMMISSION_TYPE, "standard")
    return CommissionRate("standard", "Standard", "percentage", Decimal(value), source)


def fixed(value):
    source = RateSource(RateSourceKind.COMMISSION_TYPE, "flat")
    return CommissionRate("flat", "Flat", "fixed", Decimal(value), source)


def build_calculation_input(*line_items, rates, currency="EUR", **more):
    return CalculationInput(
        currency=currency,
        affiliate_id=7,
        line_items=line_items,
        rates=rates,
        approval_context=ApprovalContext(**({"is_auto_approved": False} | more)),
    )


def calculate_single_amount(sub_amount, rate, currency="EUR"):
    """Calculate the commission of one draft item."""
    draft = calculate_commissions(
        build_calculation_input(
            LineItem(Decimal(sub_amount)), rates={"default": rate}, currency=currency
        )
    )[0]
    return draft.amount


@pytest.mark.parametrize(
    ("sub_amount", "rate", "expected"),
    [
        pytest.param("200.00", "10", "20", id="tenth"),
        pytest.param("49.90", "7.5", "3.74", id="the-contracts-3.7425"),
        pytest.param("0.05", "10", "0.01", id="half-a-cent-goes-up"),
        pytest.param("0.04", "10", "0", id="less-than-half-a-cent"),
        pytest.param("0.33", "1.5", "0", id="0.00495-is-rounded-once"),
        pytest.param("1.00", "0.4999", "0", id="0.004999"),
        pytest.param("1.00", "0.5", "0.01", id="0.005"),
        pytest.param("9999999999999.99", "100", "9999999999999.99", id="the-most"),
        pytest.param("9999999999999.99", "33.3333", "3333330000000", id="long"),
        pytest.param("200", "0", "0", id="zero-percent"),
        pytest.param("0", "10", "0", id="of-zero"),
    ],
)
def test_calculates_a_percentage_of_the_sub_amount(sub_amount, rate, expected):
    assert calculate_single_amount(sub_amount, percent(rate)) == Decimal(expected)


@pytest.mark.parametrize(
    ("currency", "sub_amount", "expected"),
    [
        pytest.param("JPY", "15", "2", id="JPY-half-goes-up"),
        pytest.param("JPY", "14", "1", id="JPY-below-half"),
        pytest.param("KWD", "0.005", "0.001", id="KWD-half-goes-up"),
        pytest.param("KWD", "0.004", "0", id="KWD-below-half"),
        pytest.param("KWD", "1.234", "0.123", id="KWD-three-decimals"),
    ],
)
def test_rounds_to_the_minor_unit_of_the_currency(currency, sub_amount, expected):
    assert calculate_single_amount(sub_amount, percent(10), currency) == Decimal(expected)


@pytest.mark.parametrize("currency", CURRENCIES)
@pytest.mark.parametrize("sub_amount", ["0", "0.01", "200", "9999999999999"])
def test_keeps_a_fixed_amount_in_any_currency(currency, sub_amount):
    assert calculate_single_amount(sub_amount, fixed("5"), currency) == Decimal(5)


def test_builds_a_draft_for_each_line_item_in_order():
    line_items = [
        LineItem(Decimal("200.00")),
        LineItem(Decimal(0), comment="nothing"),
        LineItem(Decimal("49.90"), "lamps", "a lamp"),
    ]
    rates = {"default": percent(10), "lamps": percent("7.5")}

    drafts = calculate_commissions(build_calculation_input(*line_items, rates=rates))

    assert [draft.line_item for draft in drafts] == line_items
    assert [draft.affiliate_id for draft in drafts] == [7, 7, 7]
    assert [draft.exact_amount for draft in drafts] == [
        Decimal(20),
        Decimal(0),
        Decimal("3.7425"),
    ]
    assert [draft.amount for draft in drafts] == [
        Decimal(20),
        Decimal(0),
        Decimal("3.74"),
    ]


@pytest.mark.parametrize(
    ("is_auto_approved", "warnings", "is_past_cap", "status", "reason"),
    [
        pytest.param(
            *(False, (), False, "pending"),
            "program_requires_approval",
            id="pending",
        ),
        pytest.param(
            *(True, (), False, "approved"),
            "program_approves",
            id="approves",
        ),
        pytest.param(
            *(True, ("customer_is_affiliate",), False, "pending"),
            "needs_review",
            id="warned",
        ),
        pytest.param(
            *(False, ("one", "another"), False, "pending"),
            "needs_review",
            id="warned-twice",
        ),
        pytest.param(
            *(False, (), True, "disapproved"),
            "cap_reached",
            id="past-the-cap",
        ),
        pytest.param(
            *(True, ("customer_is_affiliate",), True, "disapproved"),
            "cap_reached",
            id="past-the-cap-and-warned",
        ),
    ],
)
def test_determines_initial_status_and_reason(
    is_auto_approved, warnings, is_past_cap, status, reason
):
    line_items = [LineItem(Decimal(200)), LineItem(Decimal(0))]

    drafts = calculate_commissions(
        build_calculation_input(
            *line_items,
            rates={"default": percent(10)},
            is_auto_approved=is_auto_approved,
            warnings=warnings,
            is_past_cap=is_past_cap,
        )
    )

    assert [(draft.status, draft.reason) for draft in drafts] == [(status, reason)] * 2


@pytest.mark.parametrize(
    ("context", "status", "reason"),
    [
        pytest.param({}, "approved", "program_approves", id="approval-can-be-undone"),
        pytest.param({"is_approval_final": True}, "pending", "under_review", id="final"),
        pytest.param(
            {"is_approval_final": True, "is_disputed": True, "has_funds": False},
            *("pending", "under_review"),
            id="before-a-dispute",
        ),
        pytest.param(
            {"is_approval_final": True, "is_past_cap": True},
            *("disapproved", "cap_reached"),
            id="after-the-cap",
        ),
        pytest.param({"base_status": "approved"}, "approved", "base_commission", id="level"),
        pytest.param(
            {"base_status": "approved", "is_approval_final": True},
            *("pending", "under_review"),
            id="level-of-who-is-under-review",
        ),
        pytest.param(
            {"base_status": "pending", "is_approval_final": True},
            *("pending", "base_commission"),
            id="level-of-a-pending-one",
        ),
    ],
)
def test_what_is_under_review_is_pending_where_approval_is_final(context, status, reason):
    item = LineItem(Decimal(200))
    values = {"is_auto_approved": True, "is_under_review": True} | context

    (draft,) = calculate_commissions(
        build_calculation_input(item, rates={"default": percent(10)}, **values)
    )

    assert (draft.status, draft.reason) == (status, reason)
    assert draft.is_held == (status != "disapproved")


def test_serializes_enough_to_repeat_the_calculation():
    draft = calculate_commissions(
        build_calculation_input(LineItem(Decimal("49.90")), rates={"default": percent("7.5")})
    )[0]

    calculation = draft.serialize_calculation()

    assert calculation == {
        "engine": "1",
        "affiliate_id": 7,
        "sub_amount": "49.90",
        "rate": {
            "kind": "percentage",
            "value": "7.5",
            "source": {"kind": "commission_type", "commission_type": "standard"},
        },
        "exact_amount": calculation["exact_amount"],
        "amount": "3.74",
        "status": "pending",
        "reason": "program_requires_approval",
        "approval_context": {
            "is_auto_approved": False,
            "warnings": [],
            "is_unverified_browser_sale": False,
            "is_past_cap": False,
            "has_funds": True,
            "base_status": None,
            "is_disputed": False,
            "is_under_review": False,
            "is_approval_final": False,
        },
    }
    assert Decimal(calculation["exact_amount"]) == Decimal("3.7425")


@given(
    currency=st.sampled_from(CURRENCIES),
    units=st.integers(min_value=0, max_value=10**15 - 1),
    rate=st.integers(min_value=0, max_value=100 * 10_000),
)
def test_agrees_with_integer_arithmetic_for_any_percentage(currency, units, rate):
    decimals = get_exponent(currency)
    units %= 10 ** (13 + decimals)
    numerator, denominator = units * rate, 100 * 10_000
    half_up = (2 * numerator + denominator) // (2 * denominator)

    expected = calculate_single_amount(
        Decimal(units).scaleb(-decimals), percent(Decimal(rate).scaleb(-4)), currency
    )

    assert expected == Decimal(half_up).scaleb(-decimals)
    assert expected == expected.quantize(Decimal(1).scaleb(-decimals))


@given(
    currency=st.sampled_from(CURRENCIES),
    units=st.integers(min_value=0, max_value=10**13 - 1),
    sub_amount=st.decimals(min_value=0, max_value=10**12, places=3),
)
def test_pays_a_fixed_amount_for_any_sub_amount(currency, units, sub_amount):
    value = Decimal(units).scaleb(-get_exponent(currency))

    assert calculate_single_amount(sub_amount, fixed(value), currency) == value


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (RateSource(RateSourceKind.COMMISSION_TYPE, "flat"), "commission type flat"),
        (RateSource(RateSourceKind.GROUP, "flat", group="ag_1"), "group ag_1 for type flat"),
        (RateSource(RateSourceKind.LEVEL, level=2), "level 2 of the program"),
        (RateSource(RateSourceKind.BONUS), "bonus"),
    ],
)
def test_source_of_a_rate_is_stored_as_data_and_described(source, text):
    stored = json.loads(json.dumps(source.serialize()))

    assert RateSource(**stored) == source
    assert source.describe() == text
