"""reliability.md, section 11: who is slow or dead does not hold the others up."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import OperationalError
from django.utils import timezone

from accounts.models.webhooks import Delivery
from accounts.services import deliveries
from accounts.services.deliveries import Outcome, due_endpoints
from accounts.services.events import note
from accounts.services.webhooks import add_webhook
from affiliate_site.webhooks import worker as workers
from affiliate_site.webhooks.sending import SECONDS
from affiliate_site.webhooks.worker import (
    FOR_THE_FAILING,
    HANDS,
    OF_ONE_ACCOUNT,
    PER_ENDPOINT,
    Worker,
)
from tests.factories.accounts import AccountFactory

FINE = Outcome(status=204)


@pytest.fixture(autouse=True)
def plug(settings):
    settings.EVENT_BODY = "tests.accounts.services.test_outbox.render"


@pytest.fixture
def listener(db):
    """A company that is told of so many events: `listener(3)`; its endpoint."""

    def make(events, *, account=None, **changes):
        account = account or AccountFactory()
        number = account.webhook_endpoints.count()
        url = f"https://hooks.example.net/{number}"
        endpoint = add_webhook(account, url=url, at=timezone.now())
        for _ in range(events):
            note(account, "customer.created", account, at=timezone.now())
        if changes:
            endpoint.change(**changes)
        return endpoint

    return make


@pytest.fixture
def calls(monkeypatch):
    """Stands for the network: `calls.to(endpoint)` counts, `calls.slow` wait."""
    calls = Calls()
    monkeypatch.setattr(workers, "send", calls.send)
    return calls


class Calls:
    def __init__(self):
        self.sent = []
        self.slow = set()
        self.answers = {}
        self.release = threading.Event()
        self.lock = threading.Lock()

    def send(self, delivery, *, at):
        with self.lock:
            self.sent.append(delivery.endpoint_id)
        if delivery.endpoint_id in self.slow:
            assert self.release.wait(30)
        return self.answers.get(delivery.endpoint_id, FINE)

    def to(self, endpoint):
        return self.sent.count(endpoint.pk)


def worked_off(told=None):
    Worker(tell=told or (lambda *_: None)).run(until=timezone.now())


def test_sends_all_that_is_due(listener, calls):
    endpoints = [listener(events) for events in (1, 10, 50)]

    worked_off()

    assert [calls.to(endpoint) for endpoint in endpoints] == [1, 10, 50]
    for endpoint in endpoints:
        rows = endpoint.account.deliveries
        assert not rows.filter(delivered_at=None).exists()
    assert due_endpoints(at=timezone.now()) == []


def test_leaves_what_comes_later(listener, calls):
    until = timezone.now()
    endpoint = listener(3)

    Worker(tell=lambda *_: None).run(until=until)

    assert calls.to(endpoint) == 0


def test_holds_few_hands_for_one_receiver(listener, calls):
    """The quick are served to the end while the slow have not answered once."""
    slow, quick = listener(100), listener(100)
    calls.slow = {slow.pk}
    waiting = threading.Event()

    def told(delivery, outcome):
        if calls.to(quick) == 100:
            waiting.set()
            calls.release.set()
        assert calls.to(slow) <= PER_ENDPOINT or waiting.is_set()

    worked_off(told)

    assert waiting.is_set()
    assert (calls.to(slow), calls.to(quick)) == (100, 100)


def test_holds_half_of_the_hands_free_for_first_calls(listener, calls):
    slow = [listener(10) for _ in range(HANDS // 2 // PER_ENDPOINT + 3)]
    quick = listener(5)
    calls.slow = {endpoint.pk for endpoint in slow}

    def told(delivery, outcome):
        if calls.to(quick) == 5:
            calls.release.set()

    worked_off(told)

    assert calls.to(quick) == 5


def test_gives_the_failing_of_one_account_two_hands(listener, calls):
    """The dead ones of a company hold up no failing one of another."""
    now = timezone.now()
    account = AccountFactory()
    dead = [listener(3, account=account, failing_since=now) for _ in range(9)]
    once = listener(1, failing_since=now)
    calls.slow = {endpoint.pk for endpoint in dead}

    def told(delivery, outcome):
        if calls.to(once) == 1 and not calls.release.is_set():
            assert sum(calls.to(endpoint) for endpoint in dead) == OF_ONE_ACCOUNT
            calls.release.set()

    worked_off(told)

    assert calls.release.is_set()


def test_leaves_a_receiver_alone_that_has_just_failed(listener, calls):
    now = timezone.now()
    resting = listener(3, failing_since=now, rests_until=now + timedelta(minutes=1))
    fine = listener(1)
    worker = Worker(tell=lambda *_: worker.stop())

    worker.run()

    assert (calls.to(resting), calls.to(fine)) == (0, 1)
    worked_off()  # with --once, all that is due is tried
    assert calls.to(resting) == 3


def test_goes_on_where_the_database_fails_for_a_moment(
    listener, calls, monkeypatch, caplog
):
    endpoint = listener(10)
    failures = iter([True])

    def fail_once(*told, **more):
        if next(failures, False):
            raise OperationalError("server closed the connection unexpectedly")
        return deliveries.record(*told, **more)

    monkeypatch.setattr(workers, "record", fail_once)
    told = []

    def stop_at_last(delivery, outcome):
        told.append(delivery)
        if len(told) == 9:
            worker.stop()

    worker = Worker(tell=stop_at_last)
    worker.run()

    rows = endpoint.account.deliveries
    assert (calls.to(endpoint), rows.exclude(delivered_at=None).count()) == (10, 9)
    assert "What is due could not be read or written" in caplog.text


def test_does_not_say_that_it_is_done_where_the_database_fails(listener, monkeypatch):
    def fail(**_):
        raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(workers, "due_endpoints", fail)

    with pytest.raises(OperationalError):
        worked_off()


def test_writes_down_trouble_of_any_length(listener, calls):
    endpoint = listener(1)
    calls.answers = {endpoint.pk: Outcome(trouble="x" * 1000)}

    worked_off()

    assert endpoint.account.deliveries.get().trouble == "x" * 255


def test_gives_the_failing_one_hand_each(listener, calls):
    now = timezone.now()
    failing = [listener(3, failing_since=now) for _ in range(FOR_THE_FAILING + 4)]
    fine = listener(30)
    calls.slow = {endpoint.pk for endpoint in failing}

    def told(delivery, outcome):
        if calls.to(fine) == 30 and not calls.release.is_set():
            begun = [calls.to(endpoint) for endpoint in failing]
            assert max(begun) == 1
            assert sum(begun) == FOR_THE_FAILING
            calls.release.set()

    worked_off(told)

    assert calls.release.is_set()


def test_writes_down_each_outcome(listener, calls):
    broken, fine = listener(1), listener(1)
    calls.answers = {broken.pk: Outcome(status=500, trouble="answered 500")}
    told = []

    worked_off(lambda delivery, outcome: told.append((delivery.endpoint_id, outcome)))

    assert dict(told) == {
        broken.pk: Outcome(status=500, trouble="answered 500"),
        fine.pk: FINE,
    }
    assert broken.account.deliveries.get().trouble == "answered 500"


def test_takes_a_fault_of_ours_for_a_failed_try(listener, calls, monkeypatch, caplog):
    broken, fine = listener(1), listener(1)

    def fail_for_one(delivery, *, at):
        if delivery.endpoint_id == broken.pk:
            raise ZeroDivisionError("oh")
        return FINE

    monkeypatch.setattr(workers, "send", fail_for_one)

    worked_off()

    assert broken.account.deliveries.get().trouble == (
        "our own fault, see the log: ZeroDivisionError"
    )
    assert fine.account.deliveries.get().delivered_at
    assert "A webhook could not be called" in caplog.text


def test_finishes_what_is_in_hand_when_it_is_stopped(listener, calls):
    endpoint = listener(PER_ENDPOINT + 5)
    worker = Worker(tell=lambda *_: worker.stop())

    worker.run()

    delivered = endpoint.account.deliveries.exclude(delivered_at=None).count()
    assert delivered == calls.to(endpoint)
    assert PER_ENDPOINT <= delivered < PER_ENDPOINT + 5
    assert not worker.in_hand


def test_tells_two_workers_apart(listener, calls):
    """What one has claimed the other does not see."""
    endpoint = listener(PER_ENDPOINT)
    calls.slow = {endpoint.pk}
    first, second = (Worker(tell=lambda *_: None) for _ in range(2))
    with ThreadPoolExecutor(HANDS) as hands:
        first.take(hands, due=timezone.now())
        second.take(hands, due=timezone.now())
        calls.release.set()
        while first.in_hand:
            first.finish(timeout=None)

    assert second.in_hand == {}
    assert calls.to(endpoint) == PER_ENDPOINT
    assert not Delivery.objects.filter(attempts__gt=1).exists()


def test_has_a_lease_longer_than_any_call():
    assert deliveries.LEASE.total_seconds() > 3 * SECONDS
