"""Statuses of a commission (docs/api-contract.md, section 2.3.3)."""

from datetime import timedelta
from decimal import Decimal

import pytest

from payouts.errors import CommissionUnfunded
from payouts.services.commissions import (
    approve_commission,
    disapprove_commission,
    reopen_commission,
)
from payouts.services.conversion_updates import update_commission, update_conversion
from payouts.services.ledger import get_payable_balances_by_slug
from payouts.services.payout_settings import top_up_payout_balance
from tests.ledger_checks import (
    assert_atomic,
    assert_ledger_consistent,
    assert_unchanged,
    snapshot_account,
)
from tests.program_scenario import CONVERSION_CREATED_AT, mark_deleted

pytestmark = pytest.mark.usefixtures("shared_scenario", "consistent_ledger")

DECIDED = CONVERSION_CREATED_AT + timedelta(days=1)
LATER = CONVERSION_CREATED_AT + timedelta(days=2)


BOTH = pytest.mark.parametrize("decide", [approve_commission, disapprove_commission])


@BOTH
def test_changes_nothing_when_it_is_repeated(account, commission, decide):
    decide(account, commission_id=commission.pk, at=DECIDED)

    with assert_unchanged(account):
        again = decide(account, commission_id=commission.pk, at=LATER)

    assert again.status == commission.reload().status


def test_changes_status_any_number_of_times(account, scenario, commission):
    other = scenario.get_commission(scenario.create_conversion("50"))

    for _ in range(3):
        scenario.approve(commission, at=DECIDED)
        scenario.approve(other, at=DECIDED)
        scenario.disapprove(commission, at=LATER)
        assert_ledger_consistent(account)

    assert get_payable_balances_by_slug(account) == {"minakessler": {"EUR": Decimal(5)}}


def test_logs_each_change(account, commission):
    written = account.audit_log.count()

    approve_commission(account, commission_id=commission.pk, at=DECIDED)
    disapprove_commission(account, commission_id=commission.pk, at=LATER)

    entries = account.audit_log.order_by("id")[written:]
    assert {(row.kind, row.subject) for row in entries} == {
        ("commission.updated", f"commission:{commission.pk}")
    }
    assert [(row.details, row.created_at) for row in entries] == [
        ({"status": ["pending", "approved"]}, DECIDED),
        ({"status": ["approved", "disapproved"]}, LATER),
    ]


def reopen_by_patch(account, commission, **changes):
    changes = {"status": "pending"} | changes
    update_commission(account, commission_id=commission.pk, changes=changes, at=LATER)


def reopen_with_conversion(account, commission):
    update_conversion(
        account,
        conversion_id=commission.conversion_id,
        changes={},
        should_recalculate=False,
        status="pending",
        at=LATER,
    )


@pytest.mark.parametrize(
    "reopen",
    [
        lambda account, row: reopen_commission(account, commission_id=row.pk, at=LATER),
        reopen_by_patch,
        reopen_with_conversion,
    ],
    ids=["alone", "patch", "conversion"],
)
def test_says_that_a_disapproval_was_an_earlier_one(account, commission, reopen):
    disapprove_commission(account, commission_id=commission.pk, reason="A test", at=DECIDED)

    reopen(account, commission)

    assert commission.reload().comment == "Earlier disapproved: A test"


def test_keeps_a_comment_that_is_sent_with_the_status(account, commission):
    disapprove_commission(account, commission_id=commission.pk, at=DECIDED)

    reopen_by_patch(account, commission, comment="Disapproved: by mistake")

    assert commission.reload().comment == "Disapproved: by mistake"


def test_sets_status_in_an_archived_program_or_of_a_deleted_affiliate(
    account, scenario, commission
):
    scenario.archive(at=DECIDED)
    mark_deleted(scenario.mina.affiliate)

    assert approve_commission(account, commission_id=commission.pk, at=LATER).status == "approved"
    again = disapprove_commission(account, commission_id=commission.pk, at=LATER)
    assert again.status == "disapproved"


def test_posts_in_the_currency_of_the_commission(account, scenario):
    yen = scenario.get_commission(scenario.create_conversion("1000", currency="JPY"))
    dinar = scenario.get_commission(scenario.create_conversion("1.234", currency="KWD"))

    for row in (yen, dinar):
        scenario.approve(row, at=DECIDED)

    assert get_payable_balances_by_slug(account) == {
        "minakessler": {"JPY": Decimal(100), "KWD": Decimal("0.123")}
    }


# With the payout feature.


def approve_if_funded(account, commission):
    """Approve; check the error if the balance does not cover it."""
    before, error = snapshot_account(account), None
    try:
        approve_commission(account, commission_id=commission.pk, at=LATER)
    except CommissionUnfunded as raised:
        error = raised
    if error is None:
        after = commission.reload()
        assert (after.status, after.finalized_at) == ("approved", LATER)
        return True
    assert str(error) == "The payout balance does not cover this commission."
    assert error.code == "commission_unfunded"
    assert snapshot_account(account) == before
    return False


@pytest.mark.parametrize("status", ["pending", "disapproved"])
def test_disapproves_with_the_payout_feature(scenario, account, commission, status):
    scenario.set_status(commission, status)
    scenario.enable_payouts()

    decided = disapprove_commission(account, commission_id=commission.pk, at=LATER)

    assert decided.status == "disapproved"


def test_ignores_payables_in_other_currencies(account, scenario, commission):
    yen = scenario.get_commission(scenario.create_conversion("9000", currency="JPY"))
    scenario.approve(yen)
    scenario.enable_payouts()
    top_up_payout_balance(
        account, amount=Decimal(1000000), currency="JPY", at=CONVERSION_CREATED_AT
    )

    assert not approve_if_funded(account, commission)
    scenario.enable_payouts(20)
    assert approve_if_funded(account, commission)


@pytest.mark.parametrize(
    ("payable", "is_funded"),
    [
        pytest.param("0", True, id="nothing-owed"),
        pytest.param("10", False, id="payable"),
    ],
)
def test_approves_zero_if_payables_are_funded(account, scenario, payable, is_funded):
    scenario.approve(scenario.get_commission(scenario.create_conversion(payable)))
    zero = scenario.get_commission(scenario.create_conversion("0"))
    scenario.enable_payouts()

    assert approve_if_funded(account, zero) is is_funded


@BOTH
def test_stores_nothing_when_any_statement_fails(scenario, account, commission, decide):
    if decide is disapprove_commission:
        scenario.set_status(commission, "approved")

    assert_atomic(account, lambda: decide(account, commission_id=commission.pk, at=LATER), least=7)
