"""The page that builds reports."""

import csv
import re
from decimal import Decimal
from html import unescape
from io import BytesIO

import openpyxl
import pytest
import time_machine
from django.http import QueryDict
from django.urls import reverse
from django.utils.html import strip_tags

from payouts.services.exchange_rates import set_rate
from payouts.services.report_fields import FIELDS
from tests.affiliate_site.backoffice.form_values import get_form_values
from tests.factories.accounts import AccountFactory
from tests.program_scenario import CONVERSION_CREATED_AT as AT
from tests.program_scenario import ProgramScenario
from tracking.attribution import TrackingParameters

REPORT = reverse("admin:report")
TABLE, ROW = (re.compile(f"<{it}[ >].*?</{it}>", re.DOTALL) for it in ("table", "tr"))
CELL = re.compile("<t[hd][ >].*?</t[hd]>", re.DOTALL)
LINK = re.compile('href="([^"]*)">([^<]*)<')
MARCH = {"start": "2026-03-01", "end": "2026-03-31"}
BEST = MARCH | {"rows": "affiliate", "columns": ["revenue", "clicks", "cost_ratio"]}


@pytest.fixture
def sales(scenario):
    scenario.create_click()
    scenario.create_conversion("1200.5")
    scenario.ada = scenario.create_enrolled_affiliate("Ada", "Lund")
    scenario.create_conversion("30", affiliate=scenario.ada)
    return scenario


def read_tables(client, query):
    """The texts of the cells of each table of the page, by row."""
    response = client.get(REPORT, query)
    assert response.status_code == 200
    page = response.content.decode()
    return [
        [
            [" ".join(unescape(strip_tags(cell)).split()) for cell in CELL.findall(row)]
            for row in ROW.findall(table)
        ]
        for table in TABLE.findall(page)
    ]


def list_links(page, label):
    """The texts and addresses of the links in an element with this text before it."""
    part = page.partition(label)[2].partition("</nav>")[0].partition("</p>")[0]
    return {text: unescape(url) for url, text in LINK.findall(part)}


def test_shows_rows_and_totals_to_viewers(staff_client, sales):
    rows, totals = read_tables(staff_client("viewer"), BEST)

    titles = ["Revenue", "Clicks", "Cost ratio"]
    assert rows == [
        ["Affiliate", *titles],
        ["Mina Kessler", "1,200.50 EUR", "1", "10.0 %"],
        ["Ada Lund", "30.00 EUR", "0", "10.0 %"],
    ]
    assert totals == [["Affiliate", *titles], ["Total, EUR", "1,230.50 EUR", "1", "10.0 %"]]


@pytest.mark.parametrize("rows", ["affiliate", "program", "group"])
def test_rows_lead_to_their_objects(staff_client, sales, rows):
    group = sales.account.affiliate_groups.create(public_id="ag_gold", title="Gold")
    sales.mina.affiliate.update_row(group=group)
    client = staff_client("viewer")
    page = client.get(REPORT, BEST | {"rows": rows}).content.decode()

    [url] = re.findall('href="([^"]*)"', ROW.findall(page)[1])

    assert client.get(url).status_code == 200


def test_begins_with_the_best_affiliates_of_the_last_month(staff_client, sales):
    with time_machine.travel(AT.replace(month=4), tick=False):
        client = staff_client()
        rows, _ = read_tables(client, {})
        page = client.get(REPORT).content.decode()

    assert rows[0] == [
        "Affiliate",
        *("Revenue", "Revenue, before", "Conversions", "Conversions, before"),
        *("Commissions", "Commissions, before"),
    ]
    assert rows[1][:3] == ["Mina Kessler", "1,200.50 EUR", "0.00 EUR"]
    assert "“Before” is 2026-02-01 to 2026-02-28." in page


def test_each_question_leads_to_its_answers(staff_client, sales):
    sales.create_conversion("5", customer_id="c1")
    with time_machine.travel(AT.replace(month=4), tick=False):
        client = staff_client("viewer")
        page = client.get(REPORT, BEST).content.decode()
        links = list_links(page, 'aria-label="Questions"')

        assert len(links) == 25
        for title, url in links.items():
            if url.startswith("?"):
                of_page = "start=2026-03-01&end=2026-03-31" in url
                assert of_page != ("days=last_" in url)
                text = client.get(REPORT + url).content.decode()
                assert f'aria-current="page">{title}</a>' in text
                assert "Total, EUR" in text, title
            else:
                assert client.get(url).status_code == 200, title


def test_names_the_question_and_folds_its_options_up(staff_client, sales):
    client = staff_client()
    first = client.get(REPORT).content.decode()
    other = client.get(REPORT, BEST).content.decode()

    assert "<h3>Who brought most revenue? Best affiliates</h3>" in first
    assert '<details class="report-options"><summary>' in first
    assert "<h3>" not in other
    assert '<details class="report-options" open>' in other


def test_keeps_the_question_and_its_order_when_the_days_change(staff_client, sales):
    """A browser sends the chosen columns in the order of the page."""
    client = staff_client()
    form = client.get(REPORT).context["form"]
    order = [name for name, _ in form.fields["columns"].choices]
    assert order[:3] == ["revenue", "conversions", "commissions"]
    sent = {"rows": "affiliate", "then": "", "compare": "previous", "sort": "", "program": ""}
    sent |= {"columns": order[:3], "start": "2026-03-02", "end": "2026-03-31", "days": ""}

    page = client.get(REPORT, sent).content.decode()

    assert "<h3>Who brought most revenue? Best affiliates</h3>" in page
    assert 'aria-current="page">Best affiliates</a>' in page
    assert '<details class="report-options"><summary>' in page
    assert "<details><summary>All questions" in page


def test_other_questions_keep_filters_and_chosen_days(staff_client, sales):
    client = staff_client()

    def get_link(title, **query):
        page = client.get(REPORT, query).content.decode()
        return page, list_links(page, 'aria-label="Questions"')[title]

    chosen = {"start": "2026-03-02", "end": "2026-03-31", "affiliate": "adalund"}
    page, link = get_link("Referrers", **BEST | chosen)
    assert "<strong>2026-03-02 to 2026-03-31, only affiliate Ada Lund (adalund)</strong>" in page
    assert "start=2026-03-02&end=2026-03-31&affiliate=adalund" in link
    coupons = {"days": "last_90_days", "rows": "affiliate_coupon", "then": "affiliate"}
    columns = ["coupon_conversions", "clicks", "clicks_per_coupon"]
    coupons |= {"columns": columns, "sort": "clicks_per_coupon", "compare": ""}
    _, link = get_link("Referrers", **coupons)
    assert link.startswith("?days=last_month&")
    _, link = get_link("Referrers", **coupons | {"days": "this_year"})
    assert link.startswith("?days=this_year&")


def test_takes_the_name_of_an_affiliate(staff_client, sales):
    client = staff_client()

    def get_page(text):
        return client.get(REPORT, BEST | {"affiliate": text}).content.decode()

    assert "Mina Kessler" in get_page("mina kess")
    text = "Several affiliates have this name: Mina Kessler (minakessler), Ada Lund (adalund)."
    assert text in get_page("n")


def test_downloads_what_the_page_shows(staff_client, sales):
    client = staff_client()
    links = list_links(client.get(REPORT, BEST).content.decode(), "Download:")

    lines, book = (client.get(REPORT + links[name]) for name in ("CSV", "XLSX"))

    assert [*csv.reader(lines.content.decode("utf-8-sig").splitlines())] == [
        ["Affiliate", "Affiliate: ID", "Currency", "Revenue", "Clicks", "Cost ratio (%)"],
        ["Mina Kessler", "minakessler", "EUR", "1200.5", "1", "10"],
        ["Ada Lund", "adalund", "EUR", "30", "0", "10"],
    ]
    name = "report-affiliate-2026-03-01-to-2026-03-31"
    assert lines["Content-Disposition"] == f'attachment; filename="{name}.csv"'
    sheet = openpyxl.load_workbook(BytesIO(book.content)).active
    assert [*sheet.values][1] == ("Mina Kessler", "minakessler", "EUR", 1200.5, 1, 10)


def test_shows_cohorts_as_a_table_of_months(staff_client, sales):
    for customer, month in (("c1", 3), ("c2", 3), ("c1", 4)):
        sales.create_conversion("10", customer_id=customer, at=AT.replace(month=month))
    query = {
        "rows": "cohort",
        "then": "months_since",
        "columns": ["buyers", "revenue"],
        "start": "2026-03-01",
        "end": "2026-04-30",
    }

    tables = read_tables(staff_client(), query)

    assert tables[0] == [
        ["Month of the first sale", "Month 0", "Month 1"],
        ["2026-03", "2", "1 (50.0 %)"],
    ]


def test_adds_up_what_customers_spend_until_an_age(staff_client, sales):
    for customer, at, amount in (
        ("c1", AT, "10"),
        ("c2", AT, "20"),
        ("c1", AT.replace(month=5), "40"),
        ("c1", AT.replace(month=9), "80"),
        ("c1", AT.replace(year=2027), "160"),
        ("c3", AT.replace(month=9), "5"),
    ):
        sales.create_conversion(amount, customer_id=customer, at=at)
    query = {"then": "months_since", "columns": ["buyers", "revenue"], "rows": "cohort"}
    query |= {"start": "2026-03-01", "end": "2027-03-31"}
    client = staff_client()

    cohorts = read_tables(client, query)[1]
    affiliates = read_tables(client, query | {"rows": "affiliate"})[1]

    assert cohorts == [
        ["Month of the first sale", *(f"Until month {age}" for age in (0, 1, 3, 6, 12))],
        [
            *("2026-03", "30.00 EUR (15.00 EUR each)", "30.00 EUR (15.00 EUR each)"),
            *("70.00 EUR (35.00 EUR each)", "150.00 EUR (75.00 EUR each)"),
            "310.00 EUR (155.00 EUR each)",
        ],
        ["2026-09", *["5.00 EUR (5.00 EUR each)"] * 4, "-"],
    ]
    assert affiliates[1] == [
        "Mina Kessler",
        *("35.00 EUR", "35.00 EUR", "75.00 EUR", "155.00 EUR", "315.00 EUR"),
    ]


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ("month", "2026-03"),
        ("quarter", "2026 Q1"),
        ("week", "week of 2026-03-02"),
        ("day", "2026-03-04"),
        ("group", "no group"),
    ],
)
def test_names_periods_and_what_has_no_value(staff_client, sales, rows, text):
    table, _ = read_tables(staff_client(), BEST | {"rows": rows, "columns": ["revenue"]})
    assert table[1] == [text, "1,230.50 EUR"]


def test_filters_and_two_rows(staff_client, sales):
    query = BEST | {"rows": "program", "then": "affiliate", "affiliate": "adalund"}
    rows, _ = read_tables(staff_client(), query)
    assert rows[1][:3] == ["Harbor Lamp Partners", "Ada Lund", "30.00 EUR"]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ({"end": "2026-02-01"}, "before the first one"),
        ({"start": "1990-01-01"}, "at most 1830 days"),
        ({"rows": "moon"}, "moon is not one of the available choices"),
        ({"columns": []}, "This field is required"),
        ({"affiliate": "nobody"}, "There is no affiliate &#x27;nobody&#x27;"),
        ({"then": "affiliate"}, "one or two different fields"),
        ({"sort": "-epc"}, "possible: affiliate, revenue"),
    ],
)
def test_says_what_is_wrong(staff_client, sales, query, text):
    response = staff_client().get(REPORT, BEST | query)
    assert response.status_code == 200
    assert text in response.content.decode()
    assert "Total, EUR" not in response.content.decode()


def test_a_report_with_nothing_says_so(staff_client, sales):
    query = BEST | {"start": "2025-01-01", "end": "2025-01-31"}
    assert "Nothing in these days." in staff_client().get(REPORT, query).content.decode()


def test_shows_one_account_only(staff_client, sales):
    other = ProgramScenario(AccountFactory(), slug="elsewhere", prefix="other-", email=None)
    other.create_conversion("77777")
    client = staff_client()
    for rows in FIELDS:
        page = client.get(REPORT, BEST | {"rows": rows}).content.decode()
        assert "77,777" not in page
        assert "elsewhere" not in page


def test_operators_have_no_report(admin_client):
    assert admin_client.get(REPORT).status_code == 403


def test_converts_at_rates_that_staff_set(staff_client, sales):
    client, account = staff_client("manager"), sales.account
    sales.create_conversion("100", currency="USD")
    query = MARCH | {"rows": "affiliate", "columns": ["revenue", "revenue_converted"]}
    add = reverse("admin:payouts_exchangerate_add")
    entries = {"currency": "USD", "rate": "0,9"}
    assert "First set Currency under Account settings." in client.get(add).content.decode()
    assert client.post(add, entries).context["errors"]["currency"]
    account.default_currency = "EUR"
    account.save()

    client.post(add, entries)

    [rate] = account.exchange_rates.all()
    rows, totals, converted = read_tables(client, query)
    assert rows[1:] == [
        ["Mina Kessler", "1,200.50 EUR", "1,200.50 EUR"],
        ["Ada Lund", "30.00 EUR", "30.00 EUR"],
        ["Mina Kessler", "100.00 USD", "90.00 EUR"],
    ]
    assert totals[2] == ["Total, USD", "100.00 USD", "90.00 EUR"]
    assert converted == [["Revenue, converted"], ["1,320.50 EUR"]]
    page = client.get(REPORT, query).content.decode()
    assert "Total, converted into EUR" in page
    assert f"1 USD = 0.9 EUR of {rate.set_on}" in page

    edit = reverse("admin:payouts_exchangerate_edit", args=[rate.pk])
    client.post(edit, get_form_values(client, edit) | {"rate": "0.5"})
    listed = client.get(reverse("admin:payouts_exchangerate_changelist")).content.decode()
    assert "1 USD = 0.5 EUR" in listed
    account.default_currency = "CHF"
    account.save()
    shown = client.get(reverse("admin:payouts_exchangerate_change", args=[rate.pk]))
    assert "It counts no more" in shown.content.decode()
    client.post(reverse("admin:payouts_exchangerate_remove", args=[rate.pk]))
    assert not account.exchange_rates.exists()
    page = client.get(REPORT, query).content.decode()
    assert "Without a rate, so in no converted number: EUR, USD." in page


@pytest.fixture
def dollars(sales):
    """Mina has sold in dollars, too."""
    account = sales.account
    account.default_currency = "EUR"
    account.save()
    set_rate(account, currency="USD", rate=Decimal("0.5"), at=AT)
    sales.create_conversion("3000", currency="USD", affiliate=sales.ada)
    return sales


def read_query(url):
    return dict(QueryDict(url.removeprefix("?")).lists())


def find_link(page, text):
    [url] = re.findall(f'<a href="([^"]*)"[^>]*>\\s*{text}\\s*</a>', page)
    return unescape(url)


def test_a_button_shows_all_amounts_in_one_currency_and_back(staff_client, dollars):
    client = staff_client()
    columns = ["revenue", "conversions", "commissions"]
    query = BEST | {"columns": columns, "sort": "-revenue", "compare": "previous"}

    page = client.get(REPORT, query).content.decode()
    url = find_link(page, "Show all amounts in EUR")
    rows, totals = read_tables(client, read_query(url))
    converted = client.get(REPORT + url).content.decode()

    assert [row[:2] for row in rows] == [
        ["Affiliate", "Revenue, converted"],
        ["Ada Lund", "1,530.00 EUR"],
        ["Mina Kessler", "1,200.50 EUR"],
    ]
    assert totals[1][:2] == ["Total, EUR", "2,730.50 EUR"]
    assert converted.count("Converted at your own rates of the day named") == 1
    assert "Who brought most revenue? Best affiliates</h3>" in converted
    other = list_links(converted, 'aria-label="Questions"')["Coupons"]
    assert "columns=revenue_converted&columns=conversions&columns=average_order_conv" in other
    back = read_query(find_link(converted, "Show each currency"))
    assert back["columns"] == columns
    assert back["sort"] == ["-revenue"]
    assert "Show all amounts" not in client.get(REPORT, query | {"program": "x"}).content.decode()


def test_titles_sort_the_table(staff_client, sales):
    client = staff_client()

    def read(query):
        page = client.get(REPORT, query).content.decode()
        head = page[page.index("<thead>") : page.index("</thead>")]
        links = dict(re.findall('<a href="([^"]*)">([^<]*)</a>', head))
        names = [row[0] for row in read_tables(client, query)[0][1:]]
        marks = re.findall('aria-sort="([a-z]*)"><a [^>]*>([^<]*)<', head)
        return names, marks, {text: read_query(unescape(url)) for url, text in links.items()}

    names, marks, links = read(BEST)
    assert (names, marks) == (["Mina Kessler", "Ada Lund"], [("descending", "Revenue")])
    sorts = [it["sort"] for it in links.values()]
    assert sorts == [["affiliate"], ["revenue"], ["-clicks"], ["-cost_ratio"]]
    names, marks, links = read(links["Revenue"])
    assert (names, marks) == (["Ada Lund", "Mina Kessler"], [("ascending", "Revenue")])
    assert links["Revenue"]["sort"] == ["-revenue"]
    names, marks, links = read(links["Affiliate"])
    assert (names, marks) == (["Ada Lund", "Mina Kessler"], [("ascending", "Affiliate")])
    assert links["Affiliate"]["sort"] == ["-affiliate"]
    assert links["Affiliate"]["start"] == ["2026-03-01"]


def test_what_came_without_a_link_stands_last_without_rates(staff_client, sales):
    [code] = sales.account.referral_codes.filter(enrollment__affiliate=sales.mina.affiliate)
    click = sales.create_click()
    parameters = TrackingParameters(click_id=str(click.public_id))
    sales.create_conversion("7", parameters=parameters)
    client = staff_client()
    query = MARCH | {"rows": "link", "columns": ["revenue", "conversions", "clicks"]}
    query["columns"] += ["conversion_rate", "epc"]

    rows, totals = read_tables(client, query)
    page = client.get(REPORT, query).content.decode()
    file = client.get(REPORT, query | {"format": "csv"}).content.decode("utf-8-sig")

    assert rows[1:] == [
        [code.code, "7.00 EUR", "1", "2", "50.0 %", "0.35 EUR"],
        ["no link", "1,230.50 EUR", "2", "0", "-", "-"],
    ]
    assert totals[1][4] == "150.0 %"
    assert "Rows without a value show no numbers by click" in page
    assert [line[0] for line in csv.reader(file.splitlines())] == ["Link", code.code, ""]


def test_a_question_keeps_its_reports_and_the_next_one_at_hand(staff_client, sales):
    client = staff_client("viewer")
    first = client.get(REPORT).content.decode()
    assert "Reports of this question" not in first
    months = list_links(first, 'aria-label="Questions"')["Months"]
    page = client.get(REPORT + months).content.decode()

    links = list_links(page, 'aria-label="Reports of this question"')

    assert page.count('aria-current="page">Months</a>') == 2
    assert [*links] == ["Best affiliates", "Next: What works best?"]
    page = client.get(REPORT + links["Next: What works best?"]).content.decode()
    assert "<h3>What works best? Links</h3>" in page
