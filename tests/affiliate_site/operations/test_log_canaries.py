"""Nothing personal or secret is logged, whatever is sent to any endpoint or form.

The rows of the account, and what is sent, hold one word in all their texts: names,
e-mail addresses, ids of customers, payout details, passwords, cookies, addresses. The
log must not have it, nor an API key (docs/reliability.md, section 8).
"""

import logging
from contextlib import contextmanager
from io import StringIO

import pytest
from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models.api_keys import RateWindow, Role
from accounts.services.api_keys import create_api_key
from accounts.services.staff import create_staff_user
from affiliate_site.operations.logs import create_formatter
from tests.affiliate_site.backoffice.form_samples import (
    create_rows_for_all_pages,
    list_cases,
)
from tests.affiliate_site.backoffice.test_every_form import OTHER_FORMS
from tests.architecture.test_tenant_isolation import CASES
from tests.conftest import ApiClient
from tests.factories.accounts import AccountFactory

pytestmark = pytest.mark.integration

CANARY = "zzcanary7f3a"
ADDRESS = "203.0.113.77"
TEXT_BEGINS = "\n-- as text --\n"
# As PostgreSQL words it, with what the row holds.
QUOTATION = (
    'duplicate key value violates unique constraint "one_affiliate_per_email"\n'
    f"DETAIL:  Key (account_id, email)=(1, {CANARY}@example.org)\nhas {CANARY}."
)


@pytest.fixture(scope="module")
def shared(shared_rows):
    """An account with the word in all texts, its owner and its key."""
    account = AccountFactory(slug="harbor", plan__name="enterprise")
    at = timezone.now()
    _, key = create_api_key(account, name="test", role=Role.OWNER, at=at)
    sample = create_rows_for_all_pages(account, ApiClient(key), CANARY)
    owner, _ = create_staff_user(
        account,
        email=f"{CANARY}@harbor.example.org",
        role=Role.OWNER,
        password=None,
        at=at,
    )
    customer = account.customers.get(customer_id=sample.buyer_id)  # of the conversion
    sample.customer_record = {"id": customer.public_id, "customer_id": sample.buyer_id}
    names = {name for case in CASES for name in (*case.needs, *case.placeholders)}
    ids = {name: getattr(sample, name) for name in names}
    return account, owner, key, ids


@pytest.fixture
def log(captured_log):
    """A function that returns all records twice: as JSON and as text."""
    text, root = StringIO(), logging.getLogger()
    handler = logging.StreamHandler(text)
    handler.setFormatter(create_formatter(console=True))
    root.addHandler(handler)
    yield lambda: f"{captured_log()}{TEXT_BEGINS}{text.getvalue()}"
    root.removeHandler(handler)


@pytest.fixture
def headers():
    return {
        "User-Agent": f"{CANARY}/1.0",
        "Referer": f"https://{CANARY}.example/",
        "Cookie": f"session={CANARY}",
        "Authorization": f"Bearer {CANARY}",
        "Origin": f"https://{CANARY}.example",
        "X-Forwarded-For": ADDRESS,
    }


@contextmanager
def fail_with_quotation(number=None):
    """Take back what is stored, and let a statement fail with the text of a row."""
    count = 0

    def intercept(execute, sql, parameters, many, context):
        nonlocal count
        count += 1
        if count == number:
            raise IntegrityError(QUOTATION)
        return execute(sql, parameters, many, context)

    with transaction.atomic(), connection.execute_wrapper(intercept):
        yield
        connection.set_rollback(True)


def put_canary(value):
    """The body with the word in place of each text."""
    if isinstance(value, dict):
        return {name: put_canary(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [put_canary(inner) for inner in value]
    return f"{CANARY}@example.org" if isinstance(value, str) else value


def assert_logged_without_canary(log, key, statuses):
    """Assert that there was something to log: successes, refusals and failures."""
    text = log()
    assert {200, 400, 500} <= statuses
    for part, traceback in zip(
        text.split(TEXT_BEGINS), ('"exception": "Traceback', "\nTraceback"), strict=True
    ):
        assert traceback in part
        assert "one_affiliate_per_email" in part
    assert CANARY not in text
    assert key[12:] not in text
    assert ADDRESS not in text


def test_api_operations_and_browser_calls(shared, db, log, headers):
    account, _, key, ids = shared
    client = Client(raise_request_exception=False, REMOTE_ADDR=ADDRESS)
    api, statuses = ApiClient(key, client), set()
    body = {"password": CANARY, "email": f"{CANARY}@example.org", "note": CANARY}

    def send(method, path, sent, failing):
        with fail_with_quotation(failing):
            response = api.request(method, path, sent, **headers)
            statuses.add(response.status_code)

    for case in CASES:
        for failing in (None, 4):
            with fail_with_quotation(failing):
                statuses.add(case.send(api, ids).status_code)
        path = case.path.format(**ids).replace("<", "").replace(">", "")
        query = f"?email={CANARY}@example.org&api_key={key}&{CANARY}=1"
        send(case.method, path + query, put_canary(case.body or {}) | body, None)
        send(case.method, path + query, f'{{"{CANARY}', None)
    for path in ("/1.6/programs/", "/1.6/nothing/", "/docs/", "/healthz"):
        for sent in (key, f"aff_live_{CANARY}", ""):
            client.get(path + query, headers=headers | {"X-Api-Key": sent})
            client.options(path + query, headers=headers | {"X-Api-Key": sent})
    for call in ("click", "customer", "conversion"):
        sent = {"account": account.slug, "external_id": CANARY, "vid": CANARY} | body
        client.post(f"/track/{call}/", sent, content_type="application/json")

    assert_logged_without_canary(log, key, statuses)


def test_forms_of_the_back_office(shared, db, log, headers):
    account, owner, key, _ = shared
    client = Client(raise_request_exception=False, REMOTE_ADDR=ADDRESS)
    client.force_login(owner)
    del headers["Cookie"]
    statuses = set()

    def send(url, data, failing=None):
        with fail_with_quotation(failing):
            statuses.add(client.post(url, data, headers=headers).status_code)

    for case in list_cases(account):
        values = case.get_values(owner)
        texts = {
            name: f"{CANARY}@example.org" if isinstance(value, str) else value
            for name, value in values.items()
        }
        for failing in (None, 7):
            send(case.url, values, failing)
        send(case.url, texts)
        send(f"{case.url}?{CANARY}=1", texts, 8)
    for name, fields in OTHER_FORMS.items():
        RateWindow.objects.all().delete()  # of attempts to sign in
        for failing in (None, 2):
            send(reverse(f"admin:{name}"), dict.fromkeys(fields, CANARY), failing)
    session = client.cookies[settings.SESSION_COOKIE_NAME].value

    assert session not in log()
    assert_logged_without_canary(log, key, statuses | {400})
