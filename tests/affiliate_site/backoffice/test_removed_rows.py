"""What is removed is labeled “Removed” everywhere, with no other status beside it."""

import re

import pytest
from django.urls import reverse

from affiliate_site.backoffice.affiliates.affiliate_detail import name_approval
from payouts.services.conversion_updates import delete_conversion
from tests.affiliate_site.backoffice.money_forms import page_url
from tests.conftest import NOW
from tracking.services.affiliates import delete_affiliate
from tracking.services.customers import delete_customer

pytestmark = pytest.mark.usefixtures("shared_scenario")

STATUSES = {"removed", "approved", "pending", "disapproved", "paid", "lead", "paying"}
LABEL = re.compile(r"<(?:span|a)[^>]*(?:status-label|rounded-default text-\[11px\])[^>]*>([^<]*)<")


@pytest.fixture
def parent(account, scenario):
    """Mina's parent, who earned from a paid sale that was removed."""
    parent = scenario.create_enrolled_affiliate("Odette", "Varga")
    scenario.create_level(2, "3")
    scenario.add_child(scenario.mina, parent, at=NOW)
    scenario.create_customer("anna")
    conversion = scenario.create_conversion("200", customer_id="anna", external_id="order-1")
    for commission in account.commissions.all():
        scenario.approve(commission)
    scenario.pay("20")
    delete_conversion(account, conversion_id=conversion.pk, at=NOW)
    return parent.affiliate


def list_labels(response) -> set[str]:
    """The labels of statuses on a page."""
    texts = LABEL.findall(response.content.decode())
    return {text for each in texts if (text := " ".join(each.split()).lower()) in STATUSES}


@pytest.mark.parametrize("tab", ["commissions", "conversions"])
def test_the_tabs_of_an_affiliate(staff_client, scenario, parent, tab):
    client = staff_client()
    affiliates = {"commissions": parent, "conversions": scenario.mina.affiliate}

    page = client.get(f"{page_url(affiliates[tab], 'change')}?tab={tab}")

    section = page.content.decode().partition('id="sections"')[2]
    table = section.partition("<tbody>")[2].partition("</tbody>")[0]
    statuses = re.findall(r"\b(removed|approved|pending|paid)\b", table.lower())
    assert statuses == ["removed", "removed"]  # the class of the row, and the label


def test_the_lists_and_pages_of_what_was_removed(staff_client, account, parent):
    customer = account.customers.get()
    delete_customer(account, public_id=customer.public_id, at=NOW)
    client = staff_client()
    rows = [account.conversions.get(), *account.commissions.all(), customer]
    urls = [page_url(row, "change") for row in rows]
    urls += [
        reverse(f"admin:{name}_changelist")
        for name in ("tracking_conversion", "payouts_commission", "tracking_customer")
    ]

    found = {url: list_labels(client.get(url)) for url in urls}

    assert found == {url: {"removed"} for url in urls}


def test_a_removed_commission_names_what_had_paid_it(staff_client, account, parent):
    mine, theirs = account.commissions.order_by("id")
    payment, client = account.payments.get(), staff_client()

    details = {
        row: client.get(page_url(row, "change")).context["details"] for row in (mine, theirs)
    }

    sections = {row: {it.title: it for it in details[row].sections} for row in details}
    (text,) = sections[mine]["Payment"].notes
    link = f'<a class="details-link" href="{page_url(payment, "change")}">{payment}</a>'
    assert text == f"Was paid by {link}. Its amount was taken from the balance due."
    assert sections[theirs]["Payment"].notes == ["Not paid."]
    for row in details:
        facts = dict(sections[row]["Commission"].facts)
        assert facts["Due"] == ""


def test_a_removed_affiliate_is_approved_nowhere(staff_client, account, scenario):
    mina = scenario.mina
    delete_affiliate(account, affiliate_id=mina.slug, at=NOW)
    client = staff_client()

    for url in (
        page_url(mina.affiliate, "change"),
        page_url(mina.enrollment, "change"),
        reverse("admin:tracking_enrollment_changelist"),
        reverse("admin:tracking_affiliate_changelist"),
    ):
        assert list_labels(client.get(url)) == {"removed"}, url


@pytest.mark.parametrize("approved", [None, True, False])
def test_a_removed_affiliate_has_no_other_status(staff_client, account, scenario, approved):
    odette = scenario.create_enrolled_affiliate("Odette", "Varga", approved=approved)
    mina = scenario.mina
    mina.enrollment.update_row(approved=approved)
    delete_affiliate(account, affiliate_id=mina.slug, at=NOW)
    client, status = staff_client(), name_approval(approved, None)

    for name, slug in ((status, odette.slug), ("removed", mina.slug)):
        query = {"approved": name}
        rows = client.get(reverse("admin:tracking_enrollment_changelist"), query).context["cl"]
        assert [row.affiliate.slug for row in rows.result_list] == [slug]
        response = client.get(reverse("admin:tracking_enrollment_export"), query)
        line = response.getvalue().decode().splitlines()[1]
        assert line.startswith(f'"{slug}","{scenario.program.slug}","{name}",')


def test_the_palette(staff_client, account, scenario, parent):
    customer = account.customers.get()
    delete_customer(account, public_id=customer.public_id, at=NOW)
    delete_affiliate(account, affiliate_id=scenario.mina.slug, at=NOW)
    client = staff_client()
    terms = {
        "order-1": "Conversion ",
        customer.public_id: "Customer",
        str(account.commissions.first()): "Commission",
        scenario.mina.slug: "Affiliate",
    }

    for term, text in terms.items():
        query = {"s": term, "extended": "1"}
        results = client.get(reverse("admin:search"), query).context["results"]
        texts = [it.description for it in results if it.description.startswith(text)]
        assert any("removed" in each for each in texts), term
