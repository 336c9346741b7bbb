"""Long lists are sorted by columns with an index only."""

from datetime import timedelta

import pytest
from django.contrib import admin
from django.urls import reverse

from affiliate_site.backoffice.lists import long_lists
from affiliate_site.backoffice.lists.long_lists import find_index_order
from benchmarks.growth_lists import SHORT_LISTS
from payouts.models.commissions import Commission
from payouts.services.commissions import approve_commission
from tests.program_scenario import CONVERSION_CREATED_AT
from tracking.models.affiliates import Affiliate
from tracking.models.conversions import Conversion

pytestmark = pytest.mark.usefixtures("shared_scenario")

IGNORED = "too many to sort so"


@pytest.fixture
def sales(scenario):
    return [
        scenario.create_conversion(amount, at=CONVERSION_CREATED_AT + timedelta(minutes=number))
        for number, amount in enumerate(("20", "10", "30"))
    ]


@pytest.fixture
def list_is_long(monkeypatch):
    monkeypatch.setattr(long_lists, "MAX_COUNTED_ROWS", 2)


def find_column(response, name):
    """The number of a column in the list."""
    columns = response.context["cl"].list_display
    return [getattr(column, "name", column) for column in columns].index(name)


def open_sorted(client, name, column, prefix=""):
    """Page 1 of a list, sorted by a column."""
    url = reverse(f"admin:{name}_changelist")
    number = find_column(client.get(url), column)
    return client.get(url, {"o": f"{prefix}{number}"})


def get_amounts(response):
    return [row.amount for row in response.context["cl"].result_list]


@pytest.mark.parametrize(
    ("model", "ordering", "expected"),
    [
        (Commission, ["status"], ["status", "-created_at", "-id"]),
        (Commission, ["-status"], ["-status", "created_at", "id"]),
        (Commission, ["created_at"], ["created_at", "id"]),
        (Commission, ["amount"], []),
        (Commission, ["status", "amount"], []),
        (Affiliate, ["slug"], ["slug", "-id"]),
        (Conversion, ["deleted_at"], []),  # the index has a condition
        (Conversion, ["external_id"], []),  # the index finds beginnings only
    ],
)
def test_finds_the_order_of_an_index(model, ordering, expected):
    assert find_index_order(model, ordering) == expected


@pytest.mark.parametrize("model", admin.site._registry, ids=lambda m: m._meta.label)
def test_an_index_has_the_first_order_of_each_long_list(model):
    page = admin.site._registry[model]
    ordering = page.ordering_of_long_list or page.ordering

    assert find_index_order(model, ordering) or model._meta.label in SHORT_LISTS


def test_a_long_list_ignores_an_order_without_index(staff_client, sales, list_is_long):
    response = open_sorted(staff_client(), "tracking_conversion", "formatted_amount")

    assert get_amounts(response) == [30, 10, 20]  # the newest first
    page = response.content.decode()
    assert IGNORED in page
    assert 'aria-label="ascending"' not in page


def test_a_list_that_filters_shorten_has_any_order(staff_client, sales, list_is_long):
    client, name = staff_client(), "tracking_conversion"
    response = open_sorted(client, name, "formatted_amount")
    query = {
        "o": str(find_column(response, "formatted_amount")),
        "created_at__gte": sales[1].created_at.isoformat(),
    }

    response = client.get(reverse(f"admin:{name}_changelist"), query)

    assert get_amounts(response) == [10, 30]
    assert IGNORED not in response.content.decode()


def test_a_long_list_is_sorted_by_an_index(
    staff_client, account, sales, list_is_long, capture_queries
):
    newest = account.commissions.get(conversion=sales[2])
    approve_commission(account, commission_id=newest.pk, at=CONVERSION_CREATED_AT)
    client = staff_client()

    with capture_queries() as executed:
        up = open_sorted(client, "payouts_commission", "shown_status")
        down = open_sorted(client, "payouts_commission", "shown_status", "-")

    assert get_amounts(up) == list(reversed(get_amounts(down)))
    assert get_amounts(up)[0] == newest.amount
    assert IGNORED not in up.content.decode()
    order = '"status" ASC, "payouts_commission"."created_at" DESC'
    assert any(order in query["sql"] for query in executed)


def test_long_balances_are_sorted_by_affiliate(staff_client, sales, monkeypatch):
    monkeypatch.setattr(long_lists, "MAX_COUNTED_ROWS", 0)
    client = staff_client()

    url = reverse("admin:payouts_ledgeraccount_changelist")
    response = client.get(url, {"zero": "shown"})

    ordering = response.context["cl"].queryset.query.order_by
    assert ordering == ("affiliate", "-id")
    assert IGNORED in response.content.decode()
