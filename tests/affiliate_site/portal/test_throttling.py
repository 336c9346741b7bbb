"""Attempts to sign in to the portal, per IP address and per e-mail address."""

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from django.test import RequestFactory

from accounts.models.api_keys import RateWindow
from affiliate_site.portal.throttling import (
    TOO_MANY_PASSWORDS,
    find_password_limit,
    is_sign_in_throttled,
)
from affiliate_site.throttling import count_sign_in_attempt

EMAIL = "mina@notes.example.org"
HARBOR, OTHER = SimpleNamespace(slug="harbor"), SimpleNamespace(slug="other")


@pytest.fixture(autouse=True)
def at_noon(db, time_machine):
    time_machine.move_to(datetime(2026, 3, 4, 12, tzinfo=UTC), tick=False)


def attempt(email=EMAIL, *, account=HARBOR, ip="192.0.2.1"):
    request = RequestFactory().post("/", REMOTE_ADDR=ip)
    return is_sign_in_throttled(request, account, email)


def count_passed(attempts, **kwargs):
    return [attempt(**kwargs) for _ in range(attempts)].count(False)


def test_limits_an_address_of_an_account():
    assert count_passed(7) == 5
    assert attempt(f" {EMAIL.upper()} ")
    assert not attempt(account=OTHER)
    assert not attempt("nils@notes.example.org")


def test_limits_an_ip_address():
    passed = [attempt(f"{number}@example.org") for number in range(25)]
    assert passed.count(False) == 20
    assert attempt(account=OTHER)


def test_locks_nobody_out_for_long(time_machine):
    count_passed(9)
    assert not attempt(ip="192.0.2.2")
    time_machine.move_to(datetime(2026, 3, 4, 12, 2, tzinfo=UTC), tick=False)
    assert not attempt()


def test_takes_nothing_from_the_staff():
    count_passed(30)
    request = RequestFactory().post("/", REMOTE_ADDR="192.0.2.1")
    assert not count_sign_in_attempt(request, EMAIL)


def test_limits_the_passwords_of_an_affiliate():
    def confirm(affiliate):
        return find_password_limit(affiliate)

    mina, nils, other = (
        SimpleNamespace(pk=pk, account=account, account_id=account.slug, email=EMAIL)
        for pk, account in ((1, HARBOR), (2, HARBOR), (1, OTHER))
    )
    assert [confirm(mina) for _ in range(20)] == [""] * 20
    assert confirm(mina) == str(TOO_MANY_PASSWORDS)
    assert (confirm(nils), confirm(other)) == ("", "")


def test_stores_no_email_address():
    attempt(ip="2001:db8::1")
    assert not RateWindow.objects.filter(subject__contains="@").exists()
