"""`enable_portal`, `set_portal_host` and `invite_affiliate`."""

from datetime import datetime, timedelta

import pytest
from django.core.management import CommandError
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


@pytest.fixture
def host(settings):
    """A host that the operator has prepared."""
    settings.PUBLIC_URL = "https://aff.example.com:8443"
    settings.ALLOWED_HOSTS = ["aff.example.com", "partners.harbor.example"]
    return "partners.harbor.example"


def test_gives_a_portal_a_host_of_its_own(account, other_account, host):
    path = f"partners/{account.slug}/"
    result = run_json_command("set_portal_host", account.slug, host.upper())
    assert result == {"host": host, "url": f"https://{host}/{path}"}
    run_command("set_portal_host", account.slug, host)
    assert account.audit_log.get(kind="portal.set").details == {"fields": ["host"]}
    assert get_portal_settings(other_account).host is None

    message = run_failing_command("set_portal_host", other_account.slug, host)
    assert message == f"Another account uses {host}."
    out = run_command("set_portal_host", account.slug, "--none")
    assert out == f"https://aff.example.com:8443/{path}\n"
    assert run_json_command("set_portal_host", other_account.slug, host)["host"] == host


def test_a_host_of_another_account_with_a_port_is_taken(account, other_account, host):
    other_account.portal_settings.create(host=f"{host}:8443")
    message = run_failing_command("set_portal_host", account.slug, host)
    assert message == f"Another account uses {host}."


@pytest.mark.parametrize(
    ("host_name", "reason"),
    [
        ("https://partners.harbor.example", "without scheme and port"),
        ("partners.harbor.example:8443", "without scheme and port"),
        ("partners.harbor.example/x", "without scheme and port"),
        ("partners.harbor.example.", "without scheme and port"),
        ("us@partners.harbor.example", "without scheme and port"),
        ("127.0.0.1", "without scheme and port"),
        ("localhost", "without scheme and port"),
        ("pärtners.harbor.example", "without scheme and port"),
        ("a" * 250 + ".com", "without scheme and port"),
        ("aff.example.com:8443", "without scheme and port"),
        ("AFF.example.com", "that of the service: give --none"),
        ("new.harbor.example", "point new.harbor.example at this service and add it"),
    ],
)
def test_refuses_what_is_no_host_of_this_service(account, host, host_name, reason):
    message = run_failing_command("set_portal_host", account.slug, host_name)
    assert message.startswith("The host must be ")
    assert reason in message
    assert not account.portal_settings.exists()


@pytest.mark.parametrize("arguments", [(), ("partners.harbor.example", "--none")])
def test_needs_either_a_host_or_none(account, host, arguments):
    with pytest.raises(CommandError):
        run_command("set_portal_host", account.slug, *arguments)
    assert not account.portal_settings.exists()


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
    assert set_portal_password(account, token, password="lamps-at-the-harbor", at=before)


def test_prints_the_link_alone_without_json(account):
    affiliate = AffiliateFactory(account=account)
    out = run_command("invite_affiliate", account.slug, affiliate.slug)
    assert out.startswith("http://")
    assert len(out.split()) == 1


def test_does_not_invite_who_is_not_there(account):
    message = run_failing_command("invite_affiliate", account.slug, "nobody")
    assert message == "Affiliate not found"
