"""The onboarding checklist: ticked off by the data, hidden when done or dismissed."""

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.models.api_keys import Role
from accounts.models.users import User
from accounts.services.api_keys import create_api_key, revoke_api_key
from accounts.services.staff import create_staff_user
from accounts.services.webhooks import create_webhook
from payouts.services.payout_methods import set_payout_method
from tests.program_scenario import ProgramScenario
from tracking.attribution import TrackingParameters
from tracking.services.clicks import Visit
from tracking.services.failed_page_calls import record_failed_page_call
from tracking.services.visitors import record_visit

pytestmark = pytest.mark.engine_independent  # its queries are tested with services

TITLE = "Set up your affiliate program"


def get_context(client):
    return client.get("/admin/").context


def list_done(client):
    steps = get_context(client)["onboarding"].steps
    return [step.title for step in steps if step.is_done]


def test_a_fresh_account_sees_the_checklist_instead_of_zeros(staff_client):
    response = staff_client().get("/admin/")

    page = response.content.decode()
    assert TITLE in page
    assert "0 of 9 done" in page
    assert reverse("admin:tracking_tableimport_add") in page
    assert "cards" not in response.context
    for text in ("manage.py", "check_ledger", "Conversion rate", "Needs attention"):
        assert text not in page


def test_steps_tick_themselves_off(staff_client, account):
    client, now = staff_client(), timezone.now()
    assert list_done(client) == []

    scenario = ProgramScenario(account)
    expected = ["Create a program", "Set the rates", "Add the first affiliate"]
    assert list_done(client) == expected

    parameters = TrackingParameters(referral_code=scenario.mina.code)
    visit = Visit(parameters=parameters)
    record_visit(account, visit=visit, previous_tracking_id=None, at=now)
    expected += ["Install the script in your shop", "See the first click"]
    assert list_done(client) == expected

    scenario.create_conversion("10", at=now)
    create_api_key(account, name="shop", role=Role.MANAGER, at=now)
    set_payout_method(
        account,
        affiliate_id=scenario.mina.slug,
        kind="paypal",
        details=None,
        is_primary=True,
        at=now,
    )
    expected += [
        "See the first conversion",
        "Create an API key or a webhook",
        "Record how affiliates are paid",
    ]
    assert list_done(client) == expected
    assert TITLE in client.get("/admin/").content.decode()

    create_staff_user(account, email="b@example.org", role=Role.VIEWER, password=None, at=now)
    assert len(list_done(client)) == 9
    assert TITLE not in client.get("/admin/").content.decode()


def test_data_of_another_account_ticks_nothing(staff_client, other_account):
    scenario = ProgramScenario(other_account)
    scenario.create_click(at=timezone.now())
    scenario.create_conversion("10", at=timezone.now())

    assert list_done(staff_client()) == []


def test_a_failed_call_shows_that_the_script_runs(staff_client, account):
    record_failed_page_call(account, reason="a", page="", at=timezone.now())

    assert list_done(staff_client()) == ["Install the script in your shop"]


def test_a_webhook_counts_and_a_revoked_key_does_not(staff_client, account):
    client, now = staff_client(), timezone.now()
    key, _ = create_api_key(account, name="shop", role=Role.MANAGER, at=now)
    revoke_api_key(account, prefix=key.prefix, at=now)
    assert list_done(client) == []

    create_webhook(account, url="https://harbor.example/", at=now)

    assert list_done(client) == ["Create an API key or a webhook"]


@pytest.mark.parametrize("role", list(Role))
def test_every_step_links_to_a_page_that_the_role_may_open(staff_client, role):
    client = staff_client(role=role)

    for step in get_context(client)["onboarding"].steps:
        page = client.get(step.url if step.url[0] == "/" else "/admin/")
        assert page.status_code == 200, step.title


def test_leads_to_the_code_and_to_what_arrived(staff_client):
    response = staff_client().get("/admin/")
    urls = {step.title: step.url for step in response.context["onboarding"].steps}
    target = urls["Install the script in your shop"].removeprefix("#")
    assert f'id="{target}"' in response.text
    assert urls["See the first click"] == reverse("admin:tracking_click_changelist")
    sales = reverse("admin:tracking_conversion_changelist")
    assert urls["See the first conversion"] == sales


def test_owners_are_led_to_the_page_that_adds(staff_client):
    steps = get_context(staff_client())["onboarding"].steps

    urls = [step.url for step in steps]
    assert reverse("admin:accounts_apikey_add") in urls
    assert reverse("admin:accounts_user_add") in urls


def test_the_snippet_is_that_of_the_account(staff_client, account, settings):
    settings.PUBLIC_URL = "https://track.example.org"

    snippet = get_context(staff_client())["onboarding"].snippet

    assert snippet.startswith('<script src="https://track.example.org/tap.js" async>')
    assert f'tap("create", "{account.slug}");' in snippet


def test_dismissing_hides_the_checklist_for_the_account(staff_client, account, other_account):
    url = reverse("admin:dismiss_onboarding")
    owner = staff_client()

    assert owner.get(url).status_code == 405
    response = owner.post(url, follow=True)

    page = response.content.decode()
    assert TITLE not in page
    assert "The checklist is hidden for everybody in this account." in page
    assert "No clicks and no conversions yet." in page
    assert TITLE not in staff_client(role=Role.VIEWER).get("/admin/").content.decode()
    entry = account.audit_log.get(kind="account.onboarding_dismissed")
    assert entry.actor == User.objects.get(role=Role.OWNER).actor_name
    other_account.refresh_from_db()
    assert other_account.onboarding_dismissed_at is None


@pytest.mark.parametrize("role", [Role.MANAGER, Role.VIEWER])
def test_only_owners_dismiss_it(staff_client, account, role):
    client = staff_client(role=role)

    assert "Hide this checklist" not in client.get("/admin/").content.decode()
    assert client.post(reverse("admin:dismiss_onboarding")).status_code == 403
    account.refresh_from_db()
    assert account.onboarding_dismissed_at is None
