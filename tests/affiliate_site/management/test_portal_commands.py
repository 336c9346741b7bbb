"""`enable_portal` and `invite_affiliate`."""

from tests.command_line import run_json_command
from tracking.services.portal_settings import get_portal_settings


def test_switches_the_portal_on_and_off(account, other_account):
    result = run_json_command("enable_portal", account.slug)
    url = f"http://127.0.0.1:8000/partners/{account.slug}/"
    assert result == {"is_on": True, "is_open": False, "url": url}
    assert run_json_command("enable_portal", account.slug, "--open")["is_open"]
    result = run_json_command("enable_portal", account.slug, "--off")
    assert (result["is_on"], result["is_open"]) == (False, True)
    assert not get_portal_settings(other_account).is_on
