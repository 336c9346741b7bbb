"""`enable_portal` and `invite_affiliate`."""

from datetime import datetime, timedelta

from django.utils import timezone

from tests.command_line import run_command, run_failing_command, run_json_command
from tests.factories.tracking import AffiliateFactory
from tracking.services.portal_access import set_portal_password
from tracking.services.portal_settings import get_portal_settings


def test_switches_the_portal_on_and_off(account, other_account):
    result = run_json_command("enable_portal", account.slug)
    url = f"http://127.0.0.1:8000/partners/{account.slug}/"
    assert result == {"is_on": True, "is_open": False, "url": url}
    assert run_json_command("enable_portal", account.slug, "--open")["is_open"]
    result = run_json_command("enable_portal", account.slug, "--off")
    assert (result["is_on"], result["is_open"]) == (False, True)
    assert not get_portal_settings(other_account).is_on


def test_prints_a_link_to_set_a_password(account):
    affiliate = AffiliateFactory(account=account)
    before = timezone.now().replace(microsecond=0)
    result = run_json_command("invite_affiliate", account.slug, affiliate.slug)
    base = f"http://127.0.0.1:8000/partners/{account.slug}/password/"
    token = result["url"].removeprefix(base).removesuffix("/")
    assert result.keys() == {"affiliate", "url", "expires_at"}
    assert result["affiliate"] == affiliate.slug
    expires_at = datetime.fromisoformat(result["expires_at"])
    assert timedelta() <= expires_at - before - timedelta(days=7) < timedelta(minutes=1)
    assert set_portal_password(
        account, token, password="lamps-at-the-harbor", at=before
    )


def test_prints_the_link_alone_without_json(account):
    affiliate = AffiliateFactory(account=account)
    out = run_command("invite_affiliate", account.slug, affiliate.slug)
    assert out.startswith("http://")
    assert len(out.split()) == 1


def test_does_not_invite_who_is_not_there(account):
    message = run_failing_command("invite_affiliate", account.slug, "nobody")
    assert message == "Affiliate not found"
