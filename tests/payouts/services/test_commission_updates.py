"""PATCH of a commission (docs/api-contract.md, sections 2.3.2 and 2.3.3)."""

import json
from datetime import timedelta
from decimal import Decimal

import pytest

from payouts.errors import (
    BalanceTooLarge,
    CommissionNotFound,
    CommissionUnfunded,
    SubAmountNotEditable,
)
from payouts.models.commission_types import RateKind
from payouts.services.bonuses import grant_bonuses
from payouts.services.conversion_updates import delete_conversion, update_commission
from payouts.services.ledger import get_payable_balances_by_slug
from tests.ledger_checks import (
    assert_atomic,
    assert_unchanged,
)
from tests.program_scenario import CONVERSION_CREATED_AT

pytestmark = pytest.mark.usefixtures("shared_scenario", "consistent_ledger")

LATER = CONVERSION_CREATED_AT + timedelta(days=1)


@pytest.fixture
def hierarchy(scenario):
    """Pending commissions: Mina's 20, her parent's 6 and her grandparent's 2."""
    parent = scenario.create_enrolled_affiliate("Odette", "Varga")
    grandparent = scenario.create_enrolled_affiliate("Abel", "Sorel")
    scenario.add_child(scenario.mina, parent)
    scenario.add_child(parent, grandparent)
    scenario.create_level(2, 3)
    scenario.create_level(3, 1)
    conversion = scenario.create_conversion("200")
    return list(scenario.account.commissions.filter(conversion=conversion).order_by("id"))


def apply_changes(commission, **changes):
    """Update a commission; return it as stored."""
    amounts = {
        name: value if name in ("comment", "status") else Decimal(value)
        for name, value in changes.items()
    }
    update_commission(commission.account, commission_id=commission.pk, changes=amounts, at=LATER)
    return commission.reload()


def get_patchable_values(commission):
    """The values that PATCH can change."""
    return (commission.sub_amount, commission.amount, commission.status)


def get_conversion(commission):
    return commission.account.conversions.get(pk=commission.conversion_id).amount


def balance(account):
    return get_payable_balances_by_slug(account).get("minakessler", {}).get("EUR", 0)


# Amounts.


@pytest.mark.parametrize("status", ["pending", "approved", "disapproved"])
@pytest.mark.parametrize("amount", ["0", "0.01", "19.99", "20.01", "9999999999999.99"])
def test_sets_the_amount_at_any_status_without_the_payout_feature(
    scenario, account, commission, status, amount
):
    scenario.set_status(commission, status)

    after = apply_changes(commission, amount=amount)

    assert get_patchable_values(after) == (200, Decimal(amount), status)
    assert get_conversion(commission) == 200
    assert balance(account) == (Decimal(amount) if status == "approved" else 0)


@pytest.mark.parametrize("status", ["pending", "approved", "disapproved"])
@pytest.mark.parametrize(
    ("sub_amount", "amount"),
    [
        pytest.param("0", "0", id="zero"),
        pytest.param("300", "30", id="more"),
        pytest.param("99.95", "10", id="half-up"),
        pytest.param("99.94", "9.99", id="down"),
    ],
)
def test_recalculates_at_the_stored_rate_and_adjusts_the_conversion(
    scenario, account, commission, status, sub_amount, amount
):
    scenario.set_status(commission, status)
    account.commission_types.update(value=Decimal(50))

    after = apply_changes(commission, sub_amount=sub_amount)

    assert get_patchable_values(after) == (Decimal(sub_amount), Decimal(amount), status)
    assert get_conversion(commission) == Decimal(sub_amount)
    assert balance(account) == (Decimal(amount) if status == "approved" else 0)


def test_keeps_a_fixed_amount_whatever_the_sub_amount(scenario):
    scenario.create_commission_type("flat", 5, kind=RateKind.FIXED)
    commission = scenario.get_commission(scenario.create_conversion(("200", "flat")))

    after = apply_changes(commission, sub_amount="300")

    assert get_patchable_values(after) == (300, 5, "pending")
    assert get_conversion(commission) == 300


def test_uses_the_amount_when_both_are_sent(commission):
    after = apply_changes(commission, sub_amount="300", amount="20")

    assert get_patchable_values(after) == (300, 20, "pending")
    assert get_conversion(commission) == 300
    assert json.loads(after.calculation)["is_overridden"] is True


def test_overwrites_an_overridden_amount_with_another_sub_amount(commission):
    apply_changes(commission, amount="77")

    after = apply_changes(commission, sub_amount="300")

    assert get_patchable_values(after) == (300, 30, "pending")
    assert "is_overridden" not in json.loads(after.calculation)


@pytest.mark.parametrize(
    ("stands", "sub_amount", "falls_to"),
    [
        pytest.param("500", "50", "350", id="by-the-same-difference"),
        pytest.param("150", "50", "0", id="to-zero"),
        pytest.param("149.99", "50", "0", id="not-negative"),
        pytest.param("0", "200.01", "0.01", id="up-from-zero"),
    ],
)
def test_adjusts_the_conversion_by_the_difference(
    account, commission, stands, sub_amount, falls_to
):
    conversion = account.conversions.get()
    conversion.update_row(amount=Decimal(stands))

    apply_changes(commission, sub_amount=sub_amount)

    assert get_conversion(commission) == Decimal(falls_to)


def test_changes_one_sub_amount_only(scenario, account):
    conversion = scenario.create_conversion("100", "50")
    first, second = account.commissions.filter(conversion=conversion).order_by("id")

    apply_changes(second, sub_amount="60")

    assert [get_patchable_values(row.reload()) for row in (first, second)] == [
        (100, 10, "pending"),
        (60, 6, "pending"),
    ]
    assert get_conversion(first) == 160


@pytest.mark.parametrize(
    ("currency", "sub_amount", "amount"),
    [("JPY", "15", "2"), ("JPY", "14", "1"), ("KWD", "0.005", "0.001")],
)
def test_rounds_in_the_currency_of_the_conversion(scenario, currency, sub_amount, amount):
    conversion = scenario.create_conversion("200", currency=currency)

    after = apply_changes(scenario.get_commission(conversion), sub_amount=sub_amount)

    assert after.amount == Decimal(amount)


def test_rejects_a_balance_that_exceeds_its_column(scenario, account):
    scenario.create_commission_type("huge", 9_999_999_999_999, kind=RateKind.FIXED)
    last = scenario.get_commission(scenario.create_conversion("0"))
    scenario.create_conversion(*[("0", "huge")] * 90)

    with assert_unchanged(account), pytest.raises(BalanceTooLarge):
        apply_changes(last, amount="90")
    assert apply_changes(last, amount="89").amount == 89


# Levels.


def test_recalculates_levels_for_a_sub_amount_but_not_for_an_amount(account, hierarchy):
    own, *above = hierarchy

    apply_changes(own, amount="100")
    assert [row.reload().amount for row in above] == [6, 2]
    apply_changes(own, sub_amount="300", amount="1")

    assert [get_patchable_values(row.reload()) for row in hierarchy] == [
        (300, 1, "pending"),
        (300, 9, "pending"),
        (300, 3, "pending"),
    ]


def test_posts_changes_of_level_commissions(scenario, account, hierarchy):
    for row in hierarchy[:2]:
        scenario.set_status(row, "approved")
    scenario.set_status(hierarchy[2], "disapproved")

    apply_changes(hierarchy[0], sub_amount="100")

    assert get_payable_balances_by_slug(account) == {
        "minakessler": {"EUR": 10},
        "odettevarga": {"EUR": 3},
    }
    assert get_patchable_values(hierarchy[2].reload()) == (100, 1, "disapproved")


def test_keeps_final_levels(scenario, account, hierarchy):
    scenario.enable_payouts("6")
    scenario.set_status(hierarchy[1], "approved")

    apply_changes(hierarchy[0], sub_amount="300")

    assert [row.reload().amount for row in hierarchy] == [30, 6, 3]


def test_changes_the_amount_of_a_level_but_not_its_sub_amount(account, hierarchy):
    own, level, _ = hierarchy

    assert apply_changes(level, amount="50").amount == 50
    assert (own.reload().amount, get_conversion(own)) == (20, 200)
    for same_or_not in ("200", "300"):
        with assert_unchanged(account), pytest.raises(SubAmountNotEditable) as raised:
            apply_changes(level, sub_amount=same_or_not, comment="no")
        assert raised.value.path == "conversion_sub_amount"


# Bonuses, which have no conversion.


def test_changes_a_bonus(scenario, account):
    scenario.create_bonus(goal=1, value=50)
    scenario.set_status(scenario.get_commission(scenario.create_conversion("200")), "approved")
    (bonus,) = grant_bonuses(account, at=CONVERSION_CREATED_AT + timedelta(days=40)).granted

    after = apply_changes(bonus, amount="40", comment="Well done", status="approved")

    assert get_patchable_values(after) == (None, 40, "approved")
    assert after.comment == "Well done"
    assert balance(account) == 60
    with pytest.raises(SubAmountNotEditable):
        apply_changes(bonus, sub_amount="1")


# Statuses.


@pytest.mark.parametrize("before", ["pending", "approved", "disapproved"])
@pytest.mark.parametrize("goal", ["pending", "approved", "disapproved"])
def test_sets_any_status_without_the_payout_feature(scenario, account, commission, before, goal):
    scenario.set_status(commission, before)

    after = apply_changes(commission, status=goal)

    assert (get_patchable_values(after), after.finalized_at) == ((200, 20, goal), None)
    assert balance(account) == (20 if goal == "approved" else 0)


@pytest.mark.parametrize("goal", ["pending", "disapproved"])
def test_removes_the_payment_of_a_commission_no_longer_approved(
    scenario, account, commission, goal
):
    scenario.set_status(commission, "approved")
    scenario.pay(20)

    after = apply_changes(commission, status=goal)

    assert (after.payment_id, balance(account)) == (None, -20)


def test_keeps_the_payment_of_a_commission_with_another_amount(scenario, account, commission):
    scenario.set_status(commission, "approved")
    payment = scenario.pay(20)

    after = apply_changes(commission, amount="25", comment="more")

    assert (after.payment_id, balance(account)) == (payment.pk, 5)


def test_updates_all_fields_or_none(scenario, account, commission):
    scenario.enable_payouts("29.99")
    changes = {"sub_amount": "300", "comment": "all of it", "status": "approved"}

    with assert_unchanged(account), pytest.raises(CommissionUnfunded):
        apply_changes(commission, **changes)
    after = apply_changes(commission, **changes | {"amount": "29.99"})
    assert get_patchable_values(after) == (300, Decimal("29.99"), "approved")
    assert (after.comment, after.finalized_at) == ("all of it", LATER)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"amount": "20", "sub_amount": "200"}, id="the-same-amounts"),
        pytest.param({"comment": "thanks"}, id="a-comment"),
    ],
)
def test_accepts_changes_of_a_final_commission_that_keep_its_amount(
    scenario, account, commission, changes
):
    scenario.enable_payouts("20")
    scenario.set_status(commission, "approved")

    after = apply_changes(commission, **changes)

    assert get_patchable_values(after) == (200, 20, "approved")
    assert after.comment == changes.get("comment")


@pytest.mark.parametrize("before", ["pending", "disapproved"])
@pytest.mark.parametrize("goal", ["pending", "disapproved"])
def test_updates_commissions_that_are_not_final_with_the_payout_feature(
    scenario, account, commission, before, goal
):
    scenario.enable_payouts()
    scenario.set_status(commission, before)

    after = apply_changes(commission, sub_amount="100", status=goal)

    assert (get_patchable_values(after), after.finalized_at) == ((100, 10, goal), None)
    assert get_conversion(commission) == 100


def test_needs_funds_for_payables_and_the_new_amount(scenario, commission):
    other_affiliate = scenario.create_enrolled_affiliate("Odette", "Varga")
    sale = scenario.create_conversion("300", affiliate=other_affiliate)
    payable = scenario.get_commission(sale)
    scenario.enable_payouts("45")
    scenario.set_status(payable, "approved")

    with pytest.raises(CommissionUnfunded):
        apply_changes(commission, amount="15.01", status="approved")

    after = apply_changes(commission, amount="15", status="approved")
    assert after.status == "approved"


# The audit log and unknown commissions.


def test_logs_only_what_changed(account, commission):
    written = account.audit_log.count()

    apply_changes(commission, sub_amount="300", comment="secret", status="approved")
    apply_changes(commission, sub_amount="300", comment="secret", status="approved")

    entries = account.audit_log.order_by("id")[written:]
    subject = f"commission:{commission.pk}"
    assert [(row.kind, row.subject, sorted(row.details)) for row in entries] == [
        ("commission.updated", subject, ["amount", "fields", "sub_amount"]),
        ("commission.updated", subject, ["status"]),
        (
            *("conversion.updated", f"conversion:{commission.conversion_id}"),
            sorted(entries[2].details),
        ),
    ]
    assert entries[0].details["fields"] == ["comment"]
    assert [Decimal(row) for row in entries[0].details["amount"]] == [20, 30]
    assert [Decimal(row) for row in entries[0].details["sub_amount"]] == [200, 300]


def test_rejects_deleted_commissions_and_those_of_other_accounts(
    account, other_account, commission
):
    with pytest.raises(CommissionNotFound):
        update_commission(other_account, commission_id=commission.pk, changes={}, at=LATER)
    delete_conversion(account, conversion_id=commission.conversion_id, at=LATER)

    with pytest.raises(CommissionNotFound):
        apply_changes(commission, comment="late")


def test_stores_nothing_when_any_statement_fails(account, hierarchy):
    changes = {"sub_amount": Decimal(300), "status": "approved"}
    number = hierarchy[0].pk

    def update():
        update_commission(account, commission_id=number, changes=changes, at=LATER)

    assert_atomic(account, update, least=11)
    assert [row.reload().amount for row in hierarchy] == [30, 9, 3]
