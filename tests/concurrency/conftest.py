"""Worker processes and a server on the test database, shared by all concurrency tests.

Commits are real: each test creates its own account and does not delete it.
"""

from uuid import uuid4

import pytest
from django.db import connection

from tests.concurrency.server import run_server
from tests.concurrency.worker import PROCESSES, Workers
from tests.factories.accounts import AccountFactory
from tests.ledger_checks import assert_ledger_consistent
from tests.program_scenario import ProgramScenario


def is_test_database(database) -> bool:
    """Return whether the connection is to the test database.

    Real commits must not reach another database.
    """
    if database.vendor == "sqlite":
        return database.settings_dict["NAME"] == database.settings_dict["TEST"]["NAME"]
    return database.settings_dict["NAME"].startswith("test_")


@pytest.fixture(scope="session")
def workers(django_db_setup, django_db_blocker):
    """Processes that wait for tasks."""
    assert is_test_database(connection)
    with django_db_blocker.unblock():
        started = Workers(PROCESSES)
    yield started
    started.stop()


@pytest.fixture(scope="session")
def server(django_db_setup, django_db_blocker):
    """A running gunicorn."""
    assert is_test_database(connection)
    with django_db_blocker.unblock(), run_server() as started:
        yield started


@pytest.fixture
def scenario(committed_db):
    """A program of a new account; afterwards its ledger must be consistent."""
    scenario = ProgramScenario(
        AccountFactory(slug=f"race-{uuid4().hex[:12]}", plan__name="enterprise")
    )
    yield scenario
    assert_ledger_consistent(scenario.account)
