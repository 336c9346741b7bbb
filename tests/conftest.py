"""Fixtures for all tests: two accounts that must not see each other, an API client."""

import gc
import sys
from contextlib import contextmanager
from copy import deepcopy
from datetime import UTC, datetime

import pytest
from django.db.models import Model
from django.test import Client
from django.test.utils import teardown_databases
from hypothesis import settings as hypothesis_settings

from accounts.models.api_keys import Role
from accounts.services.api_keys import create_api_key
from payouts.services import statistics
from tests.factories.accounts import AccountFactory
from tests.factories.tracking import ProgramFactory
from tests.ledger_checks import assert_amounts_consistent, assert_ledger_consistent
from tests.migrated_database import create_test_databases
from tests.program_scenario import ProgramScenario
from tests.webhook_receiver import run_receiver

# No deadline: a slow machine must not fail a test.
hypothesis_settings.register_profile("project", deadline=None)
hypothesis_settings.load_profile("project")
statistics.MAX_SECONDS = 600

# Thousands of collected tests stay in memory; frequent garbage collections over them
# would take a third of the time.
gc.set_threshold(100_000, 20, 100)

NOW = datetime(2026, 3, 4, 9, 15, 27, tzinfo=UTC)


DATABASE_FIXTURES = {"db", "django_db_setup"}  # `db` and others request the latter


def pytest_collection_modifyitems(config, items):
    """Leave out, unless on SQLite, what does not depend on the database engine.

    These are the tests marked so and those without a database, which cannot query one.
    An expression of `-m` that names the marker runs them on every engine.
    """
    from django.db import connection

    if connection.vendor == "sqlite" or "engine_independent" in config.option.markexpr:
        return
    independent = [item for item in items if is_engine_independent(item)]
    config.hook.pytest_deselected(items=independent)
    items[:] = [item for item in items if not is_engine_independent(item)]


def is_engine_independent(item):
    if item.get_closest_marker("engine_independent"):
        return True
    uses_database = DATABASE_FIXTURES & set(item.fixturenames)
    return not uses_database and not item.get_closest_marker("django_db")


def pytest_collection_finish():
    """Exclude the collected tests from garbage collection."""
    gc.freeze()


class ApiClient:
    """Sends JSON requests with one API key; keyword arguments are headers.

    Paths below `/pb/` belong to `/1.7`, all others to `/1.6`.
    """

    def __init__(self, key: str, client: Client | None = None) -> None:
        self.key = key
        self.client = client or Client()

    def get(self, path, **headers):
        return self.request("GET", path, **headers)

    def post(self, path, body=None, **headers):
        return self.request("POST", path, body, **headers)

    def put(self, path, body=None, **headers):
        return self.request("PUT", path, body, **headers)

    def patch(self, path, body=None, **headers):
        return self.request("PATCH", path, body, **headers)

    def delete(self, path, body=None, **headers):
        return self.request("DELETE", path, body, **headers)

    def request(self, method, path, body=None, **headers):
        """Send a request: a dict or list as JSON, text and bytes unchanged."""
        import json

        if body is None:
            data = b""
        elif isinstance(body, bytes | str):
            data = body
        else:
            data = json.dumps(body)
        version = "1.7" if path.startswith("/pb/") else "1.6"
        return self.client.generic(
            method,
            f"/{version}{path}",
            data,
            content_type=headers.pop("content_type", "application/json"),
            headers={"X-Api-Key": self.key} | headers,
        )


@pytest.fixture(autouse=True)
def count_by_the_clock_of_the_test(monkeypatch):
    """Count rate limits by the time that a test sets; PostgreSQL does not know it."""
    monkeypatch.setattr("accounts.services.rate_limits.get_time", lambda: datetime.now(UTC))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Refuse a test whose code locks rows in another order than all other code, or of a
    model without a proof in `concurrency/test_saved_columns.py`.

    Those marked `another_transaction` run it in the middle of a transaction.
    """
    from tests.lock_order import LOCKED_MODELS, OTHERS, record_locks

    with record_locks() as order:
        result = yield
    assert order.models - OTHERS <= set(LOCKED_MODELS), "prove it in test_saved_columns.py"
    if not item.get_closest_marker("another_transaction"):
        assert order.violations == []
    return result


OWN_MODELS = ("accounts.", "payouts.", "tracking.")


@pytest.fixture(autouse=True)
def refuse_saves_of_whole_rows(monkeypatch):
    """Code changes columns: a whole row, as it was read before, would undo what another
    request changed under a lock. Tests may save rows."""
    save_base = Model.save_base

    def save_columns(self, *args, force_insert=False, update_fields=None, **kwargs):
        is_row = not (self._state.adding or force_insert) and update_fields is None
        if is_row and type(self).__module__.startswith(OWN_MODELS):
            frame = sys._getframe(1)
            while "/django/db/" in frame.f_code.co_filename:
                frame = frame.f_back
            place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
            assert "/tests/" in place, f"{place} saves a whole row of {self._meta.label}"
        return save_base(
            self,
            *args,
            force_insert=force_insert,
            update_fields=update_fields,
            **kwargs,
        )

    monkeypatch.setattr(Model, "save_base", save_columns)


@pytest.fixture
def account(request, db):
    """An account; that of `shared_scenario` in modules that use it."""
    if "shared_scenario" in request.fixturenames:
        return request.getfixturevalue("scenario_copy").account
    return create_account()


def create_account():
    return AccountFactory(slug="harbor", plan__name="enterprise")


@pytest.fixture
def other_account(db):
    """Each text of this account contains `zz-marker`, so that tests can find leaks."""
    return AccountFactory(slug="zz-marker", name="zz-marker", plan__name="enterprise")


@pytest.fixture
def program(account):
    return ProgramFactory(
        account=account,
        slug="harbor-lamp-partners",
        title="Harbor Lamp Partners",
        landing_page="https://shop.example.net/",
    )


@pytest.fixture
def make_key(db):
    """Create an API key and return its text: `make_key(account, role="viewer")`."""

    def make(account, role=Role.OWNER):
        return create_api_key(account, name="test", role=role, at=NOW)[1]

    return make


@pytest.fixture
def api(account, make_key):
    """A client with an API key of the role owner."""
    return ApiClient(make_key(account))


@pytest.fixture
def other_api(other_account, make_key):
    return ApiClient(make_key(other_account))


@pytest.fixture(scope="session")
def django_db_setup(django_test_environment, django_db_blocker, django_db_modify_db_settings):
    """Always create a test database.

    pytest-django creates one only for tests that request `db`; a run of
    only concurrency tests would commit to the real database.
    """
    with django_db_blocker.unblock():
        old_config = create_test_databases()
    yield
    with django_db_blocker.unblock():
        teardown_databases(old_config, verbosity=0)


@pytest.fixture
def committed_db(django_db_setup, django_db_blocker):
    """Allow real commits, visible to other processes; tests create an account."""
    from django.db import connections

    with django_db_blocker.unblock():
        yield
        for connection in connections.all():
            connection.close()


@pytest.fixture(scope="module")
def shared_rows(django_db_setup, django_db_blocker):
    """Allow fixtures to create rows that all tests of a module begin with.

    Each test changes them in a savepoint of its own.
    """
    from django.db import transaction

    with django_db_blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


@pytest.fixture
def capture_queries():
    """Capture SQL statements: `with capture_queries() as captured: …`."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    @contextmanager
    def capture():
        with CaptureQueriesContext(connection) as captured:
            yield captured

    return capture


@pytest.fixture
def during_count(monkeypatch):
    """Run a function once during the next count of days, after their rows were read."""

    from payouts.services import stored_days

    count_days = stored_days.count_days

    def run_during_count(function):
        def count_and_run(account, days):
            monkeypatch.setattr(stored_days, "count_days", count_days)
            counted = count_days(account, days)
            function()
            return counted

        monkeypatch.setattr(stored_days, "count_days", count_and_run)

    return run_during_count


@pytest.fixture
def webhook_receiver(settings):
    """A webhook receiver on loopback that deliveries may reach."""
    with run_receiver() as receiver:
        settings.WEBHOOK_ALLOWED_HOSTS = {receiver.host_and_port}
        yield receiver


@pytest.fixture
def scenario(request, account):
    """A program with a rate of 10 % in EUR; `scenario.mina` is enrolled in it.

    Its rows are created before each test, or once for all tests of a module with
    `pytestmark = pytest.mark.usefixtures("shared_scenario")`.
    """
    if "shared_scenario" in request.fixturenames:
        return request.getfixturevalue("scenario_copy")
    return ProgramScenario(account)


@pytest.fixture(scope="module")
def shared_scenario(shared_rows):
    return ProgramScenario(create_account())


@pytest.fixture
def scenario_copy(shared_scenario, db):
    """Objects that a test may change, of the rows that the module shares."""
    return deepcopy(shared_scenario)


@pytest.fixture
def consistent_ledger(scenario):
    """Check the ledger of the scenario after a test."""
    yield
    assert_ledger_consistent(scenario.account)


@pytest.fixture
def consistent_amounts(scenario):
    """Check the amounts of the scenario's ledger after a test, which is faster."""
    yield
    assert_amounts_consistent(scenario.account)


@pytest.fixture
def commission(scenario):
    """A pending commission of 20 EUR of a conversion of 200."""
    return scenario.get_commission(scenario.create_conversion("200"))
