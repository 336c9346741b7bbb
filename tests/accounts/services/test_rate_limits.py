"""docs/api-contract.md, section 1.8: fixed rate limit windows in the database."""

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from accounts.models.api_keys import RateWindow
from accounts.services import rate_limits
from accounts.services.rate_limits import (
    RateLimit,
    add_hits,
    count_request,
    open_window,
)
from tests.accounts.services.counting import HITS, PROCESSES, count_in_processes
from tests.conftest import NOW

GET_TIME = rate_limits.get_time  # the tests of other modules replace it
MINUTE = timedelta(minutes=1)
MICROSECOND = timedelta(microseconds=1)
LIMIT = RateLimit(3, minutes=1)


@pytest.fixture(autouse=True)
def _database(request):
    if "committed_db" not in request.fixturenames:
        request.getfixturevalue("db")


def to_timestamp(time):
    return int(time.timestamp())


def as_tuple(usage):
    return usage.hits, usage.remaining, usage.is_exceeded


def test_counts_by_the_clock_of_the_database(capture_queries, monkeypatch):
    """A host whose clock is two hours fast must not move the windows of all."""
    fast = datetime.now(UTC) + timedelta(hours=2)
    monkeypatch.setattr(rate_limits, "get_time", GET_TIME)
    if connection.vendor == "postgresql":
        monkeypatch.setattr(rate_limits, "get_database_time", lambda: fast)
    before = datetime.now(UTC)

    with capture_queries() as queries:
        usages = [count_request("subject", LIMIT) for _ in range(4)]

    assert len(queries) == 4
    assert [usage.hits for usage in usages] == [1, 2, 3, 4]
    assert {usage.ends_at for usage in usages} == {usages[0].ends_at}
    assert before <= usages[0].ends_at - MINUTE <= datetime.now(UTC)
    RateWindow.objects.update(started_at=before - MINUTE)
    assert count_request("subject", LIMIT).hits == 1
    assert not open_window("subject", hits=1, window=MINUTE)
    RateWindow.objects.update(started_at=before - MINUTE)
    assert open_window("subject", hits=5, window=MINUTE)


def test_starts_a_window_with_the_first_hit():
    usage = count_request("subject", LIMIT, at=NOW)

    assert as_tuple(usage) == (1, 2, False)
    assert usage.limit == 3
    assert usage.reset_timestamp == to_timestamp(NOW + MINUTE)


def test_the_end_of_a_window_is_in_utc():
    usage = count_request("subject", LIMIT, at=NOW)

    assert usage.ends_at.tzinfo is not None
    assert usage.ends_at == NOW + MINUTE


def test_counts_within_a_window_with_a_fixed_end():
    usages = [count_request("subject", LIMIT, at=NOW + n * MINUTE / 5) for n in range(5)]

    assert [as_tuple(usage) for usage in usages] == [
        (1, 2, False),
        (2, 1, False),
        (3, 0, False),
        (4, 0, True),
        (5, 0, True),
    ]
    assert {usage.reset_timestamp for usage in usages} == {to_timestamp(NOW + MINUTE)}


def test_counts_until_the_end_of_the_window():
    count_request("subject", LIMIT, at=NOW)

    usage = count_request("subject", LIMIT, at=NOW + MINUTE - MICROSECOND)

    assert (usage.hits, usage.reset_timestamp) == (2, to_timestamp(NOW + MINUTE))


def test_starts_a_new_window_after_the_end():
    for _ in range(5):
        count_request("subject", LIMIT, at=NOW)

    usage = count_request("subject", LIMIT, at=NOW + MINUTE)

    assert as_tuple(usage) == (1, 2, False)
    assert usage.reset_timestamp == to_timestamp(NOW + 2 * MINUTE)


def test_windows_are_not_aligned_to_the_clock():
    late = NOW + timedelta(days=1, seconds=31)
    count_request("subject", LIMIT, at=NOW)

    usage = count_request("subject", LIMIT, at=late)

    assert usage.reset_timestamp == to_timestamp(late + MINUTE)


def test_a_rejected_hit_does_not_extend_the_window():
    for seconds in (0, 1, 2, 3, 30, 59):
        count_request("subject", LIMIT, at=NOW + timedelta(seconds=seconds))

    assert as_tuple(count_request("subject", LIMIT, at=NOW + MINUTE)) == (1, 2, False)


def test_counts_each_subject_separately():
    for _ in range(5):
        count_request("subject", LIMIT, at=NOW)

    assert count_request("another", LIMIT, at=NOW).hits == 1


@pytest.mark.parametrize(
    ("microseconds", "reset"),
    [(0, 1772615787), (1, 1772615788), (999_999, 1772615788)],
    ids=["whole second", "just over", "almost the next"],
)
def test_rounds_the_reset_up_to_a_whole_second(microseconds, reset):
    usage = count_request("subject", LIMIT, at=NOW + timedelta(microseconds=microseconds))

    assert usage.reset_timestamp == reset


def test_counts_in_one_statement(capture_queries):
    count_request("subject", LIMIT, at=NOW)

    with capture_queries() as queries:
        count_request("subject", LIMIT, at=NOW)

    assert len(queries) == 1


def test_stores_one_row_per_subject():
    for minutes in range(5):
        count_request("subject", LIMIT, at=NOW + minutes * MINUTE)

    assert RateWindow.objects.filter(subject="subject").count() == 1


def test_opens_a_window_unless_one_is_running():
    assert open_window("subject", hits=1, window=MINUTE, at=NOW)
    assert not open_window("subject", hits=1, window=MINUTE, at=NOW + MINUTE - MICROSECOND)
    assert open_window("subject", hits=7, window=MINUTE, at=NOW + MINUTE)
    assert RateWindow.objects.get(subject="subject").hits == 7


def test_adds_hits_to_an_existing_window():
    open_window("subject", hits=1, window=MINUTE, at=NOW)

    assert [add_hits("subject", hits=2), add_hits("subject", hits=0)] == [3, 3]
    assert add_hits("another", hits=1) is None


def test_counts_exactly_across_processes(committed_db):
    subject = f"processes {uuid.uuid4()}"

    counts, resets = zip(*count_in_processes(subject, at=NOW), strict=True)

    assert sorted(counts) == list(range(1, PROCESSES * HITS + 1))
    assert set(resets) == {1772615787}
    RateWindow.objects.filter(subject=subject).delete()
