"""Moments on the pages of the back office: in the time zone of the account."""

from datetime import UTC, datetime

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models.users import User
from accounts.services.accounts import update_settings
from affiliate_site.backoffice.formatters import format_datetime
from tests.affiliate_site.backoffice.test_form_pages import get_form
from tests.program_scenario import ProgramScenario
from tracking.services import account_settings
from tracking.services.affiliates import PersonData
from tracking.services.notes import create_note
from tracking.services.prospects import ProspectData, create_prospect

pytestmark = pytest.mark.engine_independent  # times are UTC in each engine

URL = "/admin/settings/"
AT = datetime(2026, 6, 30, 22, 30, 5, tzinfo=UTC)


@pytest.fixture
def conversion(account):
    update_settings(account, changes={"time_zone": "Europe/Berlin"}, at=AT)
    return ProgramScenario(account).create_conversion("200", at=AT)


def get_page(client, name, *args):
    return client.get(reverse(f"admin:{name}", args=args)).content.decode()


def test_lists_and_pages_show_moments_in_the_zone(staff_client, conversion):
    client = staff_client()

    conversions = get_page(client, "tracking_conversion_changelist")
    page = get_page(client, "tracking_conversion_change", conversion.pk)

    assert "2026-07-01 00:30 CEST" in conversions
    assert "Times and days in Europe/Berlin" in conversions
    assert "2026-07-01 00:30 CEST" in page
    assert "22:30" not in conversions + page


def test_tabs_of_an_affiliate_show_moments_in_the_zone(staff_client, account, conversion):
    create_note(account, affiliate=conversion.affiliate, text="Called.", at=AT)
    url = reverse("admin:tracking_affiliate_change", args=[conversion.affiliate_id])
    client = staff_client()

    for tab in ("conversions", "commissions", "notes"):
        page = client.get(url, {"tab": tab}).content.decode()
        assert "2026-07-01 00:30 CEST" in page, tab
        assert "UTC" not in page, tab


def test_shows_the_days_of_people_in_the_zone(staff_client, account, conversion):
    mina = conversion.affiliate
    mina.update_row(created_at=AT, promoted_at=AT)
    pia = create_prospect(
        account,
        data=ProspectData(PersonData("Pia", "Lang", "pia@notes.example.org")),
        at=AT,
    )
    pia.update_row(promoted_at=AT, affiliate=mina)
    client = staff_client()

    for name, row in (("tracking_affiliate", mina), ("tracking_prospect", pia)):
        url = reverse(f"admin:{name}_change", args=[row.pk])
        context = client.get(url).context
        assert dict(context["details"])["Created"] == "2026-07-01"
    assert context["badges"] == ["affiliate since 2026-07-01"]


def test_exports_and_stored_times_stay_in_utc(staff_client, conversion):
    url = reverse("admin:tracking_conversion_export")

    export = b"".join(staff_client().get(url).streaming_content).decode()

    assert "2026-06-30T22:30:05Z" in export
    conversion.refresh_from_db()
    assert conversion.created_at == AT


def test_a_zone_ends_with_its_request(staff_client, conversion):
    get_page(staff_client(), "tracking_conversion_changelist")

    assert timezone.get_current_timezone_name() == "UTC"
    assert format_datetime(AT) == "2026-06-30 22:30 UTC"


def test_operators_see_moments_in_utc(conversion):
    operator = User.objects.create_superuser(email="ops@example.org", password="x")
    client = Client()
    client.force_login(operator)

    page = get_page(client, "tracking_conversion_changelist")

    assert "2026-06-30 22:30 UTC" in page
    assert "Times and days in UTC" in page


def test_owners_choose_the_zone(staff_client, account, other_account):
    client = staff_client()
    assert URL in client.get("/admin/").content.decode()

    sent = get_form(client, URL) | {"time_zone": "Asia/Tokyo"}
    assert client.post(URL, sent).status_code == 302

    account.refresh_from_db()
    other_account.refresh_from_db()
    assert (account.time_zone, other_account.time_zone) == ("Asia/Tokyo", "UTC")
    entry = account.audit_log.get(kind="account.settings_changed")
    assert entry.actor == User.objects.get(account=account).actor_name


def test_shows_an_error_beside_an_unknown_zone(staff_client, account, subtests):
    client = staff_client()
    sent = get_form(client, URL)

    for name in ("Mars/Olympus", "a\x00b", "<b>", "x" * 65, ""):
        with subtests.test(name=name):
            response = client.post(URL, sent | {"time_zone": name})
            assert "time_zone" in response.context["form"].errors
    account.refresh_from_db()
    assert account.time_zone == "UTC"


def test_owners_choose_where_the_email_address_is(staff_client, scenario, account):
    client = staff_client()
    scenario.create_customer("c-1")
    account.customers.update(meta_data={"mail": "Zoe@Example.org"})
    sent = get_form(client, URL)

    client.post(URL, sent | {"customer_email_keys": "mail, email"})

    account.refresh_from_db()
    assert account.customer_email_keys == ["mail", "email"]
    assert account.customers.get().email_folded == "zoe@example.org"

    sent = get_form(client, URL)
    response = client.post(URL, sent | {"customer_email_keys": "a:b"})
    assert "customer_email_keys" in response.context["form"].errors


def test_leaves_many_customers_to_the_command(staff_client, scenario, account, monkeypatch):
    monkeypatch.setattr(account_settings, "MAX_CUSTOMERS_READ", 0)
    client = staff_client()
    scenario.create_customer("c-1")

    sent = get_form(client, URL) | {"customer_email_keys": "mail"}
    response = client.post(URL, sent)

    errors = response.context["form"].errors["customer_email_keys"]
    assert "set_customer_email_keys" in str(errors)
    account.refresh_from_db()
    assert account.customer_email_keys == []
