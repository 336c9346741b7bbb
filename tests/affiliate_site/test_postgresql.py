"""The PostgreSQL backend: kept connections and times."""

import select
from datetime import UTC, datetime, timedelta

import pytest
from django.db import OperationalError, connection
from django.db.backends.postgresql.base import DatabaseWrapper

from tests.conftest import NOW

pytestmark = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="it is the backend of PostgreSQL"
)


@pytest.fixture
def make_connection(committed_db):
    """Connect with a health check in each request: `make_connection()`."""
    made = []

    def make():
        copy = connection.copy()
        copy.settings_dict = copy.settings_dict | {"CONN_HEALTH_CHECKS": True}
        made.append(copy)
        return copy

    yield make
    for copy in made:
        copy.close()


@pytest.fixture
def kept(make_connection):
    """A connection that a request has used."""
    kept = make_connection()
    kept.ensure_connection()
    return kept


@pytest.fixture
def end_session(make_connection):
    """Let the server close a connection, as its restart does."""

    def end(other):
        run_query(
            make_connection(),
            "SELECT pg_terminate_backend(%s, 5000)",
            [get_session_id(other)],
        )

    return end


def run_query(on_connection, sql, values=None):
    with on_connection.cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchall() if cursor.description else None


def get_session_id(on_connection):
    return run_query(on_connection, "SELECT pg_backend_pid()")[0][0]


def start_request(on_connection):
    """What Django does when a request starts."""
    on_connection.close_if_unusable_or_obsolete()


def test_keeps_a_silent_connection_without_a_query(kept, monkeypatch):
    monkeypatch.setattr(DatabaseWrapper, "is_usable", lambda self: False)
    session_id = get_session_id(kept)
    start_request(kept)

    assert get_session_id(kept) == session_id
    assert kept.health_check_done


def test_asks_a_server_that_has_sent_something(kept, make_connection):
    session_id = get_session_id(kept)
    run_query(kept, "LISTEN news")
    run_query(make_connection(), "NOTIFY news")
    poller = select.poll()
    poller.register(kept.connection.fileno(), select.POLLIN)
    assert poller.poll(5000)
    start_request(kept)

    assert get_session_id(kept) == session_id


def test_replaces_a_connection_that_the_server_closed(kept, end_session):
    session_id = get_session_id(kept)
    end_session(kept)
    start_request(kept)

    assert get_session_id(kept) != session_id


def test_checks_a_connection_once_in_a_request(kept, end_session):
    start_request(kept)
    get_session_id(kept)
    end_session(kept)

    with pytest.raises(OperationalError):
        get_session_id(kept)


def test_replaces_a_connection_that_was_closed_here(kept):
    session_id = get_session_id(kept)
    kept.connection.close()
    start_request(kept)

    assert get_session_id(kept) != session_id


@pytest.mark.parametrize("name", [None, "named"])
def test_loads_times_in_utc(kept, name):
    times = [
        NOW,
        NOW + timedelta(microseconds=120),
        datetime(1970, 1, 1, tzinfo=UTC),
        None,
    ]
    kept.set_autocommit(False)
    with kept.create_cursor(name) as cursor:
        cursor.execute("SELECT value FROM unnest(%s::timestamptz[]) AS value", [times])
        loaded = [row[0] for row in cursor.fetchall()]

    assert loaded == times
    assert all(time is None or time.tzinfo is UTC for time in loaded)


def test_does_not_wait_forever_for_an_answer(make_connection):
    waiting = make_connection()

    with waiting.limit_answers(0.1):
        with pytest.raises(OperationalError, match=r"no answer within 0\.1 s"):
            run_query(waiting, "SELECT pg_sleep(0.5)")
        assert waiting.connection.closed
    start_request(waiting)

    assert run_query(waiting, "SELECT 1") == [(1,)]


def test_limits_answers_of_requests_only(make_connection):
    connection = make_connection()
    # Set explicitly: the WSGI module, which other tests import, changes the settings.
    connection.settings_dict["ANSWER_SECONDS"] = None
    assert connection.copy().answer_seconds is None
    connection.settings_dict["ANSWER_SECONDS"] = 12

    limited = connection.copy()
    limited.ensure_connection()

    assert limited.connection.answer_seconds == 12
    with limited.limit_answers(None):
        assert limited.connection.answer_seconds is None
    assert limited.connection.answer_seconds == 12
    limited.close()
