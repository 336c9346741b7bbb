"""The demo account: believable, loaded once, its key kept for the next run."""

import io
import json
import stat
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from accounts.models.accounts import Account
from accounts.services.keys import recognise, revoke
from affiliate_site import demo
from payouts.models.commissions import Status
from tests.conftest import Api
from tests.proof import books_agree


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    """Where the key is kept: not in the project's own `var/`."""
    monkeypatch.setattr(demo, "VAR", tmp_path)
    monkeypatch.setattr(demo, "KEPT", tmp_path / "demo.json")
    return tmp_path / "demo.json"


def loaded(scale=1):
    return demo.load(scale=scale, at=timezone.now())


def test_tells_sixty_days_of_a_program(db):
    told = loaded()

    account = Account.objects.get(slug=told.account)
    sales = account.conversions.all()
    oldest = sales.order_by("created_at")[0].created_at
    assert account.affiliates.count() == len(demo.PEOPLE)
    assert sales.count() == demo.SALES_PER_SCALE
    assert account.clicks.count() == demo.SALES_PER_SCALE * demo.CLICKS_PER_SALE
    assert timedelta(days=50) < timezone.now() - oldest < demo.DAYS
    assert set(account.commissions.values_list("status", flat=True)) == set(Status)
    books_agree(account)


def test_multiplies_by_the_scale(db):
    told = loaded(scale=2)

    account = Account.objects.get(slug=told.account)
    assert account.affiliates.count() == 2 * len(demo.PEOPLE)
    assert account.conversions.count() == 2 * demo.SALES_PER_SCALE


def test_is_loaded_once_and_keeps_its_key(db, kept):
    first = loaded()

    again = loaded()

    assert again == first
    assert Account.objects.count() == 1
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert json.loads(kept.read_text())["key"] == first.key


def test_has_a_key_and_a_code_that_work(db):
    told = loaded()
    api = Api(told.key)

    click = api.post("/clicks/", {"referral_code": told.referral_code})
    sale = api.post(
        "/conversions/",
        {"referral_code": told.referral_code, "external_id": "try-1", "amount": 49.9},
    )

    assert click.status_code == 200
    assert sale.json()["affiliate"]["id"] == "adastone"
    assert sale.json()["commissions"][0]["amount"] == 4.99


@pytest.mark.parametrize("spoil", ["lost", "odd", "revoked"])
def test_makes_a_new_key_where_the_kept_one_is_of_no_use(db, kept, spoil):
    first = loaded()
    if spoil == "lost":
        kept.unlink()
    elif spoil == "odd":
        kept.write_text("{}")
    else:
        account = Account.objects.get(slug=first.account)
        revoke(account, prefix=first.key[:12], at=timezone.now())

    again = loaded()

    assert again.key != first.key
    assert again.referral_code == first.referral_code
    assert recognise(again.key).account.slug == demo.ACCOUNT


def test_lets_somebody_in(db):
    told = loaded()

    assert Client().login(username=told.email, password=told.password)


def test_lets_somebody_in_again_where_the_password_is_lost(db, kept):
    first = loaded()
    kept.unlink()

    again = loaded()

    assert again.password != first.password
    assert Client().login(username=again.email, password=again.password)
    assert not Client().login(username=first.email, password=first.password)


def test_is_at_hand_in_an_empty_database_and_on_the_next_run(db):
    first = demo.demo_at_hand()

    assert demo.demo_at_hand() == first


def test_stays_out_of_a_database_that_is_somebody_elses(account):
    assert demo.demo_at_hand() is None
    assert Account.objects.count() == 1


def test_is_whole_or_not_at_all(db, monkeypatch):
    def fail(*args, **kwargs):
        raise RuntimeError("the lights went out")

    monkeypatch.setattr(demo, "decide", fail)

    with pytest.raises(RuntimeError):
        loaded()

    assert not Account.objects.exists()


def printed(*arguments):
    """Standard output of the command; progress goes to standard error."""
    out = io.StringIO()
    call_command("load_demo", *arguments, stdout=out)
    return out.getvalue()


def test_prints_account_and_key(db):
    told = printed()

    account, key, sign_in = told.splitlines()
    assert account == "demo"
    assert sign_in.startswith("demo@example.org ")
    assert recognise(key).account.slug == "demo"


def test_prints_the_same_again_as_json(db):
    _, key, sign_in = printed().splitlines()

    assert json.loads(printed("--json")) == {
        "account": "demo",
        "key": key,
        "admin_url": "http://127.0.0.1:8000/admin/",
        "email": "demo@example.org",
        "password": sign_in.split()[1],
    }
