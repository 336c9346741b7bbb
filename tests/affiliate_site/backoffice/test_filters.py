"""Filters of lists: chips in the page, parameters in the URL, rows of the account."""

from datetime import timedelta
from html import escape

import pytest
from django.contrib import admin
from django.urls import reverse

from accounts.services.accounts import update_settings
from affiliate_site.backoffice.lists import filters
from affiliate_site.backoffice.lists.filters import FormFilter
from tests.conftest import NOW
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario

CONVERSIONS = "tracking_conversion"
DAY = f"{CONVERSION_CREATED_AT:%Y-%m-%d}"
NEXT_DAY = f"{CONVERSION_CREATED_AT + timedelta(days=1):%Y-%m-%d}"
WHOLE_DAY = {
    "created_at__gte": f"{DAY}T00:00:00Z",
    "created_at__lt": f"{NEXT_DAY}T00:00:00Z",
}
LATER = {"created_at__gte": f"{NEXT_DAY}T09:16:00Z"}
MINA = "Mina Kessler (minakessler)"
BEACON = "b-Harbor Lamp Partners (b-beacon)"
FILTERED_LISTS = [model for model, page in admin.site._registry.items() if page.list_filter]


@pytest.fixture
def client(staff_client):
    return staff_client()


@pytest.fixture
def sales(scenario):
    """Two conversions: one today of Mina, one a day later of another program in USD."""
    other = ProgramScenario(
        scenario.account, slug="beacon", prefix="b-", email=None, currency="USD"
    )
    return [
        scenario.create_conversion("10", external_id="first"),
        other.create_conversion(
            "20", external_id="second", at=CONVERSION_CREATED_AT + timedelta(days=1)
        ),
    ]


def open_list(client, page, **query):
    response = client.get(reverse(f"admin:{page}_changelist"), query)
    assert response.status_code == 200, response
    return response


def list_ids(response):
    return sorted(row.pk for row in response.context["cl"].result_list)


def test_filters_by_a_program_that_is_not_offered(client, sales, monkeypatch):
    """An account may have more programs than a filter lists."""
    monkeypatch.setattr(filters, "MAX_CHOICES", 1)

    titles = {
        "harbor-lamp-partners": "Harbor Lamp Partners (harbor-lamp-partners)",
        "b-beacon": BEACON,
    }
    for sale, (slug, title) in zip(sales, titles.items(), strict=True):
        response = open_list(client, CONVERSIONS, program=slug)
        assert list_ids(response) == [sale.pk]
        assert list_chips(response) == [("Program", title)]


def list_chips(response):
    return [(chip.title, chip.value) for chip in response.context["cl"].chips]


@pytest.mark.parametrize(
    ("query", "chips", "found"),
    [
        ({}, [], [0, 1]),
        ({"program": "b-beacon"}, [("Program", BEACON)], [1]),
        ({"affiliate": "minakessler"}, [("Affiliate", MINA)], [0]),
        ({"currency": "USD"}, [("Currency", "USD")], [1]),
        ({"currency": "JPY"}, [("Currency", "JPY")], []),
        ({"deleted_at__isnull": "True"}, [("State", "Not removed")], [0, 1]),
        ({"deleted_at__isnull": "False"}, [("State", "Removed")], []),
        ({"from": NEXT_DAY}, [("Date", f"from {NEXT_DAY}")], [1]),
        ({"to": DAY}, [("Date", f"to {DAY}")], [0]),
        ({"from": DAY, "to": NEXT_DAY}, [("Date", f"{DAY} to {NEXT_DAY}")], [0, 1]),
        ({"from": DAY, "to": DAY}, [("Date", DAY)], [0]),
        ({"from": NEXT_DAY, "to": DAY}, [("Date", f"{DAY} to {NEXT_DAY}")], [0, 1]),
        ({"commission_status": "pending"}, [("Commission status", "Pending")], [0, 1]),
        ({"commission_status": "approved"}, [("Commission status", "Approved")], []),
        (WHOLE_DAY, [("Date", DAY)], [0]),
        (LATER, [("Date", f"from {NEXT_DAY} 09:16 UTC")], []),
        ({"program": "none"}, [("Program", "none (unknown)")], []),
        ({"affiliate": "none"}, [("Affiliate", "none (unknown)")], []),
        ({"q": "first"}, [("Search", "first")], [0]),
        (
            {"q": "first", "currency": "USD"},
            [("Search", "first"), ("Currency", "USD")],
            [],
        ),
    ],
)
def test_filters_conversions(client, sales, query, chips, found):
    response = open_list(client, CONVERSIONS, **query)

    assert list_chips(response) == chips
    assert list_ids(response) == [sales[index].pk for index in found]


@pytest.fixture
def paid(scenario, sales):
    """The commissions of Mina: one is paid, one is pending."""
    commission = scenario.get_commission(sales[0])
    scenario.approve(commission, at=NOW)
    scenario.pay(commission.amount, at=NOW)
    return commission


@pytest.mark.parametrize(("value", "text"), [("True", "Not paid"), ("False", "Paid or sent")])
def test_filters_commissions_by_their_payment(client, account, paid, value, text):
    response = open_list(client, "payouts_commission", payment__isnull=value)

    rows = account.commissions.filter(payment__isnull=value == "True")
    assert list_ids(response) == sorted(rows.values_list("pk", flat=True))
    assert len(rows) == 1
    assert list_chips(response) == [("Payment", text)]


def test_hides_balances_of_zero(client, account, paid):
    payables = account.ledger_accounts.filter(kind="payable")
    balances = payables.filter(affiliate__slug="minakessler")

    hidden = open_list(client, "payouts_ledgeraccount")
    shown = open_list(client, "payouts_ledgeraccount", zero="shown")

    assert list_ids(hidden) == []
    assert set(balances.values_list("pk", flat=True)) <= set(list_ids(shown))
    assert list_chips(shown) == [("Balances of zero", "Shown")]
    page = shown.content.decode()
    assert 'Mina Kessler <span class="subtext">minakessler</span>' in page


def test_filters_the_ledger_by_an_affiliate(client, scenario, paid):
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    scenario.create_conversion("30", affiliate=odette)

    for affiliate, number in (("minakessler", 3), ("odettevarga", 1), ("none", 0)):
        response = open_list(client, "payouts_transfer", affiliate=affiliate)
        assert len(list_ids(response)) == number
    assert "The nightly check has not run yet; an operator sets it up." in response.content.decode()


@pytest.mark.parametrize(
    ("query", "chip", "found"),
    [
        ({"from": NEXT_DAY}, f"from {NEXT_DAY}", [0, 1]),
        ({"to": DAY}, f"to {DAY}", []),
        ({"from": DAY, "to": NEXT_DAY}, f"{DAY} to {NEXT_DAY}", [0, 1]),
        (WHOLE_DAY, f"{DAY} 14:00 +14 to {NEXT_DAY} 14:00 +14", [0]),
        (LATER, f"from {NEXT_DAY} 23:16 +14", []),
    ],
)
def test_days_are_those_of_the_account(client, account, sales, query, chip, found):
    """09:15 UTC is 23:15 in Kiribati; one more hour, and the next day begins."""
    changes = {"time_zone": "Pacific/Kiritimati"}
    update_settings(account, changes=changes, at=NOW)
    account.conversions.filter(pk=sales[0].pk).update(
        created_at=CONVERSION_CREATED_AT + timedelta(hours=1)
    )

    response = open_list(client, CONVERSIONS, **query)

    assert list_chips(response) == [("Date", chip)]
    assert list_ids(response) == [sales[index].pk for index in found]
    page = response.content.decode()
    assert "From (Pacific/Kiritimati)" in page
    assert "Times and days in Pacific/Kiritimati" in page


def test_a_chip_removes_its_filter(client, sales):
    response = open_list(client, CONVERSIONS, currency="USD", **{"from": DAY}, p="1")

    chips = response.context["cl"].chips
    assert [chip.remove_query for chip in chips] == [f"?from={DAY}", "?currency=USD"]


def test_a_chip_leaves_a_filter_that_begins_like_the_page_number(client, scenario):
    query = {"payment__isnull": "True", "deleted_at__isnull": "True", "p": "1"}

    response = open_list(client, "payouts_commission", **query)

    assert {chip.remove_query for chip in response.context["cl"].chips} == {
        "?payment__isnull=True",
        "?deleted_at__isnull=True",
    }


def test_chips_show_links_from_other_pages(client, scenario):
    query = {"status__exact": "pending", "deleted_at__isnull": "True"}
    assert list_chips(open_list(client, "payouts_commission", **query)) == [
        ("Status", "Pending"),
        ("State", "Not removed"),
    ]
    assert list_chips(open_list(client, "payouts_ledgeraccount", balance__gt="0")) == [
        ("Balance above", "0")
    ]
    query = {"removed_from": "2026-03-01", "removed_to": "2026-03-31"}
    assert list_chips(open_list(client, CONVERSIONS, **query)) == [
        ("Removed", "2026-03-01 to 2026-03-31")
    ]
    query = {"conversion_id": "7"}
    assert list_chips(open_list(client, "tracking_conversionclaim", **query)) == [
        ("Conversion id", "7")
    ]


def test_leaves_empty_fields_out_of_the_url(client):
    url = reverse(f"admin:{CONVERSIONS}_changelist")

    response = client.get(url, {"program": "", "currency": "EUR", "q": "", "from": ""})

    assert response["Location"] == f"{url}?currency=EUR"


@pytest.mark.parametrize(
    ("page", "query", "text"),
    [
        (CONVERSIONS, {"from": "yesterday"}, "is no day"),
        (CONVERSIONS, {"to": "2026-02-30"}, "is no day"),
        (CONVERSIONS, {"from": "0001-01-01"}, "is no day"),
        (CONVERSIONS, {"created_at__gte": "2026-01-01T99:00"}, "is no time"),
        (CONVERSIONS, {"currency": "euro"}, "is no currency"),
        (CONVERSIONS, {"deleted_at__isnull": "maybe"}, "is no state"),
        (CONVERSIONS, {"commission_status": "maybe"}, "is no status"),
        ("payouts_ledgeraccount", {"balance__gt": "much"}, "is no amount"),
        ("payouts_ledgeraccount", {"balance__gt": "NaN"}, "is no amount"),
        ("payouts_ledgeraccount", {"zero": "maybe"}, "is no state"),
    ],
)
def test_refuses_nonsense(client, page, query, text):
    for path in ("changelist", "export"):
        response = client.get(reverse(f"admin:{page}_{path}"), query)

        assert response.status_code == 400
        assert path == "export" or text in response.content.decode()


def test_filters_affiliates_by_program_and_group(client, scenario):
    account = scenario.account
    group = account.affiliate_groups.create(public_id="g-1", title="Gold")
    odette = account.affiliates.create(
        slug="odette", firstname="O", lastname="V", group=group, password="!"
    )

    for query, found in (
        ({"program": scenario.program.slug}, scenario.mina.affiliate),
        ({"group": "g-1"}, odette),
    ):
        assert list_ids(open_list(client, "tracking_affiliate", **query)) == [found.pk]


@pytest.mark.parametrize(
    "page",
    [
        *(CONVERSIONS, "payouts_commission", "payouts_ledgeraccount"),
        *("payouts_payment", "tracking_click", "tracking_customer"),
        "tracking_enrollment",
    ],
)
def test_filters_by_the_group_of_the_affiliate(client, scenario, paid, page):
    scenario.create_customer("anna")
    scenario.create_click()
    account = scenario.account
    query = {"group": "g-1"}
    if page == "payouts_ledgeraccount":
        query["zero"] = "shown"
    group = account.affiliate_groups.create(public_id="g-1", title="Gold")
    assert list_ids(open_list(client, page, **query)) == []

    scenario.mina.affiliate.update_row(group=group)

    response = open_list(client, page, **query)
    assert list_ids(response) != []
    assert ("Group", "Gold (g-1)") in list_chips(response)
    rows = response.context["cl"].result_list
    assert {row.affiliate for row in rows} == {scenario.mina.affiliate}


@pytest.mark.parametrize("status", ["pending", "approved", "disapproved"])
def test_names_an_approval_as_its_column_does(client, sales, status):
    response = open_list(client, "tracking_enrollment", approved=status)

    assert list_chips(response) == [("Status", status.title())]
    assert "Unknown" not in response.content.decode()


@pytest.mark.parametrize("text", ["odette", "VARGA", "odette varga", "odettevarga"])
def test_finds_the_affiliate_of_a_filter_by_any_text(client, scenario, text):
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    scenario.create_conversion("10")
    conversion = scenario.create_conversion("30", affiliate=odette)

    response = open_list(client, CONVERSIONS, affiliate=text)
    ledger = open_list(client, "payouts_transfer", affiliate=text)

    assert list_ids(response) == [conversion.pk]
    assert list_chips(response) == [("Affiliate", "Odette Varga (odettevarga)")]
    assert len(list_ids(ledger)) == 1


def test_offers_the_affiliates_that_a_text_of_a_filter_finds(client, scenario):
    scenario.create_enrolled_affiliate("Odette", "Kessler")
    conversion = scenario.create_conversion("10")

    response = open_list(client, CONVERSIONS, affiliate="kessler", currency="EUR")

    assert list_ids(response) == []
    chip = response.context["cl"].chips[0]
    assert (chip.title, chip.value) == ("Affiliate", "kessler (several: choose one)")
    links = dict(chip.choices)
    assert sorted(links) == [MINA, "Odette Kessler (odettekessler)"]
    assert escape(links[MINA]) in response.content.decode()
    chosen = client.get(reverse(f"admin:{CONVERSIONS}_changelist") + links[MINA])
    assert list_ids(chosen) == [conversion.pk]
    assert [name for name, _ in list_chips(chosen)] == ["Affiliate", "Currency"]


def test_suggests_affiliates_of_the_account(client, scenario, other_account):
    ProgramScenario(other_account, prefix="zz-marker-", email=None)
    url = reverse("admin:affiliate_suggestions")

    assert client.get(url, {"q": "kess"}).json() == {"results": [["minakessler", MINA]]}
    assert client.get(url, {"q": "zz-marker"}).json() == {"results": []}
    assert client.get(url).json() == {"results": []}
    assert url in open_list(client, CONVERSIONS).content.decode()


@pytest.mark.engine_independent  # filters are the same
def test_filters_show_nothing_of_another_account(client, scenario, other_account):
    foreign = ProgramScenario(other_account, prefix="zz-marker-", email=None)
    other_account.affiliate_groups.create(public_id="zz-marker-g", title="zz-marker")
    scenario.create_conversion("10")
    foreign.create_conversion("10")
    values = {
        "program": foreign.program.slug,
        "affiliate": foreign.mina.slug,
        "group": "zz-marker-g",
    }

    for model in FILTERED_LISTS:
        page = str(model._meta).replace(".", "_")
        filters = [
            each
            for each in admin.site._registry[model].list_filter
            if isinstance(each, type) and issubclass(each, FormFilter)
        ]
        assert "zz-marker" not in open_list(client, page).content.decode()
        for each in filters:
            if value := values.get(each.parameter_name):
                response = open_list(client, page, **{each.parameter_name: value})
                assert list_ids(response) == []
                assert f"{value} (unknown)" in response.content.decode()


@pytest.mark.engine_independent
def test_filtered_lists_take_at_most_15_statements(client, scenario, capture_queries, subtests):
    scenario.create_conversion("10")
    client.get("/admin/")  # stores the statistics of past days
    values = {
        "program": scenario.program.slug,
        "affiliate": scenario.mina.slug,
        "currency": "EUR",
        "from": DAY,
        "q": "mina",
    }

    for model in FILTERED_LISTS:
        names = {
            each.parameter_name
            for each in admin.site._registry[model].list_filter
            if isinstance(each, type)
        } | ({"q"} if admin.site._registry[model].search_fields else set())
        query = {name: values[name] for name in names if name in values}
        with subtests.test(model=model._meta.label), capture_queries() as executed:
            open_list(client, str(model._meta).replace(".", "_"), **query)
        assert len(executed) <= 15, (model, len(executed))
