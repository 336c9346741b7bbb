"""Events of shops: the list, a page, try one, and process one again."""

import json

import pytest
from django.urls import reverse

from affiliate_site.backoffice.connections.event_body import (
    hide_personal_values,
    render_body,
)
from affiliate_site.shops.processing import process_event
from tests.affiliate_site.backoffice.test_shop_pages import (
    click,
    get_facts,
    read,
    save,
    shop,
    url_of,
)
from tests.ledger_checks import snapshot_account
from tests.program_scenario import CONVERSION_CREATED_AT
from tests.shop_inbox import deliver, list_sales
from tests.stripe_events import build_charge, build_checkout, build_dispute
from tracking.models.shops import ConnectionMode, ShopEventState
from tracking.services.connections import create_connection

__all__ = ["click", "shop"]

pytestmark = pytest.mark.usefixtures("shared_scenario")

LIST = "admin:tracking_shopevent_changelist"


@pytest.fixture
def failed(shop):
    return deliver(shop, build_checkout(amount_total="-5"))


def list_kinds(client, **query):
    response = client.get(reverse(LIST), query)
    assert response.status_code == 200
    return [event.kind for event in response.context["cl"].result_list]


def try_event(client, shop, **entries):
    response = client.post(url_of(shop, "try"), entries)
    assert response.status_code == 200
    context = response.context
    notes = [note for it in context["page"].list_sections() for note in it.notes]
    return notes, context["form"].errors


def test_lists_events_with_what_they_did(staff_client, shop, click):
    deliver(shop, build_checkout(client_reference_id=click))
    client = staff_client()
    page = read(client.get(reverse(LIST)))
    assert "A sale of 100 EUR was created." in page
    conversion = shop.account.conversions.get()
    assert url_of(conversion) in client.get(reverse(LIST)).content.decode()
    export = client.get(reverse("admin:tracking_shopevent_export"))
    csv = export.getvalue().decode()
    assert "checkout.session.completed" in csv
    assert "<a" not in csv


def test_what_would_happen_is_listed_of_a_shop_that_listens(staff_client, shop, click):
    shop.update_row(mode=ConnectionMode.LISTEN)
    deliver(shop, build_checkout(client_reference_id=click))
    page = read(staff_client().get(reverse(LIST)))
    assert "If live: A sale of 100 EUR was created." in page


def test_filters_events(staff_client, account, shop, failed):
    other = create_connection(account, kind="stripe", at=CONVERSION_CREATED_AT)
    deliver(other, build_charge(2380))
    client, day = staff_client(), f"{CONVERSION_CREATED_AT:%Y-%m-%d}"
    checkout, charge = "checkout.session.completed", "charge.refunded"
    assert list_kinds(client) == [charge, checkout]
    assert list_kinds(client, connection=shop.public_id) == [checkout]
    assert list_kinds(client, connection="cn_unknown") == []
    assert list_kinds(client, state__exact="ignored") == [charge]
    assert list_kinds(client, kind=charge) == [charge]
    assert list_kinds(client, **{"from": day}) == [charge, checkout]
    assert list_kinds(client, to="2020-01-01") == []


def test_the_page_of_an_event_links_to_what_it_changed(staff_client, shop, click):
    deliver(shop, build_checkout(client_reference_id=click))
    event = deliver(shop, build_charge(2380, hours=1))
    client = staff_client()
    response = client.get(url_of(event))
    assert "Refunded 20 EUR." in read(response)
    facts = get_facts(client, event, "What it did")
    conversion = shop.account.conversions.get()
    assert url_of(conversion) in facts["Conversion"]
    assert url_of(conversion.customer) in facts["Customer"]
    assert ">1</a>" in facts["Refunds"]
    assert facts["Attempts"] == "1"
    assert "Next attempt" not in facts


def test_folds_personal_data_away(staff_client, shop, click):
    event = deliver(shop, build_checkout(client_reference_id=click))
    html = staff_client().get(url_of(event)).content.decode()
    shown, _, folded = html.partition("<summary>Show it with personal data</summary>")
    assert "amount_total" in shown
    assert "jo@buyers.example.org" not in shown
    assert "Jo Vance" not in shown
    assert "jo@buyers.example.org" in folded


def test_hides_values_of_personal_keys_at_any_depth():
    body = {
        "id": 1,
        "billing": {"first_name": "Jo"},
        "customer_email": "jo@buyers.example.org",
        "browser_ip": "192.0.2.7",
        "shipping_cost": {"amount": 5},
        "lines": [{"display_name": "Jo", "price": 3, "phone": None}],
    }
    assert hide_personal_values(body) == {
        "id": 1,
        "billing": "…",
        "customer_email": "…",
        "browser_ip": "…",
        "shipping_cost": {"amount": 5},
        "lines": [{"display_name": "…", "price": 3, "phone": None}],
    }


@pytest.mark.parametrize("text", ["<b>no JSON</b>", "[" * 100_000])
def test_folds_a_body_that_cannot_be_read(text):
    html = render_body(text)
    assert html.startswith("<details>")
    assert "<b>" not in html


def test_says_that_a_body_was_erased(staff_client, failed):
    failed.update_row(body="")
    assert "erased with the person" in read(staff_client().get(url_of(failed)))


def test_processes_an_event_again_after_the_settings_changed(staff_client, shop, scenario):
    body = build_checkout(discounts=[{"coupon": "co_1", "promotion_code": "promo_1"}])
    event = deliver(shop, body)
    assert event.state == ShopEventState.NO_REFERRAL
    shop.update_row(settings={"coupons": {"promo_1": scenario.mina.coupon}})
    client = staff_client(role="manager")
    page = read(client.post(url_of(event, "again"), follow=True))
    event = event.reload()
    if event.due_at is None:  # the embedded database, without a worker
        assert "The event was processed: done." in page
        assert len(list_sales(shop.account)) == 1
        assert client.get(url_of(event, "again")).status_code == 302
    else:
        assert "processed in a moment" in page
        assert event.attempts == 0


def test_a_prefix_lets_two_shops_have_the_same_orders(staff_client, account, shop, click):
    """The sentence of the failed event names the field."""
    deliver(shop, build_checkout(client_reference_id=click))
    other = create_connection(
        account, kind="stripe", mode=ConnectionMode.LIVE, at=CONVERSION_CREATED_AT
    )
    event = deliver(other, build_checkout(client_reference_id=click))
    client = staff_client()
    assert "a prefix for its IDs, under Settings" in read(client.get(url_of(event)))
    save(client, other, "settings", id_prefix="de-")
    client.post(url_of(event, "again"))
    process_event(event.reload(), at=CONVERSION_CREATED_AT)
    assert [row[0] for row in list_sales(account)] == ["de-pi_1", "pi_1"]


def test_says_that_an_event_changed_nothing(staff_client, shop, click):
    deliver(shop, build_checkout(client_reference_id=click))
    event = deliver(shop, build_dispute("won", hours=1))
    assert event.result == []  # nobody knew of the dispute
    client = staff_client()
    assert "Nothing had to be changed." in read(client.get(url_of(event)))
    assert "Nothing had to be changed." in read(client.get(reverse(LIST)))
    event.update_row(attempts=0)
    assert "It has not been processed yet." in read(client.get(url_of(event)))


def test_processes_selected_events_again(staff_client, failed):
    failed.update_row(due_at=None, attempts=6)
    form = {
        "action": "again_selected",
        "_selected_action": [failed.pk],
        "confirmed": "yes",
    }
    response = staff_client().post(reverse(LIST), form, follow=True)
    assert "Process again: 1 done." in read(response)
    event = failed.reload()
    assert event.attempts in (0, 1)
    assert event.due_at is not None


def test_tries_a_pasted_body_without_a_change(staff_client, shop, click):
    client, account = staff_client(), shop.account
    before = snapshot_account(account)
    body = json.dumps(build_checkout(client_reference_id=click))
    notes, errors = try_event(client, shop, body=body)
    assert (notes, errors) == (["A sale of 100 EUR was created."], {})
    assert snapshot_account(account) == before


def test_tries_a_received_event(staff_client, shop, click):
    shop.update_row(mode=ConnectionMode.LISTEN)
    event = deliver(shop, build_checkout(client_reference_id=click))
    notes, errors = try_event(staff_client(), shop, event=str(event.pk))
    assert (notes, errors) == (["A sale of 100 EUR was created."], {})
    assert list_sales(shop.account) == []


def test_offers_no_events_of_other_shops(staff_client, account, shop, failed):
    other = create_connection(account, kind="stripe", at=CONVERSION_CREATED_AT)
    _, errors = try_event(staff_client(), other, event=str(failed.pk))
    assert list(errors) == ["event"]


@pytest.mark.parametrize(
    ("body", "name", "error"),
    [
        ("", "body", "Paste the JSON object"),
        ("[1]", "body", "Paste the JSON object"),
        ("{'id': 1}", "body", "Paste the JSON object"),
        ("[" * 100_000, "body", "Paste the JSON object"),
        ('{"id": "evt_1"}', "kind", "the body does not say it"),
        (json.dumps(build_checkout(amount_total="-5")), "body", "as expected"),
        (json.dumps(build_checkout(id="\x00")), "body", ""),
        (json.dumps(build_checkout(payment_intent="x" * 300)), "body", ""),
    ],
)
def test_says_beside_the_field_what_is_wrong_with_a_body(staff_client, shop, body, name, error):
    notes, errors = try_event(staff_client(), shop, body=body)
    if errors or error:
        assert list(errors) == [name]
        assert error in errors[name][0]
    assert bool(notes) != bool(errors)
