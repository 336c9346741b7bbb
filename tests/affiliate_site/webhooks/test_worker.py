"""The delivery worker: slow and failing endpoints do not delay others.

Design: docs/reliability.md, section 6.
"""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import OperationalError
from django.utils import timezone

from accounts.models.api_keys import Role
from accounts.models.webhooks import Delivery
from accounts.services import deliveries
from accounts.services.changes import record_change
from accounts.services.command_runs import WORKER_NAME, get_command_runs
from accounts.services.deliveries import DeliveryResult, list_due_endpoints
from accounts.services.staff import create_staff_user
from accounts.services.webhooks import create_webhook
from affiliate_site.webhooks import worker as workers
from affiliate_site.webhooks.sending import TIMEOUT_SECONDS
from affiliate_site.webhooks.worker import (
    MAX_CALLS_PER_ENDPOINT,
    MAX_CALLS_TO_FAILING_ENDPOINTS,
    MAX_CONCURRENCY,
    MAX_FAILING_CALLS_PER_ACCOUNT,
    MAX_MAILS,
    WATCHES_NAME,
    DeliveryWorker,
)
from payouts.services.alerts import set_alert_mails
from payouts.services.statistics import list_missing_days, store_past_days
from tests.factories.accounts import AccountFactory
from tests.factories.tracking import AffiliateFactory
from tests.program_scenario import ProgramScenario
from tracking.services.mails import OUTCOME_UNKNOWN, MailResult, queue_mail

SUCCESS = DeliveryResult(status=204)


@pytest.fixture(autouse=True)
def render_names(settings):
    settings.EVENT_PAYLOAD_RENDERER = "tests.accounts.services.test_outbox.render"


@pytest.fixture
def make_listening_account(db):
    """Create an account with a webhook and due deliveries; return the webhook."""

    def make(events, *, account=None, **changes):
        account = account or AccountFactory()
        number = account.webhook_endpoints.count()
        url = f"https://hooks.example.net/{number}"
        endpoint = create_webhook(account, url=url, at=timezone.now())
        for _ in range(events):
            record_change(account, "customer.created", account, at=timezone.now())
        if changes:
            endpoint.update_row(**changes)
        return endpoint

    return make


@pytest.fixture
def fake_network(monkeypatch):
    """Replace `send_delivery` by a FakeNetwork."""
    network = FakeNetwork()
    monkeypatch.setattr(workers, "send_delivery", network.send)
    return network


class FakeNetwork:
    """Counts calls per endpoint; calls to `slow` ones wait for `release`."""

    def __init__(self):
        self.sent = []
        self.slow = set()
        self.results = {}
        self.release = threading.Event()
        self.lock = threading.Lock()

    def send(self, delivery, *, at):
        with self.lock:
            self.sent.append(delivery.endpoint_id)
        if delivery.endpoint_id in self.slow:
            assert self.release.wait(120)
        return self.results.get(delivery.endpoint_id, SUCCESS)

    def count_for(self, endpoint):
        return self.sent.count(endpoint.pk)


def run_worker(on_result=lambda *_: None):
    DeliveryWorker(on_result=on_result).run(due_before=timezone.now())


def test_sends_all_due_deliveries(make_listening_account, fake_network):
    endpoints = [make_listening_account(events) for events in (1, 10, 50)]

    run_worker()

    assert [fake_network.count_for(endpoint) for endpoint in endpoints] == [1, 10, 50]
    for endpoint in endpoints:
        rows = endpoint.account.deliveries
        assert not rows.filter(delivered_at=None).exists()
    assert list_due_endpoints(at=timezone.now()) == []


def test_leaves_later_deliveries(make_listening_account, fake_network):
    due_before = timezone.now()
    endpoint = make_listening_account(3)

    DeliveryWorker(on_result=lambda *_: None).run(due_before=due_before)

    assert fake_network.count_for(endpoint) == 0


def test_limits_calls_per_endpoint(make_listening_account, fake_network):
    """All fast calls end before the first response of the slow endpoint."""
    slow, fast = make_listening_account(100), make_listening_account(100)
    fake_network.slow = {slow.pk}
    fast_done = threading.Event()

    def on_result(delivery, result):
        if fake_network.count_for(fast) == 100:
            fast_done.set()
            fake_network.release.set()
        assert fake_network.count_for(slow) <= MAX_CALLS_PER_ENDPOINT or fast_done.is_set()

    run_worker(on_result)

    assert fast_done.is_set()
    assert (fake_network.count_for(slow), fake_network.count_for(fast)) == (100, 100)


def test_reserves_half_of_the_slots_for_first_calls(make_listening_account, fake_network):
    slow = [
        make_listening_account(10)
        for _ in range(MAX_CONCURRENCY // 2 // MAX_CALLS_PER_ENDPOINT + 3)
    ]
    fast = make_listening_account(5)
    fake_network.slow = {endpoint.pk for endpoint in slow}

    def on_result(delivery, result):
        if fake_network.count_for(fast) == 5:
            fake_network.release.set()

    run_worker(on_result)

    assert fake_network.count_for(fast) == 5


def test_limits_calls_to_failing_endpoints_of_one_account(make_listening_account, fake_network):
    """Failing endpoints of one account do not delay those of another."""
    now = timezone.now()
    account = AccountFactory()
    failing = [make_listening_account(3, account=account, failing_since=now) for _ in range(9)]
    other = make_listening_account(1, failing_since=now)
    fake_network.slow = {endpoint.pk for endpoint in failing}

    def on_result(delivery, result):
        if fake_network.count_for(other) == 1 and not fake_network.release.is_set():
            assert (
                sum(fake_network.count_for(endpoint) for endpoint in failing)
                == MAX_FAILING_CALLS_PER_ACCOUNT
            )
            fake_network.release.set()

    run_worker(on_result)

    assert fake_network.release.is_set()


def test_waits_for_backoff_of_failing_endpoint(make_listening_account, fake_network):
    now = timezone.now()
    backed_off = make_listening_account(
        3, failing_since=now, backoff_until=now + timedelta(minutes=1)
    )
    healthy = make_listening_account(1)
    worker = DeliveryWorker(on_result=lambda *_: worker.stop())

    worker.run()

    assert (fake_network.count_for(backed_off), fake_network.count_for(healthy)) == (
        0,
        1,
    )
    run_worker()  # with --once, backoff is ignored
    assert fake_network.count_for(backed_off) == 3


def test_backoff_ends_at_its_time(make_listening_account):
    now, moment = timezone.now(), timedelta(microseconds=1)
    endpoint = make_listening_account(1, failing_since=now, backoff_until=now)
    worker = DeliveryWorker(on_result=lambda *_: None)

    slots = [
        worker.get_available_slots(endpoint, now=now + delay)
        for delay in (-moment, 0 * moment, moment)
    ]

    assert slots == [0, 1, 1]


def test_continues_after_temporary_database_error(
    make_listening_account, fake_network, monkeypatch, caplog
):
    endpoint = make_listening_account(10)
    failures = iter([True])

    def fail_once(*args, **kwargs):
        if next(failures, False):
            raise OperationalError("server closed the connection unexpectedly")
        return deliveries.record_delivery_result(*args, **kwargs)

    monkeypatch.setattr(workers, "record_delivery_result", fail_once)
    recorded = []

    def stop_at_last(delivery, result):
        recorded.append(delivery)
        if len(recorded) == 9:
            worker.stop()

    worker = DeliveryWorker(on_result=stop_at_last)
    worker.run()

    rows = endpoint.account.deliveries
    assert (
        fake_network.count_for(endpoint),
        rows.exclude(delivered_at=None).count(),
    ) == (10, 9)
    assert "Due deliveries could not be read or written" in caplog.text


def test_says_once_a_minute_that_the_database_is_away(monkeypatch, caplog):
    now = [1000.0]
    monkeypatch.setattr(workers, "monotonic", lambda: now[0])
    worker = DeliveryWorker(on_result=lambda delivery, result: None)
    error = OperationalError("connection failed:\n  is the server running?")

    for seconds in (0, 1, 58, 1, 5):
        now[0] += seconds
        worker.log_database_error(error)

    line = "Due deliveries could not be read or written: connection failed: is the "
    assert caplog.messages == [f"{line}server running?"] * 2
    assert not any(record.exc_info for record in caplog.records)


def test_once_raises_database_error(make_listening_account, monkeypatch):
    def fail(**_):
        raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(workers, "list_due_endpoints", fail)

    with pytest.raises(OperationalError):
        run_worker()


def test_stores_error_of_any_length(make_listening_account, fake_network):
    endpoint = make_listening_account(1)
    fake_network.results = {endpoint.pk: DeliveryResult(error="x" * 1000)}

    run_worker()

    assert endpoint.account.deliveries.get().error == "x" * 255


def test_limits_calls_to_failing_endpoints(make_listening_account, fake_network):
    now = timezone.now()
    failing = [
        make_listening_account(3, failing_since=now)
        for _ in range(MAX_CALLS_TO_FAILING_ENDPOINTS + 4)
    ]
    healthy = make_listening_account(30)
    fake_network.slow = {endpoint.pk for endpoint in failing}

    def on_result(delivery, result):
        if fake_network.count_for(healthy) == 30 and not fake_network.release.is_set():
            counts = [fake_network.count_for(endpoint) for endpoint in failing]
            assert max(counts) == 1
            assert sum(counts) == MAX_CALLS_TO_FAILING_ENDPOINTS
            fake_network.release.set()

    run_worker(on_result)

    assert fake_network.release.is_set()


def test_records_each_result(make_listening_account, fake_network):
    broken, healthy = make_listening_account(1), make_listening_account(1)
    fake_network.results = {broken.pk: DeliveryResult(status=500, error="answered 500")}
    results = {}

    def on_result(delivery, result):
        results[delivery.endpoint_id] = result

    run_worker(on_result)

    assert results == {
        broken.pk: DeliveryResult(status=500, error="answered 500"),
        healthy.pk: SUCCESS,
    }
    assert broken.account.deliveries.get().error == "answered 500"


def test_records_unexpected_exception_as_failed_attempt(
    make_listening_account, fake_network, monkeypatch, caplog
):
    broken, healthy = make_listening_account(1), make_listening_account(1)

    def fail_for_one(delivery, *, at):
        if delivery.endpoint_id == broken.pk:
            raise ZeroDivisionError("error")
        return SUCCESS

    monkeypatch.setattr(workers, "send_delivery", fail_for_one)

    run_worker()

    assert broken.account.deliveries.get().error == (
        "our own fault, see the log: ZeroDivisionError"
    )
    assert healthy.account.deliveries.get().delivered_at
    assert "A webhook could not be called" in caplog.text


def test_completes_calls_in_progress_when_stopped(make_listening_account, fake_network):
    endpoint = make_listening_account(MAX_CALLS_PER_ENDPOINT + 5)
    worker = DeliveryWorker(on_result=lambda *_: worker.stop())

    worker.run()

    delivered = endpoint.account.deliveries.exclude(delivered_at=None).count()
    assert delivered == fake_network.count_for(endpoint)
    assert MAX_CALLS_PER_ENDPOINT <= delivered < MAX_CALLS_PER_ENDPOINT + 5
    assert not worker.calls_in_progress


def test_workers_claim_different_deliveries(make_listening_account, fake_network):
    """A delivery claimed by one worker is not claimed by the other."""
    endpoint = make_listening_account(MAX_CALLS_PER_ENDPOINT)
    fake_network.slow = {endpoint.pk}
    first, second = (DeliveryWorker(on_result=lambda *_: None) for _ in range(2))
    with ThreadPoolExecutor(MAX_CONCURRENCY) as executor:
        first.start_due_deliveries(executor, due=timezone.now())
        second.start_due_deliveries(executor, due=timezone.now())
        fake_network.release.set()
        while first.calls_in_progress:
            first.record_finished(timeout_seconds=None)

    assert second.calls_in_progress == {}
    assert fake_network.count_for(endpoint) == MAX_CALLS_PER_ENDPOINT
    assert not Delivery.objects.filter(attempts__gt=1).exists()


def test_lease_is_longer_than_any_call():
    assert deliveries.LEASE_DURATION.total_seconds() > 3 * TIMEOUT_SECONDS


@pytest.fixture
def make_mails(db):
    """Queue mails of a new account: `make_mails(3)` returns the account."""

    def make(number):
        account = AccountFactory()
        affiliate = AffiliateFactory(account=account, email="mina@notes.example.org")
        for index in range(number):
            queue_mail(
                affiliate,
                kind="payment",
                about=f"pa_{index}",
                subject="Paid",
                text="Paid",
                at=timezone.now(),
            )
        return account

    return make


@pytest.fixture
def sent_mails(monkeypatch):
    """Mails that were sent instead of by a mail server: their accounts' keys."""
    sent = []

    def send(mail):
        sent.append(mail.account_id)
        return MailResult()

    monkeypatch.setattr(workers, "send_mail", send)
    return sent


def test_sends_due_mails(make_mails, sent_mails):
    accounts = [make_mails(number) for number in (1, 10, 20)]
    run_worker()
    assert [sent_mails.count(account.pk) for account in accounts] == [1, 10, 20]
    for account in accounts:
        assert not account.mails.filter(sent_at=None).exists()


def test_an_account_with_many_mails_delays_no_other(make_mails, sent_mails):
    busy, other = make_mails(10), make_mails(1)
    worker = DeliveryWorker(on_result=lambda *_: None)
    with ThreadPoolExecutor(MAX_MAILS) as executor:
        worker.start_due_mails(executor, due=timezone.now())
        assert {mail.account for mail in worker.mails_in_progress.values()} == {
            busy,
            other,
        }
        while worker.mails_in_progress:
            worker.record_finished(timeout_seconds=None)


def test_mail_waits_for_a_mail_server(make_mails, sent_mails, settings):
    account = make_mails(1)
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    run_worker()
    assert sent_mails == []
    assert account.mails.get().attempts == 0


def test_a_mail_server_that_hangs_delays_no_webhook(
    make_mails, make_listening_account, fake_network, monkeypatch
):
    """Each mail ends after the last webhook."""
    account, endpoint = make_mails(2 * MAX_MAILS), make_listening_account(40)
    webhooks_done = threading.Event()

    def hang(mail):
        assert webhooks_done.wait(120)
        return MailResult("busy", can_retry=True)

    def on_result(delivery, result):
        if fake_network.count_for(endpoint) == 40:
            webhooks_done.set()

    monkeypatch.setattr(workers, "send_mail", hang)
    run_worker(on_result)
    assert set(account.mails.values_list("attempts", "error")) == {(1, "busy")}


def test_records_an_unexpected_exception_of_a_mail(make_mails, monkeypatch, caplog):
    def fail(mail):
        raise ZeroDivisionError(mail.recipient)

    account = make_mails(1)
    monkeypatch.setattr(workers, "send_mail", fail)
    run_worker()
    mail = account.mails.get()
    assert (mail.error, mail.due_at) == ("our own fault: ZeroDivisionError", None)
    assert mail.recipient not in caplog.text


def test_a_mail_is_claimed_before_it_is_sent(make_mails, monkeypatch, sent_mails):
    """A worker that is killed while it sends a mail sends none twice."""
    account = make_mails(1)
    killed = DeliveryWorker(on_result=lambda *_: None)
    with ThreadPoolExecutor(MAX_MAILS) as executor:
        killed.start_due_mails(executor, due=timezone.now())
    later = timezone.now() + timedelta(days=1)
    DeliveryWorker(on_result=lambda *_: None).run(due_before=later)
    assert sent_mails == [account.pk]
    assert account.mails.get().error == OUTCOME_UNKNOWN


def test_continues_if_the_result_of_a_mail_cannot_be_stored(
    make_mails, sent_mails, monkeypatch, caplog
):
    account = make_mails(3)
    worker = DeliveryWorker(
        on_result=lambda *_: None,
        on_mail=lambda *_: len(sent_mails) == 3 and worker.stop(),
    )
    record = workers.record_mail_result

    def record_all_but_the_first(mail, result, *, at):
        if len(failed) == 0:
            failed.append(mail)
            raise OperationalError("gone")
        record(mail, result, at=at)

    failed = []
    monkeypatch.setattr(workers, "record_mail_result", record_all_but_the_first)
    worker.run()
    assert len(sent_mails) == 3
    assert account.mails.filter(sent_at=None).get() == failed[0]


@pytest.fixture
def make_account_with_returned_payment(db):
    def make(**settings):
        account = AccountFactory(**settings)
        affiliate = AffiliateFactory(account=account)
        account.payout_methods.create(affiliate=affiliate, kind="wise", on_hold_reason="closed")
        return account

    return make


def test_evaluates_the_watches_of_all_accounts(make_account_with_returned_payment, caplog):
    """An account whose watches fail is logged, a locked one is left out."""
    odd = {"no_clicks": {"is_on": True, "threshold": "x"}}
    first, broken, locked, last = (
        make_account_with_returned_payment(**settings)
        for settings in ({}, {"watches": odd}, {"locked_at": timezone.now()}, {})
    )
    opened = {}
    worker = DeliveryWorker(lambda *_: None, on_alerts=opened.__setitem__)

    worker.run(due_before=timezone.now())
    worker.run(due_before=timezone.now())  # within the hour

    assert opened == {first: 1, last: 1}
    assert f"Watches of account {broken} could not be evaluated" in caplog.text
    assert not locked.alerts.exists()
    assert set(get_command_runs()) == {WORKER_NAME, WATCHES_NAME}


def test_stores_the_statistics_of_all_accounts(db, caplog, monkeypatch):
    """An account that fails is logged. Watches wait: they read what is stored."""
    now = timezone.now()
    accounts = [AccountFactory() for _ in range(3)]
    for account in accounts:
        ProgramScenario(account, prefix=f"{account}-").create_click(at=now - timedelta(days=3))
    first, broken, last = accounts
    missing, evaluated = [], []

    def store(account, *, at):
        if account == broken:
            raise ValueError
        yield from store_past_days(account, at=at)

    def evaluate(account, *, at):
        missing.append(sum(len(list_missing_days(it, at=at)) for it in (first, last)))
        evaluated.append(account)
        return 0

    monkeypatch.setattr(workers, "store_past_days", store)
    monkeypatch.setattr(workers, "evaluate_watches", evaluate)

    run_worker()

    assert len(list_missing_days(broken, at=now)) >= 2
    assert (missing, {*evaluated}) == ([0, 0, 0], {*accounts})
    assert f"Statistics of account {broken} could not be stored" in caplog.text


def test_mails_alerts_with_their_address(make_account_with_returned_payment, sent_mails, settings):
    settings.PUBLIC_URL = "https://aff.example.org"
    account = make_account_with_returned_payment()
    user, _ = create_staff_user(
        account, email="ada@example.org", role=Role.OWNER, password=None, at=timezone.now()
    )
    set_alert_mails(user, is_on=True, at=timezone.now())

    run_worker()

    alert, mail = account.alerts.get(), account.mails.get()
    assert f"\nhttps://aff.example.org/admin/payouts/alert/{alert.pk}/change/\n" in mail.text
    run_worker()
    assert sent_mails == [account.pk]
