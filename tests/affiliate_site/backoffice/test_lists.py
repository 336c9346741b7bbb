"""Lists: small pages, coloured labels, removed rows, what staff should check."""

import re
from unittest.mock import patch

import pytest
from django.contrib import admin
from django.urls import reverse

from accounts.tenant_admin import TenantAdmin
from payouts.services.payments import cancel_payment
from tests.affiliate_site.backoffice.form_samples import create_rows_for_all_pages
from tests.conftest import NOW
from tracking.claims import Trust

pytestmark = pytest.mark.engine_independent  # markup

MAX_PAGE_BYTES = 120_000
MAX_STATEMENTS = 16
ROW_PATTERN = re.compile(r'<tr class="(data-row[^"]*)">(.*?)</tr>', re.DOTALL)


def get_page(client, name, **query):
    response = client.get(reverse(f"admin:{name}_changelist"), query)
    assert response.status_code == 200
    return response.content.decode()


def list_rows(page):
    """The CSS classes and the cells of each row."""
    return ROW_PATTERN.findall(page)


@pytest.mark.engine_independent
def test_sends_at_most_120_kb_for_50_rows(staff_client, scenario):
    for number in range(50):
        scenario.create_conversion(
            "1249.90",
            external_id=f"order-{number:010}",
            customer_id=f"customer-{number:020}",
        )
    client = staff_client()

    sizes = {
        name: len(get_page(client, name))
        for name in (
            "payouts_commission",
            "tracking_conversion",
            "tracking_customer",
            "payouts_transfer",
            "accounts_auditlogentry",
        )
    }

    assert all(size <= MAX_PAGE_BYTES for size in sizes.values()), sizes


def test_marks_removed_and_canceled_rows(staff_client, account, scenario):
    removed, kept = scenario.create_conversion("10"), scenario.create_conversion("20")
    scenario.delete(removed, at=NOW)
    payment = scenario.pay(5, at=NOW)
    cancel_payment(account, payment_id=payment.public_id, at=NOW)
    client = staff_client()

    for name in ("tracking_conversion", "payouts_commission"):
        rows = list_rows(get_page(client, name))
        assert sorted(css_class for css_class, _ in rows) == [
            "data-row",
            "data-row removed",
        ]
        (cells,) = [cells for css_class, cells in rows if "removed" in css_class]
        assert '<span class="status-label danger">Removed</span>' in cells
    ((css_class, cells),) = list_rows(get_page(client, "payouts_payment"))
    assert css_class == "data-row removed"
    assert '<span class="status-label danger">Canceled</span>' in cells
    assert kept.deleted_at is None


def test_names_the_rows_to_select(staff_client, account, scenario):
    commission = scenario.get_commission(scenario.create_conversion("200"))
    scenario.approve(commission, at=NOW)
    client = staff_client()

    label = f'aria-label="Select minakessler in {scenario.program.slug}"'
    assert label in get_page(client, "tracking_enrollment")
    label = 'aria-label="Select minakessler in EUR"'
    assert label in get_page(client, "payouts_ledgeraccount")


def test_shows_what_a_page_has_reported(staff_client, scenario):
    """Staff who approve many commissions at once see what they should look at."""
    scenario.create_conversion("10")
    scenario.create_conversion(
        "20", trust=Trust.CLAIM, extra_warnings=("odd_coupons",), is_browser_sale=True
    )
    client = staff_client()

    for name in ("tracking_conversion", "payouts_commission"):
        claimed, fact = (cells for _, cells in list_rows(get_page(client, name)))
        assert "Reported by a page" in claimed
        assert "Odd data from the page" in claimed
        assert "Reported by a page" not in fact


def test_exports_the_columns_that_a_list_leaves_out(staff_client, scenario):
    scenario.create_conversion("10", external_id="order-1")

    response = staff_client().get(reverse("admin:payouts_commission_export"))

    titles = response.getvalue().decode().splitlines()[0]
    assert '"Kind","Name","Conversion","Payment","Created at (UTC)"' in titles


def test_adds_up_balances_once(staff_client, account, scenario, capture_queries):
    """Also if some are negative, which are added up apart."""
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    sale = scenario.create_conversion("300", affiliate=odette)
    commission = scenario.get_commission(sale)
    scenario.approve(commission, at=NOW)
    scenario.pay(5, at=NOW)
    client = staff_client()
    client.get(reverse("admin:payouts_ledgeraccount_changelist"))

    with capture_queries() as executed:
        page = get_page(client, "payouts_ledgeraccount")

    assert "25.00\u00a0EUR" in page
    sums = [
        query["sql"]
        for query in executed
        if "exactsum" in query["sql"] and "due_at" not in query["sql"]
    ]
    assert len(sums) == len(set(sums)) == 2
    assert len(executed) <= MAX_STATEMENTS


@pytest.mark.usefixtures("at_noon")
def test_takes_at_most_15_statements(staff_client, account, api, capture_queries):
    """Also with several pages of rows, a search and filters."""
    sample = create_rows_for_all_pages(account, api, "harbor")
    client = staff_client()
    filters = {"affiliate": sample.enrolled_affiliate, "program": sample.program}
    counts = {}

    with patch.object(TenantAdmin, "list_per_page", 2):
        for model, page in admin.site._registry.items():
            url = reverse(f"admin:{model._meta.label_lower.replace('.', '_')}_changelist")
            accepted = {
                name: filters[name]
                for name in (getattr(each, "parameter_name", "") for each in page.list_filter)
                if name in filters
            }
            client.get(url)  # stores the statistics of past days
            queries = [{}, {"q": "harbor"}]
            if accepted:
                queries += [accepted, {"q": "harbor"} | accepted]
            for query in queries:
                with capture_queries() as executed:
                    assert client.get(url, query).status_code == 200
                counts[model._meta.label, str(query)] = len(executed)

    assert {key: n for key, n in counts.items() if n > MAX_STATEMENTS} == {}
