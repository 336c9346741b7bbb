"""Watches and alerts: the settings on one page, the dashboard, and dismissing."""

import re

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.models.api_keys import Role
from accounts.models.users import User
from payouts.services.alerts import dismiss_alert
from payouts.services.watches import get_watch_settings
from tests.affiliate_site.backoffice.forms import get_form

WATCHES = reverse("admin:watches")
ALERTS = reverse("admin:payouts_alert_changelist")


def read(response):
    return " ".join(re.sub(r"<[^>]*>", " ", response.content.decode()).split())


def send(client, url, **values):
    return client.post(url, get_form(client, url) | values, follow=True)


@pytest.fixture
def alert(scenario):
    return scenario.account.alerts.create(
        watch="large_share",
        affiliate=scenario.mina.affiliate,
        object_id=scenario.mina.affiliate.pk,
        text="64 % of the revenue.",
    )


def test_all_watches_are_set_on_one_page(staff_client, account):
    client = staff_client(role=Role.FINANCE)

    page = read(send(client, WATCHES, mails_me="on", no_clicks="on", no_clicks_threshold="5"))

    assert "The settings were saved." in page
    settings = get_watch_settings(account.__class__.objects.get(pk=account.pk))
    assert settings["no_clicks"] == {"is_on": True, "threshold": 5}
    assert settings["large_share"] == {"is_on": False, "threshold": 50}
    assert settings["failed_run"]["is_on"]
    user = User.objects.get(account=account)
    assert user.mails_alerts_since is not None
    assert 'name="mails_me" checked' in re.sub(
        r' (class|id|aria-describedby)="[^"]*"', "", client.get(WATCHES).content.decode()
    )
    page = read(send(client, WATCHES, no_clicks_threshold="91"))
    assert "less than or equal to 90" in page
    data = get_form(client, WATCHES)
    del data["mails_me"]
    client.post(WATCHES, data)
    assert user.__class__.objects.get(pk=user.pk).mails_alerts_since is None


def test_what_watches_find_is_there_as_soon_as_they_are_set(staff_client, scenario):
    method = scenario.account.payout_methods.create(
        affiliate=scenario.mina.affiliate, kind="paypal", on_hold_reason="It came back"
    )

    send(staff_client(), WATCHES)

    assert scenario.account.alerts.get().object_id == method.pk


def test_viewers_only_look(staff_client, alert):
    client = staff_client(role=Role.VIEWER)

    assert client.get(WATCHES).status_code == 403
    assert client.get(ALERTS).status_code == 200
    assert client.get(f"{ALERTS}{alert.pk}/dismiss/").status_code == 403


def test_the_dashboard_names_what_watches_found(staff_client, scenario, alert):
    """What it counts itself is not repeated."""
    account = scenario.account
    account.alerts.create(watch="returned_account", text="A payment came back.")
    account.alerts.create(
        watch="no_clicks", text="No click.", state="over", closed_at=timezone.now()
    )
    client = staff_client()

    cards = client.get("/admin/").context["attention_cards"]

    (card,) = [each for each in cards if "alert" in each.url]
    assert (card.title, card.value, card.note) == (
        "Much revenue from one affiliate",
        "1",
        "64 % of the revenue.",
    )
    page = client.get(card.url)
    assert [*page.context["cl"].result_list] == [alert]
    person = reverse("admin:tracking_affiliate_change", args=[scenario.mina.affiliate.pk])
    assert f'href="{person}">Look at it</a>' in page.content.decode()


def test_an_alert_is_dismissed_with_a_note(staff_client, scenario, alert):
    client = staff_client(role=Role.MANAGER)

    page = read(send(client, f"{ALERTS}{alert.pk}/dismiss/", note="A campaign of hers"))

    assert "The alert was dismissed." in page
    assert "A campaign of hers" in page
    assert "Dismiss " not in page
    assert client.get("/admin/").context["attention_cards"] == []
    page = read(client.get(f"{ALERTS}{alert.pk}/dismiss/", follow=True))
    assert "not possible in this state" in page


def test_a_dismissed_run_is_not_counted(staff_client, account):
    at = timezone.now()
    run = account.payout_runs.create(
        public_id="pr_1",
        confirmed_at=at,
        due_before=at,
        created_by="x",
        state="partly_failed",
    )
    alert = account.alerts.create(watch="failed_run", object_id=run.pk, subject=str(run.pk))
    client = staff_client()
    titles = [card.title for card in client.get("/admin/").context["attention_cards"]]
    assert titles == ["Failed or partly failed payout runs"]

    dismiss_alert(account, pk=alert.pk, note="Paid by hand", at=at)

    assert client.get("/admin/").context["attention_cards"] == []


@pytest.mark.parametrize(
    ("watch", "page"),
    [
        ("no_clicks", "admin:tracking_program_changelist"),
        ("low_rate", "admin:index"),
        ("of_another_version", ""),
    ],
)
def test_an_alert_leads_to_the_page_that_shows_it(watch, page, staff_client, account):
    alert = account.alerts.create(watch=watch, text="Found")
    text = staff_client().get(f"{ALERTS}{alert.pk}/change/").content.decode()

    assert ("Look at it" in text) == bool(page)
    if page:
        assert f'href="{reverse(page)}">Look at it' in text
