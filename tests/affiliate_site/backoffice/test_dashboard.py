"""The dashboard: statistics, and links to the rows behind them."""

import json
import re
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from urllib.parse import urlencode

import pytest
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone

from accounts.models.users import User
from accounts.services.accounts import update_settings
from affiliate_site.backoffice.affiliates.affiliate_columns import find_affiliate_facts
from affiliate_site.backoffice.dashboard.cards import (
    GOOD,
    build_card,
    build_cost_ratio_card,
)
from affiliate_site.backoffice.dashboard.context import parse_period
from payouts.models.runs import PayoutRunState
from payouts.statistics import Amounts, Period, Totals, get_last_month
from tests.command_line import run_command
from tests.program_scenario import ProgramScenario
from tracking.models.shops import ConnectionKind, ConnectionMode
from tracking.services.failed_page_calls import record_failed_page_call
from tracking.services.portal_settings import update_portal_settings
from tracking.services.questions import QuestionData, answer_question, ask_question
from tracking.services.warnings import CUSTOMER_IS_AFFILIATE

LATE = datetime(2026, 3, 5, 23, 30, tzinfo=UTC)  # on the 6th in Berlin


@pytest.fixture
def scenario(account):
    scenario = ProgramScenario(account)
    now = timezone.now()
    for days in (1, 2, 40):
        scenario.create_click(at=now - timedelta(days=days))
        scenario.create_conversion("100", at=now - timedelta(days=days))
    return scenario


def get_cards_by_title(response):
    return {card.title: card for card in list_cards(response)}


def list_cards(response):
    context = response.context
    groups = ("headline", "funnel", "money", "money_today")
    return [card for name in groups for card in context[name]]


def test_compares_a_period_with_the_previous_one(staff_client, scenario):
    response = staff_client().get("/admin/")

    values = {
        title: (card.value, card.previous_value)
        for title, card in get_cards_by_title(response).items()
    }
    changes = {
        card.title: [(change.text, change.tone) for change in card.changes]
        for card in get_cards_by_title(response).values()
        if card.changes
    }
    assert changes == {
        "Clicks": [("+100 %", "better")],
        "Conversions": [("+100 %", "better")],
        "Revenue": [("+100 %", "better")],
        "Commissions": [("+100 %", "")],
    }
    assert values == {
        "Clicks": ("2", "1"),
        "New customers": ("0", "0"),
        "Conversions": ("2", "1"),
        "Conversion rate": ("100 %", "100 %"),
        "Revenue": ("200.00 EUR", "100.00 EUR"),
        "Commissions": ("20.00 EUR", "10.00 EUR"),
        "Cost ratio": ("10 %", "10 %"),
        "Pending commissions": ("20.00 EUR", ""),
        "Approved commissions": ("0", "0"),
        "Paid out": ("0", "0"),
        "Removed conversions": ("0", "0"),
        "Active affiliates": ("1", "1"),
        "Waiting for approval": ("30.00 EUR", ""),
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
    first, last = (period["from"] - timedelta(days=n) for n in (44, 1))
    page = response.content.decode()
    assert f"{period['from']} to {period['to']}</span>" in page
    assert f"Compared with {first} to {last}." in page


@pytest.mark.parametrize(
    ("today", "first", "last"),
    [
        (date(2026, 3, 31), date(2026, 2, 1), date(2026, 2, 28)),
        (date(2026, 1, 1), date(2025, 12, 1), date(2025, 12, 31)),
    ],
)
def test_offers_the_last_calendar_month(today, first, last):
    assert get_last_month(today) == Period(first, last)


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        ("2026-03-01", "2026-03-31", ("2026-03-01", "2026-03-04")),  # ends today
        ("2026-03-02", "2026-02-03", ("2026-02-03", "2026-03-02")),
        ("2025-03-04", "2026-03-04", ("2025-03-04", "2026-03-04")),  # 366 days
        ("2026-03-04", "2026-03-04", ("2026-03-04", "2026-03-04")),
    ],
)
def test_takes_the_days_of_a_period_that_are_meant(first, last, expected):
    request = RequestFactory().get("/admin/", {"from": first, "to": last})

    period, message = parse_period(request, today=date(2026, 3, 4))

    assert (str(period.first), str(period.last)) == expected
    assert message == ""


@pytest.mark.engine_independent
@pytest.mark.parametrize(
    ("first", "last", "error"),
    [
        ("2026-01-31", "", "Enter both dates as YYYY-MM-DD."),
        ("x", "2026-01-01", "Enter both dates as YYYY-MM-DD."),
        ("9999-12-30", "9999-12-31", "Choose days that have begun."),
        ("2020-01-01", "2026-01-01", "Choose a period of at most 366 days."),
        ("0001-01-01", "0001-01-02", "The start date is too early."),
    ],
)
def test_shows_the_error_of_an_invalid_period(staff_client, scenario, first, last, error):
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
    for title in ("Clicks", "Conversions", "Active affiliates"):
        card = get_cards_by_title(response)[title]
        rows = client.get(card.url).context["cl"].result_list
        assert str(len(rows)) == card.value
    for card in [*response.context["attention_cards"], *list_cards(response)]:
        path, _, fragment = card.url.partition("#")
        page = client.get(path or "/admin/")
        assert page.status_code == 200
        assert f'id="{fragment}"' in page.content.decode() or not fragment
    [top] = response.context["top_affiliates"]
    assert (
        f'{top.url}">Mina Kessler</a> <span class="subtext">minakessler</span>'
        in response.content.decode()
    )
    rows = client.get(top.conversions_url).context["cl"].result_list
    assert len(rows) == top.conversions == 2
    assert client.get(top.url).status_code == 200
    yesterday = response.context["daily_rows"][-2]
    for name, count in (("clicks", 1), ("conversions", 1), ("commissions", 1)):
        rows = client.get(yesterday.urls[name]).context["cl"].result_list
        assert len(rows) == count


def test_active_affiliates_are_listed_with_the_numbers_of_the_period(staff_client, scenario):
    """Also those beyond the ten of the dashboard, and without a sale."""
    today = timezone.now()
    for number in range(12):
        other = scenario.create_enrolled_affiliate(f"Nils{number}", "Berg")
        scenario.create_click(affiliate=other, at=today - timedelta(days=40))
    scenario.create_enrolled_affiliate("Idle", "Berg")
    days = [(today - timedelta(days=number)).date() for number in (45, 35)]
    client = staff_client()

    dashboard = client.get("/admin/", {"from": days[0], "to": days[1]})
    card = get_cards_by_title(dashboard)["Active affiliates"]
    response = client.get(card.url)

    rows = response.context["cl"].result_list
    assert card.value == str(len(rows)) == "13"  # with Mina
    assert {row.loaded[find_affiliate_facts].performance.clicks for row in rows} == {1}
    assert f"Clicks, {days[0]} to {days[1]}" in response.content.decode()
    too_long = card.url.replace(f"{days[0]}", "1990-01-01")
    assert client.get(too_long).status_code == 400


def test_counts_removed_conversions_and_calls_more_of_them_worse(staff_client, scenario, account):
    now = timezone.now()
    removed_at = [now, now, now - timedelta(days=35), now - timedelta(days=70)]
    for at in removed_at:
        # Created long before: a refund counts when it happens.
        conversion = scenario.create_conversion("9", at=now - timedelta(days=80))
        scenario.delete(conversion, at=at)

    client = staff_client()
    card = get_cards_by_title(client.get("/admin/"))["Removed conversions"]

    assert (card.value, card.previous_value) == ("2", "1")
    assert [(change.text, change.tone) for change in card.changes] == [("+100 %", "worse")]
    assert len(client.get(card.url).context["cl"].result_list) == 2


@pytest.mark.parametrize(
    ("current", "previous", "expected"),
    [
        ({}, {}, []),
        ({"EUR": 5}, {}, []),
        ({}, {"EUR": 5}, [("-100 %", "worse")]),
        ({"EUR": 15}, {"EUR": 10}, [("+50 %", "better")]),
        ({"EUR": 1001}, {"EUR": 1000}, []),
        (
            {"EUR": 15, "USD": 8},
            {"EUR": 10, "USD": 16},
            [("+50 %", "better"), ("-50 %", "worse")],
        ),
    ],
)
def test_compares_amounts_of_the_same_currency(current, previous, expected):
    sums = [
        {currency: Decimal(amount) for currency, amount in amounts.items()}
        for amounts in (current, previous)
    ]

    card = build_card("Revenue", *sums, "", GOOD)

    assert [(change.text, change.tone) for change in card.changes] == expected


def test_compares_ratios_in_points():
    card = build_card("Conversion rate", Decimal("3.1"), Decimal("3.2"), "", GOOD)

    assert [(it.text, it.tone) for it in card.changes] == [("-0.1 points", "worse")]


def test_shows_each_change_beside_its_amount():
    sums = [{"EUR": Decimal(15), "USD": Decimal(8)}, {"EUR": Decimal(10)}]
    card = build_card("Revenue", *sums, "", GOOD)
    gone = build_card("Revenue", {}, sums[0], "", GOOD)

    def lines(card):
        return [(line, [change.text for change in found]) for line, found in card.lines]

    assert lines(card) == [("15.00 EUR", ["+50 %"]), ("8.00 USD", [])]
    assert lines(gone) == [("0", ["-100 %", "-100 %"])]


@pytest.mark.parametrize(
    ("revenue", "pending", "text"),
    [
        ({}, {}, "-"),
        ({"EUR": 200}, {"EUR": 25}, "12.5 %"),
        ({"EUR": 200, "USD": 10}, {"EUR": 20, "USD": 1}, "10 % EUR, 10 % USD"),
        ({"EUR": 200}, {"EUR": 20, "USD": 1}, "10 %"),
        ({"EUR": 0}, {"EUR": 20}, "-"),
    ],
)
def test_calculates_the_cost_ratio_of_each_currency(revenue, pending, text):
    sums = (
        Amounts({currency: Decimal(amount) for currency, amount in amounts.items()})
        for amounts in (revenue, pending)
    )
    totals = Totals(0, 0, 0, *sums)
    day = date(2026, 3, 5)

    card = build_cost_ratio_card(totals, Totals(), Period(day, day))

    assert card.value == text


def test_offers_presets_and_marks_the_chosen_one(staff_client, scenario):
    client = staff_client()

    def list_chosen(query):
        presets = client.get(f"/admin/{query}").context["presets"]
        return presets, [text for text, _, is_chosen in presets if is_chosen]

    presets, chosen = list_chosen("")
    assert chosen == ["Last 30 days"]
    for text, url, _ in presets:
        assert text in list_chosen(url)[1]


def test_draws_the_previous_period_dashed_and_amounts_as_money(staff_client, scenario):
    charts = staff_client().get("/admin/").context["charts"]

    assert [chart.title for chart in charts] == [
        "Revenue, EUR",
        "Clicks",
        "Conversions",
    ]
    for chart in reversed(charts):
        data, options = json.loads(chart.data), json.loads(chart.options)
        lines = {dataset["label"]: dataset for dataset in data["datasets"]}
        for label, line in lines.items():
            assert len(line["data"]) == len(data["labels"]) == 30
            assert ("borderDash" in line) is label.endswith("previous period")
    assert list(lines) == ["Revenue", "Revenue, previous period", "Commissions"]
    assert Counter(lines["Revenue"]["data"]) == {"0": 28, "100": 2}
    assert Counter(lines["Revenue, previous period"]["data"]) == {"0": 29, "100": 1}
    axis = options["scales"]["y"]
    assert axis["ticks"]["format"]["minimumFractionDigits"] == 2


@pytest.mark.parametrize(
    ("first", "last", "name", "points"),
    [
        ("2025-09-01", "2025-09-30", "first 30 days of the previous period", 30),
        ("2025-03-01", "2025-03-31", "previous period", 28),
    ],
    ids=["after a longer month", "after a shorter month"],
)
def test_draws_months_of_other_lengths_from_their_first_day(
    staff_client, scenario, first, last, name, points
):
    response = staff_client().get("/admin/", {"from": first, "to": last})

    data = json.loads(response.context["charts"][0].data)
    current, previous = data["datasets"]
    assert previous["label"] == f"Clicks, {name}"
    assert len(previous["data"]) == points
    assert len(current["data"]) == len(data["labels"])


def test_says_once_in_which_zone_days_and_moments_are(staff_client, scenario, account):
    update_settings(account, changes={"time_zone": "Asia/Tokyo"}, at=timezone.now())

    page = staff_client().get("/admin/").content.decode()

    assert page.count("Days in") == 1
    assert re.search(r"Days in <a [^>]+>Asia/Tokyo</a>", page)
    assert "UTC" not in page
    assert re.search(r"the oldest since \d{4}-\d\d-\d\d \d\d:\d\d JST", page)


def test_shows_texts_without_data_in_the_period(staff_client, scenario):
    period = {"from": "2025-01-01", "to": "2025-01-02"}

    page = staff_client().get("/admin/", period).content.decode()

    assert "No conversions in this period." in page
    assert "No clicks in this period." in page


def test_shows_the_chart_as_a_table(staff_client, scenario):
    page = staff_client().get("/admin/").content.decode()

    start = page.index("dashboard-table mb-4")
    table = page[start : page.index("</details>", start)]
    cells = [re.sub("<[^>]+>", " ", row).split() for row in table.split("<tr>")]
    rows = [cell[1:] for cell in cells if cell and re.match(r"\d{4}-\d\d-\d\d$", cell[0])]
    assert len(rows) == 30
    assert Counter(map(" ".join, rows)) == {
        "0 0 0 0": 28,
        "1 1 100.00 EUR 10.00 EUR": 2,
    }


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

    scenario.create_conversion("40", at=at - timedelta(days=30), affiliate=odette)

    response = staff_client().get("/admin/")

    ranked = response.context["top_affiliates"]
    assert [(each.slug, each.conversions, each.revenue) for each in ranked] == [
        ("minakessler", 3, "207.00 EUR"),
        ("odettevarga", 3, "13.00 EUR"),
    ]
    assert [each.before.conversions for each in ranked] == [1, 1]
    commissions = [each.commissions_before for each in ranked]
    assert commissions == ["10.00\u00a0EUR", "4.00\u00a0EUR"]
    page = response.content.decode()
    assert '<span class="subtext">before: 4.00\u00a0EUR</span>' in page


def test_ranks_affiliates_by_commissions_of_a_currency(staff_client, scenario):
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    at = timezone.now() - timedelta(days=1)
    for amount, affiliate in (("300", odette), ("3", None), ("3", None)):
        scenario.create_conversion(amount, at=at, affiliate=affiliate or scenario.mina)
    client = staff_client()

    def rank(by):
        response = client.get("/admin/", {"top": by})
        current = [text for text, _, is_current in response.context["rankings"] if is_current]
        ranked = response.context["top_affiliates"]
        return current, [(each.slug, each.commissions) for each in ranked]

    by_conversions = [("minakessler", "20.60 EUR"), ("odettevarga", "30.00 EUR")]
    assert rank("") == rank("XXX") == (["Conversions"], by_conversions)
    assert rank("EUR") == (["Commissions in EUR"], by_conversions[::-1])
    first = client.get("/admin/", {"top": "EUR"}).context["top_affiliates"][0]
    rows = client.get(first.commissions_url).context["cl"].result_list
    assert [str(row.affiliate) for row in rows] == ["odettevarga"]


@pytest.mark.usefixtures("at_noon")
def test_query_count_does_not_depend_on_the_number_of_rows(staff_client, scenario, capture_queries):
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
    assert len(before) == len(after) <= 33


def test_shows_the_last_ledger_check(staff_client, scenario, account, other_account):
    client = staff_client()

    def get_ledger_state():
        context = client.get("/admin/").context
        titles = [card.title for card in context["attention_cards"]]
        return context["ledger_note"], "Ledger discrepancies" in titles

    assert get_ledger_state() == (
        "The nightly check has not run yet; an operator sets it up.",
        False,
    )
    run_command("check_ledger", "--note")
    note, needs_attention = get_ledger_state()
    assert re.fullmatch(r"Ledger balanced, last checked \d{4}-\d\d-\d\d \d\d:\d\d UTC\.", note)
    assert not needs_attention

    account.ledger_accounts.filter(kind="pending").update(balance=1)
    with pytest.raises(SystemExit):
        run_command("check_ledger", "--note", account.slug)
    note, needs_attention = get_ledger_state()
    assert note.endswith(": 3 discrepancies.")
    assert needs_attention
    other_account.refresh_from_db()
    assert other_account.discrepancy_count == 0


def test_shows_only_what_needs_attention(staff_client, scenario, account):
    client = staff_client()

    def get_titles():
        cards = client.get("/admin/").context["attention_cards"]
        return [card.title for card in cards]

    assert get_titles() == ["Pending commissions"]
    data = QuestionData("4711", account.get_day(timezone.now()))
    question = ask_question(scenario.mina.affiliate, data=data, at=timezone.now())
    assert get_titles() == ["Pending commissions"]
    update_portal_settings(account, changes={"is_on": True}, at=timezone.now())
    assert get_titles() == ["Pending commissions", "Open questions"]
    answer_question(account, question_id=question.public_id, answer="Yes.", at=timezone.now())
    odette = scenario.create_enrolled_affiliate("Odette", "Varga", approved=None)
    assert get_titles() == ["Affiliate applications", "Pending commissions"]
    scenario.set_approval(odette, True, at=timezone.now())
    for commission in account.commissions.all():
        scenario.approve(commission, at=timezone.now())

    assert get_titles() == []
    assert "Nothing waits for you." in client.get("/admin/").content.decode()


def test_names_what_is_urgent_first(staff_client, scenario, account):
    sale = account.conversions.order_by("pk").first()
    sale.update_row(warnings=[CUSTOMER_IS_AFFILIATE])
    affiliate = scenario.mina.affiliate
    method = account.payout_methods.create(
        affiliate=affiliate, kind="paypal", on_hold_reason="pa_1: closed"
    )
    account.payout_methods.create(affiliate=affiliate, kind="wise")
    at = timezone.now()
    run = {"due_before": at, "created_by": "x", "state": PayoutRunState.PARTLY_FAILED}
    account.payout_runs.create(public_id="pr_1", confirmed_at=at, **run)
    old = at - timedelta(days=31)
    account.payout_runs.create(public_id="pr_2", confirmed_at=old, **run)
    shop = account.connections.create(
        public_id="cn_1",
        name="Lamps shop",
        kind=ConnectionKind.STRIPE,
        mode=ConnectionMode.LIVE,
    )
    client = staff_client()
    cards = client.get("/admin/").context["attention_cards"][:4]
    assert [(card.title, card.value) for card in cards] == [
        ("Shops that cannot report", "1"),
        ("Self-referrals", "1"),
        ("Returned payout accounts", "1"),
        ("Failed or partly failed payout runs", "1"),
    ]
    assert cards[0].note == "Lamps shop"
    lists = [client.get(card.url).context["cl"].result_list for card in cards]
    assert [*lists[0]] == [shop]
    assert [row.conversion for row in lists[1]] == [sale]
    assert [*lists[2]] == [method]
    assert "pr_1" in {row.public_id for row in lists[3]}


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
    attention_cards = client.get("/admin/").context["attention_cards"]
    cards = {card.title: card for card in attention_cards}

    assert ("Failed page calls" in cards) is bool(value)
    if value:
        card = cards["Failed page calls"]
        [row] = client.get(card.url).context["cl"].result_list
        assert (card.value, str(row.count)) == (value, value)
        assert card.note == "Last 7 days"


@pytest.mark.parametrize(("day", "sales"), [("2026-03-05", 0), ("2026-03-06", 1)])
def test_counts_a_late_sale_on_the_same_day_everywhere(
    staff_client, account, time_machine, day, sales
):
    """Also on the page of the affiliate, and in the list of affiliates."""
    time_machine.move_to(LATE + timedelta(minutes=10))
    update_settings(account, changes={"time_zone": "Europe/Berlin"}, at=LATE)
    sale = ProgramScenario(account).create_conversion("80", at=LATE)
    client = staff_client()

    response = client.get("/admin/", {"from": day, "to": day})

    conversions = get_cards_by_title(response)["Conversions"]
    assert conversions.value == f"{sales}"
    assert len(client.get(conversions.url).context["cl"].result_list) == sales
    filters = {"from": day, "to": day}
    rows = client.get("/admin/tracking/conversion/", filters).context["cl"].result_list
    assert len(rows) == sales
    affiliate = sale.affiliate
    url = reverse("admin:tracking_affiliate_change", args=[affiliate.pk])
    card = client.get(url).context["cards"][1]
    assert (f"{day}: 1" in [bar.text for bar in card.sparkline.bars]) == sales
    assert len(client.get(card.url).context["cl"].result_list) == 1


@pytest.mark.parametrize(
    ("time_zone", "sales"),
    [("UTC", 5), ("Europe/Berlin", 4), ("America/New_York", 4)],
)
def test_a_list_of_a_month_adds_up_to_the_month_of_the_dashboard(
    staff_client, account, time_zone, sales
):
    update_settings(account, changes={"time_zone": time_zone}, at=LATE)
    scenario, hour = ProgramScenario(account), timedelta(hours=1)
    month = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC)
    amounts = iter((1, 2, 4, 8, 16, 32, 64, 128, 256, 512))
    for edge in month:  # the clocks of Berlin and New York change in between
        for hours in (-6, -1.5, -0.5, 0.5, 4.5):
            scenario.create_conversion(f"{next(amounts)}", at=edge + hours * hour)
    client = staff_client()
    march = {"from": "2026-03-01", "to": "2026-03-31"}

    response = client.get("/admin/", march)

    revenue = get_cards_by_title(response)["Revenue"]
    for url in (revenue.url, "/admin/tracking/conversion/?" + urlencode(march)):
        rows = client.get(url).context["cl"].result_list
        assert f"{sum(row.amount for row in rows):.2f} EUR" == revenue.value
        assert len(rows) == sales
