"""What the tests of the door share."""

import json
import logging
from io import StringIO

import pytest

from accounts.models.accounts import Plan
from affiliate_site.logs import configure


@pytest.fixture
def set_plan():
    """Move an account to another plan: `set_plan(account, "basic")`."""

    def move(account, name):
        account.plan = Plan.objects.get(name=name)
        account.save()

    return move


@pytest.fixture
def log_text():
    """Everything that is logged from now on, as it leaves the process."""
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    stream = StringIO()
    configure(level="INFO", console=False)
    root.handlers[0].setStream(stream)
    yield stream.getvalue
    root.handlers = handlers
    root.setLevel(level)


@pytest.fixture
def log_lines(log_text):
    """The records logged from now on: `log_lines()`."""
    return lambda: [json.loads(line) for line in log_text().splitlines()]
