"""The demo account: created once, with saved credentials."""

import io
import json
import stat
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

from accounts.models.accounts import Account
from accounts.services.api_keys import find_api_key
from affiliate_site import demo
from payouts.models.commissions import CommissionStatus
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
