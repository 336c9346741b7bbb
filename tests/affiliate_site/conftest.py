"""Fixtures for tests of the top layer."""

import json
import logging
import shutil
from io import StringIO

import pytest
from django.utils import timezone

from accounts.models.accounts import Plan
from affiliate_site.demo import history, loading
from affiliate_site.operations.logs import configure_logging


@pytest.fixture(scope="module")
def few_demo_sales():
    """Let the demo account have few sales, which takes a fifth of the time."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(history, "SALES_PER_DAY", 0.3)
        monkeypatch.setattr(history, "VISITS_PER_SALE", 1)
        yield


@pytest.fixture(scope="module")
def shared_demo_file(shared_rows, few_demo_sales, tmp_path_factory):
    """The saved credentials of a demo account that all tests of a module share."""
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(loading, "VAR_DIR", folder)
        monkeypatch.setattr(loading, "CREDENTIALS_FILE", folder / "demo.json")
        loading.load_demo(scale=1, at=timezone.now())
    return folder / "demo.json"


@pytest.fixture
def demo_file(shared_demo_file, db, tmp_path, monkeypatch):
    """The credentials in a file of the test."""
    monkeypatch.setattr(loading, "VAR_DIR", tmp_path)
    monkeypatch.setattr(loading, "CREDENTIALS_FILE", tmp_path / "demo.json")
    return shutil.copy(shared_demo_file, tmp_path / "demo.json")


@pytest.fixture
def set_plan():
    """Move an account to another plan: `set_plan(account, "basic")`."""

    def set_plan(account, name):
        account.plan = Plan.objects.get(name=name)
        account.save()

    return set_plan


@pytest.fixture
def captured_log():
    """Return a function that returns the log output of the test as JSON lines."""
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    stream = StringIO()
    configure_logging(level="INFO", console=False)
    root.handlers[0].setStream(stream)
    yield stream.getvalue
    root.handlers = handlers
    root.setLevel(level)


@pytest.fixture
def captured_log_records(captured_log):
    """Return a function that returns the log records of the test."""
    return lambda: [json.loads(line) for line in captured_log().splitlines()]
