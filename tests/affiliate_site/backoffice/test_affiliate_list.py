"""The list of affiliates answers: segments, statistics of days, and their order."""

import re
from datetime import timedelta
from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils.html import strip_tags

from accounts.models.users import User
from affiliate_site.backoffice.affiliates.affiliate_columns import AFFILIATE_COLUMNS
from affiliate_site.backoffice.lists import long_lists
from affiliate_site.columns import Column
from payouts.services.affiliate_activity import SEGMENT_TEXTS, Segment
from payouts.services.refunds import refund_conversion
from tests.affiliate_site.backoffice.test_exports import export_csv
from tests.conftest import NOW
from tests.program_scenario import ProgramScenario

URL = reverse("admin:tracking_affiliate_changelist")
DAY = timedelta(days=1)
NAMES = [it.__name__ for it in AFFILIATE_COLUMNS if isinstance(it, Column) and callable(it.order)]


@pytest.fixture
def sales(scenario, time_machine):
    """Ada rises, Bo has sold nothing for 70 days, Cy is new, Mina has never sold."""
    time_machine.move_to(NOW)
    ada, bo, cy = (scenario.create_enrolled_affiliate(it, "Lund") for it in ("Ada", "Bo", "Cy"))
    for days, each in ((200, ada), (250, bo), (300, scenario.mina)):
        each.affiliate.update_row(created_at=NOW - days * DAY)
    for number in range(6):
        scenario.create_conversion("30", affiliate=ada, at=NOW - number * 5 * DAY)
    scenario.create_conversion("1", affiliate=ada, at=NOW - 45 * DAY)
    scenario.create_conversion("99", affiliate=bo, at=NOW - 70 * DAY)
    refunded = scenario.create_conversion("200", affiliate=cy, at=NOW - DAY)
    refund = {"conversion_id": refunded.pk, "amount": Decimal(50)}
    refund_conversion(scenario.account, reason="", at=NOW, **refund)
    scenario.create_conversion("500", affiliate=cy, currency="USD", at=NOW)
    scenario.approve(scenario.get_commission(refunded), at=NOW)
    for each, at in ((ada, NOW - 3 * DAY), (cy, NOW), (cy, NOW), (bo, NOW - 2 * DAY)):
        scenario.create_click(each, at=at)
    return scenario


def open_list(client, **query):
    response = client.get(URL, query)
    assert response.status_code == 200
    return response


def list_names(response):
    return [row.firstname for row in response.context["cl"].result_list]


def list_values(response, name):
    """The texts of a column."""
    changelist = response.context["cl"]
    columns = {getattr(it, "name", it): it for it in changelist.list_display}
    return [strip_tags(f"{columns[name](row)}") for row in changelist.result_list]


def sort(client, name, prefix="", **query):
    columns = open_list(client).context["cl"].list_display
    place = [getattr(it, "name", it) for it in columns].index(name)
    return open_list(client, o=f"{prefix}{place}", **query)


@pytest.mark.parametrize(
    ("segment", "expected"),
    [
        (Segment.QUIET, ["Bo"]),
        (Segment.NEW, ["Cy"]),
        (Segment.RISING, ["Ada"]),
        (Segment.FALLING, []),
        (Segment.NEVER_SOLD, ["Mina"]),
    ],
)
def test_tabs_filter_by_segment_and_say_what_it_is(staff_client, sales, segment, expected):
    sales.create_conversion("30", affiliate=sales.mina, at=NOW - 10 * DAY)
    sales.account.conversions.filter(affiliate=sales.mina.affiliate).update(deleted_at=NOW)
    client = staff_client("viewer")
    page = open_list(client).content.decode()
    (url,) = re.findall(rf'href="([^"]*segment={segment})"', page)

    response = client.get(url)

    assert list_names(response) == expected
    page = response.content.decode()
    assert SEGMENT_TEXTS[segment] in page
    assert f"Segment: <strong>{segment.label}</strong>" in page


def test_a_segment_filters_exports_and_actions_on_all_rows(staff_client, sales):
    client = staff_client()
    titles, *rows = export_csv(client, "tracking_affiliate", segment="quiet")
    lines = [dict(zip(titles, row, strict=True)) for row in rows]
    assert [(it["Name"], it["Last click"], it["Last sale"]) for it in lines] == [
        ("Bo Lund", "2026-03-02", "2025-12-24")
    ]
    (selected,) = open_list(client, segment="rising").context["cl"].result_list
    data = {"action": "show_addresses", "_selected_action": selected.pk, "select_across": "1"}

    response = client.post(f"{URL}?segment=rising", data)

    assert response.status_code == 200
    assert response.context["without"] == 1  # Ada has no address


def test_trends_show_both_figures_and_the_change(staff_client, sales):
    client = staff_client()
    for days, amount in ((40, "40"), (10, "10")):
        for _ in range(5):
            sales.create_conversion(amount, affiliate=sales.mina, at=NOW - days * DAY)

    response = open_list(client, segment="falling")
    titles, row = export_csv(client, "tracking_affiliate", segment="falling")

    names = ("trend_before", "trend_now", "trend_change")
    shown = [list_values(response, it) for it in names]
    assert shown == [["200.00\xa0EUR"], ["50.00\xa0EUR"], ["-75.0"]]
    line = dict(zip(titles, row, strict=True))
    assert (line["30 days before"], line["30 days until yesterday"]) == ("200", "50")
    assert (line["30 days before: currency"], line["Change (%)"]) == ("EUR", "-75")
    assert "trend_change" not in open_list(client, segment="quiet").content.decode()


def test_a_segment_is_saved_as_a_view(staff_client, sales):
    client = staff_client("viewer")
    form = {"name": "Write to them", "query": "segment=quiet"}

    client.post(reverse("admin:tracking_affiliate_save_view"), form)

    (view,) = open_list(client).context["saved_views"]
    assert (view.name, view.query) == ("Write to them", "segment=quiet")


def test_shows_activity_and_statistics(staff_client, sales):
    response = open_list(staff_client("viewer"))

    assert list_names(response) == ["Cy", "Ada", "Bo", "Mina"]
    shown = {name: list_values(response, name) for name in NAMES}
    assert shown["last_click"] == ["2026-03-04", "2026-03-01", "2026-03-02", "-"]
    assert shown["last_sale"] == ["2026-03-04", "2026-03-04", "2025-12-24", "-"]
    assert shown["conversions"] == ["2", "6", "0", "0"]
    money = ["150.00\xa0EUR, 500.00\xa0USD", "180.00\xa0EUR", "0", "0"]
    assert shown["revenue"] == money
    assert shown["commissions"] == ["15.00\xa0EUR, 50.00\xa0USD", "18.00\xa0EUR", "0", "0"]
    assert shown["refund_rates"] == ["25.0 % EUR, 0.0 % USD", "0.0 %", "-", "-"]
    assert shown["balance_due"] == ["15.00\xa0EUR", "0", "0", "0"]


@pytest.mark.parametrize(
    ("name", "query", "expected"),
    [
        ("last_click", {}, ["Mina", "Ada", "Bo", "Cy"]),
        ("last_sale", {}, ["Mina", "Bo", "Cy", "Ada"]),
        ("clicks", {}, ["Mina", "Ada", "Bo", "Cy"]),
        ("conversions", {}, ["Mina", "Bo", "Cy", "Ada"]),
        ("conversions", {"days": "90"}, ["Mina", "Bo", "Cy", "Ada"]),
        ("revenue", {}, ["Mina", "Bo", "Cy", "Ada"]),
        ("revenue", {"days": "90"}, ["Mina", "Bo", "Cy", "Ada"]),
        ("revenue", {"program": "harbor-lamp-partners"}, ["Mina", "Bo", "Cy", "Ada"]),
        ("commissions", {}, ["Mina", "Bo", "Cy", "Ada"]),
        ("commissions", {"program": "harbor-lamp-partners"}, ["Mina", "Bo", "Cy", "Ada"]),
        ("refund_rates", {}, ["Mina", "Bo", "Ada", "Cy"]),
        ("balance_due", {}, ["Mina", "Bo", "Ada", "Cy"]),
    ],
)
def test_sorts_by_each_column_both_ways(staff_client, sales, name, query, expected):
    """Ada's last sale is the later one: NOW, as Cy's, and then the key decides."""
    client = staff_client("viewer")
    up, down = sort(client, name, **query), sort(client, name, "-", **query)

    values = dict(zip(list_names(up), list_values(up, name), strict=True))
    groups = list(dict.fromkeys(values[it] for it in expected))
    assert [values[it] for it in list_names(up)] == [values[it] for it in expected]
    assert list(dict.fromkeys(list_values(down, name))) == groups[::-1]


def test_sorts_by_the_amounts_of_one_currency(staff_client, sales):
    client = staff_client()

    assert list_names(sort(client, "revenue", "-"))[:2] == ["Ada", "Cy"]
    assert list_names(sort(client, "revenue", "-", currency="USD"))[0] == "Cy"


def test_ninety_days_and_a_program_are_named_in_titles(staff_client, sales):
    client = staff_client()
    page = open_list(client, days="90", program=sales.program.slug).content.decode()

    assert "Revenue, 90 days, in the program" in page
    response = open_list(client, days="90")
    assert dict(zip(list_names(response), list_values(response, "revenue"), strict=True))["Bo"] == (
        "99.00\xa0EUR"
    )


def test_refuses_unknown_segments_days_and_currencies(staff_client):
    client = staff_client()
    for query in ({"segment": "loud"}, {"days": "7"}, {"currency": "euro"}):
        assert client.get(URL, query).status_code == 400


def test_operators_have_no_segments_and_no_order_by_statistics(client, sales, other_account):
    ProgramScenario(other_account, prefix="f-", email=None)
    operator = User.objects.create_superuser("operator@example.org", password="x")
    client.force_login(operator)

    page = open_list(client).content.decode()

    assert "segment=" not in page
    assert client.get(URL, {"segment": "quiet"}).status_code == 400
    assert len(list_names(sort(client, "revenue"))) == 5
    assert list_names(sort(client, "last_sale"))[-1] in ("Ada", "Cy")


def test_long_lists_are_not_sorted_by_statistics(staff_client, sales, monkeypatch):
    monkeypatch.setattr(long_lists, "MAX_COUNTED_ROWS", 2)

    response = sort(staff_client(), "revenue")

    assert list_names(response) == ["Cy", "Ada", "Bo", "Mina"]
    assert "too many to sort so" in response.content.decode()


def test_the_plain_list_reads_only_what_its_rows_show(staff_client, sales, capture_queries):
    client = staff_client()
    open_list(client, segment="rising", days="90")  # stores the statistics of past days
    with capture_queries() as executed:
        open_list(client)
    plain = len(executed)
    for number in range(20):
        sales.create_enrolled_affiliate(f"More {number}", "Lund")

    with capture_queries() as executed:
        open_list(client)

    assert len(executed) == plain
    with capture_queries() as executed:
        sort(client, "refund_rates", "-", segment="rising", days="90")
    assert len(executed) <= plain + 23
