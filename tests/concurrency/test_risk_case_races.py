"""A risk case is opened beside what moves the money that it is about.

No process fails with a deadlock or an unexpected error, and no payout run pays what is
on hold: either the run was first, then the case holds the rest, or it pays nothing.
"""

from datetime import timedelta

import pytest

from payouts.models.risk import RiskCaseState
from payouts.services.payout_runs import create_draft
from payouts.services.risk_cases import clear_case, create_rule, evaluate_rules
from payouts.services.run_confirmation import confirm_run
from tests.concurrency.worker import AT, PROCESSES
from tests.ledger_checks import assert_ledger_consistent
from tests.program_scenario import CONVERSION_CREATED_AT
from tracking.attribution import TrackingParameters

pytestmark = pytest.mark.integration

ROUNDS = 6


@pytest.fixture
def scenario(scenario):
    """Mina and Ada have payout methods; a rule exists that is off."""
    scenario.create_commission_type("all", 100)
    scenario.ada = scenario.create_enrolled_affiliate("Ada", "Lund")
    for person in (scenario.mina, scenario.ada):
        scenario.account.payout_methods.create(
            affiliate=person.affiliate,
            kind="paypal",
            details={"email": "a@x.example"},
            is_primary=True,
        )
    scenario.rule = create_rule(scenario.account, rule="fast_sale", at=AT)
    return scenario


def build_task(scenario, name, **arguments):
    return {"task": name, "account": scenario.account.slug} | arguments


def earn(scenario, *, is_odd, person=None, approve=True):
    """A commission of 20 EUR; that of an odd sale is one second after its click."""
    person = person or scenario.mina
    click = scenario.create_click(
        person, at=CONVERSION_CREATED_AT - timedelta(seconds=1 if is_odd else 600)
    )
    parameters = TrackingParameters(click_id=str(click.public_id))
    sale = scenario.create_conversion(("20", "all"), parameters=parameters)
    commission = scenario.get_commission(sale)
    if approve:
        scenario.approve(commission)
    return commission


def let_the_rule_see(scenario, commission):
    """Switch the rule on as if it had been on before this sale."""
    position = commission.conversion_id - 1
    scenario.account.risk_rules.filter(pk=scenario.rule.pk).update(
        enabled_at=AT - timedelta(days=1), evaluated_to=position, settled_to=position
    )


def draft(scenario):
    scenario.account.risk_rules.update(enabled_at=None)
    day = (AT + timedelta(days=1)).date()
    return create_draft(scenario.account, due_until=day, at=AT)


def clear_all(scenario):
    for case in scenario.account.risk_cases.filter(state=RiskCaseState.OPEN):
        clear_case(scenario.account, pk=case.pk, note="", at=AT)


def test_no_run_pays_what_is_on_hold(workers, scenario):
    account = scenario.account
    for number in range(2 * ROUNDS):
        odd = earn(scenario, is_odd=True)
        earn(scenario, is_odd=False)
        earn(scenario, is_odd=False, person=scenario.ada)
        run = draft(scenario)
        let_the_rule_see(scenario, odd)
        evaluating = build_task(scenario, "evaluate_risk_rules")
        confirming = build_task(scenario, "confirm_payout_run", run=run.pk)
        tasks = [evaluating, *[confirming] * (PROCESSES - 1)]
        step = -1 if number % 2 else 1  # both begin first sometimes

        evaluated, *confirmed = workers.run(*tasks[::step])[::step]

        odd.refresh_from_db()
        assert evaluated == "done"
        assert set(confirmed) in ({"done"}, {"PayoutRunChanged"})
        assert (odd.payment is not None) == (confirmed[0] == "done")
        assert odd.is_under_review == (odd.payment is None)
        assert account.risk_cases.filter(state=RiskCaseState.OPEN).count() == 1
        clear_all(scenario)
        if odd.payment is None:
            confirm_run(account, pk=draft(scenario).pk, at=AT)
        assert not account.commissions.filter(payment=None).exists()


@pytest.mark.parametrize("is_approved", [False, True])
def test_a_case_beside_approvals_refunds_and_payments(is_approved, workers, scenario):
    account = scenario.account
    for _ in range(ROUNDS):
        odd = earn(scenario, is_odd=True, approve=is_approved)
        other = earn(scenario, is_odd=True)
        let_the_rule_see(scenario, odd)
        evaluating = build_task(scenario, "evaluate_risk_rules")
        deciding = build_task(scenario, "approve_commissions", commissions=[odd.pk])
        if is_approved:
            deciding = build_task(scenario, "pay_batches", batches=[[["adalund", "1", "EUR"]]])
        refunding = build_task(scenario, "refund", conversion_id=other.conversion_id, amount=None)

        results = workers.run(evaluating, deciding, refunding, evaluating)

        decided = results.pop(1)
        assert decided in ("done", ["done"])  # of one commission
        assert results == ["done"] * 3
        odd.refresh_from_db()
        assert odd.is_under_review
        assert account.risk_cases.filter(state=RiskCaseState.OPEN).count() == 1
        clear_all(scenario)
        assert (
            not account.commissions.not_deleted().filter(under_review_since__isnull=False).exists()
        )


@pytest.mark.parametrize("uses_payouts", [False, True])
def test_sales_beside_a_case_about_all_that_an_affiliate_earns(uses_payouts, workers, scenario):
    """While it is open none is free, and after the next look none is held without it."""
    account, mina = scenario.account, scenario.mina
    scenario.program.update_row(auto_approve_commissions=True)
    if uses_payouts:
        scenario.enable_payouts(1_000_000)
    create_rule(account, rule="refund_rate", at=AT)
    unpaid = account.commissions.filter(affiliate=mina.affiliate, payment=None)
    for number in range(2 * ROUNDS):
        selling = build_task(
            scenario, "create_conversions", times=4, amount="20", coupon=mina.coupon
        )
        opening = build_task(scenario, "open_risk_case", affiliate=mina.slug, key=str(number))
        tasks = [opening, *[selling] * (PROCESSES - 1)]
        step = -1 if number % 2 else 1  # both begin first sometimes

        assert workers.run(*tasks[::step]) == ["done"] * PROCESSES
        assert mina.affiliate.reload().under_review_since
        assert not unpaid.filter(under_review_since=None).exists()

        case = account.risk_cases.get(state=RiskCaseState.OPEN)
        clearing = build_task(scenario, "clear_risk_case", case=case.pk)
        tasks = [clearing, *[selling] * (PROCESSES - 1)]
        assert workers.run(*tasks[::step]) == ["done"] * PROCESSES
        assert mina.affiliate.reload().under_review_since is None
        evaluate_rules(account, at=AT)
        assert not unpaid.filter(under_review_since__isnull=False).exists()
    assert account.conversions.count() == 2 * ROUNDS * 2 * 4 * (PROCESSES - 1)
    assert_ledger_consistent(account)
