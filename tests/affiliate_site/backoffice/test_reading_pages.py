"""No GET of the back office writes, locks rows, or begins a transaction.

On SQLite a transaction keeps out all others, live sales too, until it ends.
"""

import re
from contextlib import contextmanager

import pytest
from django.contrib import admin
from django.db import connection
from django.test import Client
from django.urls import NoReverseMatch, URLPattern, reverse
from django.utils import timezone

from accounts.models.api_keys import Role
from accounts.services.api_keys import create_api_key
from accounts.services.staff import create_staff_user
from tests.affiliate_site.backoffice.form_samples import (
    create_rows_for_all_pages,
    list_cases,
    list_rows,
)
from tests.conftest import ApiClient
from tests.factories.accounts import AccountFactory
from tests.program_scenario import ProgramScenario

STATEMENTS = re.compile(
    r"^(INSERT|UPDATE|DELETE|MERGE|LOCK|BEGIN|SAVEPOINT)\b"
    r"|\bFOR (UPDATE|NO KEY UPDATE|SHARE|KEY SHARE)\b"
)
QUERIES = {
    "search": "?s=harbor&extended=1",
}
# The first page that shows days that are over stores what it counted of them.
COUNTED_DAYS = re.compile(
    r"^SAVEPOINT|payouts_dailystats|payouts_dailylandingpageclicks|accounts_staleday"
)


@pytest.fixture(scope="module")
def account(shared_rows):
    account = AccountFactory(slug="harbor", plan__name="enterprise")
    _, key = create_api_key(account, name="test", role=Role.OWNER, at=timezone.now())
    create_rows_for_all_pages(account, ApiClient(key), "harbor")
    ProgramScenario(account).create_conversion("30")  # of a day that is over
    return account


@pytest.fixture(scope="module")
def client(account):
    user, _ = create_staff_user(
        account,
        email="owner@harbor.example.net",
        role=Role.OWNER,
        password=None,
        at=timezone.now(),
    )
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture(scope="module", autouse=True)
def stored(client, account):
    """What the pages with statistics store when they are opened for the first time."""
    affiliate = account.affiliates.first()
    urls = [
        reverse("admin:index"),
        reverse("admin:tracking_affiliate_change", args=[affiliate.pk]),
    ]
    return [sql for url in urls for sql in get(client, url)[1]]


@contextmanager
def record_statements():
    """Statements that write, lock rows or begin a transaction."""
    found = []

    def record(execute, sql, *arguments):
        if STATEMENTS.search(sql):
            found.append(sql)
        return execute(sql, *arguments)

    with connection.execute_wrapper(record):
        yield found


def get(client, url):
    """The text of a page, and which of its statements do not only read."""
    with record_statements() as found:
        content = client.get(url).getvalue()  # exports are sent as they are read
    return content.decode(errors="replace"), found


def list_names(patterns):
    """The names of the pages of the back office."""
    for pattern in patterns:
        if isinstance(pattern, URLPattern):
            yield pattern.name
        else:
            yield from list_names(pattern.url_patterns)


def list_urls():
    """The pages that are not about an object."""
    for name in sorted(set(filter(None, list_names(admin.site.get_urls())))):
        try:
            url = reverse(f"admin:{name}")
        except NoReverseMatch:
            continue  # about an object
        if name != "logout":
            yield url + QUERIES.get(name, "")


def list_object_urls(account):
    """The pages about each object."""
    for model in admin.site._registry:
        for name in ("change", "history", "delete"):
            opts = model._meta
            url_name = f"admin:{opts.app_label}_{opts.model_name}_{name}"
            for row in list_rows(model, account):
                yield reverse(url_name, args=[row.pk])


def list_problems(found):
    """Pages that do not only read, with their first such statements."""
    return [(page, statements[:2]) for page, statements in found.items() if statements]


def test_lists_only_read(db, client):
    found = {url: get(client, url)[1] for url in list_urls()}

    assert list_problems(found) == []


def test_statistics_store_counted_days_only(stored):
    assert stored
    assert [sql for sql in stored if not COUNTED_DAYS.search(sql)] == []


def test_pages_of_objects_only_read(db, client, account):
    found = {}
    for url in list_object_urls(account):
        page, found[url] = get(client, url)
        for tab in re.findall(r'href="(\?tab=\w+)', page):
            _, found[url + tab] = get(client, url + tab)

    assert list_problems(found) == []


def test_form_pages_only_read(db, client, account):
    found = {case.name: get(client, case.url)[1] for case in list_cases(account)}

    assert list_problems(found) == []


def test_recognizes_what_does_not_only_read(db, client, account):
    (case,) = (it for it in list_cases(account) if it.name == "ApproveCommissionPage")

    with record_statements() as found:
        client.post(case.url)

    assert {sql.partition(" ")[0] for sql in found} >= {"SAVEPOINT", "UPDATE"}
