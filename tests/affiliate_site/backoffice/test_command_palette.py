"""The command palette finds pages, actions and rows of the user's account."""

import pytest
from django.conf import settings
from django.core.cache import cache
from django.db.models import Q
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models.api_keys import Role
from accounts.models.users import User
from accounts.tenant_admin import TenantAdmin
from affiliate_site.backoffice.command_palette import (
    MAX_ROWS,
    SEARCH_FIELDS,
    is_possible_id,
)
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario
from tests.sample_account import SampleAccount
from tracking.services.account_settings import update_customer_email_keys

EXACT_COLUMNS = [
    f"{search_field.model.__name__}.{search_field.column}" for search_field in SEARCH_FIELDS
]
COLUMNS = [
    *(*EXACT_COLUMNS, "Affiliate.slug"),
    *("Affiliate.email_folded", "Conversion.external_id", "Program.slug"),
]


def search_palette(client, term):
    return client.get(reverse("admin:search"), {"s": term, "extended": "1"})


def get_page_url(row):
    options = row._meta
    name = f"admin:{options.app_label}_{options.model_name}_change"
    return reverse(name, args=[row.pk])


def list_result_urls(response):
    """The URLs of the rows found, without lists, whose names are also found."""
    assert response.status_code == 200
    results = response.context["results"] if response.content else []
    return [result.link for result in results if result.link.endswith("/change/")]


def find_rows(client, term):
    return list_result_urls(search_palette(client, term))


def make_searchable_rows(account, api, marker):
    """A search term and the row to find, for each searched column."""
    sample = SampleAccount(api, account.slug, marker)
    assert sample.approved_amount
    payment = account.payments.get(public_id=sample.payment_id)
    conversion = account.conversions.get(external_id=sample.external_id)
    customer, affiliate = conversion.customer, conversion.affiliate
    update_customer_email_keys(account, keys=["mail"], at=timezone.now())
    email = f"buyer@{marker}.example.org"
    customer.account.customer_email_keys = ["mail"]
    customer.update_row(meta_data={"mail": email})
    return {
        "Affiliate.slug": (affiliate.slug, affiliate),
        "Affiliate.email_folded": (affiliate.email.upper(), affiliate),
        "Customer.email_folded": (email.upper(), customer),
        "Customer.customer_id": (customer.customer_id, customer),
        "Customer.public_id": (customer.public_id, customer),
        "Conversion.external_id": (conversion.external_id, conversion),
        "Payment.public_id": (payment.public_id, payment),
        "Program.slug": (conversion.program.slug, conversion.program),
    }


@pytest.fixture
def rows(account, api):
    return make_searchable_rows(account, api, "harbor")


@pytest.fixture
def foreign_rows(other_account, other_api):
    return make_searchable_rows(other_account, other_api, "zz-marker")


def test_finds_a_row_by_its_exact_id(staff_client, rows, subtests):
    client = staff_client()

    for column in COLUMNS:
        with subtests.test(column=column):
            term, row = rows[column]
            assert find_rows(client, term) == [get_page_url(row)]
            assert find_rows(client, f" {term} ") == [get_page_url(row)]
            if column in EXACT_COLUMNS:
                assert find_rows(client, term[:-1]) == []


def test_finds_nothing_of_another_account(staff_client, rows, foreign_rows, subtests):
    client = staff_client()

    for column in COLUMNS:
        with subtests.test(column=column):
            term, _ = foreign_rows[column]
            response = search_palette(client, term)
            assert list_result_urls(response) == []
            assert "zz-marker" not in response.content.decode()


def test_finds_programs_by_title_and_commissions_by_id(staff_client, scenario, other_account):
    other = ProgramScenario(other_account, prefix="zz-marker-", email=None)
    foreign = other.get_commission(other.create_conversion("20"))
    commission = scenario.get_commission(scenario.create_conversion("20"))
    client = staff_client()
    part = scenario.program.title[1:-1]

    for term, row in ((part.upper(), scenario.program), (commission.pk, commission)):
        assert get_page_url(row) in find_rows(client, term)
    found = find_rows(client, foreign.pk)
    assert get_page_url(foreign) not in found


def test_says_what_is_searched_if_nothing_is_found(staff_client):
    response = search_palette(staff_client(), "xyzzy")

    page = response.content.decode()
    assert list(response.context["results"]) == []
    assert "Nothing found" in page
    assert "<li" not in page  # nothing to select
    assert "payments and commissions are found by their whole ID" in page


@pytest.mark.parametrize("role", Role.values)
def test_all_roles_find_rows(staff_client, scenario, role):
    conversion = scenario.create_conversion("20", external_id="Order-1")

    found = find_rows(staff_client(role=role), "Order-1")

    assert found == [get_page_url(conversion)]


def test_requires_the_view_permission(staff_client, rows, monkeypatch):
    monkeypatch.setattr(TenantAdmin, "has_view_permission", lambda *args: False)
    term, _ = rows["Customer.customer_id"]

    assert find_rows(staff_client(), term) == []


def test_operators_find_pages_only(rows, foreign_rows):
    operator = User.objects.create_superuser(email="ops@example.org", password="x")
    client = Client()
    client.force_login(operator)

    assert reverse("admin:tracking_program_changelist") in [
        result.link for result in search_palette(client, "program").context["results"]
    ]
    for term, _ in (*rows.values(), *foreign_rows.values()):
        assert find_rows(client, term) == []


def test_excludes_deleted_customers(staff_client, rows):
    term, customer = rows["Customer.customer_id"]
    customer.update_row(deleted_at=timezone.now())

    assert find_rows(staff_client(), term) == []


def test_says_what_found_a_row(staff_client, scenario):
    results = search_palette(staff_client(), scenario.mina.coupon).context["results"]

    assert [(result.title, result.description) for result in results] == [
        (
            "Mina Kessler (minakessler)",
            f"Affiliate, mina@notes.example.org, coupon {scenario.mina.coupon}",
        )
    ]


def test_links_to_the_list_of_more_affiliates(staff_client, scenario):
    for number in range(MAX_ROWS):
        scenario.create_enrolled_affiliate("Odette", f"Kessler{number}")

    response = search_palette(staff_client(), "kessler")

    results = response.context["results"]
    assert len(results) == MAX_ROWS + 1
    assert results[-1].title == "Show all with “kessler” in Affiliates"
    assert results[-1].link == "/admin/tracking/affiliate/?q=kessler"
    assert f"{MAX_ROWS} results" in response.content.decode()


def test_links_to_the_list_of_more_orders(staff_client, scenario):
    for number in range(MAX_ROWS + 1):
        scenario.create_conversion("20", external_id=f"QZX-{number}")
    client = staff_client()

    response = search_palette(client, "qzx-")

    results = response.context["results"]
    assert results[-1].title == "Show all with “qzx-” in Conversions"
    shown = client.get(results[-1].link).context["cl"].result_list
    assert len(shown) == len(results) == MAX_ROWS + 1
    assert f"{MAX_ROWS} results" in response.content.decode()


def test_finds_conversions_by_a_part_of_their_order_id(staff_client, scenario):
    url = get_page_url(scenario.create_conversion("20", external_id="QZX-1288"))
    client = staff_client()

    # Nobody's generated code has these letters.
    for term in ("QZX-1288", "QZX-12", "qzx-12", "zx-1", "x-128"):
        assert find_rows(client, term) == [url]
    assert find_rows(client, "QZX-13") == []


def test_finds_the_order_before_what_has_its_number_as_own_id(staff_client, scenario):
    first = scenario.create_conversion("20", external_id="QZX-0")
    order = scenario.create_conversion("20", external_id=f"QZX-{first.pk}")
    longer = scenario.create_conversion("20", external_id=f"QZX-{first.pk}-000")
    commission = scenario.get_commission(first)
    client = staff_client()

    results = search_palette(client, str(first.pk)).context["results"]

    rows = [result for result in results if result.link.endswith("/change/")]
    assert rows[0].link == get_page_url(order)
    assert (rows[1].title, rows[1].link) == (
        f"Conversion {first.pk}",
        get_page_url(first),
    )
    assert rows[1].description.startswith("Order QZX-0, 20.00 EUR, 2026-03-04, Mina")
    titles = [result.title for result in rows]
    assert (f"Commission {first.pk}" in titles) == (commission.pk == first.pk)
    found = find_rows(client, f"zx-{first.pk}")
    assert found == [get_page_url(longer), get_page_url(order)]


def test_says_amount_day_and_affiliate_of_rows(staff_client, scenario):
    conversion = scenario.create_conversion("20", external_id="QZX-1")
    commission = scenario.get_commission(conversion)
    scenario.approve(commission, at=timezone.now())
    payment = scenario.pay("2", at=CONVERSION_CREATED_AT)
    scenario.delete(conversion)
    client = staff_client()

    for term, title, description in (
        ("qzx-1", "QZX-1", f"Conversion {conversion.pk}, 20.00 EUR, 2026-03-04"),
        (payment.public_id, payment.public_id, "Payment, 2.00 EUR, 2026-03-04"),
    ):
        (found,) = search_palette(client, term).context["results"]
        assert found.title == title
        assert found.description.startswith(f"{description}, Mina Kessler (minakessler)")
        assert found.description.endswith(", removed") == (term == "qzx-1")


REPORT_TITLES = ["Trial balance", "Closing of a period", "Double-entry export"]
ADD_AFFILIATE_TITLES = [
    *("Add affiliate", "Add program affiliate", "Add affiliate group"),
    "Add staff user",  # “staff” has “aff” inside
]


@pytest.mark.parametrize(
    ("role", "term", "titles"),
    [
        (Role.OWNER, "approve", ["Approve commissions", "Approve affiliates"]),
        (Role.VIEWER, "approve", []),
        (Role.OWNER, "new payout", ["Add payout minimum", "Add payout run"]),
        (Role.MANAGER, "new payout", ["Add payout minimum"]),
        (Role.OWNER, "create api", ["Add API key"]),
        (Role.OWNER, "add aff", ADD_AFFILIATE_TITLES),
        (Role.OWNER, "new aff", ADD_AFFILIATE_TITLES),
        (Role.VIEWER, "create", []),
        (Role.VIEWER, "balances", ["Balances"]),
        (Role.VIEWER, "reports", ["Reports", "Ledger", "Bookkeeping", *REPORT_TITLES[1:]]),
        (Role.VIEWER, "ranking", ["Reports"]),
        (Role.VIEWER, "trial", ["Trial balance"]),
        (Role.VIEWER, "refunded", ["Refunds and disputes"]),
        (Role.FINANCE, "import", ["Import payout results", "Imports"]),
        (Role.OWNER, "time zone", ["Account settings"]),
    ],
)
def test_finds_pages_and_actions(staff_client, role, term, titles):
    client = staff_client(role=role)

    results = search_palette(client, term).context["results"]

    assert [result.title for result in results] == titles
    for result in results:
        assert client.get(result.link).status_code == 200


@pytest.mark.parametrize("search_field", SEARCH_FIELDS, ids=EXACT_COLUMNS)
def test_searches_only_indexed_columns(search_field):
    options = search_field.model._meta
    (key,) = (
        rule
        for rule in (*options.constraints, *options.indexes)
        if list(getattr(rule, "fields", ())) == ["account", search_field.column]
    )

    assert search_field.excludes_deleted is (key.condition == Q(deleted_at=None))


INVALID_TERMS = {
    "nothing": "",
    "blanks": "   ",
    "long": "x" * 10_000,
    "percent": "%",
    "underscores": "_______",
    "quotes": "' or 1=1 --",
    "line break": "order\n1",
    "bidi override": "\u202eorder",
    "growing when folded": "\u0130" * 255,
}


@pytest.mark.parametrize("term", INVALID_TERMS.values(), ids=INVALID_TERMS)
def test_finds_nothing_by_invalid_terms(staff_client, rows, term):
    assert find_rows(staff_client(), term) == []


def test_rejects_control_characters():
    assert is_possible_id("order-1")
    assert not is_possible_id("order\x00-1")  # the server rejects it before


def test_limits_the_number_of_queries(staff_client, rows, capture_queries):
    client = staff_client()

    for term, _ in rows.values():
        with capture_queries() as queries:
            search_palette(client, term)
        assert len(queries) <= 17


def test_does_not_cache_results(staff_client, rows):
    """The theme caches results per user; the default cache stores nothing."""
    search_palette(staff_client(), rows["Program.slug"][0])

    assert settings.CACHES["default"]["BACKEND"].endswith("DummyCache")
    cache.set("kept", "yes")
    assert cache.get("kept") is None
