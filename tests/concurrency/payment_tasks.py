"""Tasks about payments, approvals and statistics."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from accounts.errors import DomainError
from payouts.services import statistics
from payouts.services.commissions import approve_commission, disapprove_commission
from payouts.services.corrections import release_commission
from payouts.services.documents import issue_documents
from payouts.services.payments import PaymentOrder, cancel_payment, create_payments
from payouts.services.payout_answers import PayoutResult, ResultState
from payouts.services.payout_limits import remove_minimum, set_minimum
from payouts.services.payout_results import apply_payout_results
from payouts.services.payout_runs import take_out
from payouts.services.payout_settings import top_up_payout_balance
from payouts.services.reports import ReportQuery, build_report
from payouts.services.risk_cases import clear_case, evaluate_rules, store_facts
from payouts.services.risk_rules import RiskFact
from payouts.services.run_confirmation import confirm_run
from payouts.statistics import Period

AT = datetime(2026, 3, 4, 9, 15, 27, tzinfo=UTC)
LATER = AT + timedelta(days=9)
MONTHS_LATER = AT + timedelta(days=70)


def pay_batches(account, *, batches):
    """Create payments in batches; an order is a slug, an amount and a currency."""
    for batch in batches:
        orders = [PaymentOrder(slug, Decimal(amount), currency) for slug, amount, currency in batch]
        create_payments(account, orders=orders, at=AT)


def pay_balance_due(account, *, affiliate, amount, times):
    """Pay the whole balance or nothing, as the back office does."""
    balance = Decimal(amount)
    order = PaymentOrder(affiliate, balance, "EUR", expected_balance=balance)
    return [run_and_report(create_payments, account, orders=[order]) for _ in range(times)]


def top_up(account, *, amounts, currency):
    for amount in amounts:
        top_up_payout_balance(account, amount=Decimal(amount), currency=currency, at=AT)


def cancel_payments(account, *, payments):
    return [run_and_report(cancel_payment, account, payment_id=payment) for payment in payments]


def import_results(account, *, results, times):
    """Import a file of results repeatedly; returns how many payments each changed."""
    answers = [PayoutResult(name, ResultState(state)) for name, state in results]
    reports = [apply_payout_results(account, answers, at=LATER) for _ in range(times)]
    return [(len(each.settled), len(each.failed)) for each in reports]


def issue_all_documents(account, *, times):
    """Issue documents repeatedly; returns the number of each time."""
    return [len(issue_documents(account, at=LATER)) for _ in range(times)]


def approve_commissions(account, *, commissions):
    return [
        run_and_report(approve_commission, account, commission_id=commission)
        for commission in commissions
    ]


def release_commissions(account, *, commissions):
    return [
        run_and_report(release_commission, account, commission_id=commission, reason="asked")
        for commission in commissions
    ]


def set_minimums(account, *, amounts, affiliate):
    """Set and remove the minimums of the account and of an affiliate."""
    for amount in map(Decimal, amounts):
        for of in ({}, {"affiliate_id": affiliate}):
            set_minimum(account, currency="EUR", amount=amount, **of, at=AT)
            remove_minimum(account, currency="EUR", **of, at=AT)
            set_minimum(account, currency="EUR", amount=amount, **of, at=AT)
    return "done"


def load_statistics(account, *, day, times):
    """Load statistics as the dashboard does, days later."""
    for _ in range(times):
        statistics.load_statistics(account, [date.fromisoformat(day)], at=LATER)


def store_statistics(account, *, times):
    """Store past days and months, as the worker does months later."""
    for _ in range(times):
        for _step in statistics.store_past_days(account, at=MONTHS_LATER):
            pass


def report_approved(account, *, times):
    """Read the approved commissions of all days; returns each amount."""
    period = Period(AT.date(), MONTHS_LATER.date())
    query = ReportQuery(["affiliate"], ["commissions_approved"], period)
    reports = [build_report(account, query, at=MONTHS_LATER) for _ in range(times)]
    return [int(report.totals[0].values["commissions_approved"]) for report in reports]


def approve_each(account, *, commissions):
    """Approve commissions of an earlier month, one after the other."""
    for commission in commissions:
        approve_commission(account, commission_id=commission, at=MONTHS_LATER)


def confirm_payout_run(account, *, run):
    return run_and_report(confirm_run, account, pk=run)


def evaluate_risk_rules(account):
    """Let the rules look at all sales, as the worker does."""
    evaluate_rules(account, at=AT, is_complete=True)


def open_risk_case(account, *, affiliate, key):
    """Let a rule find something of all that an affiliate earns."""
    fact = RiskFact(account.affiliates.get(slug=affiliate).pk, [], key=key)
    store_facts(account.risk_rules.get(rule="refund_rate"), [fact], at=AT)


def clear_risk_case(account, *, case):
    clear_case(account, pk=case, note="", at=AT)


def take_out_of_run(account, *, line):
    return run_and_report(take_out, account, pk=line, reason="asked")


def toggle_approval(account, *, commission, times):
    """Approve and disapprove one commission of an earlier day repeatedly."""
    for _ in range(times):
        approve_commission(account, commission_id=commission, at=LATER)
        disapprove_commission(account, commission_id=commission, at=LATER)


def run_and_report(operation, account, **kwargs):
    """Return `done` or the name of the error; the next operation is run anyway."""
    try:
        operation(account, **kwargs, at=AT)
    except DomainError as error:
        return type(error).__name__
    return "done"


PAYMENT_TASKS = {
    "pay_batches": pay_batches,
    "pay_balance_due": pay_balance_due,
    "top_up": top_up,
    "cancel_payments": cancel_payments,
    "import_results": import_results,
    "approve_commissions": approve_commissions,
    "release_commissions": release_commissions,
    "set_minimums": set_minimums,
    "load_statistics": load_statistics,
    "store_statistics": store_statistics,
    "report_approved": report_approved,
    "approve_each": approve_each,
    "confirm_payout_run": confirm_payout_run,
    "evaluate_risk_rules": evaluate_risk_rules,
    "open_risk_case": open_risk_case,
    "clear_risk_case": clear_risk_case,
    "take_out_of_run": take_out_of_run,
    "toggle_approval": toggle_approval,
}
