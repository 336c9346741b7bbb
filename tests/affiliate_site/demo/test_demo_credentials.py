"""The saved credentials of the demo account, which these tests share."""

import io
import json

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from accounts.models.accounts import Account
from accounts.services.api_keys import find_api_key, revoke_api_key
from affiliate_site.demo import loading
from tests.conftest import ApiClient

pytestmark = pytest.mark.integration


def load_demo():
    return loading.load_demo(scale=1, at=timezone.now())


def test_has_a_valid_key_and_referral_code(demo_file):
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
def test_replaces_an_invalid_saved_key(demo_file, damage):
    first = load_demo()
    if damage == "lost":
        demo_file.unlink()
    elif damage == "odd":
        demo_file.write_text("{}")
    else:
        account = Account.objects.get(slug=first.account)
        revoke_api_key(account, prefix=first.key[:12], at=timezone.now())

    second = load_demo()

    assert second.key != first.key
    assert second.referral_code == first.referral_code
    assert find_api_key(second.key).account.slug == loading.ACCOUNT_SLUG


def can_sign_in(credentials, prefix=""):
    return Client().login(
        account=credentials.account,
        username=getattr(credentials, f"{prefix}email"),
        password=getattr(credentials, f"{prefix}password"),
    )


def test_has_an_owner_and_a_user_of_the_role_finance(demo_file):
    credentials = load_demo()

    assert can_sign_in(credentials)
    assert can_sign_in(credentials, "finance_")
    staff = Account.objects.get(slug="demo").staff.order_by("email")
    assert list(staff.values_list("role", flat=True)) == ["owner", "finance"]


def test_reads_a_file_without_the_role_finance(demo_file):
    saved = json.loads(demo_file.read_text())
    kept = {key: it for key, it in saved.items() if not key.startswith("finance")}
    demo_file.write_text(json.dumps(kept))

    credentials = load_demo()

    assert (credentials.key, credentials.finance_email) == (saved["key"], "")


def test_resets_the_password_if_the_file_is_lost(demo_file):
    first = load_demo()
    demo_file.unlink()

    second = load_demo()

    assert second.password != first.password
    assert can_sign_in(second)
    assert can_sign_in(second, "finance_")
    assert not can_sign_in(first)


def run_load_demo(*arguments):
    """The standard output of the command, without progress."""
    out = io.StringIO()
    call_command("load_demo", *arguments, stdout=out)
    return out.getvalue()


def test_prints_the_same_again_as_json(demo_file):
    _, key, sign_in, finance, affiliate = run_load_demo().splitlines()

    assert json.loads(run_load_demo("--json")) == {
        "account": "demo",
        "key": key,
        "admin_url": "http://127.0.0.1:8000/admin/",
        "email": "demo@example.org",
        "password": sign_in.split()[1],
        "finance_email": "finance@example.org",
        "finance_password": finance.split()[1],
        "affiliate_email": "ada@notes.example.org",
        "affiliate_password": affiliate.split()[1],
    }
