"""The command palette finds rows of the user's account by their exact ID."""

import pytest
from django.conf import settings
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models.api_keys import Role
from accounts.models.users import User
from accounts.tenant_admin import TenantAdmin
from affiliate_site.backoffice.command_palette import (
    MAX_RESULTS,
    SEARCH_FIELDS,
    is_possible_id,
)
from tests.program_scenario import ProgramScenario
from tests.sample_account import SampleAccount

COLUMNS = [
    f"{search_field.model.__name__}.{search_field.column}"
    for search_field in SEARCH_FIELDS
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


def make_searchable_rows(account, api, marker):
    """A search term and the row to find, for each searched column."""
    sample = SampleAccount(api, account.slug, marker)
    assert sample.approved_amount
    payment = account.payments.get(public_id=sample.payment_id)
    conversion = account.conversions.get(external_id=sample.external_id)
    customer, affiliate = conversion.customer, conversion.affiliate
    return {
        "Affiliate.slug": (affiliate.slug, affiliate),
        "Affiliate.email_folded": (affiliate.email.upper(), affiliate),
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
            assert list_result_urls(search_palette(client, term)) == [get_page_url(row)]
            assert list_result_urls(search_palette(client, f" {term} ")) == [
                get_page_url(row)
            ]
            assert list_result_urls(search_palette(client, term[:-1])) == []


def test_finds_nothing_of_another_account(staff_client, rows, foreign_rows, subtests):
    client = staff_client()

    for column in COLUMNS:
        with subtests.test(column=column):
            term, _ = foreign_rows[column]
            response = search_palette(client, term)
            assert list_result_urls(response) == []
            assert "zz-marker" not in response.content.decode()


def test_finds_only_the_row_of_the_own_account(staff_client, account, other_account):
    """Accounts may use the same external ID."""
    own, _ = (
        ProgramScenario(owner, prefix=marker).create_conversion(
            "20", external_id="order-1"
        )
        for owner, marker in ((account, ""), (other_account, "zz-marker-"))
    )

    assert list_result_urls(search_palette(staff_client(), "order-1")) == [
        get_page_url(own)
    ]


@pytest.mark.parametrize("role", Role.values)
def test_all_roles_find_rows(staff_client, scenario, role):
    conversion = scenario.create_conversion(
        "20", external_id="Order-1"
    )  # IDs are case-sensitive
    client = staff_client(role=role)

    assert list_result_urls(search_palette(client, "Order-1")) == [
        get_page_url(conversion)
    ]
    assert list_result_urls(search_palette(client, "order-1")) == []


def test_requires_the_view_permission(staff_client, rows, monkeypatch):
    monkeypatch.setattr(TenantAdmin, "has_view_permission", lambda *args: False)
    term, _ = rows["Customer.customer_id"]

    assert list_result_urls(search_palette(staff_client(), term)) == []


def test_operators_find_pages_only(rows, foreign_rows):
    operator = User.objects.create_superuser(email="ops@example.org", password="x")
    client = Client()
    client.force_login(operator)

    assert reverse("admin:tracking_program_changelist") in [
        result.link for result in search_palette(client, "program").context["results"]
    ]
    for term, _ in (*rows.values(), *foreign_rows.values()):
        assert list_result_urls(search_palette(client, term)) == []


def test_excludes_deleted_rows(staff_client, scenario):
    conversion = scenario.create_conversion("20", external_id="order-1")
    conversion.account.conversions.filter(pk=conversion.pk).update(
        deleted_at=timezone.now()
    )

    assert list_result_urls(search_palette(staff_client(), "order-1")) == []


@pytest.mark.parametrize("search_field", SEARCH_FIELDS, ids=COLUMNS)
def test_searches_only_unique_columns(search_field):
    """A unique constraint keeps the result short and provides an index."""
    constraints = [
        constraint
        for constraint in search_field.model._meta.constraints
        if hasattr(constraint, "fields")
    ]
    (key,) = (
        constraint
        for constraint in constraints
        if constraint.fields == ("account", search_field.column)
    )

    assert search_field.excludes_deleted is (key.condition is not None)
    assert len(SEARCH_FIELDS) <= MAX_RESULTS


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
    response = search_palette(staff_client(), term)

    assert list_result_urls(response) == []


def test_rejects_control_characters():
    assert is_possible_id("order-1")
    assert not is_possible_id("order\x00-1")  # the server rejects it before


def test_limits_the_number_of_queries(staff_client, rows, capture_queries):
    client = staff_client()

    for term, _ in rows.values():
        with capture_queries() as queries:
            search_palette(client, term)
        assert len(queries) <= 15


def test_does_not_cache_results(staff_client, rows):
    """The theme caches results per user; the default cache stores nothing."""
    search_palette(staff_client(), rows["Program.slug"][0])

    assert settings.CACHES["default"]["BACKEND"].endswith("DummyCache")
    cache.set("kept", "yes")
    assert cache.get("kept") is None
