"""A pytest plugin that runs each test without the guards that it should notice.

For `pytest -p tests.mutations.plugin`. Each test runs once as it is, and once for each
of its guards, which is removed while the test itself runs, not its fixtures. The result
is a JSON object: for each guard, whether a test passed with it and failed without it.
"""

import json
import os
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

RESULT = "MUTATIONS_RESULT"
passed, noticed = {}, {}
removed = []  # the guard that is removed now
failed_subtests = []


def pytest_configure():
    """Use another database than the test that runs this one."""
    from django.db import connection

    database = connection.settings_dict
    if connection.vendor == "postgresql":
        database["TEST"]["NAME"] = f"test_{database['NAME']}_mutations"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    if not removed:
        return (yield)
    with removed[0].remove():
        return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    guards = [guard for guard in list_guards() if item.nodeid.startswith(guard.test)]
    is_passed = run(item, item.parent if guards else nextitem)
    for number, guard in enumerate(guards, 1):
        removed.append(guard)
        is_noticed = not run(item, nextitem if number == len(guards) else item.parent)
        removed.clear()
        passed[guard.name] = passed.get(guard.name, True) and is_passed
        noticed[guard.name] = noticed.get(guard.name, False) or is_noticed
    return True


def pytest_runtest_logreport(report):
    """Only subtests are reported here."""
    if report.failed:
        failed_subtests.append(report)


def list_guards():
    from tests.mutations.guards import GUARDS  # needs Django

    return GUARDS


def run(item, nextitem) -> bool:
    """Run the test once; return whether it passed. What `nextitem` needs is kept: all
    but the fixtures of the function, if it is the parent of the test."""
    item._initrequest()
    failed_subtests.clear()
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    return not failed_subtests and all(report.passed for report in reports)


def pytest_sessionfinish():
    result = {name: [passed[name], noticed[name]] for name in passed}
    Path(os.environ[RESULT]).write_text(json.dumps(result))
