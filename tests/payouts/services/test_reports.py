"""Reports: fields of clicks, filters, comparisons, refunds, and what is refused.

`tests/properties/test_reports.py` compares the numbers with a count of all rows.
"""

from datetime import date, timedelta
from decimal import Decimal

import pytest

from accounts.errors import ErrorList
from payouts.errors import (
    PeriodTooLong,
    ReportReadsTooMuch,
    ReportTooLarge,
    UnknownReportValue,
    UnknownReportWord,
)
from payouts.services import reports
from payouts.services.exchange_rates import set_rate
from payouts.services.refunds import refund_conversion
from payouts.services.reports import MAX_DAYS, ReportQuery, build_report
from payouts.services.statistics import load_statistics
from payouts.statistics import Period
from tests.factories.accounts import AccountFactory
from tests.program_scenario import CONVERSION_CREATED_AT as AT
from tests.program_scenario import ProgramScenario
from tracking.attribution import TrackingParameters
from tracking.services.click_retention import delete_expired_clicks

pytestmark = pytest.mark.usefixtures("shared_scenario")

MARCH = Period(date(2026, 3, 1), date(2026, 3, 31))
DAY = timedelta(days=1)
LATER = AT + 10 * DAY


def build(account, rows, columns, period=MARCH, **options):
    query = ReportQuery(rows.split(), columns.split(), period, **options)
    return build_report(account, query, at=LATER)


def list_values(report):
    """The keys of each row as a text or None, its currency and its values."""
    return [(*row.keys.values(), row.currency, *row.values.values()) for row in report.rows]


@pytest.fixture
def odette(scenario):
    return scenario.create_enrolled_affiliate("Odette", "Varga")


def sell_by_click(scenario, amount, affiliate=None, coupon=None, **visit):
    """A click, and a sale of it; with a coupon, another affiliate earns it."""
    click = scenario.create_click(affiliate, at=AT, **visit)
    parameters = TrackingParameters(click_id=str(click.public_id), coupon=coupon)
    return scenario.create_conversion(amount, parameters=parameters)


def test_sales_count_for_the_page_and_referrer_of_their_click(scenario, odette):
    visit = {
        "landing_page": "https://shop.example.net/lamp?sub_id=blog#x",
        "referrer": "https://News.example.org:8080/today?q=https://other.example",
    }
    sell_by_click(scenario, "50", **visit)
    sell_by_click(scenario, "7", coupon=odette.coupon, **visit)
    scenario.create_click(at=AT)
    account = scenario.account

    pages, hosts, names = (
        build(account, name, "revenue clicks commissions")
        for name in ("landing_page", "referrer_host", "sub_id")
    )

    # Odette's coupon has beaten the link: it is no sale of the page.
    beaten = (None, "EUR", Decimal(7), 1, Decimal("0.7"))
    page = ("https://shop.example.net/lamp", "EUR", Decimal(50), 2, Decimal(5))
    assert list_values(pages) == [page, beaten]
    assert list_values(hosts) == [("news.example.org", *page[1:]), beaten]
    assert list_values(names) == [("blog", *page[1:]), beaten]


def test_commissions_of_levels_count_for_the_page_of_the_sale(scenario, odette):
    scenario.create_level(2, "5")
    scenario.add_child(scenario.mina, odette)
    sell_by_click(scenario, "100", landing_page="https://shop.example.net/lamp")

    [row] = list_values(build(scenario.account, "landing_page", "commissions cost_ratio"))

    assert row == ("https://shop.example.net/lamp", "EUR", Decimal(15), Decimal(15))


def test_clicks_that_are_only_counted_stay_in_reports(scenario):
    account = scenario.account
    scenario.create_click(landing_page="https://a.example/x?y", referrer="https://b.example/")
    before = [
        list_values(build(account, name, "clicks"))
        for name in ("landing_page", "referrer_host", "day", "program")
    ]

    account.clicks.update(dedup_key="of a page")
    assert delete_expired_clicks(account, at=AT + 4000 * DAY, dry_run=False) == 1

    after = [
        list_values(build(account, name, "clicks"))
        for name in ("landing_page", "referrer_host", "day", "program")
    ]
    assert after == before
    assert [row[-1] for rows in after for row in rows] == [1] * 4


def test_a_coupon_has_its_sales_and_no_clicks(scenario, odette):
    scenario.create_click(at=AT)
    scenario.create_conversion("20")
    sell_by_click(scenario, "5", affiliate=odette)

    found = list_values(build(scenario.account, "coupon", "revenue clicks epc"))

    assert found == [
        (scenario.mina.coupon, "EUR", Decimal(20), None, None),
        (None, "EUR", Decimal(5), None, None),
    ]


def test_countries_are_those_that_sales_name(scenario):
    scenario.create_conversion("20", meta_data={"country": "DE"})
    scenario.create_conversion("5")

    found = list_values(build(scenario.account, "country month", "conversions"))

    assert found == [("DE", date(2026, 3, 1), "EUR", 1), (None, date(2026, 3, 1), "EUR", 1)]


def test_refunds_are_of_the_sales_of_the_period(scenario, odette):
    lowered, refunded, removed, raised = (
        scenario.create_conversion(amount) for amount in ("100", "40", "60", "10")
    )
    scenario.change_amount(lowered, "70")
    scenario.change_amount(lowered, "80")
    refund_conversion(
        scenario.account, conversion_id=refunded.pk, reason="", at=LATER, amount=Decimal(15)
    )
    scenario.delete(removed, at=LATER)
    scenario.change_amount(raised, "30")

    [row] = build(scenario.account, "affiliate", "revenue refunds refund_rate").rows

    assert row.values == {
        "revenue": Decimal(135),  # 80, 25 and 30
        "refunds": Decimal(95),  # 20, 15 and 60
        "refund_rate": Decimal("45.2"),  # of 100, 40, 60 and 10
    }


def test_objects_have_their_ids_and_names(scenario, odette):
    group = scenario.account.affiliate_groups.create(public_id="ag_gold", title="Gold")
    odette.affiliate.update_row(group=group)
    scenario.create_conversion("5", affiliate=odette)

    first = build(scenario.account, "group affiliate", "conversions").rows[0]

    assert first.keys == {"group": "ag_gold", "affiliate": "odettevarga"}
    assert {it: first.objects[it].name for it in first.objects} == {
        "group": "Gold",
        "affiliate": "Odette Varga",
    }


def test_filters_limit_all_columns(scenario, odette):
    other = ProgramScenario(scenario.account, slug="dollars", currency="USD", email=None)
    group = scenario.account.affiliate_groups.create(public_id="ag_gold", title="Gold")
    odette.affiliate.update_row(group=group)
    other.enroll(odette.affiliate)
    for each in (None, odette):
        scenario.create_click(each, at=AT)
        scenario.create_conversion("20", affiliate=each)
    account, columns = scenario.account, "clicks conversions revenue"

    of_odette = ("harbor-lamp-partners", "EUR", 1, 1, Decimal(20))
    for filters in ({"affiliate": "odettevarga"}, {"group": "ag_gold"}):
        report = build(account, "program", columns, filters=filters)
        assert list_values(report) == [of_odette]
    [row] = build(account, "affiliate", columns, filters={"group": ""}).rows
    assert row.keys == {"affiliate": "minakessler"}
    assert not build(account, "affiliate", columns, filters={"program": "dollars"}).rows


def test_a_group_without_sales_has_the_currency_of_its_program(scenario):
    dollars = ProgramScenario(scenario.account, slug="dollars", currency="USD", email=None)
    ada = dollars.create_enrolled_affiliate("Ada", "Lund")
    dollars.create_click(ada, at=AT)

    report = build(scenario.account, "affiliate", "clicks revenue")

    assert list_values(report) == [(ada.slug, "USD", 1, Decimal(0))]
    assert [(it.currency, *it.values.values()) for it in report.totals] == [("USD", 1, 0)]


def test_clicks_count_once_in_totals_of_several_currencies(scenario):
    scenario.create_click(at=AT)
    for currency in ("EUR", "USD"):
        scenario.create_conversion("20", currency=currency)

    report = build(scenario.account, "affiliate", "clicks conversions epc")

    assert [row.values["clicks"] for row in report.rows] == [1, 1]
    assert [(row.currency, *row.values.values()) for row in report.totals] == [
        ("EUR", 1, 1, Decimal(2)),
        ("USD", 1, 1, Decimal(2)),
    ]


def test_compares_with_the_period_before_and_the_year_before(scenario, odette):
    scenario.create_conversion("20", at=AT)
    scenario.create_conversion("5", affiliate=odette, at=AT - 28 * DAY)
    scenario.create_conversion("3", affiliate=odette, at=AT - 365 * DAY)

    before = build(scenario.account, "affiliate", "revenue", compare="previous")
    year = build(scenario.account, "affiliate", "revenue", compare="year")

    assert before.before == Period(date(2026, 2, 1), date(2026, 2, 28))
    assert [(row.keys["affiliate"], row.values, row.before) for row in before.rows] == [
        ("minakessler", {"revenue": Decimal(20)}, {"revenue": Decimal(0)}),
        ("odettevarga", {"revenue": Decimal(0)}, {"revenue": Decimal(5)}),
    ]
    assert [row.before for row in before.totals] == [{"revenue": Decimal(5)}]
    assert year.before == Period(date(2025, 3, 1), date(2025, 3, 31))
    assert [row.before["revenue"] for row in year.rows] == [0, 3]


def test_compares_months_and_weeks_by_their_place(scenario):
    for year, month, amount in ((2025, 11, 3), (2025, 12, 4), (2026, 1, 5), (2026, 2, 6)):
        scenario.create_conversion(f"{amount}", at=AT.replace(year=year, month=month))
    period = Period(date(2026, 1, 1), date(2026, 2, 28))

    found = {
        unit: [
            (row.keys[unit], row.values["revenue"], row.before["revenue"])
            for row in build(scenario.account, unit, "revenue", period, compare="previous").rows
        ]
        for unit in ("month", "week")
    }

    assert found["month"] == [(date(2026, 1, 1), 5, 3), (date(2026, 2, 1), 6, 4)]
    # 4 November is in the second week of the months before, 4 January in the first.
    assert found["week"] == [
        (date(2025, 12, 29), 5, 0),
        (date(2026, 1, 5), 0, 3),
        (date(2026, 2, 2), 6, 4),
    ]


def test_days_that_the_period_lacks_follow_it(scenario):
    scenario.create_conversion("5", at=AT.replace(month=1, day=31))
    february = Period(date(2026, 2, 1), date(2026, 2, 28))

    report = build(scenario.account, "day", "revenue", february, compare="previous")

    assert [(row.keys["day"], row.before["revenue"]) for row in report.rows] == [
        (date(2026, 3, 3), 5)
    ]
    assert report.totals[0].before == {"revenue": 5}


def test_times_to_conversion_are_percentiles_of_sales_with_a_click(scenario, odette):
    for minutes in (1, 2, 3, 4, 5, 60, 700, 8, 9, 10):
        click = scenario.create_click(at=AT - timedelta(minutes=minutes))
        parameters = TrackingParameters(click_id=str(click.public_id))
        scenario.create_conversion("5", parameters=parameters)
    sell_by_click(scenario, "7", affiliate=odette)
    scenario.create_conversion("9")
    columns = "time_to_conversion time_to_conversion_90"

    report = build(scenario.account, "affiliate", columns, sort="affiliate", compare="year")
    coupons = build(scenario.account, "customer_status", columns)

    assert list_values(report) == [
        ("minakessler", "EUR", 5 * 60, 60 * 60),
        ("odettevarga", "EUR", 0, 0),
    ]
    none = dict.fromkeys(columns.split())
    assert [row.before for row in report.rows] == [none, none]
    assert [row.values for row in report.totals] == [
        {"time_to_conversion": 5 * 60, "time_to_conversion_90": 60 * 60}
    ]
    assert list_values(coupons) == [(None, "EUR", 5 * 60, 60 * 60)]


def test_links_have_their_clicks_and_sales(scenario, odette):
    sell_by_click(scenario, "5")
    scenario.create_click(odette, at=AT)
    scenario.create_conversion("7")
    codes = {it.enrollment.affiliate.slug: it.code for it in scenario.account.referral_codes.all()}

    found = list_values(build(scenario.account, "link", "revenue clicks", sort="-clicks"))

    assert {*found} == {
        (codes["minakessler"], "EUR", 5, 1),
        (codes["odettevarga"], "EUR", 0, 1),
        (None, "EUR", 7, 0),
    }


def test_sales_have_a_source_and_what_attributed_them(scenario):
    sell_by_click(scenario, "5")
    claim = scenario.create_conversion("7")
    claim.update_row(claim_status="open")
    columns = "revenue coupon_conversions"

    sources = list_values(build(scenario.account, "source", columns))
    attributed = list_values(build(scenario.account, "tracking_source", columns))

    assert sources == [("script", "EUR", 7, 1), ("api", "EUR", 5, 0)]
    assert attributed == [("coupon", "EUR", 7, 1), ("click", "EUR", 5, 0)]


def test_items_count_by_commission_type_and_product(scenario):
    account = scenario.account
    scenario.create_commission_type("lamps", "20")
    lamp, bulb = ("20", "lamps"), "10"
    scenario.create_conversion(lamp, bulb)
    sale = scenario.create_conversion(lamp, lamp)
    account.commissions.filter(name__contains="amps").update(comment="Desk lamp")
    columns = "commissions conversions revenue clicks"

    types = build(account, "commission_type", columns)
    products = build(account, "product", "revenue conversions")
    lamps = build(account, "affiliate", "conversions revenue", filters={"product": "Desk lamp"})

    assert list_values(types) == [
        ("lamps", "EUR", 12, 2, 60, None),
        ("standard", "EUR", 1, 1, 10, None),
    ]
    assert [it.values["conversions"] for it in types.totals] == [2]
    assert list_values(products) == [("Desk lamp", "EUR", 60, 2), (None, "EUR", 10, 1)]
    assert [it.values for it in lamps.totals] == [{"conversions": 2, "revenue": 60}]
    assert sale.amount == 40


def test_customers_are_new_or_return(scenario):
    for amount, options in (
        ("1", {"customer_id": "c1"}),
        ("2", {"customer_id": "c1", "at": AT + DAY}),
        ("4", {"customer_id": "c2", "meta_data": {"customer": "returning"}}),
        ("8", {"meta_data": {"customer": "new"}}),
        ("16", {}),
    ):
        scenario.create_conversion(amount, **options)
    account = scenario.account
    account.customers.filter(customer_id="c2").update(status="trial")

    kinds = list_values(build(account, "customer_kind", "revenue clicks"))
    states = list_values(build(account, "customer_status", "revenue customers"))

    assert kinds == [
        (None, "EUR", 16, None),
        ("new", "EUR", 9, None),
        ("returning", "EUR", 6, None),
    ]
    assert {*states} == {
        (None, "EUR", 24, 0),
        ("trial", "EUR", 4, 1),
        ("paying", "EUR", 3, 1),
    }


def test_customers_who_had_bought_before_are_known(scenario, odette):
    sales = [
        scenario.create_conversion(amount, customer_id=customer, at=AT + DAY * number, **options)
        for number, (amount, customer, options) in enumerate(
            (
                ("1", "c1", {}),
                ("2", "c1", {}),  # the affiliate's own customer
                ("4", "c1", {}),
                ("8", "c1", {}),
                ("16", None, {"meta_data": {"customer": "returning"}}),
                ("32", "c1", {"meta_data": {"customer": "new"}}),
                ("64", None, {}),
            )
        )
    ]
    for sale in sales[2:5]:
        sale.update_row(affiliate=odette.affiliate)
    columns = "known_conversions known_rate conversions"

    assert list_values(build(scenario.account, "affiliate", columns)) == [
        ("odettevarga", "EUR", 2, Decimal("66.7"), 3),
        ("minakessler", "EUR", 0, 0, 4),
    ]


def test_rates_are_of_all_currencies_as_clicks_are(scenario):
    for _ in range(4):
        scenario.create_click(at=AT)
    for amount, currency in (("5", "EUR"), ("6", "EUR"), ("7", "USD")):
        scenario.create_conversion(amount, currency=currency)

    report = build(scenario.account, "affiliate", "conversions clicks conversion_rate")

    assert list_values(report) == [
        ("minakessler", "EUR", 2, 4, Decimal("75.0")),
        ("minakessler", "USD", 1, 4, Decimal("75.0")),
    ]
    assert [row.values["conversion_rate"] for row in report.totals] == [Decimal("75.0")] * 2


def test_coupons_stand_beside_the_clicks_of_their_affiliate(scenario, odette):
    for number in range(3):
        scenario.create_click(at=AT)
        scenario.create_conversion("5", external_id=f"coupon-{number}", affiliate=odette)
    scenario.create_conversion("5")
    coupons = {it.enrollment.affiliate.slug: it.code for it in scenario.account.coupons.all()}
    columns = "coupon_conversions clicks clicks_per_coupon"

    found = build(scenario.account, "affiliate_coupon", columns, sort="clicks_per_coupon")

    assert list_values(found) == [
        (coupons["odettevarga"], "EUR", 3, 0, 0),
        (coupons["minakessler"], "EUR", 1, 3, 3),
    ]


@pytest.fixture
def buyers(scenario, odette):
    """Customers of March and April who buy again, and a sale without a customer."""
    for customer, month, amount, affiliate in (
        ("c1", 3, "10", None),
        ("c1", 3, "20", None),
        ("c1", 5, "40", None),
        ("c2", 3, "80", odette),
        ("c3", 4, "160", None),
        ("c3", 5, "320", None),
        (None, 3, "640", None),
    ):
        sale_at = AT.replace(month=month, day=4 + (amount == "20"))
        scenario.create_conversion(amount, affiliate=affiliate, customer_id=customer, at=sale_at)
    return scenario


SPRING = Period(date(2026, 3, 1), date(2026, 5, 31))
MARCH_1, APRIL_1 = date(2026, 3, 1), date(2026, 4, 1)


def test_cohorts_are_customers_by_the_month_of_their_first_sale(buyers):
    columns = "buyers conversions revenue commissions"
    report = build(buyers.account, "cohort months_since", columns, SPRING)

    assert list_values(report) == [
        (MARCH_1, 0, "EUR", 2, 3, 110, 11),
        (MARCH_1, 2, "EUR", 1, 1, 40, 4),
        (APRIL_1, 0, "EUR", 1, 1, 160, 16),
        (APRIL_1, 1, "EUR", 1, 1, 320, 32),
        (None, None, "EUR", 0, 1, 640, 64),
    ]
    [total] = report.totals
    assert total.values == {"buyers": 3, "conversions": 7, "revenue": 1270, "commissions": 127}


def test_cohorts_are_filtered_by_affiliate_month_and_age(buyers):
    for filters, revenue in (
        ({"affiliate": "odettevarga"}, 80),
        ({"cohort": "2026-04-01"}, 480),
        ({"months_since": "2"}, 40),
        ({"cohort": ""}, 640),
    ):
        [row] = list_values(build(buyers.account, "program", "revenue", SPRING, filters=filters))
        assert row[-1] == revenue
    for filters in ({"cohort": "spring"}, {"months_since": "x"}):
        with pytest.raises(UnknownReportValue):
            build(buyers.account, "program", "revenue", SPRING, filters=filters)


def test_customers_are_worth_what_they_spend_until_an_age(buyers):
    """Until May, nobody is three months old; those of a month that was cut count nowhere."""
    columns = "customer_value_1 customer_value_3 buyers"
    to_june = Period(SPRING.first, date(2026, 6, 30))

    spring, june, cut = (
        build(buyers.account, "affiliate", columns, period, sort="affiliate")
        for period in (SPRING, to_june, Period(date(2026, 3, 2), to_june.last))
    )
    groups = build(buyers.account, "program", columns, to_june)
    cohorts = build(buyers.account, "cohort", columns, to_june)

    # c1 spent 30 and c3 480 until month 1; c1 70 until month 3.
    assert list_values(spring) == [
        ("minakessler", "EUR", 255, None, 2),
        ("odettevarga", "EUR", 80, None, 1),
    ]
    assert list_values(june) == [
        ("minakessler", "EUR", 255, 70, 2),
        ("odettevarga", "EUR", 80, 80, 1),
    ]
    assert [*june.totals[0].values.values()] == [Decimal("196.67"), 75, 3]
    assert groups.rows[0].values == june.totals[0].values
    assert list_values(cut)[0] == ("minakessler", "EUR", 480, None, 2)
    assert list_values(cohorts) == [
        (MARCH_1, "EUR", 55, 75, 2),
        (APRIL_1, "EUR", 480, None, 1),
    ]


def test_customers_who_pay_in_two_currencies_are_worth_both(buyers):
    account = buyers.account
    account.default_currency = "EUR"
    account.save()
    set_rate(account, currency="USD", rate=Decimal("0.5"), at=LATER)
    buyers.create_conversion("7", currency="USD", customer_id="c1", at=AT)

    report = build(account, "affiliate", "customer_value_1_converted", SPRING)

    values = {row.keys["affiliate"]: row.values for row in report.rows}
    assert values["minakessler"] == {"customer_value_1_converted": Decimal("256.75")}
    assert report.totals[0].values == {"customer_value_1_converted": Decimal("197.83")}


def test_repeat_rates_count_each_customer_once(buyers):
    report = build(buyers.account, "affiliate", "buyers repeat_rate", SPRING, sort="affiliate")
    months = build(buyers.account, "month", "buyers repeat_rate", SPRING)

    assert list_values(report) == [
        ("minakessler", "EUR", 2, 100),
        ("odettevarga", "EUR", 1, 0),
    ]
    assert [row.values for row in report.totals] == [{"buyers": 3, "repeat_rate": Decimal("66.7")}]
    assert [row[2:] for row in list_values(months)] == [(2, 50), (1, 0), (2, 100)]
    assert months.totals[0].values == report.totals[0].values


def test_says_all_that_is_wrong_at_once(scenario):
    with pytest.raises(ErrorList) as caught:
        build(scenario.account, "planet", "x y", filters={"z": ""}, compare="week")
    assert [error.path for error in caught.value.errors] == ["rows", "columns", "filter", "compare"]


def test_a_year_before_29_february_is_the_28th(scenario):
    leap_day = Period(date(2028, 2, 29), date(2028, 2, 29))
    report = build(scenario.account, "program", "clicks", leap_day, compare="year")
    assert report.before == Period(date(2027, 2, 28), date(2027, 2, 28))


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("", ["ada", "mina", "odette"]),
        ("-revenue", ["ada", "mina", "odette"]),
        ("revenue", ["odette", "mina", "ada"]),
        ("affiliate", ["ada", "mina", "odette"]),
        ("-affiliate", ["odette", "mina", "ada"]),
    ],
)
def test_sorts_by_a_column_or_a_field(scenario, odette, sort, order):
    ada = scenario.create_enrolled_affiliate("Ada", "Lund")
    for amount, affiliate in (("9", ada), ("7", None), ("5", odette)):
        scenario.create_conversion(amount, affiliate=affiliate)

    report = build(scenario.account, "affiliate", "revenue", sort=sort)

    names = [row.objects["affiliate"].name.split()[0].casefold() for row in report.rows]
    assert names == order


def test_amounts_of_two_currencies_are_not_compared(scenario, odette):
    for amount, currency in (("5", "EUR"), ("900", "USD"), ("7", "EUR")):
        affiliate = odette if amount == "7" else None
        scenario.create_conversion(amount, currency=currency, affiliate=affiliate)

    found = list_values(build(scenario.account, "affiliate", "revenue"))

    assert found == [
        ("odettevarga", "EUR", 7),
        ("minakessler", "EUR", 5),
        ("minakessler", "USD", 900),
    ]


def test_days_begin_in_the_zone_of_the_account(scenario):
    account = scenario.account
    account.time_zone = "Asia/Tokyo"
    account.save()
    scenario.create_conversion("5", at=AT.replace(hour=16))  # the next day there

    for columns in ("conversions", "conversions refunds"):  # of stored days and of rows
        [row] = build(account, "day", columns).rows
        assert row.keys == {"day": AT.date() + DAY}


def test_days_that_are_over_are_read_from_the_statistics(scenario, django_assert_max_num_queries):
    for days in range(5):
        scenario.create_conversion("5", at=AT + days * DAY)
    load_statistics(scenario.account, MARCH.days, at=LATER)
    scenario.create_conversion("5", at=LATER)

    with django_assert_max_num_queries(12) as queries:
        [row] = build(scenario.account, "month", "conversions revenue").rows

    assert row.values == {"conversions": 6, "revenue": Decimal(30)}
    of_sales = [it for it in queries if 'SUM("tracking_conversion"' in it["sql"]]
    assert len(of_sales) <= 1  # those of today


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"rows": "planet"}, UnknownReportWord, "rows of a report: 'planet'; possible: day,"),
        ({"columns": "x"}, UnknownReportWord, "columns of a report: 'x'; possible: clicks,"),
        ({"rows": ""}, UnknownReportWord, "one or two different fields"),
        ({"rows": "day day"}, UnknownReportWord, "one or two different fields"),
        ({"rows": "day group program"}, UnknownReportWord, "one or two different fields"),
        ({"columns": ""}, UnknownReportWord, "columns of a report"),
        ({"filters": {"day": "x"}}, UnknownReportWord, "filter of a report: 'day'"),
        ({"sort": "-revenue"}, UnknownReportWord, "possible: affiliate, clicks"),
        ({"compare": "week"}, UnknownReportWord, "possible: previous, year"),
        ({"filters": {"program": "moon"}}, UnknownReportValue, "There is no program 'moon'"),
        (
            {"period": Period(MARCH.last, MARCH.first)},
            PeriodTooLong,
            "Enter a first and a last day in this order, of at most 1830 days.",
        ),
        (
            {"period": Period(MARCH.first, MARCH.first + MAX_DAYS * DAY)},
            PeriodTooLong,
            "at most 1830 days",
        ),
    ],
)
def test_refuses_what_is_unknown_and_says_what_there_is(scenario, options, error, text):
    options = {"rows": "affiliate", "columns": "clicks"} | options
    with pytest.raises(error) as caught:
        build(scenario.account, **options)
    assert text in caught.value.text


def test_finds_no_object_of_another_account(scenario):
    other = ProgramScenario(AccountFactory(), slug="elsewhere", prefix="other-", email=None)
    for field, value in (("program", other.program.slug), ("affiliate", other.mina.slug)):
        with pytest.raises(UnknownReportValue):
            build(scenario.account, "day", "clicks", filters={field: value})


def test_a_long_report_says_what_it_leaves_out(scenario, odette, monkeypatch):
    for affiliate in (None, odette):
        scenario.create_conversion("5", affiliate=affiliate)
    monkeypatch.setattr(reports, "MAX_ROWS", 1)

    report = build(scenario.account, "affiliate", "revenue")

    assert len(report.rows) == 1
    assert report.totals[0].values == {"revenue": Decimal(10)}
    assert report.limited == (
        "2 rows: these are the first 1, the totals are of all. Take fewer days, a filter,"
        " or one field."
    )
    monkeypatch.setattr(reports, "MAX_GROUPS", 1)
    with pytest.raises(ReportTooLarge):
        build(scenario.account, "affiliate", "refunds")


def test_refuses_to_read_more_rows_than_there_is_time_for(scenario, odette, monkeypatch):
    for affiliate in (None, None, odette):
        scenario.create_conversion("5", affiliate=affiliate)
    account = scenario.account
    monkeypatch.setattr(reports, "MAX_READ_ROWS", 2)

    with pytest.raises(ReportReadsTooMuch) as caught:
        build(account, "coupon month", "conversions buyers")

    assert caught.value.text == (
        "This report would read 3 conversions one by one, at most 2 are possible: take at"
        " most about 20 days, or leave out coupon, buyers, which daily statistics do not know."
    )
    assert caught.value.path == "date_to"
    days = Period(MARCH.first, MARCH.first + DAY)
    for rows, columns, period, filters in (
        ("month", "conversions", MARCH, {}),  # of daily statistics
        ("coupon", "conversions", days, {}),
        ("coupon", "conversions", MARCH, {"affiliate": "minakessler"}),
        ("coupon", "clicks", MARCH, {}),  # which know no coupon
    ):
        build(account, rows, columns, period, filters=filters)


def test_converted_columns_add_up_in_the_currency_of_the_account(scenario, odette):
    account = scenario.account
    account.default_currency = "EUR"
    account.save()
    set_rate(account, currency="USD", rate=Decimal("0.123"), at=LATER)
    for amount, currency, affiliate in (
        ("5", "EUR", odette),
        ("0.55", "USD", odette),  # 0.06765
        ("90.55", "USD", None),  # 11.13765
        ("900", "JPY", None),
    ):
        scenario.create_conversion(amount, currency=currency, affiliate=affiliate)
    columns = "revenue_converted revenue commissions_converted"

    report = build(account, "affiliate", columns, sort="-revenue_converted", compare="previous")

    assert list_values(report) == [
        ("minakessler", "USD", Decimal("11.14"), Decimal("90.55"), Decimal("1.11")),
        ("odettevarga", "EUR", 5, 5, Decimal("0.5")),
        ("odettevarga", "USD", Decimal("0.07"), Decimal("0.55"), Decimal("0.01")),
        ("minakessler", "JPY", None, 900, None),
    ]
    assert report.converted.currency == "EUR"
    # 16.2053 and 1.6213: rounded once, so not the sum of what is rounded in the rows.
    assert report.converted.values == {
        "revenue_converted": Decimal("16.21"),
        "commissions_converted": Decimal("1.62"),
    }
    assert report.converted.before == dict.fromkeys(report.converted.values, 0)
    assert report.missing == ["JPY"]
    assert report.conversion_note == (
        "Converted at your own rates of the day named: 1 USD = 0.123 EUR of 2026-03-14."
        " Without a rate, so in no converted number: JPY."
    )
    assert build(account, "affiliate", "revenue").converted is None


def test_a_report_of_converted_amounts_has_one_row_of_each_group(scenario, odette):
    account = scenario.account
    account.default_currency = "EUR"
    account.save()
    set_rate(account, currency="USD", rate=Decimal("0.5"), at=LATER)
    scenario.create_click(at=AT)
    scenario.create_click(odette, at=AT)
    for amount, currency, customer in (
        ("5", "EUR", "c1"),
        ("0.01", "USD", "c1"),
        ("0.01", "USD", "c2"),
        ("900", "JPY", "c1"),
    ):
        scenario.create_conversion(amount, currency=currency, customer_id=customer)
    scenario.create_conversion("7", affiliate=odette)
    scenario.create_conversion("9", currency="USD", at=AT - 28 * DAY)
    columns = (
        "revenue_converted commissions_converted average_order_converted epc_converted"
        " cost_ratio conversions clicks buyers time_to_conversion"
    )

    report = build(account, "affiliate", columns, compare="previous")

    # 900 JPY have no rate: they are in no amount, and in all counts.
    assert list_values(report) == [
        ("odettevarga", "EUR", 7, Decimal("0.7"), 7, Decimal("0.7"), 10, 1, 1, 0, None),
        (
            *("minakessler", "EUR", Decimal("5.01"), Decimal("0.5")),
            *(Decimal("1.67"), Decimal("0.5"), 10, 4, 1, 2, None),
        ),
    ]
    [total] = report.totals
    assert total.currency == "EUR"
    assert [*total.values.values()][:2] == [Decimal("12.01"), Decimal("1.2")]
    assert [*total.values.values()][5:8] == [5, 2, 2]
    assert total.values | report.converted.values == total.values
    assert [row.before["revenue_converted"] for row in report.rows] == [0, Decimal("4.5")]
    assert total.before["revenue_converted"] == Decimal("4.5")
    assert report.missing == ["JPY"]
    account.default_currency = ""
    account.save()
    found = list_values(build(account, "affiliate", "revenue_converted", sort="affiliate"))
    assert found == [
        *(("minakessler", currency, None) for currency in ("EUR", "JPY", "USD")),
        ("odettevarga", "EUR", None),
    ]


def test_times_to_conversion_are_of_all_currencies_if_amounts_are_converted(scenario):
    account = scenario.account
    account.default_currency = "EUR"
    account.save()
    for minutes, currency in ((1, "EUR"), (2, "USD"), (3, "USD"), (60, "EUR")):
        click = scenario.create_click(at=AT - timedelta(minutes=minutes))
        parameters = TrackingParameters(click_id=str(click.public_id))
        scenario.create_conversion("5", currency=currency, parameters=parameters)

    report = build(account, "affiliate", "revenue_converted time_to_conversion")

    assert list_values(report) == [("minakessler", "EUR", 10, 120)]
    assert report.totals[0].values == report.rows[0].values
