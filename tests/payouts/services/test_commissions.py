"""Statuses of a commission (docs/api-contract.md, section 2.3.3)."""

from contextlib import contextmanager, suppress
from datetime import timedelta
from decimal import Decimal

import pytest

from payouts.errors import CommissionApproved, CommissionNotFound, CommissionUnfunded
from payouts.services.commissions import approve_commission, disapprove_commission
from payouts.services.ledger import get_payable_balances_by_slug
from tests.ledger_checks import (
    InjectedDatabaseError,
    assert_ledger_consistent,
    fail_at_statement,
    snapshot_account,
)
from tests.program_scenario import CONVERSION_CREATED_AT, mark_deleted
from tracking.services.programs import archive_program

pytestmark = pytest.mark.usefixtures("shared_scenario")

DECIDED = CONVERSION_CREATED_AT + timedelta(days=1)
LATER = CONVERSION_CREATED_AT + timedelta(days=2)


@pytest.fixture
def scenario(scenario):
    yield scenario
    assert_ledger_consistent(scenario.account)


@pytest.fixture
def commission(scenario):
    """A pending commission of 20 EUR of a conversion of 200."""
    return scenario.get_commission(scenario.create_conversion("200"))


def enable_payouts(account):
    """Enable the payout feature."""
    account.uses_payouts = True
    account.save()


@contextmanager
def add_funds(account, amount, currency="EUR"):
    """Top up the payout balance."""
    row, _ = account.ledger_accounts.get_or_create(
        currency=currency, kind="funding", defaults={"balance": Decimal(0)}
    )
    row.update_row(balance=-Decimal(amount))
    yield
    row.update_row(balance=Decimal(0))


def apply_status(account, commission, status):
    """Change the status of a pending commission."""
    if status == "approved":
        approve_commission(account, commission_id=commission.pk, at=DECIDED)
    elif status == "disapproved":
        disapprove_commission(account, commission_id=commission.pk, at=DECIDED)


@pytest.mark.parametrize("status", ["pending", "approved", "disapproved"])
@pytest.mark.parametrize(
    ("decide", "goal", "balances"),
    [
        pytest.param(
            approve_commission,
            "approved",
            {"minakessler": {"EUR": Decimal(20)}},
            id="approve",
        ),
        pytest.param(disapprove_commission, "disapproved", {}, id="disapprove"),
    ],
)
def test_sets_any_status_without_the_payout_feature(
    account, commission, status, decide, goal, balances
):
    apply_status(account, commission, status)

    decided = decide(account, commission_id=commission.pk, at=LATER)

    assert decided.pk == commission.pk
    assert (decided.status, decided.finalized_at) == (goal, None)
    assert (commission.reload().status, commission.reload().finalized_at) == (
        goal,
        None,
    )
    assert get_payable_balances_by_slug(account) == balances


@pytest.mark.parametrize("decide", [approve_commission, disapprove_commission])
def test_changes_nothing_when_it_is_repeated(account, commission, decide):
    decide(account, commission_id=commission.pk, at=DECIDED)
    before = snapshot_account(account)

    again = decide(account, commission_id=commission.pk, at=LATER)

    assert again.status == commission.reload().status
    assert snapshot_account(account) == before


def test_changes_status_any_number_of_times(account, scenario, commission):
    other = scenario.get_commission(scenario.create_conversion("50"))

    for _ in range(3):
        approve_commission(account, commission_id=commission.pk, at=DECIDED)
        approve_commission(account, commission_id=other.pk, at=DECIDED)
        disapprove_commission(account, commission_id=commission.pk, at=LATER)
        assert_ledger_consistent(account)

    assert get_payable_balances_by_slug(account) == {"minakessler": {"EUR": Decimal(5)}}


def test_logs_each_change(account, commission):
    written = account.audit_log.count()

    approve_commission(account, commission_id=commission.pk, at=DECIDED)
    disapprove_commission(account, commission_id=commission.pk, at=LATER)

    entries = account.audit_log.order_by("id")[written:]
    assert [
        (row.kind, row.subject, row.details, row.created_at) for row in entries
    ] == [
        (
            "commission.updated",
            f"commission:{commission.pk}",
            {"status": ["pending", "approved"]},
            DECIDED,
        ),
        (
            "commission.updated",
            f"commission:{commission.pk}",
            {"status": ["approved", "disapproved"]},
            LATER,
        ),
    ]


@pytest.mark.parametrize("decide", [approve_commission, disapprove_commission])
@pytest.mark.parametrize("number", [0, 999_999_999, 2**63 - 1])
def test_rejects_unknown_ids(account, commission, decide, number):
    with pytest.raises(CommissionNotFound):
        decide(account, commission_id=number, at=DECIDED)


@pytest.mark.parametrize("decide", [approve_commission, disapprove_commission])
def test_rejects_commissions_of_other_accounts(
    account, other_account, commission, decide
):
    with pytest.raises(CommissionNotFound):
        decide(other_account, commission_id=commission.pk, at=DECIDED)

    assert commission.reload().status == "pending"


def test_sets_status_in_an_archived_program_or_of_a_deleted_affiliate(
    account, scenario, commission
):
    archive_program(account, slug=scenario.program.slug, at=DECIDED)
    mark_deleted(scenario.mina.affiliate)

    assert (
        approve_commission(account, commission_id=commission.pk, at=LATER).status
        == "approved"
    )
    again = disapprove_commission(account, commission_id=commission.pk, at=LATER)
    assert again.status == "disapproved"


def test_posts_in_the_currency_of_the_commission(account, scenario):
    yen = scenario.get_commission(scenario.create_conversion("1000", currency="JPY"))
    dinar = scenario.get_commission(scenario.create_conversion("1.234", currency="KWD"))

    for row in (yen, dinar):
        approve_commission(account, commission_id=row.pk, at=DECIDED)

    assert get_payable_balances_by_slug(account) == {
        "minakessler": {"JPY": Decimal(100), "KWD": Decimal("0.123")}
    }


# With the payout feature.


@pytest.mark.parametrize("decide", [approve_commission, disapprove_commission])
def test_keeps_approved_commissions_final_with_the_payout_feature(
    account, commission, decide
):
    approve_commission(account, commission_id=commission.pk, at=DECIDED)
    enable_payouts(account)
    before = snapshot_account(account)

    with pytest.raises(CommissionApproved) as raised:
        decide(account, commission_id=commission.pk, at=LATER)

    assert str(raised.value) == "The commission is approved and cannot be changed."
    assert raised.value.code == "commission_approved"
    assert snapshot_account(account) == before


@pytest.mark.parametrize("status", ["pending", "disapproved"])
def test_disapproves_with_the_payout_feature(account, commission, status):
    apply_status(account, commission, status)
    enable_payouts(account)

    decided = disapprove_commission(account, commission_id=commission.pk, at=LATER)

    assert decided.status == "disapproved"


@pytest.mark.parametrize("status", ["pending", "disapproved"])
def test_needs_funds_with_the_payout_feature(account, commission, status):
    apply_status(account, commission, status)
    enable_payouts(account)
    before = snapshot_account(account)

    with pytest.raises(CommissionUnfunded) as raised:
        approve_commission(account, commission_id=commission.pk, at=LATER)

    assert str(raised.value) == "The payout balance does not cover this commission."
    assert raised.value.code == "commission_unfunded"
    assert snapshot_account(account) == before


@pytest.mark.parametrize("status", ["pending", "disapproved"])
def test_makes_a_funded_commission_final(account, commission, status):
    apply_status(account, commission, status)
    enable_payouts(account)

    with add_funds(account, "20"):
        decided = approve_commission(account, commission_id=commission.pk, at=LATER)

    assert (decided.status, decided.finalized_at) == ("approved", LATER)
    assert commission.reload().finalized_at == LATER
    for decide in (approve_commission, disapprove_commission):
        with pytest.raises(CommissionApproved):
            decide(account, commission_id=commission.pk, at=LATER)


@pytest.mark.parametrize(
    ("funds", "is_funded"),
    [
        pytest.param("49.99", False, id="a-cent-short"),
        pytest.param("50", True, id="exactly"),
        pytest.param("50.01", True, id="a-cent-more"),
    ],
)
def test_counts_payables_of_all_affiliates(
    account, scenario, commission, funds, is_funded
):
    other_affiliate = scenario.create_enrolled_affiliate("Odette", "Varga")
    for conversion in (
        scenario.create_conversion("100"),
        scenario.create_conversion("200", affiliate=other_affiliate),
    ):
        apply_status(account, scenario.get_commission(conversion), "approved")
    enable_payouts(account)

    with add_funds(account, funds):
        if is_funded:
            approve_commission(account, commission_id=commission.pk, at=LATER)
        else:
            with pytest.raises(CommissionUnfunded):
                approve_commission(account, commission_id=commission.pk, at=LATER)

    assert (commission.reload().status == "approved") is is_funded


def test_ignores_payables_in_other_currencies(account, scenario, commission):
    apply_status(
        account,
        scenario.get_commission(scenario.create_conversion("9000", currency="JPY")),
        "approved",
    )
    enable_payouts(account)

    with add_funds(account, "1000000", "JPY"), pytest.raises(CommissionUnfunded):
        approve_commission(account, commission_id=commission.pk, at=LATER)
    with add_funds(account, "20"):
        decided = approve_commission(account, commission_id=commission.pk, at=LATER)

    assert decided.status == "approved"


@pytest.mark.parametrize(
    ("payable", "is_funded"),
    [
        pytest.param("0", True, id="nothing-owed"),
        pytest.param("10", False, id="payable"),
    ],
)
def test_approves_zero_if_payables_are_funded(account, scenario, payable, is_funded):
    apply_status(
        account,
        scenario.get_commission(scenario.create_conversion(payable)),
        "approved",
    )
    zero = scenario.get_commission(scenario.create_conversion("0"))
    enable_payouts(account)

    with suppress(CommissionUnfunded):
        approve_commission(account, commission_id=zero.pk, at=LATER)

    assert (zero.reload().status == "approved") is is_funded


def test_stores_nothing_when_any_statement_fails(account, scenario, commission):
    for decide in (approve_commission, disapprove_commission):
        before = snapshot_account(account)
        for number in range(100):
            with fail_at_statement(number) as queries, suppress(InjectedDatabaseError):
                decide(account, commission_id=commission.pk, at=DECIDED)
            if len(queries) == number:
                break
            assert snapshot_account(account) == before, f"{number}: {queries[number]}"
        assert number > 6
        assert_ledger_consistent(account)

    assert commission.reload().status == "disapproved"
