"""Events of Stripe: what they do to sales, refunds and customers, to the cent."""

from datetime import timedelta

import pytest

from affiliate_site.shops.processing import process_event
from payouts.services.ledger import get_payable_balances_by_slug
from tests.ledger_checks import assert_ledger_consistent
from tests.program_scenario import CONVERSION_CREATED_AT
from tests.shop_inbox import ORDERS_OF_FIVE, deliver, list_sales
from tests.stripe_events import (
    SECRET,
    build_charge,
    build_checkout,
    build_dispute,
    build_event,
    build_invoice,
    build_refund,
    build_subscription,
    build_subscription_checkout,
)
from tracking.models.shops import ConnectionMode, ShopEventState
from tracking.services.connections import create_connection, update_connection
from tracking.services.inbox import process_again

pytestmark = pytest.mark.usefixtures("shared_scenario")


@pytest.fixture
def scenario(scenario):
    scenario.program.update_row(auto_approve_commissions=True)
    yield scenario
    assert_ledger_consistent(scenario.account)


@pytest.fixture
def connection(scenario):
    return create_connection(
        scenario.account,
        kind="stripe",
        program=scenario.program,
        secret=SECRET,
        mode=ConnectionMode.LIVE,
        at=CONVERSION_CREATED_AT,
    )


@pytest.fixture
def click(scenario):
    return str(scenario.create_click().public_id)


def test_a_checkout_with_a_click_is_a_sale_without_tax(connection, click):
    event = deliver(connection, build_checkout(client_reference_id=click))
    assert event.state == ShopEventState.DONE
    assert event.result == ["A sale of 100 EUR was created."]
    assert list_sales(connection.account) == [("pi_1", "100", [("10", "approved")])]


def test_without_a_referral_nothing_is_created(connection):
    event = deliver(connection, build_checkout())
    assert event.state == ShopEventState.NO_REFERRAL
    assert event.result == ["Nobody referred this customer."]
    assert list_sales(connection.account) == []


def test_the_same_event_counts_once(connection, click):
    body = build_checkout(client_reference_id=click)
    deliver(connection, body)
    assert deliver(connection, body) is None
    assert len(list_sales(connection.account)) == 1


def test_a_partial_refund_takes_its_part(connection, click):
    deliver(connection, build_checkout(client_reference_id=click))
    event = deliver(connection, build_charge(2380, hours=1))
    assert event.result == ["Refunded 20 EUR."]
    assert list_sales(connection.account) == [("pi_1", "80", [("8", "approved")])]


def test_a_whole_refund_removes_the_sale_and_its_failure_puts_it_back(connection, click):
    account = connection.account
    deliver(connection, build_checkout(client_reference_id=click))
    deliver(connection, build_charge(11900, hours=1))
    assert list_sales(account) == []
    event = deliver(connection, build_refund("re_1", 11900, hours=2, status="failed"))
    assert event.result == ["The sale was put back.", "Put back 100 EUR."]
    assert list_sales(account) == [("pi_1", "100", [("10", "approved")])]
    (refund,) = account.refunds.all()
    assert (refund.amount, refund.is_full) == (0, False)
    assert refund.canceled_at is not None


def test_a_refund_after_a_payment_leaves_a_debt(scenario, connection, click):
    account = connection.account
    deliver(connection, build_checkout(client_reference_id=click))
    scenario.pay("10")
    deliver(connection, build_charge(11900, hours=1))
    balances = get_payable_balances_by_slug(account)
    assert balances[scenario.mina.slug]["EUR"] == -10


def test_a_dispute_holds_the_commission_until_it_is_won(connection, click):
    account = connection.account
    deliver(connection, build_checkout(client_reference_id=click))
    deliver(connection, build_dispute("needs_response", hours=1))
    assert list_sales(account) == [("pi_1", "100", [("10", "pending")])]
    deliver(connection, build_dispute("won", hours=2))
    assert list_sales(account) == [("pi_1", "100", [("10", "approved")])]


def test_a_lost_dispute_removes_the_sale(connection, click):
    deliver(connection, build_checkout(client_reference_id=click))
    deliver(connection, build_dispute("needs_response", hours=1))
    deliver(connection, build_dispute("lost", hours=2))
    assert list_sales(connection.account) == []


STORIES = {
    "refunds and a failed one": [
        build_checkout(client_reference_id="CLICK"),
        build_charge(2380, hours=1),
        build_charge(4760, hours=2),
        build_refund("re_2", 2380, hours=3, status="failed"),
        build_refund("re_1", 2380, hours=1),
    ],
    "a subscription with a refund": [
        build_subscription_checkout(client_reference_id="CLICK"),
        build_subscription("created", 0),
        build_invoice(1),
        build_invoice(700, id="in_2", billing_reason="subscription_cycle"),
        build_charge(5950, 800, id="ch_2", payment_intent="pi_in_2"),
    ],
    "a dispute": [
        build_checkout(client_reference_id="CLICK"),
        build_charge(2380, hours=1),
        build_dispute("needs_response", hours=2, amount=5950),
        build_dispute("lost", hours=3, amount=5950),
        build_refund("re_9", 1190, hours=4),
    ],
}
ENDS = {
    "refunds and a failed one": [("pi_1", "80", [("8", "approved")])],
    "a subscription with a refund": [
        ("in_1", "100", [("10", "approved")]),
        ("in_2", "50", [("5", "approved")]),
    ],
    "a dispute": [("pi_1", "30", [("3", "approved")])],
}


@pytest.mark.parametrize("name", STORIES)
@pytest.mark.parametrize("order", ORDERS_OF_FIVE)
def test_every_order_of_events_has_the_same_end(name, order, connection, click):
    story = STORIES[name]
    for number in order:
        body = story[number]
        data = body["data"]["object"]
        if data.get("client_reference_id") == "CLICK":
            data = data | {"client_reference_id": click}
            body = body | {"data": {"object": data}}
        deliver(connection, body)
    assert list_sales(connection.account) == ENDS[name]


def test_a_renewal_belongs_to_the_customer_and_has_a_number(connection, click):
    account = connection.account
    deliver(connection, build_subscription_checkout(client_reference_id=click))
    deliver(connection, build_invoice(1))
    for number in (2, 3):
        invoice = build_invoice(
            700 * number, id=f"in_{number}", billing_reason="subscription_cycle"
        )
        deliver(connection, invoice)
    labels = account.shop_orders.order_by("id").values_list("label", flat=True)
    assert list(labels) == [
        "invoice in_1",
        "invoice in_2, renewal 1",
        "invoice in_3, renewal 2",
    ]
    assert len(list_sales(account)) == 3


def test_a_trial_makes_a_customer_and_no_sale(scenario, connection):
    metadata = {"referral_code": scenario.mina.code}
    deliver(connection, build_subscription(status="trialing", metadata=metadata))
    customer = connection.account.customers.get()
    assert (customer.customer_id, customer.status) == ("cus_1", "trial")
    event = deliver(
        connection,
        build_invoice(0, lines=((0, "price_1", "prod_1"),), tax=0),
    )
    assert event.result == ["The sale has no amount."]
    assert list_sales(connection.account) == []


def test_a_canceled_subscription_cancels_the_customer(scenario, connection):
    metadata = {"referral_code": scenario.mina.code}
    deliver(connection, build_subscription(metadata=metadata))
    deliver(connection, build_subscription("deleted", 5, status="canceled"))
    assert connection.account.customers.get().status == "canceled"


def test_a_removed_customer_is_removed(scenario, connection):
    metadata = {"referral_code": scenario.mina.code}
    deliver(connection, build_subscription(metadata=metadata))
    customer = {"id": "cus_1", "object": "customer", "deleted": True}
    deliver(connection, build_event("customer.deleted", customer, hours=1))
    assert not connection.account.customers.not_deleted().exists()


def test_products_have_commission_types(scenario, connection, click):
    scenario.create_commission_type("addon", "50")
    update_connection(
        connection.account,
        connection_id=connection.public_id,
        changes={"settings": {"commission_types": {"prod_2": "addon"}}},
        at=CONVERSION_CREATED_AT,
    )
    connection = connection.reload()
    deliver(connection, build_subscription_checkout(client_reference_id=click))
    lines = ((10000, "price_1", "prod_1"), (2000, "price_2", "prod_2"))
    deliver(connection, build_invoice(1, lines=lines, tax=0))
    assert list_sales(connection.account) == [
        ("in_1", "120", [("10", "approved"), ("10", "approved")])
    ]


def test_what_a_credit_balance_paid_earns_nothing(connection, click):
    deliver(connection, build_subscription_checkout(client_reference_id=click))
    deliver(connection, build_invoice(1, amount_paid=5950))
    assert list_sales(connection.account) == [("in_1", "50", [("5", "approved")])]


def test_yen_have_no_cents(connection, click):
    body = build_checkout(
        client_reference_id=click,
        currency="jpy",
        amount_total=1100,
        total_details={"amount_tax": 100},
    )
    deliver(connection, body)
    assert list_sales(connection.account) == [("pi_1", "1000", [("100", "approved")])]


def test_an_affiliates_coupon_counts_by_its_mapped_name(scenario, connection):
    account = connection.account
    update_connection(
        account,
        connection_id=connection.public_id,
        changes={"settings": {"coupons": {"promo_1": scenario.mina.coupon}}},
        at=CONVERSION_CREATED_AT,
    )
    discounts = [{"coupon": "co_1", "promotion_code": "promo_1"}]
    deliver(connection.reload(), build_checkout(discounts=discounts))
    assert account.conversions.get().tracking_source == "coupon"


def test_a_live_connection_ignores_test_events(connection, click):
    body = build_checkout(client_reference_id=click) | {"livemode": False}
    assert deliver(connection, body).state == ShopEventState.IGNORED


def test_listening_changes_nothing_and_says_what_would_happen(connection, click):
    connection.update_row(mode=ConnectionMode.LISTEN)
    event = deliver(connection, build_checkout(client_reference_id=click))
    assert event.result[1:] == ["A sale of 100 EUR was created."]
    assert list_sales(connection.account) == []
    assert not connection.account.shop_orders.exists()


def test_a_refund_waits_for_its_sale_a_day(connection):
    event = deliver(connection, build_charge(2380))
    assert event.state == ShopEventState.WAITING
    assert event.due_at == event.created_at + timedelta(days=1)


def test_a_sale_that_the_api_reported_is_adopted(scenario, connection, click):
    account = connection.account
    scenario.create_conversion("100", external_id="pi_1")
    deliver(connection, build_checkout(client_reference_id=click))
    deliver(connection, build_charge(5950, hours=1))
    assert list_sales(account) == [("pi_1", "50", [("5", "approved")])]


def test_odd_bodies_fail_with_a_sentence(connection):
    body = build_checkout(amount_total="-5")
    event = deliver(connection, body)
    assert event.state == ShopEventState.FAILED
    assert event.result[0].startswith("The event does not look as expected: ")
    assert event.due_at is not None


def test_a_later_referral_earns_nothing_of_an_earlier_purchase(connection, click):
    deliver(connection, build_invoice(0))
    checkout = build_subscription_checkout(200, client_reference_id=click)
    deliver(connection, checkout)
    deliver(connection, build_invoice(200, id="in_2"))
    assert [sale[0] for sale in list_sales(connection.account)] == ["in_2"]
    event = deliver(connection, build_charge(100, 201, payment_intent="pi_in_1"))
    assert event.result == ["Nobody referred this customer."]


def test_a_refusal_stays_when_the_affiliate_is_approved_later(scenario, connection, click):
    scenario.set_approval(scenario.mina, False)
    event = deliver(connection, build_checkout(client_reference_id=click))
    assert event.state == ShopEventState.NO_REFERRAL
    scenario.set_approval(scenario.mina, True)
    deliver(connection, build_charge(100, hours=1))
    assert list_sales(connection.account) == []
    process_again(event.reload(), at=CONVERSION_CREATED_AT)
    process_event(event.reload(), at=CONVERSION_CREATED_AT)
    assert len(list_sales(connection.account)) == 1


def test_held_commissions_are_approved_when_the_sale_comes_back(connection, click):
    deliver(connection, build_checkout(client_reference_id=click))
    deliver(connection, build_dispute("needs_response", hours=1))
    deliver(connection, build_charge(11900, hours=2))
    deliver(connection, build_dispute("won", hours=3))
    deliver(connection, build_refund("re_1", 11900, hours=4, status="failed"))
    assert list_sales(connection.account) == [("pi_1", "100", [("10", "approved")])]


def test_two_orders_that_turn_out_to_be_one_are_one_sale(connection, click):
    deliver(connection, build_checkout(client_reference_id=click))
    deliver(connection, build_invoice(0, payments={"object": "list", "data": []}))
    assert len(list_sales(connection.account)) == 2
    payment = {
        "id": "inpay_1",
        "object": "invoice_payment",
        "invoice": "in_1",
        "payment": {"type": "payment_intent", "payment_intent": "pi_1"},
    }
    deliver(connection, build_event("invoice_payment.paid", payment, hours=1))
    assert len(list_sales(connection.account)) == 1


def test_an_address_is_kept_only_if_it_is_wanted(connection):
    deliver(connection, build_checkout(metadata={"phone": "0171"}))
    assert "email" not in connection.account.shop_customers.get().facts
    order = connection.account.shop_orders.get()
    assert order.facts["sale"]["attributes"] == {}
