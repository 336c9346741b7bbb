"""Which database a read uses. With a real replica: tests/deploy/test_machines.py."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from django.db import DataError, OperationalError

from accounts import circuit_breaker, replica
from payouts.models.daily_stats import DailyStats
from payouts.models.ledger import Transfer
from payouts.models.payments import Payment
from tracking.models.conversions import Conversion

POSITION = "0/3000060"


class FakeDatabase:
    """A connection that answers each statement with the next of its answers."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.closed = 0
        self.in_atomic_block = False
        self.limits = []

    def limit_answers(self, seconds):
        self.limits.append(seconds)
        return nullcontext()

    def cursor(self):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def execute(self, sql, parameters=()):
        self.parameters = parameters
        if isinstance(self.answers[0], Exception):
            raise self.answers.pop(0)

    def fetchone(self):
        answer = self.answers.pop(0)
        return answer if isinstance(answer, tuple) else (answer,)

    def close(self):
        self.closed += 1


@pytest.fixture
def databases(monkeypatch):
    """A primary and a replica: `databases.replica = FakeDatabase(True)`."""
    found = SimpleNamespace(default=FakeDatabase(POSITION), replica=FakeDatabase(True))
    settings = SimpleNamespace(DATABASES={"default": {}, "replica": {}})
    monkeypatch.setattr(replica, "settings", settings)
    monkeypatch.setattr(replica, "connections", ByName(found))
    monkeypatch.setattr(replica, "replica", circuit_breaker.CircuitBreaker("replica_left_out"))
    monkeypatch.setattr(replica.time, "sleep", lambda seconds: None)
    return found


class ByName:
    def __init__(self, found):
        self.found = found

    def __getitem__(self, alias):
        return getattr(self.found, alias)


def read(function=lambda alias: alias):
    return replica.read(function)


def test_reads_the_primary_without_a_replica(monkeypatch):
    monkeypatch.setattr(replica, "connections", {})  # nothing is asked

    assert read() == "default"


def test_reads_a_replica_that_has_all_that_is_committed(databases):
    assert read() == "replica"
    assert databases.replica.parameters == [POSITION]
    assert databases.replica.limits == [replica.ANSWER_SECONDS]


def test_waits_for_a_replica_that_is_just_behind(databases):
    databases.replica = FakeDatabase(False, False, True)

    assert read() == "replica"


@pytest.mark.parametrize(
    ("answers", "reason", "closed"),
    [
        ([False] * len(replica.WAIT_SECONDS), "behind", 0),
        ([OperationalError("gone\nLINE 1: SELECT")], "OperationalError: gone", 1),
    ],
)
def test_leaves_out_a_replica_and_logs_once(databases, monkeypatch, answers, reason, closed):
    databases.replica = FakeDatabase(*answers)
    logged = []
    monkeypatch.setattr(
        circuit_breaker.log,
        "warning",
        lambda event, **values: logged.append((event, values)),
    )

    assert [read(), read()] == ["default", "default"]  # it is asked once

    assert databases.replica.closed == closed
    replica.replica.open_until = 0
    databases.default, databases.replica = FakeDatabase(POSITION), FakeDatabase(True)
    assert read() == "replica"
    replica.replica.open("again", seconds=1)
    assert logged == [("replica_left_out", {"reason": reason})]


def test_repeats_a_read_that_the_replica_fails(databases):
    aliases = []

    def fail_on_replica(alias):
        aliases.append(alias)
        if alias == "replica":
            raise OperationalError("conflict with recovery")
        return "rows"

    assert read(fail_on_replica) == "rows"
    assert aliases == ["replica", "default"]


def test_keeps_the_replica_after_an_error_of_the_request(databases):
    def fail(alias):
        raise DataError("a filter")

    with pytest.raises(DataError):
        read(fail)

    assert not replica.replica.is_open


def get_alias(model):
    return replica.ReplicaRouter().db_for_read(model)


def test_reads_a_page_from_the_replica_but_for_money(databases):
    def build_page():
        return get_alias(Conversion), get_alias(Payment), get_alias(Transfer)

    assert replica.read_page(build_page) == ("replica", "default", "default")
    assert get_alias(Conversion) == "default"  # outside of the page


def test_repeats_a_page_that_the_replica_fails(databases):
    aliases = []

    def build_page():
        aliases.append(get_alias(Conversion))
        if aliases == ["replica"]:
            raise OperationalError("conflict with recovery")
        return "page"

    assert replica.read_page(build_page) == "page"
    assert aliases == ["replica", "default"]


@pytest.mark.parametrize(
    "write",
    [lambda: replica.ReplicaRouter().db_for_write(DailyStats), replica.use_primary],
)
def test_reads_the_rest_of_a_page_from_the_primary_after_a_write(databases, write):
    def build_page():
        first = get_alias(Conversion)
        write()
        return first, get_alias(Conversion)

    assert replica.read_page(build_page) == ("replica", "default")


def test_reads_a_page_from_the_primary_in_a_transaction(databases):
    def build_page():
        databases.default.in_atomic_block = True
        return get_alias(Conversion)

    assert replica.read_page(build_page) == "default"


def test_migrates_the_primary_only():
    router = replica.ReplicaRouter()

    assert router.allow_migrate("default", "tracking")
    assert not router.allow_migrate("replica", "tracking")
    assert router.allow_relation(Payment(), Transfer())


def test_reads_the_primary_in_a_transaction(databases):
    databases.default.in_atomic_block = True

    assert read() == "default"


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ((True, 7, 123), 123),
        ((True, 7, -5), 0),
        ((False, 7, 0), "it is a primary, not a replica"),
        ((True, 8, 0), "it is a replica of another server"),
    ],
)
def test_says_how_far_behind_the_replica_is(databases, state, expected):
    databases.default = FakeDatabase(7, POSITION)
    databases.replica = FakeDatabase(state)

    try:
        found = replica.get_lag_bytes()
    except replica.UnusableReplica as error:
        found = str(error)

    assert found == expected
