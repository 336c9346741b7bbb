"""Rate limits counted by Redis, and by the database while Redis fails."""

import time
from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from accounts import redis_counters
from accounts.models.api_keys import RateWindow
from accounts.services import rate_limits
from accounts.services.rate_limits import (
    RateLimit,
    add_hits,
    count_request,
    open_window,
)
from affiliate_site.operations import doctor, metrics
from tests.accounts.services.counting import HITS, PROCESSES, count_in_processes
from tests.conftest import ApiClient
from tests.redis_server import FakeRedis, RedisServer

MINUTE = timedelta(minutes=1)
LIMIT = RateLimit(3, minutes=1)
MAX_SECONDS = 2  # of a request on a busy machine; without deadlines there is no end


@pytest.fixture(scope="module")
def server():
    server = RedisServer()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def use_redis(settings, monkeypatch):
    """Count by the Redis with this URL from now on."""

    def use(url):
        settings.REDIS_URL = url
        monkeypatch.setattr(redis_counters, "ANSWER_SECONDS", 1)  # for busy machines
        redis_counters.get_client.cache_clear()
        redis_counters.get_script.cache_clear()
        breaker = rate_limits.CircuitBreaker("redis_left_out")
        monkeypatch.setattr(rate_limits, "redis", breaker)
        return breaker

    yield use
    redis_counters.get_client().connection_pool.disconnect()
    redis_counters.get_client.cache_clear()
    redis_counters.get_script.cache_clear()


@pytest.fixture
def redis(server, use_redis):
    """An empty Redis that counts; a client of it."""
    use_redis(server.url)
    client = redis_counters.get_client()
    client.flushdb()
    return client


def end_window(redis, subject, by=MINUTE):
    """Let the window have begun that much earlier."""
    microseconds = by // timedelta(microseconds=1)
    redis.hincrby(redis_counters.PREFIX + subject, "started_at", -microseconds)


def as_tuple(usage):
    return usage.hits, usage.remaining, usage.is_exceeded


def list_windows(db) -> list[tuple]:
    return list(RateWindow.objects.values_list("subject", "hits"))


def test_counts_within_a_window_with_a_fixed_end(redis, capture_queries, db):
    with capture_queries() as queries:
        usages = [count_request("subject", LIMIT) for _ in range(5)]

    assert [as_tuple(usage) for usage in usages] == [
        (1, 2, False),
        (2, 1, False),
        (3, 0, False),
        (4, 0, True),
        (5, 0, True),
    ]
    assert {usage.ends_at for usage in usages} == {usages[0].ends_at}
    assert len(queries) == 0


def test_starts_a_new_window_at_the_end_of_the_last(redis):
    first = [count_request("subject", LIMIT) for _ in range(5)][-1]
    end_window(redis, "subject", by=timedelta(seconds=30))
    same = count_request("subject", LIMIT)
    end_window(redis, "subject", by=timedelta(seconds=30))

    assert same.ends_at == first.ends_at - timedelta(seconds=30)
    assert as_tuple(same) == (6, 0, True)
    assert as_tuple(count_request("subject", LIMIT)) == (1, 2, False)
    assert count_request("another", LIMIT).hits == 1


def test_counts_by_the_clock_of_redis(redis):
    before = datetime.now(UTC)
    with time_machine.travel(before + timedelta(hours=2)):
        usage = count_request("subject", LIMIT)

    assert before <= usage.ends_at - MINUTE <= datetime.now(UTC)


def test_keeps_no_counter_for_long(redis):
    count_request("subject", LIMIT)

    milliseconds = redis.pttl(redis_counters.PREFIX + "subject")

    assert 59_000 < milliseconds <= 61_000


def test_opens_windows_and_adds_hits(redis):
    assert add_hits("subject", hits=1) is None
    assert open_window("subject", hits=1, window=MINUTE)
    assert not open_window("subject", hits=7, window=MINUTE)
    assert [add_hits("subject", hits=2), add_hits("subject", hits=0)] == [3, 3]
    end_window(redis, "subject")
    assert open_window("subject", hits=7, window=MINUTE)
    assert add_hits("subject", hits=1) == 8


@pytest.mark.integration
@pytest.mark.engine_independent
def test_counts_exactly_across_processes(redis, server):
    usages = count_in_processes("processes", REDIS_URL=server.url)

    counts, resets = zip(*usages, strict=True)
    assert sorted(counts) == list(range(1, PROCESSES * HITS + 1))
    assert len(set(resets)) == 1


@pytest.mark.urls("tests.dummy_endpoints")  # 3 requests per minute
def test_answers_as_the_database_does(
    redis, server, use_redis, settings, account, make_key, capture_queries
):
    def list_answers():
        client, answers, statements = ApiClient(make_key(account)), [], []
        client.get("/dummies/")
        for _ in range(4):
            with capture_queries() as queries:
                response = client.get("/dummies/")
            statements.append(len(queries))
            headers = dict(response.items())
            del headers["X-Trace-Id"]
            reset = int(headers.pop("X-RateLimit-Reset"))
            assert 0 < reset - time.time() < 62
            answers.append((response.status_code, headers, response.content))
        return answers, statements

    by_redis, redis_statements = list_answers()
    settings.REDIS_URL = ""
    by_database, database_statements = list_answers()

    assert by_redis == by_database
    assert [status for status, *_ in by_redis] == [200, 200, 429, 429]
    assert [b - a for a, b in zip(redis_statements, database_statements, strict=True)] == [
        1,
        1,
        1,
        1,
    ]


def test_counts_in_the_database_while_redis_is_away(db, server, use_redis, settings, monkeypatch):
    fallbacks, logged = [], []
    monkeypatch.setattr(metrics, "count_rate_limit_fallback", lambda: fallbacks.append(1))
    settings.RATE_LIMIT_FALLBACK_COUNTER = (
        "affiliate_site.operations.metrics.count_rate_limit_fallback"
    )
    monkeypatch.setattr(
        "accounts.circuit_breaker.log.warning",
        lambda event, **values: logged.append((event, values)),
    )
    breaker = use_redis(server.url)
    redis_counters.get_client().flushdb()
    assert count_request("subject", LIMIT).hits == 1

    server.stop()
    try:
        assert [count_request("subject", LIMIT).hits for _ in range(2)] == [1, 2]
        breaker.open_until = 0
        assert count_request("subject", LIMIT).hits == 3
        assert not open_window("subject", hits=1, window=MINUTE)
        assert add_hits("subject", hits=1) == 4
    finally:
        server.start()

    assert count_request("subject", LIMIT).hits == 5  # it is not tried yet
    breaker.open_until = 0
    assert count_request("subject", LIMIT).hits == 1
    assert list_windows(db) == [("subject", 5)]
    assert len(fallbacks) == 6
    assert logged == [("redis_left_out", {"reason": "ConnectionError"})]


def test_counts_in_the_database_while_redis_is_frozen(db, server, use_redis):
    breaker = use_redis(server.url)
    redis_counters.get_client().flushdb()
    assert count_request("subject", LIMIT).hits == 1
    server.freeze()
    try:
        started = time.monotonic()
        assert count_request("subject", LIMIT).hits == 1
        assert time.monotonic() - started < MAX_SECONDS
    finally:
        server.resume()
    breaker.open_until = 0

    # It may have counted what it had received, but never gives an answer to another
    # question.
    assert count_request("subject", LIMIT).hits in (2, 3)
    assert count_request("another", LIMIT).hits == 1


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"+OK\r\n",
        b":abc\r\n",
        b"$-1\r\n",
        b"*2\r\n:1\r\n:2\r\n",
        b"*3\r\n:99999999999999999999\r\n:1\r\n:1\r\n",
        b"*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n",
        b"-LOADING Redis is loading the dataset in memory\r\n",
        b"-OOM command not allowed when used memory > 'maxmemory'.\r\n",
        b"-READONLY You can't write against a read only replica.\r\n",
        b"-NOAUTH Authentication required.\r\n",
        b"\xff\xfe\r\n",
        b"$5\r\nab",  # and no more
    ],
)
def test_counts_in_the_database_when_redis_answers_wrongly(db, use_redis, answer):
    with FakeRedis(answer) as fake:
        use_redis(fake.url)

        started = time.monotonic()
        assert [count_request("subject", LIMIT).hits for _ in range(2)] == [1, 2]
        assert time.monotonic() - started < MAX_SECONDS


def test_loads_its_scripts_again(redis):
    count_request("subject", LIMIT)
    redis.script_flush()

    assert count_request("subject", LIMIT).hits == 2


def test_counts_fallbacks():
    before = metrics.FALLBACKS._value.get()

    metrics.count_rate_limit_fallback()

    assert metrics.FALLBACKS._value.get() == before + 1


def test_doctor_judges_redis(redis, server, use_redis):
    found = doctor.check_redis(None)
    assert found.status == "ok"
    assert found.detail.endswith("counts for rate limits")

    redis.config_set("maxmemory", "100mb")
    redis.config_set("maxmemory-policy", "allkeys-lru")
    try:
        assert doctor.check_redis(None).status == "warning"
    finally:
        redis.config_set("maxmemory", "0")

    with FakeRedis(b"") as fake:
        use_redis(fake.url)
        found = doctor.check_redis(None)
    assert (found.status, "counted in the database" in found.advice) == (
        "failure",
        True,
    )
