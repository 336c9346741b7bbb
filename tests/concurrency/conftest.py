"""Several processes on the test database, kept for all races of a run.

Real commits: each test makes an account of its own and leaves it behind.
"""

from uuid import uuid4

import pytest
from django.db import connection

from tests.concurrency.server import serving
from tests.concurrency.worker import PROCESSES, Workers
from tests.factories.accounts import AccountFactory
from tests.proof import books_agree
from tests.shop import Shop


def is_for_tests(database) -> bool:
    """pytest-django makes no test database for a run in which no test asks for `db`;
    what is committed here would then go into the real one."""
    if database.vendor == "sqlite":
        return database.settings_dict["NAME"] == database.settings_dict["TEST"]["NAME"]
    return database.settings_dict["NAME"].startswith("test_")


@pytest.fixture(scope="session")
def workers(django_db_setup, django_db_blocker):
    """Processes that wait for work."""
    assert is_for_tests(connection)
    with django_db_blocker.unblock():
        started = Workers(PROCESSES)
    yield started
    started.end()


@pytest.fixture(scope="session")
def server(django_db_setup, django_db_blocker):
    """gunicorn, which waits for requests."""
    assert is_for_tests(connection)
    with django_db_blocker.unblock(), serving() as started:
        yield started


@pytest.fixture
def shop(committed):
    """A program of an account that nobody has seen before; its books agree at last."""
    shop = Shop(
        AccountFactory(slug=f"race-{uuid4().hex[:12]}", plan__name="enterprise")
    )
    yield shop
    books_agree(shop.account)
