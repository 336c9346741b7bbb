"""The cast: two accounts that must never see each other, and a client of the API."""

from contextlib import contextmanager
from datetime import UTC, datetime

import pytest
from django.test import Client
from django.test.utils import setup_databases, teardown_databases
from hypothesis import settings as hypothesis_settings

from accounts.models.keys import Role
from accounts.services.keys import issue
from tests.factories.accounts import AccountFactory
from tests.factories.tracking import ProgramFactory
from tests.receiver import receiving
from tests.shop import Shop

# A busy machine is no failure: examples have no deadline.
hypothesis_settings.register_profile("house", deadline=None)
hypothesis_settings.load_profile("house")

NOW = datetime(2026, 3, 4, 9, 15, 27, tzinfo=UTC)


class Api:
    """Speaks to `/1.6`, or `/1.7` below `/pb/`, with one key, as JSON; keyword
    arguments are headers."""

    def __init__(self, key: str, client: Client | None = None) -> None:
        self.key = key
        self.client = client or Client()

    def get(self, path, **headers):
        return self.ask("GET", path, **headers)

    def post(self, path, body=None, **headers):
        return self.ask("POST", path, body, **headers)

    def put(self, path, body=None, **headers):
        return self.ask("PUT", path, body, **headers)

    def patch(self, path, body=None, **headers):
        return self.ask("PATCH", path, body, **headers)

    def delete(self, path, body=None, **headers):
        return self.ask("DELETE", path, body, **headers)

    def ask(self, method, path, body=None, **headers):
        """A dict or list is sent as JSON, text and bytes as they are."""
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


@pytest.fixture
def account(db):
    return AccountFactory(slug="harbor", plan__name="enterprise")


@pytest.fixture
def other_account(db):
    """Every text of this one carries MARKER, so that a leak can be searched for."""
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
def key_for(db):
    """A new key's text: `key_for(account, role="viewer")`."""

    def make(account, role=Role.OWNER):
        return issue(account, name="test", role=role, at=NOW)[1]

    return make


@pytest.fixture
def api(account, key_for):
    """A client with an owner's key."""
    return Api(key_for(account))


@pytest.fixture
def other_api(other_account, key_for):
    return Api(key_for(other_account))


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment, django_db_blocker, django_db_modify_db_settings
):
    """Always a test database: pytest-django makes one only for those who ask for `db`,
    and a run of nothing but races would commit into the real one."""
    with django_db_blocker.unblock():
        made = setup_databases(verbosity=0, interactive=False)
    yield
    with django_db_blocker.unblock():
        teardown_databases(made, verbosity=0)


@pytest.fixture
def committed(django_db_setup, django_db_blocker):
    """Real commits, seen by other processes; make an account of your own."""
    from django.db import connections

    with django_db_blocker.unblock():
        yield
        for connection in connections.all():
            connection.close()


@pytest.fixture
def statements():
    """Counts what is asked of the database: `with statements() as asked: …`."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    @contextmanager
    def capture():
        with CaptureQueriesContext(connection) as captured:
            yield captured

    return capture


@pytest.fixture
def receiver(settings):
    """A receiver of webhooks that may be called although it is on loopback."""
    with receiving() as receiver:
        settings.WEBHOOK_ALLOWED_HOSTS = {receiver.place}
        yield receiver


@pytest.fixture
def shop(account):
    """A program of 10 % in EUR; `shop.mina` sells in it."""
    return Shop(account)
