"""What open risk cases keep from being due: in balances, runs, payments and the portal."""

import json
from datetime import timedelta
from decimal import Decimal

import pytest

from payouts.errors import PayoutRunChanged
from payouts.explanation import explain_due, explain_initial_status
from payouts.services.conversion_updates import add_commissions
from payouts.services.corrections import reattribute_conversion, release_commission
from payouts.services.explanation import explain_conversion
from payouts.services.figures import filter_state
from payouts.services.payables import get_amounts_due, get_own_amounts_due
from payouts.services.payments import cancel_payment
from payouts.services.payout_runs import create_draft, remake_draft
from payouts.services.refunds import refund_conversion
from payouts.services.risk_cases import (
    clear_case,
    create_rule,
    disapprove_case,
    evaluate_rules,
    exclude_affiliate,
    list_evaluated_accounts,
    store_facts,
    switch_on,
)
from payouts.services.risk_rules import RiskFact
from payouts.services.run_confirmation import confirm_run
from tests.ledger_checks import assert_ledger_consistent
from tests.program_scenario import CONVERSION_CREATED_AT, build_line_items
from tracking.attribution import TrackingParameters

AT = CONVERSION_CREATED_AT
LATER = AT + timedelta(hours=2)


@pytest.fixture
def scenario(scenario):
    """Commissions are 100 % of a sale; Mina has a payout method."""
    scenario.create_commission_type("all", 100)
    scenario.account.payout_methods.create(
        affiliate=scenario.mina.affiliate,
        kind="paypal",
        details={"email": "mina@notes.example.org"},
        is_primary=True,
    )
    return scenario


def add_rule(scenario, name="fast_sale", **settings):
    account = scenario.account
    rule = create_rule(account, rule=name, at=AT, **settings)
    switch_on(account, pk=rule.pk, at=AT - timedelta(days=1))


def sell(scenario, amount, *, seconds=None, at=AT, **sale):
    """An approved commission of a sale, so many seconds after a click."""
    if seconds is not None:
        click = scenario.create_click(at=at - timedelta(seconds=seconds))
        sale["parameters"] = TrackingParameters(click_id=str(click.public_id))
    conversion = scenario.create_conversion((amount, "all"), at=at, **sale)
    commission = scenario.get_commission(conversion)
    scenario.approve(commission)
    return commission


def draft(scenario):
    return create_draft(scenario.account, due_until=(AT + timedelta(days=1)).date(), at=LATER)


def list_lines(run):
    lines = run.account.payout_lines.filter(run=run)
    return list(lines.order_by("pk").values_list("state", "reason", "amount"))


def get_amounts(scenario):
    mina = scenario.mina.affiliate
    return get_amounts_due(scenario.account, [mina.pk], at=LATER)[mina.pk, "EUR"]


def test_a_sale_of_an_open_case_is_on_hold(scenario):
    account = scenario.account
    add_rule(scenario)
    held, due = sell(scenario, "20", seconds=1), sell(scenario, "5")
    evaluate_rules(account, at=LATER)

    amounts = get_amounts(scenario)
    assert (amounts.due, amounts.on_hold, amounts.under_review) == (5, 20, 20)
    assert amounts.held_until is None
    own = get_own_amounts_due(scenario.mina.affiliate, at=LATER)["EUR"]
    assert (own.due, own.under_review, own.days) == (5, 20, ())
    rows = account.commissions.all()
    assert list(filter_state(account, rows, "on_hold", at=LATER)) == [held]
    assert list(filter_state(account, rows, "due", at=LATER)) == [due]
    explained = explain_conversion(account, conversion_id=held.conversion_id)
    text = explain_due(explained.commissions[0], at=LATER)
    assert text == "not yet, because an open risk case is about it"
    release_commission(account, commission_id=held.pk, reason="Asked", at=LATER)
    assert get_amounts(scenario).due == 5  # that ends the hold of the program only

    clear_case(account, pk=account.risk_cases.get().pk, note="", at=LATER)
    assert get_amounts(scenario).due == 25


def test_a_run_looks_first_and_pays_the_rest(scenario):
    account = scenario.account
    add_rule(scenario)
    sell(scenario, "20", seconds=1)
    sell(scenario, "5")

    run = draft(scenario)

    assert account.risk_cases.count() == 1
    assert list_lines(run) == [("included", "", 5)]
    confirm_run(account, pk=run.pk, at=LATER)
    assert list(account.payments.values_list("amount", flat=True)) == [5]
    assert list_lines(draft(scenario)) == [("left_out", "on_hold", 20)]


def test_a_case_that_opens_after_the_draft_keeps_it_from_being_confirmed(scenario):
    account = scenario.account
    sell(scenario, "20", seconds=1)
    add_rule(scenario)
    run = draft(scenario)
    assert list_lines(run) == [("included", "", 20)]
    account.risk_rules.update(settled_to=0)  # as if the sale had been committed late

    evaluate_rules(account, at=LATER, is_complete=True)
    with pytest.raises(PayoutRunChanged):
        confirm_run(account, pk=run.pk, at=LATER)

    assert not account.payments.exists()
    remake_draft(account, pk=run.pk, at=LATER)
    assert list_lines(run) == [("left_out", "on_hold", 20)]


def test_payments_by_hand_pay_it_last(scenario):
    scenario.program.update_row(hold_days=30)
    add_rule(scenario)
    held = sell(scenario, "20", seconds=1)
    early = sell(scenario, "5")
    evaluate_rules(scenario.account, at=LATER)

    first = scenario.pay(5, at=LATER)
    assert early.reload().payment == first
    second = scenario.pay(20, at=LATER)
    assert held.reload().payment == second
    cancel_payment(scenario.account, payment_id=second.public_id, at=LATER)
    assert get_amounts(scenario).under_review == 20


def test_levels_of_the_sale_are_held_with_it(scenario):
    ada = scenario.create_enrolled_affiliate("Ada", "Lund")
    scenario.account.plan.mlm = True
    scenario.create_level(2, 10)
    scenario.add_child(scenario.mina, ada)
    add_rule(scenario)
    click = scenario.create_click(at=AT)
    parameters = TrackingParameters(click_id=str(click.public_id))
    scenario.create_conversion(("20", "all"), parameters=parameters)

    evaluate_rules(scenario.account, at=LATER)

    held = scenario.account.commissions.filter(under_review_since__isnull=False)
    assert {row.affiliate for row in held} == {scenario.mina.affiliate, ada.affiliate}


def test_all_unpaid_commissions_of_an_affiliate_are_held_new_ones_too(scenario):
    account = scenario.account
    add_rule(scenario, "refund_rate", threshold=20)
    commissions = [sell(scenario, "10") for _ in range(5)]
    refund_conversion(
        account,
        conversion_id=commissions[0].conversion_id,
        amount=Decimal(4),
        reason="",
        at=LATER,
    )
    evaluate_rules(account, at=LATER)
    assert get_amounts(scenario).under_review == 46

    sell(scenario, "7")
    assert list_lines(draft(scenario)) == [("left_out", "on_hold", 53)]
    case = account.risk_cases.get()
    disapprove_case(account, pk=case.pk, note="", at=LATER)

    assert get_amounts(scenario).payable == 0
    assert not account.commissions.filter(under_review_since__isnull=False).exists()


def test_a_commission_of_two_cases_is_held_until_both_are_decided(scenario):
    account = scenario.account
    add_rule(scenario)
    add_rule(scenario, "customer_is_affiliate")
    sell(scenario, "20", seconds=1)
    own = account.conversions.get()
    own.update_row(warnings=["customer_is_affiliate"])
    evaluate_rules(account, at=LATER)
    first, second = account.risk_cases.order_by("pk")

    clear_case(account, pk=first.pk, note="", at=LATER)
    assert get_amounts(scenario).due == 0
    clear_case(account, pk=second.pk, note="", at=LATER)
    assert get_amounts(scenario).due == 20


@pytest.fixture
def case(scenario):
    """An open case about all that Mina earns."""
    add_rule(scenario, "refund_rate")
    return open_case(scenario, "first")


def open_case(scenario, key, person=None, name="refund_rate"):
    affiliate = (person or scenario.mina).affiliate
    rule = scenario.account.risk_rules.get(rule=name)
    store_facts(rule, [RiskFact(affiliate.pk, [("Refund rate", "50 %")], key=key)], at=AT)
    return scenario.account.risk_cases.get(state="open", affiliate=affiliate, rule=name)


def get_start(commission):
    """Status, reason, and whether it is on hold."""
    reason = json.loads(commission.calculation)["reason"]
    return commission.status, reason, commission.is_under_review


def test_a_new_sale_of_who_is_under_review_is_held_by_its_own_transaction(scenario, case):
    scenario.program.update_row(auto_approve_commissions=True)

    sale = scenario.create_conversion(("20", "all"))

    commission = scenario.get_commission(sale)
    assert get_start(commission) == ("approved", "program_approves", True)
    assert commission.under_review_since == AT
    assert get_amounts(scenario).under_review == 20
    clear_case(scenario.account, pk=case.pk, note="", at=LATER)
    assert get_amounts(scenario).due == 20
    assert get_start(scenario.get_commission(scenario.create_conversion(("7", "all")))) == (
        *("approved", "program_approves"),
        False,
    )
    assert_ledger_consistent(scenario.account)


def test_where_approval_is_final_a_new_sale_begins_pending(scenario, case):
    scenario.program.update_row(auto_approve_commissions=True)
    scenario.enable_payouts(100)

    sale = scenario.create_conversion(("20", "all"))

    commission = scenario.get_commission(sale)
    assert get_start(commission) == ("pending", "under_review", True)
    assert explain_initial_status(commission) == "an open risk case was about the affiliate"
    assert explain_conversion(scenario.account, conversion_id=sale.pk).differences == []
    clear_case(scenario.account, pk=case.pk, note="", at=LATER)
    assert get_start(commission.reload()) == ("pending", "under_review", False)
    again = scenario.get_commission(scenario.create_conversion(("20", "all")))
    assert get_start(again) == ("approved", "program_approves", False)
    assert_ledger_consistent(scenario.account)


def test_a_sale_past_the_cap_is_not_held(scenario, case):
    scenario.program.update_row(recurring=False, auto_approve_commissions=True)
    scenario.create_conversion(("20", "all"), customer_id="acct-1")

    sale = scenario.create_conversion(("20", "all"), customer_id="acct-1")

    start = get_start(scenario.get_commission(sale))
    assert start == ("disapproved", "cap_reached", False)


def test_commissions_that_are_added_or_reattributed_are_held_alike(scenario, case):
    account = scenario.account
    ada = scenario.create_enrolled_affiliate("Ada", "Lund")
    sale = scenario.create_conversion(("20", "all"))
    (extra,) = add_commissions(
        account, conversion_id=sale.pk, line_items=build_line_items(("5", "all")), at=AT
    )
    assert extra.is_under_review

    reattribute_conversion(
        account, conversion_id=sale.pk, affiliate_id=ada.slug, reason="Ada's", at=AT
    )
    live = account.commissions.not_deleted().filter(conversion=sale)
    assert not any(row.is_under_review for row in live.all())
    reattribute_conversion(
        account, conversion_id=sale.pk, affiliate_id=scenario.mina.slug, reason="", at=AT
    )
    assert all(row.is_under_review for row in live.all())


@pytest.mark.parametrize("is_final", [False, True])
def test_levels_are_held_by_the_case_of_who_earns_them(scenario, is_final):
    scenario.program.update_row(auto_approve_commissions=True)
    ada = scenario.create_enrolled_affiliate("Ada", "Lund")
    scenario.account.plan.mlm = True
    scenario.create_level(2, 10)
    scenario.add_child(scenario.mina, ada)
    if is_final:
        scenario.enable_payouts(100)
    add_rule(scenario, "refund_rate")
    case = open_case(scenario, "of Ada", ada)

    def sell_once():
        sale = scenario.create_conversion(("20", "all"))
        rows = scenario.account.commissions.filter(conversion=sale).order_by("pk")
        return [get_start(row) for row in rows]

    level = ("pending", "under_review") if is_final else ("approved", "base_commission")
    assert sell_once() == [("approved", "program_approves", False), (*level, True)]
    clear_case(scenario.account, pk=case.pk, note="", at=LATER)
    open_case(scenario, "of Mina")
    base = ("pending", "under_review") if is_final else ("approved", "program_approves")
    assert sell_once() == [(*base, True), (base[0], "base_commission", False)]


def test_new_sales_are_held_until_the_last_case_about_the_affiliate_is_decided(scenario, case):
    account, mina = scenario.account, scenario.mina.affiliate
    add_rule(scenario, "contested_claims")
    add_rule(scenario)
    second = open_case(scenario, "claims", name="contested_claims")
    sell(scenario, "20", seconds=1)
    evaluate_rules(account, at=LATER)  # a case about a sale marks nobody
    assert account.risk_cases.filter(state="open").count() == 3

    clear_case(account, pk=case.pk, note="", at=LATER)
    assert mina.reload().under_review_since == AT
    exclude_affiliate(account, pk=second.pk, note="", at=LATER)
    assert mina.reload().under_review_since is None
    case = open_case(scenario, "second")
    disapprove_case(account, pk=case.pk, note="", at=LATER)
    assert mina.reload().under_review_since is None


def test_what_was_found_before_or_of_a_removed_affiliate_marks_nobody(scenario, case):
    account, mina = scenario.account, scenario.mina.affiliate
    clear_case(account, pk=case.pk, note="", at=LATER)
    rule = account.risk_rules.get()
    store_facts(rule, [RiskFact(mina.pk, [], key="first")], at=LATER)
    assert mina.reload().under_review_since is None

    mina.update_row(deleted_at=AT)
    store_facts(rule, [RiskFact(mina.pk, [], key="second")], at=LATER)
    assert mina.reload().under_review_since is None


def test_the_worker_corrects_marks_and_releases_what_a_decision_missed(scenario, case):
    account, mina = scenario.account, scenario.mina.affiliate
    held = sell(scenario, "20")
    mina.update_row(under_review_since=None)  # as a case of an earlier release
    evaluate_rules(account, at=LATER, is_complete=True)
    assert mina.reload().under_review_since == LATER

    account.risk_cases.update(state="cleared")  # as if the sale had begun before
    account.risk_rules.update(enabled_at=None)
    assert account in list_evaluated_accounts()
    evaluate_rules(account, at=LATER)
    assert not held.reload().is_under_review
    assert account not in list_evaluated_accounts()
    evaluate_rules(account, at=LATER, is_complete=True)
    assert mina.reload().under_review_since is None
