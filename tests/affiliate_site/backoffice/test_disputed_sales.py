"""A disputed sale: its page says so, and nobody can approve its commissions."""

import pytest
from django.urls import reverse

from tests.affiliate_site.backoffice.money_forms import (
    list_messages,
    submit_and_confirm,
)
from tests.affiliate_site.backoffice.test_shop_pages import click, read, shop
from tests.shop_inbox import deliver
from tests.stripe_events import build_checkout, build_dispute

__all__ = ["click", "shop"]

pytestmark = pytest.mark.usefixtures("shared_scenario")


def url_of(model, row, page="change"):
    return reverse(f"admin:{model}_{page}", args=[row.pk])


@pytest.fixture
def commission(shop, click):
    deliver(shop, build_checkout(client_reference_id=click))
    deliver(shop, build_dispute("needs_response", hours=1))
    return shop.account.commissions.select_related("conversion").get()


def test_the_page_of_the_sale_says_what_the_dispute_means(staff_client, commission):
    page = read(staff_client().get(url_of("tracking_conversion", commission.conversion)))
    assert "Disputed" in page
    assert "until then nobody can approve a commission." in page


def test_the_page_of_the_commission_explains_it(staff_client, commission):
    page = read(staff_client().get(url_of("payouts_commission", commission)))
    assert "until then nobody can approve a commission." in page


def test_the_form_refuses_to_approve(staff_client, commission):
    client = staff_client()
    text = "The shop has an open dispute about this sale: wait until it ends."
    assert text in read(client.get(url_of("payouts_commission", commission, "approve")))
    assert text in read(client.post(url_of("payouts_commission", commission, "approve")))
    assert commission.reload().status == "pending"


def test_the_list_leaves_it_out(staff_client, commission):
    form = {"action": "approve_selected", "_selected_action": [commission.pk]}
    url = reverse("admin:payouts_commission_changelist")
    page = read(staff_client().post(url, form, follow=True))
    assert "Its sale is disputed: wait until the dispute ends" in page
    assert commission.reload().status == "pending"


def test_staff_end_a_dispute_that_the_shop_never_ended(staff_client, shop, commission):
    client, sale = staff_client(), commission.conversion
    url = url_of("tracking_conversion", sale, "end_dispute")
    assert url in client.get(url_of("tracking_conversion", sale)).content.decode()

    response = submit_and_confirm(client, url)

    (message,) = list_messages(response)
    assert message.endswith("is no longer disputed.")
    assert url not in client.get(url_of("tracking_conversion", sale)).content.decode()
    assert sale.reload().disputed_at is None
    again = client.get(url, follow=True)
    assert list_messages(again) == ["End dispute: not possible in this state."]
