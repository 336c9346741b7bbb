"""Contract 1.8: a fixed window, opened by the first hit, counted where all see it."""

import json
import subprocess
import sys
import uuid
from datetime import timedelta

import pytest

from accounts.models.keys import RateWindow
from accounts.services.usage import Rate, add, begin, hit
from tests.command_line import ROOT, environment
from tests.conftest import NOW

MINUTE = timedelta(minutes=1)
MOMENT = timedelta(microseconds=1)
RATE = Rate(3, minutes=1)

PROCESSES = 4
HITS = 100

COUNTER = """
import sys
from datetime import datetime
import django
django.setup()
from accounts.services.usage import Rate, hit
subject, moment, hits = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
usages = [
    hit(subject, Rate(100, minutes=1), at=datetime.fromisoformat(moment))
    for _ in range(int(hits))
]
print([usage.hits for usage in usages], flush=True)
print(sorted({usage.reset for usage in usages}), flush=True)
"""


@pytest.fixture(autouse=True)
def _database(request):
    if "committed" not in request.fixturenames:
        request.getfixturevalue("db")


def seconds(moment):
    return int(moment.timestamp())


def told(usage):
    return usage.hits, usage.remaining, usage.exceeded


def test_opens_a_window_with_the_first_hit():
    usage = hit("subject", RATE, at=NOW)

    assert told(usage) == (1, 2, False)
    assert usage.limit == 3
    assert usage.reset == seconds(NOW + MINUTE)


def test_tells_the_end_of_a_window_in_utc():
    usage = hit("subject", RATE, at=NOW)

    assert usage.ends.tzinfo is not None
    assert usage.ends == NOW + MINUTE


def test_counts_inside_the_window_whose_end_is_fixed():
    usages = [hit("subject", RATE, at=NOW + n * MINUTE / 5) for n in range(5)]

    assert [told(usage) for usage in usages] == [
        (1, 2, False),
        (2, 1, False),
        (3, 0, False),
        (4, 0, True),
        (5, 0, True),
    ]
    assert {usage.reset for usage in usages} == {seconds(NOW + MINUTE)}


def test_counts_on_until_the_last_moment_of_the_window():
    hit("subject", RATE, at=NOW)

    usage = hit("subject", RATE, at=NOW + MINUTE - MOMENT)

    assert (usage.hits, usage.reset) == (2, seconds(NOW + MINUTE))


def test_begins_anew_when_the_window_is_over():
    for _ in range(5):
        hit("subject", RATE, at=NOW)

    usage = hit("subject", RATE, at=NOW + MINUTE)

    assert told(usage) == (1, 2, False)
    assert usage.reset == seconds(NOW + 2 * MINUTE)


def test_is_no_clock_grid():
    late = NOW + timedelta(days=1, seconds=31)
    hit("subject", RATE, at=NOW)

    assert hit("subject", RATE, at=late).reset == seconds(late + MINUTE)


def test_is_not_moved_by_a_refused_hit():
    for seconds in (0, 1, 2, 3, 30, 59):
        hit("subject", RATE, at=NOW + timedelta(seconds=seconds))

    assert told(hit("subject", RATE, at=NOW + MINUTE)) == (1, 2, False)


def test_counts_each_subject_for_itself():
    for _ in range(5):
        hit("subject", RATE, at=NOW)

    assert hit("another", RATE, at=NOW).hits == 1


@pytest.mark.parametrize(
    ("microseconds", "reset"),
    [(0, 1772615787), (1, 1772615788), (999_999, 1772615788)],
    ids=["whole second", "just over", "almost the next"],
)
def test_rounds_the_reset_up_to_a_whole_second(microseconds, reset):
    usage = hit("subject", RATE, at=NOW + timedelta(microseconds=microseconds))

    assert usage.reset == reset


def test_counts_by_one_statement(statements):
    hit("subject", RATE, at=NOW)

    with statements() as asked:
        hit("subject", RATE, at=NOW)

    assert len(asked) == 1


def test_stores_one_row_for_a_subject():
    for minutes in range(5):
        hit("subject", RATE, at=NOW + minutes * MINUTE)

    assert RateWindow.objects.filter(subject="subject").count() == 1


def test_begins_a_counter_unless_one_is_running():
    assert begin("subject", hits=1, window=MINUTE, at=NOW)
    assert not begin("subject", hits=1, window=MINUTE, at=NOW + MINUTE - MOMENT)
    assert begin("subject", hits=7, window=MINUTE, at=NOW + MINUTE)
    assert RateWindow.objects.get(subject="subject").hits == 7


def test_adds_to_a_counter_that_is_there():
    begin("subject", hits=1, window=MINUTE, at=NOW)

    assert [add("subject", hits=2), add("subject", hits=0)] == [3, 3]
    assert add("another", hits=1) is None


def counting_process(subject):
    return subprocess.Popen(  # noqa: S603 - our own script
        [sys.executable, "-c", COUNTER, subject, NOW.isoformat(), str(HITS)],
        cwd=ROOT,
        env=environment(),
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def test_counts_exactly_over_several_processes(committed):
    subject = f"processes {uuid.uuid4()}"
    counters = [counting_process(subject) for _ in range(PROCESSES)]
    for counter in counters:
        assert counter.stdout.readline() == "ready\n"
    for counter in counters:
        counter.stdin.write("go\n")
        counter.stdin.flush()

    answers = [counter.communicate(timeout=60)[0].splitlines() for counter in counters]

    assert [counter.returncode for counter in counters] == [0] * PROCESSES
    counts = [count for hits, _ in answers for count in json.loads(hits)]
    assert sorted(counts) == list(range(1, PROCESSES * HITS + 1))
    assert {resets for _, resets in answers} == {"[1772615787]"}
    RateWindow.objects.filter(subject=subject).delete()
