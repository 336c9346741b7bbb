"""The dashboard: statistics, and links to the rows behind them."""

import re
from datetime import date, timedelta

import pytest
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone

from accounts.models.users import User
from affiliate_site.backoffice.dashboard import parse_period
from payouts.statistics import Period
from tests.command_line import run_command
from tests.program_scenario import ProgramScenario
from tracking.services.failed_page_calls import record_failed_page_call


@pytest.fixture
def scenario(account):
    scenario = ProgramScenario(account)
    now = timezone.now()
    for days in (1, 2, 40):
        scenario.create_click(at=now - timedelta(days=days))
        scenario.create_conversion("100", at=now - timedelta(days=days))
    return scenario


def get_cards_by_title(response):
    return {card.title: card for card in response.context["cards"]}


def test_compares_a_period_with_the_previous_one(staff_client, scenario):
    response = staff_client().get("/admin/")

    values = {
        title: (card.value, card.previous_value)
        for title, card in get_cards_by_title(response).items()
    }
    changes = {
        card.title: card.change
        for card in get_cards_by_title(response).values()
        if card.change
    }
    assert changes == {
        "Clicks": "+100 %",
        "Conversions": "+100 %",
        "Active affiliates": "+0 %",
    }
    assert "1 in previous period (+100 %)" in response.content.decode()
    assert values == {
        "Clicks": ("2", "1"),
        "Customers": ("0", "0"),
        "Conversions": ("2", "1"),
        "Conversion rate": ("100 %", "100 %"),
        "Revenue": ("200.00 EUR", "100.00 EUR"),
        "Active affiliates": ("1", "1"),
        "Pending commissions": ("20.00 EUR", "10.00 EUR"),
        "Approved commissions": ("0", "0"),
        "Paid out": ("0", "0"),
        "Balance due": ("0", ""),
    }


@pytest.mark.parametrize(("days", "count"), [("7", "2"), ("90", "3"), ("x", "2")])
def test_selects_the_number_of_days(staff_client, scenario, days, count):
    response = staff_client().get("/admin/", {"days": days})

    assert get_cards_by_title(response)["Conversions"].value == count


def test_selects_the_first_and_last_day(staff_client, scenario):
    today = timezone.now().date()
    period = {"from": today - timedelta(days=45), "to": today - timedelta(days=2)}

    client = staff_client()
    response = client.get("/admin/", period)

    count = get_cards_by_title(response)["Conversions"]
    assert (count.value, count.previous_value) == ("2", "0")
    rows = client.get(count.url).context["cl"].result_list
    assert len(rows) == 2
    assert (
        f"{period['from']} to {period['to']}, compared with the previous 44 days"
        in (response.content.decode())
    )


@pytest.mark.parametrize(
    ("length_days", "ends_days_ago", "error"),
    [
        (366, 0, ""),
        (367, 0, "Choose a period of at most 366 days."),
        (1, 0, ""),
        (1, -1, "The start date must not be after the end date"),
        (0, 0, "The start date must not be after the end date"),
    ],
    ids=["longest", "too-long", "today", "tomorrow", "reversed"],
)
def test_accepts_periods_up_to_today_of_up_to_366_days(
    length_days, ends_days_ago, error
):
    today = date(2026, 3, 4)
    last = today - timedelta(days=ends_days_ago)
    first = last - timedelta(days=length_days - 1)
    request = RequestFactory().get("/admin/", {"from": first, "to": last})

    period, message = parse_period(request, today=today)

    assert message.startswith(error)
    assert bool(message) is bool(error)
    if not error:
        assert period == Period(first, last)


@pytest.mark.parametrize(
    ("first", "last", "error"),
    [
        ("2026-01-31", "", "Enter both dates as YYYY-MM-DD."),
        ("x", "2026-01-01", "Enter both dates as YYYY-MM-DD."),
        ("2026-02-01", "2026-01-01", "The start date must not be after the end date"),
        ("2026-01-01", "9999-12-31", "The start date must not be after the end date"),
        ("2020-01-01", "2026-01-01", "Choose a period of at most 366 days."),
        ("0001-01-01", "0001-01-02", "The start date is too early."),
    ],
)
def test_shows_the_error_of_an_invalid_period(
    staff_client, scenario, first, last, error
):
    response = staff_client().get("/admin/", {"from": first, "to": last})

    assert error in response.content.decode()
    assert get_cards_by_title(response)["Conversions"].value == "2"


def test_links_to_rows_that_add_up(staff_client, scenario):
    client = staff_client()
    response = client.get("/admin/")

    for title, column in (("Revenue", "amount"), ("Pending commissions", "amount")):
        card = get_cards_by_title(response)[title]
        rows = client.get(card.url).context["cl"].result_list
        total = sum(getattr(row, column) for row in rows)
        assert f"{total:.2f} EUR" == card.value
    for title in ("Clicks", "Conversions"):
        card = get_cards_by_title(response)[title]
        rows = client.get(card.url).context["cl"].result_list
        assert str(len(rows)) == card.value
    for card in response.context["review_cards"]:
        assert client.get(card.url).status_code == 200
    assert (
        client.get(get_cards_by_title(response)["Balance due"].url).status_code == 200
    )


def test_shows_texts_without_data(staff_client):
    page = staff_client().get("/admin/").content.decode()

    assert "No conversions in this period." in page
    assert "No clicks in this period." in page


def test_shows_the_chart_as_a_table(staff_client, scenario):
    page = staff_client().get("/admin/").content.decode()

    rows = re.findall(
        r"<tr><td>[0-9-]{10}</td><td>1</td><td>1</td><td>10\.00 EUR</td>", page
    )
    assert len(rows) == 2


def test_ranks_affiliates_by_their_conversions(staff_client, scenario):
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    at = timezone.now() - timedelta(days=3)
    for amount, affiliate in (
        ("7", None),
        ("10", odette),
        ("1", odette),
        ("2", odette),
    ):
        scenario.create_conversion(amount, at=at, affiliate=affiliate)

    assert staff_client().get("/admin/").context["top_affiliates"] == [
        ("minakessler", 3, "207.00 EUR"),
        ("odettevarga", 3, "13.00 EUR"),
    ]


def test_query_count_does_not_depend_on_the_number_of_rows(
    staff_client, scenario, capture_queries
):
    client = staff_client()
    client.get("/admin/")  # stores the statistics of past days
    with capture_queries() as before:
        client.get("/admin/")
    for number in range(20):
        scenario.create_enrolled_affiliate(f"Zoe{number}", "Lund")
        scenario.create_conversion("5", at=timezone.now() - timedelta(hours=1))
    with capture_queries() as after:
        client.get("/admin/")

    # Including one for the second factor and five for the days that are not closed,
    # also in the hour after midnight.
    assert len(before) == len(after) <= 26


def test_shows_the_last_ledger_check(staff_client, scenario, account, other_account):
    def ledger():
        account.refresh_from_db()
        client = Client()
        client.force_login(account.staff.get())
        review_cards = client.get("/admin/").context["review_cards"]
        return next(
            (card.value, card.note)
            for card in review_cards
            if card.title == "Ledger check"
        )

    staff_client()
    assert ledger() == ("Not checked yet", "Ask an operator to run check_ledger --note")
    run_command("check_ledger", "--note")
    value, note = ledger()
    assert value == "Ledger balanced"
    assert re.fullmatch(r"Last checked \d{4}-\d\d-\d\d \d\d:\d\d UTC", note)

    account.ledger_accounts.filter(kind="pending").update(balance=1)
    with pytest.raises(SystemExit):
        run_command("check_ledger", "--note", "--account", account.slug)
    assert ledger()[0] == "3 discrepancies: do not pay anyone, contact an operator"
    other_account.refresh_from_db()
    assert other_account.discrepancy_count == 0


def test_operators_see_the_lists_of_all_accounts(account, other_account, scenario):
    ProgramScenario(other_account, prefix="zz-marker-", email=None)
    operator = User.objects.create_superuser(email="ops@example.org", password="x")
    client = Client()
    client.force_login(operator)

    assert "You are signed in as an operator" in client.get("/admin/").content.decode()
    page = client.get(reverse("admin:tracking_program_changelist")).content.decode()
    assert "zz-marker-harbor-lamp-partners" in page
    assert "harbor-lamp-partners" in page
    assert client.get(reverse("admin:accounts_apikey_add")).status_code == 403


@pytest.mark.parametrize(
    ("reason", "days_ago", "value"),
    [
        ("invalid_amount", 0, "2"),
        ("invalid_amount", 6, "2"),
        ("invalid_amount", 7, None),
        ("unknown_customer", 0, None),
    ],
)
def test_counts_failed_page_calls_to_review(
    staff_client, account, other_account, reason, days_ago, value
):
    at = timezone.now() - timedelta(days=days_ago)
    for owner in (account, account, other_account):
        record_failed_page_call(owner, reason=reason, page="", at=at)

    client = staff_client()
    cards = {card.title: card for card in client.get("/admin/").context["review_cards"]}

    assert ("Failed page calls" in cards) is bool(value)
    if value:
        card = cards["Failed page calls"]
        [row] = client.get(card.url).context["cl"].result_list
        assert (card.value, card.note, str(row.count)) == (value, "Last 7 days", value)
