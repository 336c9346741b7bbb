"""Figures of an affiliate: periods, comparison, tables and files."""

import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from django.utils.translation import override

from affiliate_site.portal.periods import (
    choose_step,
    get_named_period,
    name_part,
    split_period,
)
from affiliate_site.portal.svg_charts import build_chart, find_top
from payouts.services import statistics
from payouts.services.commissions import disapprove_commission
from payouts.statistics import Period
from tests.affiliate_site.portal.test_pages import get_page
from tests.affiliate_site.portal.test_question_pages import read_main
from tests.program_scenario import ProgramScenario
from tracking.attribution import TrackingParameters
from tracking.services.clicks import Visit, record_click
from tracking.services.portal_settings import update_portal_settings

pytestmark = pytest.mark.usefixtures("shared_scenario")

NOW = datetime(2026, 3, 20, 12, tzinfo=UTC)
MARCH = "?period=this_month"


@pytest.fixture(autouse=True)
def at_noon(time_machine):
    time_machine.move_to(NOW, tick=False)


def visit(scenario, *, at, affiliate=None, page="https://shop.example.net/desk?a=1"):
    affiliate = affiliate or scenario.mina
    parameters = TrackingParameters(referral_code=affiliate.code)
    return record_click(scenario.account, visit=Visit(parameters, landing_page=page), at=at)


def by_click(click):
    return TrackingParameters(click_id=str(click.public_id))


@pytest.fixture
def history(scenario):
    """Sales of Mina in February and March, and one of Nils."""
    march, february = NOW - timedelta(days=2), NOW - timedelta(days=35)
    clicks = [visit(scenario, at=march) for _ in range(4)]
    clicks[0].update_row(sub_id="blog")
    visit(scenario, at=february)
    sales = [
        scenario.create_conversion(
            "200", at=march, parameters=by_click(clicks[0]), external_id="order-0001"
        ),
        scenario.create_conversion("100", at=march),
        scenario.create_conversion("50", at=NOW),
    ]
    scenario.create_conversion("100", at=february)
    scenario.approve(scenario.get_commission(sales[0]), at=NOW)
    disapprove_commission(
        scenario.account,
        commission_id=scenario.get_commission(sales[1]).pk,
        reason="=The customer <b>sent</b> it back",
        at=NOW,
    )
    nils = scenario.create_enrolled_affiliate("zz-Nils", "Berg")
    visit(scenario, at=march, affiliate=nils, page="https://shop.example.net/zz-nils")
    scenario.create_conversion("7777", at=march, affiliate=nils)
    return sales


def read_cards(page):
    return [
        tuple(re.sub("<[^>]*>", " ", each).split("  "))
        for each in re.findall("<div><dt>.*?</div>", page)
    ]


def test_shows_the_period_and_compares_it(mina, portal, history, account):
    page = get_page(mina, f"{portal}figures/{MARCH}")
    cards = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd><dd[^>]*>(.*?)</dd>", page)
    assert cards == [
        ("Clicks", "4", "3 more than before (+300 %)"),
        ("Customers", "0", "nothing before, either"),
        ("Sales", "3", "2 more than before (+200 %)"),
        ("Sales per 100 clicks", "75 %", "before: 100 %"),
        ("Revenue", "350.00 EUR", "250.00 EUR more than before (+250 %)"),
        ("You earn", "25.00 EUR", "15.00 EUR more than before (+150 %)"),
    ]
    zone = account.time_zone
    assert (
        f"1 March 2026 to 20 March 2026, in the time of {zone}. Compared with 1"
        " February 2026 to 20 February 2026." in page
    )
    assert "zz-" not in page
    assert "7,777" not in page


def test_says_that_days_are_still_being_counted(mina, portal, history, account, monkeypatch):
    account.affiliates.filter(firstname="Mina").update(language="de")
    monkeypatch.setattr(statistics, "MAX_SECONDS", 0)
    mina.raise_request_exception = False

    page = mina.get(f"{portal}figures/{MARCH}", headers={"Accept": "text/html"})

    assert page.status_code == 503
    assert "Die Statistik dieser Tage wird noch gezählt." in page.content.decode()


def test_a_table_has_each_day_and_the_states(mina, portal, history):
    page = read_main(mina.get(f"{portal}figures/{MARCH}"))
    assert (
        "18 Mar 2026 4 0 2 50 % 300.00 EUR 20.00 EUR 19 Mar 2026 0 0 0 - - 20 Mar"
        " 2026 0 0 1 50.00 EUR 5.00 EUR" in page
    )
    assert (
        "What became of your commissions State Commissions Amount Waits for approval 1"
        " 5.00 EUR Due 1 20.00 EUR Disapproved 1 10.00 EUR" in page
    )


def test_shows_reasons_if_the_account_allows(mina, account, portal, history):
    url = f"{portal}figures/{MARCH}"
    sale_url = f"{portal}sales/{history[1].pk}/"
    for each in (url, sale_url):
        assert "sent" not in get_page(mina, each)
    update_portal_settings(account, changes={"shows_comments": True}, at=NOW)
    assert (
        "Why commissions were disapproved Day Order Amount Reason 18 Mar 2026 10.00 EUR"
        " =The customer &lt;b&gt;sent&lt;/b&gt; it back" in read_main(mina.get(url))
    )
    assert "Why commissions were disapproved" not in read_main(
        mina.get(f"{portal}figures/?period=last_month")
    )
    reason = "The company wrote: =The customer &lt;b&gt;sent&lt;/b&gt; it back"
    assert reason in read_main(mina.get(sale_url))


@pytest.mark.parametrize(
    ("by", "text"),
    [
        (
            "program",
            "By program Program Clicks Sales Revenue You earn Harbor Lamp Partners 4 3"
            " 350.00 EUR 25.00 EUR Download as CSV By program",
        ),
        (
            "coupon",
            "By coupon Coupon Sales Revenue {coupon} 2 150.00 EUR Download as CSV By coupon",
        ),
        (
            "page",
            "By page of the shop Page Clicks Sales Revenue https://shop.example.net/desk"
            " 4 1 200.00 EUR Download as CSV By page of the shop",
        ),
        (
            "sub_id",
            "By sub-ID Sub-ID Clicks Sales Revenue blog 1 1 200.00 EUR Download as CSV By sub-ID",
        ),
    ],
)
def test_breaks_down(mina, portal, scenario, history, by, text):
    page = read_main(mina.get(f"{portal}figures/{MARCH}&by={by}"))
    assert page.endswith(text.format(coupon=scenario.mina.coupon))


def read_file(response):
    assert response.status_code == 200
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    content = b"".join(response.streaming_content)
    assert content.startswith(b"\xef\xbb\xbf"), "spreadsheets would garble umlauts"
    return content.decode("utf-8-sig").splitlines()


def test_downloads_each_table(mina, account, portal, scenario, history):
    update_portal_settings(account, changes={"shows_comments": True}, at=NOW)
    response = mina.get(f"{portal}figures/{MARCH}&step=month&file=time")
    assert response["Content-Disposition"] == (
        'attachment; filename="time-2026-03-01-2026-03-20.csv"'
    )
    assert read_file(response) == [
        '"Time","Clicks","Customers","Sales","Sales per 100 clicks","Revenue (EUR)",'
        '"You earn (EUR)"',
        '"2026-03-01",4,0,3,75,350,25',
    ]
    weeks = read_file(mina.get(f"{portal}figures/{MARCH}&step=week&file=time"))
    assert [line[:12] for line in weeks[1:]] == [
        *('"2026-03-01"', '"2026-03-02"', '"2026-03-09"', '"2026-03-16"'),
    ]
    assert read_file(mina.get(f"{portal}figures/{MARCH}&file=states")) == [
        '"State","Commissions","Amount (EUR)"',
        '"Waits for approval",1,5',
        '"Due",1,20',
        '"Disapproved",1,10',
    ]
    assert read_file(mina.get(f"{portal}figures/{MARCH}&file=reasons")) == [
        '"Day","Order","Amount (EUR)","Reason"',
        '"2026-03-18",,10,"\'=The customer <b>sent</b> it back"',
    ]
    german = {"accept-language": "de"}
    file = mina.get(f"{portal}figures/{MARCH}&file=states", headers=german)
    assert read_file(file)[:2] == [
        '"Status";"Provisionen";"Betrag (EUR)"',
        '"Wartet auf Freigabe";1;5',
    ]
    assert read_file(mina.get(f"{portal}figures/{MARCH}&by=page&file=page")) == [
        '"Page","Clicks","Sales","Revenue (EUR)"',
        '"https://shop.example.net/desk",4,1,200',
    ]


def test_files_of_others_do_not_exist(mina, portal, history):
    response = mina.get(f"{portal}figures/{MARCH}&file=unknown")
    assert response["Content-Type"] == "text/html; charset=utf-8"
    assert b"zz-" not in response.content


def test_the_links_lead_to_the_files(mina, portal, history):
    for query in ("", MARCH, f"{MARCH}&by=page"):
        page = mina.get(f"{portal}figures/{query}").content.decode()
        links = re.findall(r'<a href="(\?[^"]*)" download>', page)
        assert links
        for link in links:
            read_file(mina.get(f"{portal}figures/{link.replace('&amp;', '&')}"))


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("period=own", "Choose both days."),
        ("period=own&start=2026-03-02&end=2026-03-01", "The last day is before"),
        ("period=own&start=2024-03-02&end=2026-03-01", "At most 366 days"),
        ("period=own&start=2026-02-30&end=2026-03-01", "Enter a valid date."),
        ("period=x", "Select a valid choice. x is not"),
        ("step=x", "Select a valid choice. x is not"),
    ],
)
def test_wrong_periods_show_the_last_30_days(mina, portal, query, error):
    page = get_page(mina, f"{portal}figures/?{query}")
    assert error in page
    assert "19 February 2026 to 20 March 2026" in page


def test_empty_periods(mina, portal):
    for by in ("", "program", "page"):
        page = get_page(mina, f"{portal}figures/?by={by}")
        assert "Nothing in this period." in page


def test_says_nothing_of_other_accounts(mina, portal, other_account):
    foreign = ProgramScenario(other_account, prefix="far-")
    foreign.create_conversion("10", at=NOW)
    visit(foreign, at=NOW)
    for by in ("", "program", "coupon", "page", "sub_id"):
        page = get_page(mina, f"{portal}figures/?by={by}")
        assert "far-" not in page


@pytest.mark.parametrize("by", ["", "program", "coupon", "page", "sub_id"])
@pytest.mark.parametrize("query", ["period=12_months", "step=day"])
def test_is_small_and_takes_few_statements(
    mina, account, portal, history, capture_queries, by, query
):
    update_portal_settings(account, changes={"shows_comments": True}, at=NOW)
    days = "period=own&start=2026-01-18&end=2026-03-20"
    query = f"{days}&{query}" if "step" in query else query
    url = f"{portal}figures/?{query}&by={by}"
    get_page(mina, url)  # stores the days that are over
    with capture_queries() as captured:
        response = mina.get(url)
    assert len(captured) <= 12
    assert len(response.content) < 60_000


# Periods and charts


@pytest.mark.parametrize(
    ("name", "today", "first", "last"),
    [
        ("this_month", "2026-03-20", "2026-03-01", "2026-03-20"),
        ("last_month", "2026-03-20", "2026-02-01", "2026-02-28"),
        ("last_month", "2026-01-31", "2025-12-01", "2025-12-31"),
        ("30_days", "2026-03-20", "2026-02-19", "2026-03-20"),
        ("12_months", "2026-03-20", "2025-04-01", "2026-03-20"),
        ("12_months", "2026-12-31", "2026-01-01", "2026-12-31"),
    ],
)
def test_named_periods(name, today, first, last):
    period = get_named_period(name, date.fromisoformat(today))
    assert (str(period.first), str(period.last)) == (first, last)


def test_splits_a_period():
    period = Period(date(2026, 2, 26), date(2026, 3, 3))
    assert len(split_period(period, "day")) == 6
    assert split_period(period, "week") == [
        Period(date(2026, 2, 26), date(2026, 3, 1)),
        Period(date(2026, 3, 2), date(2026, 3, 3)),
    ]
    assert split_period(period, "month") == [
        Period(date(2026, 2, 26), date(2026, 2, 28)),
        Period(date(2026, 3, 1), date(2026, 3, 3)),
    ]


@pytest.mark.parametrize(
    ("language", "name"),
    [("en", "Week from Thu, 26 Feb 2026"), ("de", "Do., 26. Feb. 2026")],
)
def test_names_a_week_by_its_first_day(language, name):
    with override(language):
        assert name in name_part(date(2026, 2, 26), "week")


@pytest.mark.parametrize(
    ("days", "wanted", "step"),
    [(31, "", "day"), (32, "", "week"), (185, "", "month"), (63, "day", "week")],
)
def test_chooses_parts(days, wanted, step):
    last = date(2026, 3, 1)
    period = Period(last - timedelta(days=days - 1), last)
    assert choose_step(period, wanted) == step


@pytest.mark.parametrize(
    ("highest", "has_decimals", "top"),
    [
        *((0, False, 4), (1, False, 4), (4, False, 4), (5, False, 8)),
        *((9, False, 12), (37, False, 40), (1000, False, 1000)),
        ("0.3", True, "0.4"),
        ("9.99", True, 10),
    ],
)
def test_the_topmost_line_is_a_round_number(highest, has_decimals, top):
    assert find_top(Decimal(highest), has_decimals=has_decimals) == Decimal(top)


def test_bars_end_at_the_lines():
    chart = build_chart("Sales", [("1 Mar", 2), ("2 Mar", 4), ("3 Mar", 0)], str)
    assert chart.description == "1 Mar: 2; 2 Mar: 4; 3 Mar: 0"
    assert [tick.label for tick in chart.ticks] == ["0", "1", "2", "3", "4"]
    assert [bar.y for bar in chart.bars] == [chart.ticks[2].y, chart.ticks[4].y, 148]
    assert chart.bars[2].height == 0
    assert [bar.value for bar in chart.bars] == ["2", "4", "0"]


@pytest.mark.parametrize(
    ("number", "value", "is_shown", "is_tight"),
    [
        (12, 9999, True, False),
        (12, 10_000, True, True),
        (12, 999_999, True, True),
        (12, 1_000_000, False, True),
        (13, 1, False, False),
        (1, 0, True, False),
    ],
)
def test_few_bars_have_values_that_fit(number, value, is_shown, is_tight):
    chart = build_chart("Clicks", [("", value)] * number, str)
    assert {bar.value for bar in chart.bars} == {str(value) if is_shown else ""}
    assert all(bar.value_y >= 0 for bar in chart.bars)
    assert chart.is_tight == is_tight
