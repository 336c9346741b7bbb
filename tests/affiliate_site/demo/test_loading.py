"""The demo account: created once, with saved credentials and the same history."""

import io
import json
import stat

import pytest
from django.core.management import call_command
from django.utils import timezone

from accounts.models.accounts import Account
from accounts.services.api_keys import find_api_key
from affiliate_site.demo import loading
from affiliate_site.demo.history import DemoHistory

pytestmark = pytest.mark.integration


@pytest.fixture(autouse=True)
def key_file(tmp_path, monkeypatch):
    """The file of the credentials, outside the project's `var/`."""
    monkeypatch.setattr(loading, "VAR_DIR", tmp_path)
    monkeypatch.setattr(loading, "CREDENTIALS_FILE", tmp_path / "demo.json")
    return tmp_path / "demo.json"


@pytest.fixture(autouse=True)
def first_day_only(monkeypatch):
    """Create the programs and affiliates, not what happens with them."""

    def create_first_day(account, *, scale, at, progress):
        DemoHistory(account, scale=scale, first_day=at.date()).set_up_account()

    monkeypatch.setattr(loading, "create_history", create_first_day)


def load_demo():
    return loading.load_demo(scale=1, at=timezone.now())


def test_is_created_once_and_keeps_its_key(db, key_file):
    first = load_demo()

    second = load_demo()

    assert second == first
    assert Account.objects.count() == 1
    assert stat.S_IMODE(key_file.stat().st_mode) == 0o600
    assert json.loads(key_file.read_text())["key"] == first.key


def test_is_loaded_into_an_empty_database_and_found_later(db):
    first = loading.get_or_load_demo()

    assert loading.get_or_load_demo() == first


def test_is_not_loaded_into_other_databases(account):
    assert loading.get_or_load_demo() is None
    assert Account.objects.count() == 1


def test_is_created_in_one_transaction(db, monkeypatch):
    def fail(*args, **kwargs):
        raise RuntimeError("failed")

    monkeypatch.setattr(loading, "create_api_key", fail)

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

    account, key, sign_in, finance, affiliate = credentials.splitlines()
    assert account == "demo"
    assert sign_in.startswith("demo@example.org ")
    assert finance.startswith("finance@example.org ")
    assert affiliate.startswith("ada@notes.example.org ")
    assert find_api_key(key).account.slug == "demo"
