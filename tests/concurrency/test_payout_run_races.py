"""A payout run confirmed by several people, and beside what changes its balances.

No process fails with a deadlock or an unexpected error; either the run pays what its
draft said, or nothing. Nothing is paid twice.
"""

from datetime import timedelta
from decimal import Decimal
from functools import partial
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from accounts.models.api_keys import Role
from accounts.services.staff import create_staff_user
from payouts.errors import PayoutRunEmpty
from payouts.services import payout_runs
from payouts.services.ledger import get_payable_balances_by_slug
from payouts.services.payout_runs import create_draft
from payouts.services.run_confirmation import confirm_run
from tests.concurrency.server import run_simultaneously
from tests.concurrency.worker import AT, PROCESSES

pytestmark = pytest.mark.integration

ROUNDS = 5


@pytest.fixture
def scenario(scenario):
    """Three affiliates with payout methods; commissions are 100 % of a sale."""
    scenario.create_commission_type("all", 100)
    scenario.people = [
        scenario.mina,
        *(scenario.create_enrolled_affiliate("Ada", name) for name in ("Lund", "Berg")),
    ]
    for person in scenario.people:
        scenario.account.payout_methods.create(
            affiliate=person.affiliate,
            kind="paypal",
            details={"email": "a@x.example"},
            is_primary=True,
        )
    return scenario


def earn(scenario, amount, *, approve=True, affiliate=None):
    sale = scenario.create_conversion((amount, "all"), affiliate=affiliate)
    commission = scenario.get_commission(sale)
    if approve:
        scenario.approve(commission)
    return commission


def earn_elsewhere(scenario, amount):
    try:
        earn(scenario, amount)
    finally:
        connection.close()


def draft(scenario):
    day = (AT + timedelta(days=1)).date()
    return create_draft(scenario.account, due_until=day, at=AT)


def build_task(scenario, name, **arguments):
    return {"task": name, "account": scenario.account.slug} | arguments


def build_confirmation(scenario, run):
    return build_task(scenario, "confirm_payout_run", run=run.pk)


def get_balance(scenario, person):
    balances = get_payable_balances_by_slug(scenario.account)
    return balances.get(person.slug, {}).get("EUR", 0)


def test_a_draft_is_made_again_as_of_one_moment(scenario, monkeypatch):
    """Balances and commissions are read one after the other."""
    earn(scenario, "20")
    run, account = draft(scenario), scenario.account
    load = payout_runs.load_payable_balances

    def load_before_a_sale(*args, **conditions):
        balances = load(*args, **conditions)
        run_simultaneously(["5"], partial(earn_elsewhere, scenario))
        return balances

    owner, _ = create_staff_user(
        account, email=f"{account.slug}@example.net", role=Role.OWNER, password=None, at=AT
    )
    client = Client()
    client.force_login(owner)
    with monkeypatch.context() as patched:
        patched.setattr(payout_runs, "load_payable_balances", load_before_a_sale)
        client.post(reverse("admin:payouts_payoutrun_remake", args=[run.pk]))

    assert account.audit_log.filter(kind="payout_run.remade").exists()
    lines = account.payout_lines.filter(run=run)
    assert list(lines.values_list("amount", "commission_count")) == [(20, 1)]


def test_several_people_confirm_once(workers, scenario):
    account = scenario.account
    for number in range(1, ROUNDS + 1):
        for person in scenario.people:
            earn(scenario, "20", affiliate=person)
        confirmation = build_confirmation(scenario, draft(scenario))

        assert workers.run(*[confirmation] * PROCESSES) == ["done"] * PROCESSES

        assert account.payments.count() == number * len(scenario.people)
        kinds = account.audit_log.filter(kind="payout_run.confirmed")
        assert kinds.count() == number
        assert get_payable_balances_by_slug(account) == {}


def test_two_runs_pay_a_balance_once(workers, scenario):
    account = scenario.account
    for number in range(1, ROUNDS + 1):
        for person in scenario.people:
            earn(scenario, "20", affiliate=person)
        runs = [draft(scenario) for _ in range(PROCESSES)]

        results = workers.run(*(build_confirmation(scenario, run) for run in runs))

        expected = ["PayoutRunChanged"] * (PROCESSES - 1)
        assert sorted(results) == [*expected, "done"]
        assert account.payments.count() == number * len(scenario.people)
        assert get_payable_balances_by_slug(account) == {}


def find_line(run, person):
    lines = run.account.payout_lines.filter(run=run, currency="EUR")
    return lines.get(affiliate=person.affiliate)


@pytest.mark.parametrize("is_other", [False, True], ids=["same draft", "another"])
def test_who_is_taken_out_is_not_paid_or_was_paid_before(workers, scenario, is_other):
    """Mina is taken out of the draft that is confirmed, or of another one."""
    account, mina = scenario.account, scenario.mina
    for number in range(2 * ROUNDS):
        for person in scenario.people:
            earn(scenario, "20", affiliate=person)
        run = draft(scenario)
        line = find_line(draft(scenario) if is_other else run, mina)
        taking_out = build_task(scenario, "take_out_of_run", line=line.pk)
        confirming = build_confirmation(scenario, run)
        tasks = [taking_out, *[confirming] * (PROCESSES - 1)]
        step = -1 if number % 2 else 1  # both begin first sometimes
        taken_out, *confirmed = workers.run(*tasks[::step])[::step]

        paid = [find_line(run, each).payment is not None for each in scenario.people]
        withheld = account.withheld_balances.filter(affiliate=mina.affiliate)
        assert withheld.exists() == (taken_out == "done")
        if is_other:
            assert taken_out == "done"
            assert paid == [confirmed[0] == "done"] * 3
            assert set(confirmed) in ({"done"}, {"PayoutRunChanged"})
        else:
            assert taken_out in ("done", "PayoutRunNotDraft")
            assert paid == [taken_out != "done", True, True]
            assert set(confirmed) == {"done"}

        earn(scenario, "1", affiliate=mina)
        expected = get_balance(scenario, mina) if taken_out == "done" else 0
        try:
            confirm_run(account, pk=draft(scenario).pk, at=AT)
        except PayoutRunEmpty:
            assert expected  # nobody else is left to pay
            assert all(paid[1:])
        assert get_balance(scenario, mina) == expected
        if expected:
            scenario.pay(expected, to=mina.slug)
        withheld.delete()
        assert get_payable_balances_by_slug(account) == {}


def approve(scenario):
    commission = earn(scenario, "7", approve=False)
    return build_task(scenario, "approve_commissions", commissions=[commission.pk])


def refund(scenario):
    sale = earn(scenario, "7").conversion
    return build_task(scenario, "refund", conversion_id=sale.pk, amount=None)


def pay_by_api(scenario):
    batch = [["adalund", "2", "EUR"], ["minakessler", "3", "EUR"]]
    return build_task(scenario, "pay_batches", batches=[batch])


def cancel_of_api(scenario):
    earn(scenario, "7")
    payment = scenario.pay(get_balance(scenario, scenario.mina))
    earn(scenario, "9")
    return build_task(scenario, "cancel_payments", payments=[payment.public_id])


def cancel_of_run(scenario):
    """A payment of an earlier run, whose state changes with it."""
    earn(scenario, "7")
    run = confirm_run(scenario.account, pk=draft(scenario).pk, at=AT)
    line = scenario.account.payout_lines.filter(run=run).exclude(payment=None).first()
    for person in scenario.people:
        earn(scenario, "9", affiliate=person)
    payments = [line.payment.public_id]
    return build_task(scenario, "cancel_payments", payments=payments)


def change_method(scenario):
    """An affiliate enters another account."""
    slug = scenario.mina.slug
    text = f"{uuid4()}@notes.example"
    return build_task(scenario, "set_payout_method", affiliate_id=slug, text=text)


def rename(scenario):
    slug, lastname = scenario.mina.slug, str(uuid4())
    return build_task(scenario, "rename_affiliate", affiliate_id=slug, lastname=lastname)


def test_nobody_is_erased_whom_a_file_has_to_name(workers, scenario):
    """Either the run pays and the erasure is refused, or the draft has changed."""
    account = scenario.account
    for number in range(2 * ROUNDS):
        person = scenario.create_enrolled_affiliate("Eve", f"Race{number}", email=None)
        account.payout_methods.create(
            affiliate=person.affiliate,
            kind="paypal",
            details={"email": "e@x.example"},
            is_primary=True,
        )
        earn(scenario, "20", affiliate=person)
        run = draft(scenario)
        confirming = build_confirmation(scenario, run)
        erasing = build_task(scenario, "erase_person", identifier=person.slug)
        tasks = [confirming, confirming, erasing, erasing]
        results = set(workers.run(*tasks[:: 1 if number % 2 else -1]))
        line = account.payout_lines.get(run=run, affiliate=person.affiliate)
        if line.payment:
            assert results == {"done", "PaymentsUnanswered"}
            assert line.receiver["details"] == {"email": "e@x.example"}
        else:
            # Both erasures may have found the affiliate before one of them was done.
            assert {"done", "PayoutRunChanged"} == results - {"PersonNotFound"}
            assert line.receiver == {}
        account.payout_runs.update(state="discarded")
        account.payout_lines.filter(state="unknown").update(state="settled")


@pytest.mark.parametrize(
    "begin",
    [
        *(approve, refund, pay_by_api, cancel_of_api, cancel_of_run),
        *(change_method, rename),
    ],
)
def test_pays_what_the_draft_says_or_nothing(workers, scenario, begin):
    account = scenario.account
    for _ in range(ROUNDS):
        for person in scenario.people:
            earn(scenario, "20", affiliate=person)
        rival = begin(scenario)
        run = draft(scenario)
        drafted = dict(account.payout_lines.filter(run=run).values_list("affiliate", "amount"))
        confirmation = build_confirmation(scenario, run)
        before = set(account.payments.values_list("pk", flat=True))

        *results, rival_result = workers.run(*[confirmation] * 3, rival)

        assert rival_result in ("done", ["done"])
        assert len(set(results)) == 1
        assert set(results) <= {"done", "PayoutRunChanged"}
        lines = account.payout_lines.filter(run=run)
        paid = {
            line.affiliate_id: line.payment.amount
            for line in lines.exclude(payment=None).select_related("payment")
        }
        assert paid == (drafted if results[0] == "done" else {})
        new = account.payments.exclude(pk__in=before)
        by_api = 2 if begin is pay_by_api else 0
        assert new.count() == len(paid) + by_api
        for person in scenario.people:  # nothing is lost: the rest can be paid
            balance = get_balance(scenario, person)
            if balance:
                scenario.pay(balance, to=person.slug) if balance > 0 else None
        assert all(
            amount <= Decimal(0)
            for balances in get_payable_balances_by_slug(account).values()
            for amount in balances.values()
        )
        for person in scenario.people:  # the next round begins without a debt
            if balance := -get_balance(scenario, person):
                earn(scenario, str(balance), affiliate=person)
