"""Values that no browser sends: no page fails."""

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.services.rate_limits import RateLimit
from affiliate_site.portal import urls
from tests.affiliate_site.portal.conftest import PASSWORD
from tracking.services.portal_settings import update_portal_settings

pytestmark = pytest.mark.usefixtures("shared_scenario")

VALUES = {
    "nul": "a\x00b",
    "long": "9" * 5000,
    "large": str(2**70),
    "first_day": "0001-01-01",
    "last_day": "9999-12-31",
    "digit": "²",
    "format": "{0}%s${x}",
    "lines": "a\r\nb\u2028\u202e",
}
NAMES = (
    *("email", "password", "old_password", "code", "order_id", "day", "text", "sale"),
    *("page", "sub_id", "language", "firstname", "lastname", "company_name", "by"),
    *("company", "address", "city", "state", "country", "vat_id", "kind"),
    *("iban", "bic", "recipient", "account_holder", "is_primary", "url", "events"),
    *("program", "terms", "version", "website", "before", "file", "format", "kind"),
    *("period", "start", "end"),
)
# Entries that get a form as far as its service, and queries that name own days.
RIGHT = {
    "order_id": "4711",
    "day": "2026-03-04",
    "old_password": PASSWORD,
    "firstname": "Mina",
    "lastname": "Kessler",
    "program": "harbor-lamp-partners",
    "period": "own",
    "by": "page",
    "kind": "link",
}
ARGUMENTS = {
    "sale": 10**30,
    "document": 10**30,
    "kind": "bank",
    "postback": "²",
    "token": "²",
    "program": "x" * 300,
}


def list_urls(account):
    for pattern in urls.urlpatterns:
        names = pattern.pattern.converters
        arguments = {name: ARGUMENTS[name] for name in names}
        yield reverse(f"portal:{pattern.name}", kwargs={"account": account} | arguments)


@pytest.fixture(autouse=True)
def without_limits(monkeypatch):
    module = "affiliate_site.portal"
    for name in ("sign_in", "second_factor_pages", "throttling"):
        monkeypatch.setattr(f"{module}.{name}.is_sign_in_throttled", lambda *_: False)
    monkeypatch.setattr(f"{module}.throttling.PASSWORDS", RateLimit(10**6, minutes=1))
    for name, page in (("application", "apply"), ("missing_sale", "question")):
        path = f"{module}.{page}_pages.is_{name}_throttled"
        monkeypatch.setattr(path, lambda *_: False)


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_no_page_fails(mina, account, portal, value):
    changes = {"is_open": True, "terms": "Be kind."}
    update_portal_settings(account, changes=changes, at=timezone.now())
    account.time_zone = "Pacific/Kiritimati"  # its first day begins in the year 0
    account.uses_webhooks = True
    account.save()
    guest, failed = Client(), set()
    mina.raise_request_exception = guest.raise_request_exception = False
    for url in list_urls(account.slug):
        if url.endswith(("/delete/", "/sign-out/")):  # no values but the password
            continue
        for right in ({}, RIGHT):
            entries = dict.fromkeys(NAMES, value) | right
            for client in (mina, guest):
                for send in (client.get, client.post):
                    if send(url, entries).status_code >= 500:
                        failed.add(f"{send.__name__} {url}")

    assert failed == set()
    assert mina.get(f"{portal}sales/").status_code == 200
