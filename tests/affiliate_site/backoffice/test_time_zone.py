"""Moments on the pages of the back office: in the time zone of the account."""

from datetime import UTC, datetime

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models.api_keys import Role
from accounts.models.users import User
from accounts.services.accounts import set_time_zone
from affiliate_site.backoffice.formatters import format_datetime
from tests.program_scenario import ProgramScenario

URL = "/admin/time-zone/"
AT = datetime(2026, 6, 30, 22, 30, 5, tzinfo=UTC)


@pytest.fixture
def conversion(account):
    set_time_zone(account, time_zone="Europe/Berlin", at=AT)
    return ProgramScenario(account).create_conversion("200", at=AT)


def get_page(client, name, *args):
    return client.get(reverse(f"admin:{name}", args=args)).content.decode()


def test_lists_and_pages_show_moments_in_the_zone(staff_client, conversion):
    client = staff_client()

    conversions = get_page(client, "tracking_conversion_changelist")
    page = get_page(client, "tracking_conversion_change", conversion.pk)

    assert "2026-07-01 00:30 CEST" in conversions
    assert "Times in Europe/Berlin" in conversions
    assert "2026-07-01 00:30 CEST" in page
    assert "2026-07-01 00:30:05 CEST earned" in page  # the history of the ledger
    assert "22:30" not in conversions + page


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
    assert "Times in UTC" in page


def test_owners_choose_the_zone(staff_client, account, other_account):
    client = staff_client()
    assert URL in client.get("/admin/").content.decode()

    assert 'value="UTC"' in client.get(URL).content.decode()
    response = client.post(URL, {"time_zone": "Asia/Tokyo"}, follow=True)

    page = response.content.decode()
    assert "Times are now shown in Asia/Tokyo." in page
    account.refresh_from_db()
    other_account.refresh_from_db()
    assert (account.time_zone, other_account.time_zone) == ("Asia/Tokyo", "UTC")
    entry = account.audit_log.get(kind="account.time_zone_changed")
    assert entry.actor == User.objects.get(account=account).actor_name


@pytest.mark.parametrize("name", ["Mars/Olympus", "a\x00b", "<b>", "x" * 65, ""])
def test_shows_an_error_beside_an_unknown_zone(staff_client, account, name):
    response = staff_client().post(URL, {"time_zone": name})

    assert response.status_code == 200
    assert 'role="alert"' in response.content.decode()
    account.refresh_from_db()
    assert account.time_zone == "UTC"


@pytest.mark.parametrize("role", [Role.MANAGER, Role.VIEWER])
def test_only_owners_change_the_zone(staff_client, account, role):
    client = staff_client(role=role)

    assert URL not in client.get("/admin/").content.decode()
    for response in (client.get(URL), client.post(URL, {"time_zone": "Asia/Tokyo"})):
        assert response.status_code == 403
    account.refresh_from_db()
    assert account.time_zone == "UTC"
