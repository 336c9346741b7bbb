"""The demo account: created once, with saved credentials."""

import io
import json
import stat
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from accounts.models.accounts import Account
from accounts.services.api_keys import find_api_key, revoke_api_key
from affiliate_site import demo
from payouts.models.commissions import CommissionStatus
from tests.conftest import ApiClient
from tests.ledger_checks import assert_ledger_consistent

pytestmark = pytest.mark.integration


@pytest.fixture(autouse=True)
def key_file(tmp_path, monkeypatch):
    """The file of the credentials, outside the project's `var/`."""
    monkeypatch.setattr(demo, "VAR_DIR", tmp_path)
    monkeypatch.setattr(demo, "CREDENTIALS_FILE", tmp_path / "demo.json")
    return tmp_path / "demo.json"


def load_demo(scale=1):
    return demo.load_demo(scale=scale, at=timezone.now())


def test_creates_data_of_sixty_days(db):
    credentials = load_demo()

    account = Account.objects.get(slug=credentials.account)
    conversions = account.conversions.all()
    oldest = conversions.order_by("created_at")[0].created_at
    assert account.affiliates.count() == len(demo.AFFILIATES)
    assert conversions.count() == demo.CONVERSIONS_PER_SCALE
    assert (
        account.clicks.count()
        == demo.CONVERSIONS_PER_SCALE * demo.CLICKS_PER_CONVERSION
    )
    assert timedelta(days=50) < timezone.now() - oldest < demo.DEMO_PERIOD
    assert set(account.commissions.values_list("status", flat=True)) == set(
        CommissionStatus
    )
    assert_ledger_consistent(account)


def test_scale_multiplies_the_data(db):
    credentials = load_demo(scale=2)

    account = Account.objects.get(slug=credentials.account)
    assert account.affiliates.count() == 2 * len(demo.AFFILIATES)
    assert account.conversions.count() == 2 * demo.CONVERSIONS_PER_SCALE


def test_is_created_once_and_keeps_its_key(db, key_file):
    first = load_demo()

    second = load_demo()

    assert second == first
    assert Account.objects.count() == 1
    assert stat.S_IMODE(key_file.stat().st_mode) == 0o600
    assert json.loads(key_file.read_text())["key"] == first.key


def test_has_a_valid_key_and_referral_code(db):
    credentials = load_demo()
    api = ApiClient(credentials.key)

    click = api.post("/clicks/", {"referral_code": credentials.referral_code})
    conversion = api.post(
        "/conversions/",
        {
            "referral_code": credentials.referral_code,
            "external_id": "try-1",
            "amount": 49.9,
        },
    )

    assert click.status_code == 200
    assert conversion.json()["affiliate"]["id"] == "adastone"
    assert conversion.json()["commissions"][0]["amount"] == 4.99


@pytest.mark.parametrize("damage", ["lost", "odd", "revoked"])
def test_replaces_an_invalid_saved_key(db, key_file, damage):
    first = load_demo()
    if damage == "lost":
        key_file.unlink()
    elif damage == "odd":
        key_file.write_text("{}")
    else:
        account = Account.objects.get(slug=first.account)
        revoke_api_key(account, prefix=first.key[:12], at=timezone.now())

    second = load_demo()

    assert second.key != first.key
    assert second.referral_code == first.referral_code
    assert find_api_key(second.key).account.slug == demo.ACCOUNT_SLUG


def can_sign_in(credentials):
    return Client().login(
        account=credentials.account,
        username=credentials.email,
        password=credentials.password,
    )


def test_has_a_staff_user(db):
    credentials = load_demo()

    assert can_sign_in(credentials)


def test_resets_the_password_if_the_file_is_lost(db, key_file):
    first = load_demo()
    key_file.unlink()

    second = load_demo()

    assert second.password != first.password
    assert can_sign_in(second)
    assert not can_sign_in(first)


def test_is_loaded_into_an_empty_database_and_found_later(db):
    first = demo.get_or_load_demo()

    assert demo.get_or_load_demo() == first


def test_is_not_loaded_into_other_databases(account):
    assert demo.get_or_load_demo() is None
    assert Account.objects.count() == 1


def test_is_created_in_one_transaction(db, monkeypatch):
    def fail(*args, **kwargs):
        raise RuntimeError("failed")

    monkeypatch.setattr(demo, "review_commissions", fail)

    with pytest.raises(RuntimeError):
        load_demo()

    assert not Account.objects.exists()


def run_load_demo(*arguments):
    """The standard output of the command, without progress."""
    out = io.StringIO()
    call_command("load_demo", *arguments, stdout=out)
    return out.getvalue()


def test_prints_account_and_key(db):
    credentials = run_load_demo()

    account, key, sign_in = credentials.splitlines()
    assert account == "demo"
    assert sign_in.startswith("demo@example.org ")
    assert find_api_key(key).account.slug == "demo"


def test_prints_the_same_again_as_json(db):
    _, key, sign_in = run_load_demo().splitlines()

    assert json.loads(run_load_demo("--json")) == {
        "account": "demo",
        "key": key,
        "admin_url": "http://127.0.0.1:8000/admin/",
        "email": "demo@example.org",
        "password": sign_in.split()[1],
    }
