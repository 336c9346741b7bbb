"""Reports that staff save: for themselves or the team, on the dashboard, by mail."""

import re
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.urls import reverse

from accounts.models.users import User
from accounts.services.notifications import NO_MAIL_BACKEND
from affiliate_site.backoffice.conversions.saved_reports import queue_report_mails
from payouts.statistics import NAMED_PERIODS, Period
from tests.program_scenario import CONVERSION_CREATED_AT as AT

pytestmark = pytest.mark.usefixtures("shared_scenario")

REPORT = "/admin/tracking/conversion/report/"
SAVE = reverse("admin:tracking_conversion_save_view")
BEST = "columns=revenue&columns=clicks&days=this_month&rows=affiliate"
NOW = AT + timedelta(days=10)  # Saturday, 14 March 2026


@pytest.fixture(autouse=True)
def march(scenario):
    scenario.create_conversion("1200.50")
    with time_machine.travel(NOW, tick=False):
        yield


def save(client, name="Best of the month", query=BEST, **options):
    form = {"name": name, "query": query, "page": "report", **options}
    response = client.post(SAVE, form, follow=True)
    return response.content.decode()


def test_a_saved_report_is_a_link_to_days_that_move(staff_client, account):
    client = staff_client("viewer")

    page = save(client)

    link = BEST.replace("&", "&amp;")
    assert f'<a href="?{link}" aria-current="page">Best of the month</a>' in page
    assert "Mina Kessler" in page
    view = account.saved_views.get()
    assert view.query == BEST
    with time_machine.travel(NOW + timedelta(days=30), tick=False):
        later = staff_client("manager").get(f"{REPORT}?{BEST}").content.decode()
        assert "Nothing in these days." in later
    assert "Best of the month" not in client.get("/admin/tracking/conversion/").content.decode()


def test_the_team_sees_a_shared_report_and_only_its_user_removes_it(staff_client, account):
    owner, colleague = staff_client("owner"), staff_client("viewer")
    save(owner, "Ours", is_shared="on")
    save(owner, "Mine", mailed_every="week")

    own = owner.get(f"{REPORT}?{BEST}").content.decode()
    [asked] = re.findall("<p>(Remove “Mine”.*?)</p>", own)
    assert asked == "Remove “Mine”? Its mails end."
    assert "<p>Remove “Ours”, which the team sees?</p>" in own
    page = colleague.get(f"{REPORT}?{BEST}").content.decode()

    assert ">Ours</a>" in page
    assert ">Mine</a>" not in page
    assert "Remove the view Ours" not in page
    remove = reverse(
        "admin:tracking_conversion_remove_view", args=[account.saved_views.get(name="Ours").pk]
    )
    response = colleague.post(remove, {"page": "report"}, follow=True)
    assert "does not exist any more" in response.content.decode()
    response = owner.post(remove, {"page": "report", "query": BEST})
    assert response["Location"] == f"{REPORT}?{BEST}"
    assert [view.name for view in account.saved_views.all()] == ["Mine"]


def test_a_pinned_report_is_on_the_dashboard(staff_client, account):
    owner, colleague = staff_client("owner"), staff_client("viewer")
    save(owner, is_pinned="on")

    mine, theirs = (it.get("/admin/").content.decode() for it in (owner, colleague))

    assert f'href="{REPORT}?{BEST.replace("&", "&amp;")}">The whole report</a>' in mine
    assert "2026-03-01 to 2026-03-14" in mine
    assert "Best of the month" not in theirs


def test_a_pinned_report_has_the_first_rows_of_each_currency(staff_client, scenario, monkeypatch):
    monkeypatch.setattr("affiliate_site.backoffice.conversions.saved_reports.PINNED_ROWS", 1)
    other = scenario.create_enrolled_affiliate("Ada", "Lund")
    for affiliate, amount, currency in (
        (None, "7", "EUR"),
        (other, "6", "EUR"),
        (other, "5", "USD"),
    ):
        scenario.create_conversion(amount, affiliate=affiliate, currency=currency, at=AT)
    client = staff_client()
    save(client, is_pinned="on")

    page = client.get("/admin/").content.decode()

    assert "The first of each currency: 3 rows in all." in page
    table = re.findall('<table class="dashboard-top">.*?</table>', page, re.DOTALL)[0]
    shown = [it for it in ("1,207.50 EUR", "6.00 EUR", "5.00 USD") if it in table]
    assert shown == ["1,207.50 EUR", "5.00 USD"]


def test_a_report_whose_program_is_gone_still_opens(staff_client):
    client = staff_client()
    query = f"{BEST}&program=gone"

    page = save(client, query=query, is_pinned="on")

    assert "gone is not one of the available choices" in page
    dashboard = client.get("/admin/").content.decode()
    assert "This report cannot be built any more: open it to change it." in dashboard
    assert "gone is not one of the available choices" in dashboard


@pytest.mark.parametrize(
    ("rhythm", "days"),
    [("week", (2, 9)), ("month", (18, 48))],  # 16 and 23 March; 1 April, 1 May
)
def test_mails_a_report_once_for_each_week_or_month(staff_client, account, rhythm, days):
    page = save(staff_client(), mailed_every=rhythm)
    assert "Mailed: " in page

    assert queue_report_mails(account, at=NOW) == 0  # its week has begun before
    for day in days:
        assert queue_report_mails(account, at=NOW + timedelta(days=day)) == 1
        assert queue_report_mails(account, at=NOW + timedelta(days=day + 1)) == 0


def test_the_mail_has_the_first_rows_and_the_link(staff_client, account, scenario):
    scenario.create_conversion("7", currency="USD")
    query = BEST.replace("this_month", "last_90_days")
    client = staff_client()
    save(client, "Best", query=query, mailed_every="month")
    save(client, "Gone", query=f"{query}&program=gone", mailed_every="month")
    empty = query.replace("last_90_days", "last_year")
    save(client, "Empty", query=empty, mailed_every="month")

    assert queue_report_mails(account, at=datetime(2026, 4, 1, 2, tzinfo=UTC)) == 3

    best, gone, empty = account.mails.order_by("pk")
    assert best.recipient == User.objects.get(account=account).email
    assert best.subject == "Best: 2026-01-02 to 2026-04-01"
    assert best.text == (
        f"{account.name}, 2026-01-02 to 2026-04-01:\n\n"
        "Mina Kessler: Revenue 1,200.50 EUR, Clicks 0\n"
        "Mina Kessler: Revenue 7.00 USD, Clicks 0\n\n"
        f"The whole report:\nhttp://127.0.0.1:8000{REPORT}?{query}\n\n"
        "To end these mails, remove the report there."
    )
    assert gone.text.startswith("This report cannot be built any more. Select a valid choice")
    assert "2025-01-01 to 2025-12-31: nothing in these days." in empty.text


def test_says_that_mail_is_not_configured(staff_client, account, settings):
    settings.EMAIL_BACKEND = NO_MAIL_BACKEND
    client = staff_client()
    page = save(client)

    assert "Mailing it needs a mail server, which is not configured." in page
    save(client, "By hand", mailed_every="month")
    assert queue_report_mails(account, at=NOW + timedelta(days=30)) == 0


def test_refuses_an_unknown_rhythm(staff_client, account):
    assert "Mailed must be one of week, month" in save(staff_client(), mailed_every="hour")
    assert not account.saved_views.exists()


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("last_month", "2026-02-01", "2026-02-28"),
        ("this_month", "2026-03-01", "2026-03-14"),
        ("last_30_days", "2026-02-13", "2026-03-14"),
        ("last_90_days", "2025-12-15", "2026-03-14"),
        ("last_24_months", "2024-04-01", "2026-03-14"),
        ("last_quarter", "2025-10-01", "2025-12-31"),
        ("this_quarter", "2026-01-01", "2026-03-14"),
        ("last_year", "2025-01-01", "2025-12-31"),
        ("this_year", "2026-01-01", "2026-03-14"),
    ],
)
def test_named_periods(name, first, last):
    assert NAMED_PERIODS[name](NOW.date()) == Period(
        *(datetime.fromisoformat(day).date() for day in (first, last))
    )


def test_shows_the_first_column_as_bars(staff_client, scenario):
    scenario.create_conversion("7", currency="USD")
    page = staff_client().get(f"{REPORT}?{BEST}&compare=year").content.decode()

    assert 'aria-label="Revenue, EUR. The table below has the values."' in page
    assert 'aria-label="Revenue, USD. The table below has the values."' in page
    assert "1200.5" in page
