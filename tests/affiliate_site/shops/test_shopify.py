"""Orders and refunds of Shopify: what they do to sales and customers, to the cent."""

import json
from decimal import Decimal
from itertools import count

import pytest

from affiliate_site.shops.processing import (
    process_due_events,
    process_event,
    receive_envelope,
)
from payouts.services import shop_customers
from payouts.services.ledger import get_payable_balances_by_slug
from tests.ledger_checks import assert_ledger_consistent
from tests.program_scenario import CONVERSION_CREATED_AT
from tests.shop_inbox import ORDERS_OF_FIVE, deliver, list_sales
from tests.shopify_events import (
    HOUR,
    ORDER,
    SECRET,
    build_amount_refund,
    build_line,
    build_money,
    build_order,
    build_refund,
    format_local,
)
from tracking.models.shops import ConnectionMode, ShopEventState
from tracking.services.connections import create_connection
from tracking.services.inbox import Envelope

pytestmark = pytest.mark.usefixtures("shared_scenario")
numbers = count()
ID = str(ORDER)
LINE = 866550311766439020
CUSTOMER = "115310627314723954"
WHOLE = [(ID, "100", [("10", "approved")])]


@pytest.fixture
def scenario(scenario):
    scenario.program.update_row(auto_approve_commissions=True)
    yield scenario
    assert_ledger_consistent(scenario.account)


@pytest.fixture
def connection(scenario):
    return create_connection(
        scenario.account,
        kind="shopify",
        program=scenario.program,
        secret=SECRET,
        mode=ConnectionMode.LIVE,
        at=CONVERSION_CREATED_AT,
    )


@pytest.fixture
def attributes(scenario):
    click = str(scenario.create_click().public_id)
    return [{"name": "click_id", "value": click}]


def send(connection, body, topic="orders/updated", hours=0):
    """Deliver a body as another event."""
    at = CONVERSION_CREATED_AT + hours * HOUR
    return deliver(connection, body, key=f"event {next(numbers)}", kind=topic, at=at)


def set_up(connection, **settings):
    connection.update_row(settings=settings)


def build_redaction(**values):
    return {
        "shop_id": 954889,
        "shop_domain": "harbor-lamps.myshopify.com",
        "customer": {"id": int(CUSTOMER), "email": "jo@buyers.example.org"},
        "orders_to_redact": [ORDER],
    } | values


def test_a_paid_order_is_a_sale_without_tax_and_shipping(connection, attributes):
    event = send(connection, build_order(note_attributes=attributes), "orders/paid")
    assert event.state == ShopEventState.DONE
    assert event.result == ["A sale of 100 EUR was created."]
    assert list_sales(connection.account) == WHOLE
    assert event.order.label == "order #9999"


@pytest.mark.parametrize("status", ["pending", "authorized", "partially_paid"])
def test_an_order_counts_once_it_is_paid(status, connection, attributes):
    body = build_order(0, status, note_attributes=attributes)
    event = send(connection, body, "orders/create")
    assert event.state == ShopEventState.IGNORED
    assert event.result == ["The order is not paid yet."]
    send(connection, build_order(1, note_attributes=attributes), "orders/paid", 1)
    assert list_sales(connection.account) == WHOLE


def test_the_cookie_counts_when_the_order_was_made(scenario, connection, attributes):
    scenario.program.update_row(cookie_time=1)
    send(connection, build_order(72, note_attributes=attributes), hours=72)
    assert list_sales(connection.account) == WHOLE


def test_older_and_foreign_orders_lack_a_customer_id_and_a_shipping_discount(
    connection, attributes
):
    set_up(connection, includes_shipping=True)
    customer = {"id": None, "email": "jo@buyers.example.org"}
    shipping = [{"id": None, "price": "5.00", "tax_lines": []}]
    values = {"customer": customer, "shipping_lines": shipping}
    event = send(connection, build_order(note_attributes=attributes, **values))
    assert event.state == ShopEventState.DONE
    assert list_sales(connection.account)[0][1] == "105"
    assert not connection.account.customers.exists()


def test_discounts_count_and_tax_that_prices_include_does_not(connection, attributes):
    line = build_line(1, "71.40", "19.00", quantity=2, discount="23.80")
    body = build_order(
        note_attributes=attributes,
        line_items=[line],
        taxes_included=True,
        total_price="124.95",
    )
    send(connection, body)
    assert list_sales(connection.account) == WHOLE


@pytest.mark.parametrize("is_included", [False, True])
@pytest.mark.parametrize(
    ("settings", "amount"),
    [
        ({"includes_tax": True}, "119"),
        ({"includes_shipping": True}, "105"),
        ({"includes_tax": True, "includes_shipping": True}, "124.95"),
    ],
)
def test_tax_and_shipping_count_if_the_account_wants(
    settings, amount, is_included, connection, attributes
):
    set_up(connection, **settings)
    values = {}
    if is_included:
        shipping = {"discounted_price": "5.95", "tax_lines": [{"price": "0.95"}]}
        values = {
            "taxes_included": True,
            "line_items": [build_line(LINE, "119.00", "19.00")],
            "shipping_lines": [shipping],
        }
    send(connection, build_order(note_attributes=attributes, **values))
    assert list_sales(connection.account)[0][1] == amount


def test_a_refund_of_a_line_takes_its_value(connection, attributes):
    lines = [build_line(1, "60.00", "11.40"), build_line(2, "40.00", "7.60")]
    send(connection, build_order(note_attributes=attributes, line_items=lines))
    refund = build_refund(51, lines=[(2, "40.00", "7.60")], money="47.60")
    event = send(connection, refund, "refunds/create", 1)
    assert event.result == ["Refunded 40 EUR."]
    assert list_sales(connection.account) == [(ID, "60", [("6", "approved")])]


def test_a_refund_by_itself_finds_out_if_prices_include_tax(connection, attributes):
    line = build_line(1, "119.00", "19.00")
    values = {"line_items": [line], "taxes_included": True}
    send(connection, build_order(note_attributes=attributes, **values))
    refund = build_refund(51, lines=[(1, "59.50", "9.50")], money="59.50")
    send(connection, refund, "refunds/create", 1)
    assert list_sales(connection.account) == [(ID, "50", [("5", "approved")])]


def test_a_refund_that_needs_its_order_is_left_to_it(connection, attributes):
    send(connection, build_order(note_attributes=attributes))
    refund = build_refund(51, lines=[(LINE, "40.00", "7.60")])
    event = send(connection, refund, "refunds/create", 1)
    assert event.state == ShopEventState.IGNORED
    send(connection, build_order(2, refunds=[refund]), hours=2)
    assert list_sales(connection.account) == [(ID, "60", [("6", "approved")])]


def test_a_line_has_its_commission_type_also_in_a_refund(scenario, connection, attributes):
    scenario.create_commission_type("addon", "50")
    set_up(connection, commission_types={"ADDON": "addon"})
    lines = [build_line(1, "60.00"), build_line(2, "40.00", sku="ADDON")]
    send(connection, build_order(note_attributes=attributes, line_items=lines))
    refund = build_refund(51, lines=[(2, "30.00", "0.00")], money="30.00")
    send(connection, refund, "refunds/create", 1)
    assert list_sales(connection.account) == [(ID, "70", [("6", "approved"), ("5", "approved")])]


def test_a_refund_of_an_amount_is_a_part_of_what_was_paid(connection, attributes):
    send(connection, build_order(note_attributes=attributes))
    send(connection, build_amount_refund(51, "24.99"), "refunds/create", 1)
    assert list_sales(connection.account) == [(ID, "80", [("8", "approved")])]


def test_who_keeps_a_fee_refunds_less_than_the_line(connection, attributes):
    send(connection, build_order(note_attributes=attributes))
    refund = build_refund(
        51,
        lines=[(LINE, "100.00", "19.00")],
        money="59.50",
        adjustments=[("refund_discrepancy", "59.50")],
    )
    send(connection, build_order(1, "partially_refunded", refunds=[refund]), hours=1)
    assert list_sales(connection.account) == [(ID, "50", [("5", "approved")])]


@pytest.mark.parametrize("is_refund_first", [True, False])
def test_a_refund_counts_by_the_settings_of_its_sale(connection, attributes, is_refund_first):
    refund = build_refund(51, lines=[(LINE, "50.00", "9.50")], money="59.50")
    changed = build_order(2, "partially_refunded", refunds=[refund], note_attributes=attributes)
    set_up(connection, includes_tax=True)
    send(connection, build_order(note_attributes=attributes))
    set_up(connection)
    events = [(refund, "refunds/create", 1), (changed, "orders/updated", 2)]
    for body, topic, hours in events if is_refund_first else reversed(events):
        send(connection, body, topic, hours)
    assert list_sales(connection.account) == [(ID, "59.5", [("5.95", "approved")])]


@pytest.mark.parametrize(("settings", "left"), [({}, "100"), ({"includes_shipping": 1}, "102")])
def test_refunded_shipping_counts_if_shipping_does(settings, left, connection, attributes):
    set_up(connection, **settings)
    send(connection, build_order(note_attributes=attributes))
    adjustments = [("shipping_refund", "-3.00")]
    refund = build_refund(51, money="3.00", adjustments=adjustments)
    send(connection, build_order(1, refunds=[refund]), hours=1)
    assert list_sales(connection.account)[0][1] == left


@pytest.mark.parametrize("kind", [{"kind": "refund_discrepancy"}, {}])
@pytest.mark.parametrize(
    ("back", "left"),
    [
        ("100.00", "15.97"),  # 100 * 100 / 119 = 84.0336…
        ("50.00", "57.98"),  # 100 * 50 / 119 = 42.0168…
        ("0.01", "99.99"),  # 100 * 0.01 / 119 = 0.0084…
    ],
)
def test_a_refund_below_its_lines_takes_whole_cents(back, left, kind, connection, attributes):
    send(connection, build_order(note_attributes=attributes))
    difference = str(Decimal(119) - Decimal(back))
    adjustment = {"amount": difference, "tax_amount": "0.00", "reason": "Restock"}
    refund = build_refund(
        51,
        lines=[(LINE, "100.00", "19.00")],
        money=back,
        order_adjustments=[adjustment | kind],
    )
    event = send(connection, build_order(1, refunds=[refund]), hours=1)
    assert list_sales(connection.account)[0][1] == left
    taken = Decimal(event.order.reload().facts["refunds"]["51"]["lines"][str(LINE)])
    assert taken == 100 - Decimal(left)


@pytest.mark.parametrize("is_alone", [True, False])
@pytest.mark.parametrize(("settings", "left"), [({}, "100"), ({"includes_shipping": 1}, "102")])
def test_refunded_shipping_has_lines_of_its_own_since_2024_10(
    settings, left, is_alone, connection, attributes
):
    set_up(connection, **settings)
    send(connection, build_order(note_attributes=attributes))
    line = {
        "subtotal_amount_set": build_money("3.00"),
        "tax_amount_set": build_money("0.57"),
    }
    refund = build_refund(51, money="3.57", refund_shipping_lines=[line])
    if is_alone:
        send(connection, refund, "refunds/create", 1)
    else:
        send(connection, build_order(1, refunds=[refund]), hours=1)
    assert list_sales(connection.account)[0][1] == left


# Shipping of 5.95 with tax that prices include; less than all of it came back.
SHIPPING_CASES = [
    ({}, "5.95", "100"),
    ({"includes_shipping": True}, "5.95", "100"),
    ({"includes_shipping": True, "includes_tax": True}, "5.95", "119"),
    ({}, "2.38", "100"),
    ({"includes_shipping": True}, "2.38", "103"),  # 105 - 5 * 2.38 / 5.95
    ({"includes_shipping": True, "includes_tax": True}, "2.38", "122.57"),
]


@pytest.mark.parametrize("is_alone", [False, True])
@pytest.mark.parametrize(("settings", "money", "left"), SHIPPING_CASES)
def test_refunded_shipping_alone_with_tax_that_prices_include(
    settings, money, left, is_alone, connection, attributes
):
    set_up(connection, **settings)
    shipping = {"discounted_price": "5.95", "tax_lines": [{"price": "0.95"}]}
    values = {
        "taxes_included": True,
        "line_items": [build_line(LINE, "119.00", "19.00")],
        "shipping_lines": [shipping],
    }
    send(connection, build_order(note_attributes=attributes, **values))
    line = {
        "subtotal_amount_set": build_money("5.95"),
        "tax_amount_set": build_money("0.95"),
    }
    difference = Decimal("5.95") - Decimal(money)
    adjustment = {"amount": str(difference), "tax_amount": "0.00", "reason": "Other"}
    refund = build_refund(
        51,
        money=money,
        refund_shipping_lines=[line],
        order_adjustments=[adjustment] if difference else [],
    )
    if is_alone:  # it may wait for the order, which says if prices include tax
        send(connection, refund, "refunds/create", 1)
    send(connection, build_order(1, refunds=[refund], **values), hours=1)
    assert list_sales(connection.account)[0][1] == left


@pytest.mark.parametrize(
    "duties",
    [
        {"total_duties_set": build_money("8.00")},
        {"duties": [{"duty_id": 1, "amount_set": build_money("8.00")}]},
        {"duties": {"duties": [{"duty_id": 1, "amount_set": build_money("8.00")}]}},
        {
            "total_duties_set": build_money("8.00"),
            "duties": [{"duty_id": 1, "amount_set": build_money("8.00")}],
        },
    ],
)
def test_refunded_duties_alone_change_nothing(duties, connection, attributes):
    send(connection, build_order(note_attributes=attributes))
    refund = build_refund(51, money="8.00", **duties)
    event = send(connection, build_order(1, refunds=[refund]), hours=1)
    assert event.state == ShopEventState.DONE
    assert list_sales(connection.account) == WHOLE


def test_refunded_duties_are_no_value_of_products(connection, attributes):
    send(connection, build_order(note_attributes=attributes))
    duties = {"total_duties_set": build_money("8.00"), "duties": [{"duty_id": 1}]}
    refund = build_refund(51, money="8.00", **duties)
    send(connection, build_order(1, refunds=[refund]), hours=1)
    assert list_sales(connection.account) == WHOLE


def test_what_an_edit_removed_is_not_counted_again_when_it_is_paid_back(connection, attributes):
    account = connection.account
    send(connection, build_order(note_attributes=attributes))
    removed = build_refund(51, lines=[(LINE, "40.00", "7.60")])
    send(connection, build_order(1, refunds=[removed]), hours=1)
    assert list_sales(account) == [(ID, "60", [("6", "approved")])]
    paid_out = build_refund(52, hours=2, money="47.60")
    event = send(connection, paid_out, "refunds/create", 2)
    assert event.state == ShopEventState.IGNORED
    send(connection, build_order(2, refunds=[paid_out, removed]), hours=2)
    assert list_sales(account) == [(ID, "60", [("6", "approved")])]


def test_money_in_the_currency_of_the_customer_is_converted(connection, attributes):
    prices = {
        "shop_money": {"amount": "124.95", "currency_code": "EUR"},
        "presentment_money": {"amount": "249.90", "currency_code": "USD"},
    }
    refund = build_refund(51, money="49.98")
    refund["transactions"][0]["currency"] = "USD"
    body = build_order(1, note_attributes=attributes, refunds=[refund], total_price_set=prices)
    send(connection, body)
    assert list_sales(connection.account) == [(ID, "80", [("8", "approved")])]


def test_a_second_refund_after_a_payment_leaves_a_debt(scenario, connection, attributes):
    account = connection.account
    send(connection, build_order(note_attributes=attributes))
    refunds = [build_amount_refund(51, "24.99")]
    send(connection, build_order(1, refunds=refunds), hours=1)
    scenario.pay("8")
    refunds.append(build_refund(52, hours=2, lines=[(LINE, "40.00", "7.60")], money="47.60"))
    send(connection, build_order(2, refunds=refunds), hours=2)
    assert list_sales(account) == [(ID, "40", [("4", "approved")])]
    balances = get_payable_balances_by_slug(account)
    assert balances[scenario.mina.slug]["EUR"] == -4


def test_a_canceled_order_removes_the_sale(connection, attributes):
    account = connection.account
    send(connection, build_order(note_attributes=attributes))
    body = build_order(1, cancelled_at=format_local(1), cancel_reason="customer")
    send(connection, body, "orders/cancelled", 1)
    assert list_sales(account) == []


@pytest.mark.parametrize("status", ["voided", "expired", "pending"])
def test_an_order_that_was_never_paid_makes_no_sale(status, connection, attributes):
    refund = build_refund(51, lines=[(LINE, "100.00", "0.00")])
    waiting = send(connection, refund, "refunds/create")
    assert waiting.state == ShopEventState.WAITING
    values = {"cancelled_at": format_local(1), "note_attributes": attributes}
    event = send(connection, build_order(1, status, **values), "orders/cancelled", 1)
    assert event.result == ["The order was canceled before it earned anything."]
    assert not connection.account.conversions.exists()


def test_an_edit_says_nothing_of_amounts(connection):
    edit = {"id": 78912328793, "order_id": ORDER, "line_items": {"additions": []}}
    event = send(connection, {"order_edit": edit}, "orders/edited")
    assert event.state == ShopEventState.IGNORED
    assert event.result == ["It has no amounts: the event orders/updated counts."]


STORY = {
    "refunds by line and amount": [
        (0, "paid", ()),
        (1, "refunds/create", build_amount_refund(51, "24.99")),
        (1, "partially_refunded", [build_amount_refund(51, "24.99")]),
        (
            2,
            "partially_refunded",
            [
                build_refund(52, hours=2, lines=[(LINE, "40.00", "7.60")], money="47.60"),
                build_amount_refund(51, "24.99"),
            ],
        ),
        (
            2,
            "refunds/create",
            build_refund(52, hours=2, lines=[(LINE, "40.00", "7.60")], money="47.60"),
        ),
    ],
    "an edit that is paid back": [
        (0, "pending", ()),
        (1, "paid", ()),
        (2, "paid", [build_refund(51, hours=2, lines=[(LINE, "40.00", "7.60")])]),
        (
            3,
            "partially_refunded",
            [
                build_refund(51, hours=2, lines=[(LINE, "40.00", "7.60")]),
                build_refund(52, hours=3, money="47.60"),
            ],
        ),
        (3, "refunds/create", build_refund(52, hours=3, money="47.60")),
    ],
}
ENDS = {
    "refunds by line and amount": [(ID, "40", [("4", "approved")])],
    "an edit that is paid back": [(ID, "60", [("6", "approved")])],
}


@pytest.mark.parametrize("name", STORY)
@pytest.mark.parametrize("order", ORDERS_OF_FIVE)
def test_every_order_of_events_has_the_same_end(name, order, connection, attributes):
    for number in order:
        hours, status, data = STORY[name][number]
        topic, body = status, data
        if status != "refunds/create":
            topic = "orders/updated"
            body = build_order(hours, status, note_attributes=attributes, refunds=list(data))
        send(connection, body, topic, hours)
        send(connection, body, topic, hours)  # a copy
    assert list_sales(connection.account) == ENDS[name]


@pytest.mark.parametrize(
    "site",
    [
        "/?ref={0.code}",
        "/lamps?utm_source=x&via={0.code}",
        "https://shop.example.net/?tap_a={0.asset_id}&tap_s={0.source_id}",
    ],
)
def test_the_landing_page_names_the_affiliate(site, scenario, connection):
    send(connection, build_order(landing_site=site.format(scenario.mina)))
    assert list_sales(connection.account) == WHOLE


def test_the_parameters_of_links_can_be_named(scenario, connection):
    set_up(connection, referral_fields=["partner"])
    send(connection, build_order(landing_site=f"/?partner={scenario.mina.code}"))
    assert list_sales(connection.account) == WHOLE


def test_a_line_can_name_the_affiliate(scenario, connection):
    properties = [{"name": "referral_code", "value": scenario.mina.code}]
    line = build_line(LINE, "100.00", properties=properties)
    send(connection, build_order(line_items=[line]))
    assert list_sales(connection.account) == WHOLE


def test_a_discount_code_of_an_affiliate_counts(scenario, connection):
    codes = [{"code": scenario.mina.coupon, "amount": "0.00", "type": "percentage"}]
    send(connection, build_order(discount_codes=codes))
    assert connection.account.conversions.get().tracking_source == "coupon"


@pytest.mark.parametrize("source", ["subscription_contract", "subscription_contract_checkout_one"])
def test_a_renewal_belongs_to_the_customer(source, connection, attributes):
    send(connection, build_order(note_attributes=attributes))
    renewal = {
        "id": ORDER + 1,
        "name": "#10000",
        "created_at": format_local(700),
        "source_name": source,
    }
    event = send(connection, build_order(700, **renewal), "orders/paid", 700)
    assert event.order.label == "order #10000, renewal 1"
    assert len(list_sales(connection.account)) == 2


@pytest.mark.parametrize(("currency", "text"), [("JPY", "1000"), ("KWD", "10.505")])
def test_currencies_have_their_own_decimals(currency, text, connection, attributes):
    values = {"currency": currency, "total_price": text}
    line = build_line(LINE, text)
    body = build_order(note_attributes=attributes, line_items=[line], **values)
    send(connection, body)
    assert list_sales(connection.account)[0][1] == text


def test_a_live_connection_ignores_test_orders(connection, attributes):
    body = build_order(note_attributes=attributes, test=True)
    refund = build_amount_refund(51, "5")
    refund["transactions"][0]["test"] = True
    for event in (send(connection, body), send(connection, refund, "refunds/create")):
        assert event.state == ShopEventState.IGNORED
        assert event.result[0].startswith("A test order")
    set_up(connection, takes_tests=True)
    send(connection, body)
    assert list_sales(connection.account) == WHOLE


@pytest.mark.parametrize("mode", [ConnectionMode.LIVE, ConnectionMode.LISTEN])
def test_the_data_of_a_customer_is_erased(mode, connection, attributes):
    account = connection.account
    connection.update_row(mode=mode, settings={"stores_email": True})
    other = {"id": 7, "email": "max@buyers.example.org"}
    send(connection, build_order(note_attributes=attributes))
    send(connection, build_order(id=1, customer=other, email=other["email"]))
    event = send(connection, build_redaction(), "customers/redact", 1)
    assert event.result == ["Personal data was erased, as the shop asked."]
    bodies = account.shop_events.order_by("id").values_list("body", flat=True)
    assert [bool(body) for body in bodies] == [False, True, False]
    rows = account.shop_customers.order_by("id").values_list("key", "facts")
    assert [key for key, facts in rows if "email" in facts] == (
        ["7"] if mode == ConnectionMode.LIVE else []
    )
    assert not account.customers.filter(customer_id=CUSTOMER).exists()
    assert list_sales(account) == (WHOLE if mode == ConnectionMode.LIVE else [])


def test_a_refund_counts_also_after_its_customer_was_erased(connection, attributes):
    send(connection, build_order(note_attributes=attributes))
    send(connection, build_redaction(), "customers/redact", 1)
    event = send(connection, build_amount_refund(51, "24.99"), "refunds/create", 2)
    assert event.result == ["Refunded 20 EUR."]
    assert list_sales(connection.account) == [(ID, "80", [("8", "approved")])]


def test_the_data_of_another_connection_stays(scenario, connection, attributes):
    other = create_connection(
        scenario.account,
        kind="shopify",
        program=scenario.program,
        secret=SECRET,
        mode=ConnectionMode.LIVE,
        at=CONVERSION_CREATED_AT,
    )
    other.update_row(settings={"id_prefix": "de-"})
    kept = send(other, build_order(note_attributes=attributes))
    send(connection, build_redaction(), "customers/redact")
    assert kept.reload().body


SHOP = {"shop_id": 954889, "shop_domain": "harbor-lamps.myshopify.com"}


def buy_as(connection, attributes, *customers):
    for number in customers:
        buyer = {"id": number, "email": f"{number}@buyers.example.org"}
        send(connection, build_order(id=number, customer=buyer, note_attributes=attributes))


def test_the_end_of_the_app_erases_all_personal_data(connection, attributes):
    account = connection.account
    set_up(connection, stores_email=True, id_prefix="de-")
    buy_as(connection, attributes, 71, 72)
    buy_as(connection, [], 73)
    before = list_sales(account)
    event = receive_envelope(
        connection,
        Envelope("end", "shop/redact", CONVERSION_CREATED_AT, json.dumps(SHOP)),
        at=CONVERSION_CREATED_AT,
    )
    assert event.reload().state == ShopEventState.RECEIVED  # never in the request
    assert account.shop_events.exclude(body="").count() == 4
    parts = [each.pk for each in process_due_events(due_before=CONVERSION_CREATED_AT)]
    assert parts == [event.pk] * 5  # events, addresses, two customers, the end
    event = event.reload()
    assert (event.state, event.attempts, event.due_at) == (ShopEventState.DONE, 1, None)
    assert event.result == ["Personal data was erased, as the shop asked."]
    assert not account.shop_events.exclude(body="").exists()
    assert list(account.shop_customers.values_list("key", flat=True)) == ["73"]
    assert "email" not in account.shop_customers.get().facts
    assert not account.customers.exclude(customer_id="").exists()
    assert list_sales(account) == before


def test_an_erasure_that_fails_goes_on_where_it_was(connection, attributes, monkeypatch):
    buy_as(connection, attributes, 71, 72)
    send(connection, SHOP, "shop/redact", 1)
    erased, erase_person = [], shop_customers.erase_person

    def erase_once(account, **values):
        if erased:
            raise RuntimeError("a fault")
        erased.append(erase_person(account, **values))

    monkeypatch.setattr(shop_customers, "erase_person", erase_once)
    due = CONVERSION_CREATED_AT + 2 * HOUR
    *_, event = process_due_events(due_before=due)
    assert (event.state, event.attempts) == (ShopEventState.FAILED, 1)
    monkeypatch.undo()
    left = [row.key for row in connection.account.shop_customers.all()]
    assert left == ["72"]
    process_event(event, at=due)
    process_event(event, at=due)
    assert event.state == ShopEventState.DONE
    assert not connection.account.shop_customers.exists()


def test_an_earlier_order_that_cannot_be_counted_does_not_undo_the_new_one(connection, attributes):
    set_up(connection, commission_types={"LAMP-1": "gone"})
    send(connection, build_order(id=1, name="#1"))
    send(
        connection,
        build_order(id=2, name="#2", line_items=[build_line(2, "100.00", "19.00", sku="B")]),
    )
    set_up(connection)
    event = send(connection, build_order(1, note_attributes=attributes), hours=1)
    assert event.result == [
        *["A sale of 100 EUR was created."] * 2,
        "An earlier order of this customer could not be counted, order #1: Unknown commission type",
    ]
    assert event.state == ShopEventState.FAILED
    assert [sale[0] for sale in list_sales(connection.account)] == ["2", ID]


def test_a_request_for_data_is_listed_with_what_to_do(connection):
    body = build_redaction(data_request={"id": 9999}, orders_requested=[ORDER])
    event = send(connection, body, "customers/data_request")
    assert event.customer_key == CUSTOMER
    assert event.result == [
        "A customer asks for a copy of their data: send it to them within 30 days. The"
        f" command export_person prints what is kept of customer {CUSTOMER}."
    ]


@pytest.fixture
def final_line(scenario, connection, attributes):
    """Of the two lines of a sale the commission of the first is approved for good."""
    scenario.program.update_row(auto_approve_commissions=False)
    scenario.create_commission_type("other", 20)
    set_up(connection, commission_types={"B": "other"})
    lines = [build_line(1, "60.00", "11.40"), build_line(2, "40.00", "7.60", sku="B")]
    send(connection, build_order(line_items=lines, note_attributes=attributes))
    scenario.enable_payouts(100)
    scenario.approve(connection.account.commissions.order_by("id").first())


@pytest.mark.parametrize(
    ("lines", "left"),
    [
        ([(2, "20.00", "3.80")], (ID, "80", [("6", "approved"), ("4", "pending")])),
        ([(2, "40.00", "7.60")], (ID, "60", [("6", "approved"), ("0", "pending")])),
    ],
)
def test_a_line_is_refunded_beside_a_final_one(connection, final_line, lines, left):
    paid = sum(Decimal(part) for line in lines for part in line[1:])
    send(connection, build_refund(51, lines=lines, money=str(paid)), "refunds/create", 1)
    assert list_sales(connection.account) == [left]


@pytest.mark.parametrize(
    "lines",
    [
        [(1, "20.00", "3.80")],
        [(1, "60.00", "11.40"), (2, "40.00", "7.60")],
    ],
    ids=["the final line", "all"],
)
def test_a_final_line_is_not_refunded(connection, final_line, lines):
    before = list_sales(connection.account)
    paid = sum(Decimal(part) for line in lines for part in line[1:])
    event = send(connection, build_refund(51, lines=lines, money=str(paid)), "refunds/create", 1)
    assert event.state == ShopEventState.FAILED
    assert "is approved for good" in event.result[0]
    assert list_sales(connection.account) == before


def test_another_currency_is_refused_with_a_sentence(connection, attributes):
    send(connection, build_order(note_attributes=attributes))
    event = send(connection, build_order(1, currency="USD"), hours=1)
    assert event.state == ShopEventState.FAILED
    assert list_sales(connection.account) == WHOLE


@pytest.mark.parametrize(
    ("topic", "values"),
    [
        ("orders/paid", {"total_price": "-5.00"}),
        ("orders/paid", {"total_price": "1e400"}),
        ("orders/paid", {"total_price": False}),
        ("orders/paid", {"line_items": [{"id": 1, "quantity": -1, "price": "5"}]}),
        ("orders/paid", {"line_items": [build_line(1, "NaN")]}),
        ("orders/paid", {"line_items": [build_line({"a": 1}, "5")]}),
        ("orders/paid", {"line_items": 5}),
        ("orders/paid", {"currency": "XXX"}),
        ("orders/paid", {"updated_at": "0001-01-01T00:00:00+14:00"}),
        ("orders/paid", {"customer": "Jo"}),
        ("orders/paid", {"refunds": [{"id": 1}]}),
        ("orders/paid", {"refunds": [build_refund(1, lines=[(1, "-5", "0")])]}),
        ("orders/paid", {"note_attributes": [3]}),
        ("refunds/create", {}),
        ("customers/redact", {}),
        ("shop/redact", {}),
        ("shop/redact", build_redaction()),
        ("customers/data_request", {"customer": None}),
    ],
)
def test_odd_bodies_fail_with_a_sentence(topic, values, connection, attributes):
    body = build_order(**({"note_attributes": attributes} | values))
    event = send(connection, body, topic)
    assert event.state == ShopEventState.FAILED
    assert event.due_at is not None
    assert "trace" not in event.result[0]
    assert not connection.account.conversions.exists()
