"""Refunds of a sale: all of it, an amount, or amounts of its lines."""

from datetime import timedelta
from decimal import Decimal

import pytest

from accounts.actor import use_actor
from payouts.errors import (
    CommissionNotFound,
    InvalidRefund,
    RefundOfFinalCommission,
    RefundTooLarge,
)
from payouts.models.commission_types import RateKind
from payouts.services.conversion_updates import add_commissions, update_conversion
from payouts.services.explanation import explain_conversion
from payouts.services.ledger import get_payable_balances_by_slug
from payouts.services.refunds import refund_conversion
from tests.factories.accounts import AccountFactory
from tests.ledger_checks import (
    assert_atomic,
    assert_ledger_consistent,
    snapshot_account,
)
from tests.program_scenario import CONVERSION_CREATED_AT, build_line_items
from tracking.errors import ConversionNotFound, NegativeAmount

pytestmark = pytest.mark.usefixtures("shared_scenario")

LATER = CONVERSION_CREATED_AT + timedelta(days=1)


@pytest.fixture
def scenario(scenario):
    scenario.create_commission_type("accessories", "7.5")
    scenario.create_commission_type("flat", "2.5", kind=RateKind.FIXED)
    yield scenario
    assert_ledger_consistent(scenario.account)


@pytest.fixture
def odette(scenario):
    """Mina's parent, who earns 3 % at level 2."""
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    scenario.add_child(scenario.mina, odette)
    scenario.create_level(2, "3")
    return odette


@pytest.fixture
def conversion(scenario, odette):
    """Lines of 100 (10 %), 40 (7.5 %) and 60 (2.50 fixed)."""
    return scenario.create_conversion("100", ("40", "accessories"), ("60", "flat"))


def refund(conversion, **arguments):
    arguments = {"reason": "Returned.", "at": LATER} | arguments
    return refund_conversion(conversion.account, conversion_id=conversion.pk, **arguments)


def refund_lines(conversion, amounts, **arguments):
    """Refund amounts by the numbers of the lines."""
    lines = list_commissions(conversion, "regular")
    amounts = {lines[number].pk: Decimal(text) for number, text in amounts.items()}
    return refund(conversion, line_amounts=amounts, **arguments)


def list_commissions(conversion, kind):
    rows = conversion.account.commissions.filter(conversion=conversion, kind=kind)
    return list(rows.order_by("id"))


def list_amounts(conversion, kind="regular"):
    """Sub-amount and amount of each commission of a kind."""
    return [
        (f"{row.sub_amount.normalize():f}", f"{row.amount.normalize():f}")
        for row in list_commissions(conversion, kind)
    ]


def assert_explained(conversion):
    """The stored calculations give the stored amounts."""
    explained = explain_conversion(conversion.account, conversion_id=conversion.pk)
    assert explained.differences == []


def test_a_full_refund_removes_the_conversion(account, scenario, conversion):
    for row in account.commissions.all():
        scenario.approve(row)

    with use_actor("staff 7"):
        row = refund(conversion)

    conversion.refresh_from_db()
    assert conversion.deleted_at == LATER
    assert account.commissions.not_deleted().count() == 0
    assert get_payable_balances_by_slug(account) == {}
    assert (row.amount, row.currency, row.is_full) == (200, "EUR", True)
    assert (row.reason, row.actor, row.created_at) == ("Returned.", "staff 7", LATER)
    assert [line["amount"] for line in row.lines] == ["100", "40", "60"]


def test_a_refunded_line_lowers_its_commissions_and_the_sale(conversion):
    row = refund_lines(conversion, {1: "40"})

    conversion.refresh_from_db()
    assert conversion.amount == 160
    assert list_amounts(conversion) == [("100", "10"), ("0", "0"), ("60", "2.5")]
    levels = list_amounts(conversion, "level")
    assert levels == [("100", "3"), ("0", "0"), ("60", "1.8")]
    line = list_commissions(conversion, "regular")[1]
    assert row.lines == [{"commission": line.pk, "amount": "40"}]
    assert (row.amount, row.is_full) == (40, False)
    assert_explained(conversion)


def test_a_part_of_a_line_is_rounded_once(conversion):
    refund_lines(conversion, {0: "33.333", 1: "0.01"})

    conversion.refresh_from_db()
    assert conversion.amount == Decimal("166.66")
    assert list_amounts(conversion)[:2] == [("66.67", "6.67"), ("39.99", "3")]
    assert_explained(conversion)


def test_a_fixed_commission_is_taken_back_with_its_whole_line(scenario, conversion):
    refund_lines(conversion, {2: "10"})
    assert list_amounts(conversion)[2] == ("50", "2.5")

    refund_lines(conversion, {2: "50"})
    assert list_amounts(conversion)[2] == ("0", "0")
    assert_explained(conversion)


def test_a_fixed_level_commission_is_taken_back_with_it(scenario):
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    scenario.add_child(scenario.mina, odette)
    scenario.create_level(2, "4", kind=RateKind.FIXED)
    conversion = scenario.create_conversion("100", "50")

    refund_lines(conversion, {0: "100"})

    assert list_amounts(conversion, "level") == [("0", "0"), ("50", "4")]
    assert_explained(conversion)


def test_an_amount_is_spread_over_the_lines(conversion):
    row = refund(conversion, amount=Decimal("50.01"))

    conversion.refresh_from_db()
    assert conversion.amount == Decimal("149.99")
    sub_amounts = [Decimal(each) for each, _ in list_amounts(conversion)]
    assert sum(sub_amounts) == Decimal("149.99")
    assert [line["amount"] for line in row.lines] == ["25", "10", "15.01"]
    assert_explained(conversion)


def test_an_amount_of_a_currency_without_decimals(scenario):
    conversion = scenario.create_conversion("1000", "501", currency="JPY")

    refund(conversion, amount=Decimal("100.4"))

    conversion.refresh_from_db()
    assert conversion.amount == 1401
    assert sum(Decimal(each) for each, _ in list_amounts(conversion)) == 1401


def test_partial_refunds_add_up_to_a_full_one(account, conversion):
    refund(conversion, amount=Decimal(150))
    assert account.conversions.get().deleted_at is None
    assert refund(conversion, amount=Decimal(50)).is_full

    assert account.conversions.get().deleted_at == LATER
    assert [row.amount for row in account.refunds.order_by("id")] == [150, 50]


def test_keeps_an_added_commission(scenario, conversion):
    """It is no line of the sale."""
    extra, _ = add_commissions(
        scenario.account,
        conversion_id=conversion.pk,
        line_items=build_line_items("20"),
        at=LATER,
    )

    refund_lines(conversion, {0: "100"})

    extra.refresh_from_db()
    assert extra.amount == 2
    with pytest.raises(CommissionNotFound):
        refund(conversion, line_amounts={extra.pk: Decimal(1)})


def test_what_was_paid_is_set_off_against_later_commissions(account, scenario):
    conversion = scenario.create_conversion("100", "100")
    for row in account.commissions.all():
        scenario.approve(row)
    scenario.pay("20")

    refund_lines(conversion, {0: "100"})

    assert get_payable_balances_by_slug(account) == {"minakessler": {"EUR": -10}}


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"amount": Decimal("200.01")}, RefundTooLarge),
        ({"amount": Decimal("0.001")}, InvalidRefund),
        ({"amount": Decimal(-1)}, NegativeAmount),
        ({"line_amounts": {}}, InvalidRefund),
        ({"line_amounts": {0: Decimal(1)}}, CommissionNotFound),
    ],
)
def test_refuses_what_is_not_left(account, conversion, arguments, error):
    before = snapshot_account(account)

    with pytest.raises(error):
        refund(conversion, **arguments)

    assert snapshot_account(account) == before


def test_refuses_more_than_is_left_of_a_line(conversion):
    refund_lines(conversion, {1: "30"})

    with pytest.raises(RefundTooLarge, match="Only 10 EUR is left") as caught:
        refund_lines(conversion, {1: "10.01"})

    line = list_commissions(conversion, "regular")[1]
    assert caught.value.path == f"line_{line.pk}"


def test_refuses_lines_of_more_than_the_corrected_sale(account, conversion):
    update_conversion(
        account,
        conversion_id=conversion.pk,
        changes={"amount": Decimal(50)},
        should_recalculate=False,
        at=LATER,
    )

    with pytest.raises(RefundTooLarge, match="Only 50 EUR is left"):
        refund_lines(conversion, {0: "60"})


def test_refuses_final_commissions(account, scenario):
    scenario.enable_payouts("1000")
    conversion = scenario.create_conversion("100", "50")
    final, other = list_commissions(conversion, "regular")
    scenario.approve(final)

    for arguments in (
        {},
        {"amount": Decimal(10)},
        {"line_amounts": {final.pk: Decimal(10)}},
    ):
        with pytest.raises(RefundOfFinalCommission, match=f"Commission {final}"):
            refund(conversion, **arguments)
    refund(conversion, line_amounts={other.pk: Decimal(50)})

    assert list_amounts(conversion) == [("100", "10"), ("0", "0")]


def test_a_repeated_notice_changes_nothing(account, conversion):
    first = refund(conversion, amount=Decimal(50), external_id="refund-1")
    before = snapshot_account(account)

    again = refund(conversion, amount=Decimal(60), external_id="refund-1")

    assert again == first
    assert snapshot_account(account) == before
    full = refund(conversion, external_id="refund-2")
    assert refund(conversion, external_id="refund-2") == full
    with pytest.raises(ConversionNotFound):
        refund(conversion, external_id="refund-3")


def test_the_audit_log_names_amount_and_not_the_reason(account, conversion):
    refund(conversion, amount=Decimal("50.5"), reason="Mrs Smith was unhappy")

    entry = account.audit_log.get(kind="conversion.refunded")
    assert entry.subject == f"conversion:{conversion.pk}"
    assert entry.details == {"refunded": "50.5 EUR"}


def test_a_conversion_of_another_account_does_not_exist(conversion):
    with pytest.raises(ConversionNotFound):
        refund_conversion(AccountFactory(), conversion_id=conversion.pk, reason="x", at=LATER)


def test_stores_all_or_nothing(account, conversion):
    assert_atomic(account, lambda: refund(conversion, amount=Decimal(10)), least=10)
