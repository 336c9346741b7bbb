"""Fixtures for tests of the top layer."""

import json
import logging
from io import StringIO

import pytest

from accounts.models.accounts import Plan
from affiliate_site.logs import configure_logging


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
