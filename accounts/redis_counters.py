"""Counters of rate limits in Redis, used where REDIS_URL is set.

The windows are those of `accounts/services/rate_limits.py`, by the clock of Redis. Each
failure is raised as a `RedisError`. See docs/reliability.md, section 7.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from django.conf import settings
from redis import ConnectionPool, Redis
from redis.backoff import NoBackoff
from redis.connection import parse_url
from redis.exceptions import InvalidResponse
from redis.exceptions import RedisError as RedisError
from redis.retry import Retry

PREFIX = "affiliate_site:rate_limit:"
ANSWER_SECONDS = 0.05  # per answer, also to a connection attempt, AUTH and SELECT

# Times in microseconds. Without a running window it starts one with ARGV[2] hits, else
# it adds ARGV[3]. The key expires after the window; the start alone decides.
COUNT_SCRIPT = """
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local window = tonumber(ARGV[1])
local started = tonumber(redis.call('HGET', KEYS[1], 'started_at'))
if started and started > now - window then
  return {started, redis.call('HINCRBY', KEYS[1], 'hits', ARGV[3]), 0}
end
redis.call('HSET', KEYS[1], 'started_at', string.format('%.0f', now), 'hits', ARGV[2])
redis.call('PEXPIRE', KEYS[1], math.ceil(window / 1000) + 1000)
return {now, tonumber(ARGV[2]), 1}
"""
ADD_SCRIPT = """
if redis.call('EXISTS', KEYS[1]) == 0 then return false end
return redis.call('HINCRBY', KEYS[1], 'hits', ARGV[1])
"""


@cache
def get_client() -> Redis:
    """Return the client of this process; it connects when it is used."""
    options: dict[str, Any] = parse_url(settings.REDIS_URL) | {  # type: ignore[no-untyped-call]
        "socket_timeout": ANSWER_SECONDS,
        "socket_connect_timeout": ANSWER_SECONDS,
        "retry": Retry(NoBackoff(), 0),
        "protocol": 2,  # no greeting
        "driver_info": None,
    }
    return Redis(connection_pool=ConnectionPool(**options))


@cache
def get_script(source: str) -> Any:
    """Return a script that is sent in full once, then by its hash."""
    return get_client().register_script(source)


def count(
    subject: str, window: timedelta, *, first: int = 1, further: int = 1
) -> tuple[datetime, int, bool]:
    """Start a window with `first` hits, or add `further` hits to the running one.

    Return its start, its hits, and whether it is new. Raises RedisError.
    """
    microseconds = window // timedelta(microseconds=1)
    match run_script(COUNT_SCRIPT, subject, microseconds, first, further):
        case [int(started), int(hits), int(is_new)]:
            return to_time(started), hits, bool(is_new)
    raise InvalidResponse("not an answer of the script")


def add_hits(subject: str, *, hits: int) -> int | None:
    """Add hits to a window; return the sum, or None without one. Raises RedisError."""
    match run_script(ADD_SCRIPT, subject, hits):
        case int() | None as answer:
            return answer
    raise InvalidResponse("not an answer of the script")


def run_script(source: str, subject: str, *arguments: int) -> Any:
    """Run a script on the counter of the subject, atomically."""
    try:
        return get_script(source)(keys=[PREFIX + subject], args=arguments)
    except (OSError, ValueError) as error:  # what is no answer of a Redis at all
        raise InvalidResponse(str(error)) from error


def to_time(microseconds: int) -> datetime:
    """Convert microseconds since 1970; raises InvalidResponse outside of all dates."""
    try:
        return datetime.fromtimestamp(0, UTC) + timedelta(microseconds=microseconds)
    except OverflowError as error:
        raise InvalidResponse(str(error)) from error


@dataclass(frozen=True)
class RedisState:
    """The server as `doctor` shows it."""

    version: str
    can_evict: bool  # counters that have not expired


def get_state() -> RedisState:
    """Ask the server about itself, and try the script. Raises RedisError."""
    count("doctor", timedelta(minutes=1))
    found = get_client().info("server") | get_client().info("memory")
    return RedisState(
        version=str(found.get("redis_version", "unknown")),
        can_evict=bool(found.get("maxmemory")) and found.get("maxmemory_policy") != "noeviction",
    )
