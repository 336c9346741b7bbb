"""Gift cards earn when they are used, or when they are bought; tips never earn."""

from itertools import count

import pytest

from tests import shopify_events as shopify
from tests import woocommerce_events as woocommerce
from tests.ledger_checks import assert_ledger_consistent
from tests.program_scenario import CONVERSION_CREATED_AT
from tests.shop_inbox import deliver, list_sales
from tracking.models.shops import ConnectionMode, ShopEventState
from tracking.services.connections import create_connection

pytestmark = pytest.mark.usefixtures("shared_scenario")
numbers = count()
WHEN_BOUGHT = {"includes_gift_cards": True}
USED = "A gift card earns when it is used, not when it is bought."
PAID = "It was paid by gift cards, which earned when they were bought."
TOPICS = {"shopify": "orders/updated", "woocommerce": "order.updated"}


@pytest.fixture
def connect(scenario):
    """Connect a shop; products earn 10 %, those of the type `half` 50 %."""
    scenario.program.update_row(auto_approve_commissions=True)
    scenario.create_commission_type("half", "50")

    def create(kind, **settings):
        return create_connection(
            scenario.account,
            kind=kind,
            program=scenario.program,
            mode=ConnectionMode.LIVE,
            settings=settings,
            at=CONVERSION_CREATED_AT,
        )

    yield create
    assert_ledger_consistent(scenario.account)


@pytest.fixture
def click(scenario):
    return str(scenario.create_click().public_id)


def send(connection, body):
    key, topic = f"event {next(numbers)}", TOPICS[connection.kind]
    return deliver(connection, body, key=key, kind=topic)


def list_commissions(connection):
    """Order ID, amount and amounts of commissions of each sale."""
    return [
        (order, amount, [commission for commission, _ in commissions])
        for order, amount, commissions in list_sales(connection.account)
    ]


def build_shopify(click, lines, *, total, hours=0, **values):
    return shopify.build_order(
        hours,
        note_attributes=[{"name": "click_id", "value": click}],
        line_items=lines,
        shipping_lines=[],
        total_price=total,
        total_price_set=shopify.build_money(total),
        **values,
    )


def build_mixed(click, hours=0, **values):
    """A lamp of 100, a gift card of 50 and a tip of 10."""
    lines = [
        shopify.build_line(1, "100.00"),
        shopify.build_line(2, "50.00", sku="CARD", gift_card=True),
        shopify.build_line(3, "10.00", sku="", tip_payment_gateway=None),
    ]
    return build_shopify(click, lines, total="160.00", hours=hours, **values)


def test_a_gift_card_of_shopify_earns_once_when_it_is_used(connect, click):
    connection = connect("shopify")
    card = [shopify.build_line(1, "50.00", gift_card=True)]
    event = send(connection, build_shopify(click, card, total="50.00", id=1001))
    assert event.state == ShopEventState.IGNORED
    assert event.result == ["The sale has no amount.", USED]
    lamp = [shopify.build_line(2, "50.00")]
    values = {"id": 1002, "payment_gateway_names": ["gift_card"]}
    event = send(connection, build_shopify(click, lamp, total="50.00", **values))
    assert event.result == ["A sale of 50 EUR was created."]
    assert list_commissions(connection) == [("1002", "50", ["5"])]


def test_a_gift_card_of_shopify_earns_once_when_it_is_bought(connect, click):
    connection = connect("shopify", **WHEN_BOUGHT)
    card = [shopify.build_line(1, "50.00", gift_card=True)]
    event = send(connection, build_shopify(click, card, total="50.00", id=1001))
    assert event.result == ["A sale of 50 EUR was created."]
    lamp = [shopify.build_line(2, "50.00")]
    values = {"id": 1002, "payment_gateway_names": ["gift_card"]}
    event = send(connection, build_shopify(click, lamp, total="50.00", **values))
    assert event.result == ["The sale has no amount.", PAID]
    values = {"id": 1003, "payment_gateway_names": ["gift_card", "shopify_payments"]}
    event = send(connection, build_shopify(click, lamp, total="50.00", **values))
    assert event.result == [
        "A sale of 50 EUR was created.",
        "A part was paid by a gift card. Shopify does not say how much, so all of it earns.",
    ]
    assert list_commissions(connection) == [
        ("1001", "50", ["5"]),
        ("1003", "50", ["5"]),
    ]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, ("100", ["10"])),
        # The card has a type of its own, the tip has none.
        ({"commission_types": {"CARD": "half"}}, ("100", ["10"])),
        (WHEN_BOUGHT, ("150", ["15"])),
        (WHEN_BOUGHT | {"commission_types": {"CARD": "half"}}, ("150", ["10", "25"])),
    ],
)
def test_a_tip_and_a_gift_card_beside_a_product(settings, expected, connect, click):
    connection = connect("shopify", **settings)
    send(connection, build_mixed(click))
    assert list_commissions(connection) == [(str(shopify.ORDER), *expected)]


@pytest.mark.parametrize(
    ("refund", "expected"),
    [
        # The gift card alone.
        ({"lines": [(2, "50.00", "0.00")], "money": "50.00"}, ("100", ["10"])),
        # The tip alone.
        ({"lines": [(3, "10.00", "0.00")], "money": "10.00"}, ("100", ["10"])),
        # Half of all that was paid.
        (
            {"adjustments": [("refund_discrepancy", "-80.00")], "money": "80.00"},
            ("50", ["5"]),
        ),
        # Half of the lamp and of the gift card: 50 and 25.
        (
            {
                "lines": [(1, "100.00", "0.00"), (2, "50.00", "0.00")],
                "adjustments": [("refund_discrepancy", "75.00")],
                "money": "75.00",
            },
            ("50", ["5"]),
        ),
    ],
)
def test_refunds_beside_gift_cards_and_tips(refund, expected, connect, click):
    connection = connect("shopify")
    send(connection, build_mixed(click))
    refunds = [shopify.build_refund(7, **refund)]
    send(connection, build_mixed(click, 1, refunds=refunds))
    assert list_commissions(connection) == [(str(shopify.ORDER), *expected)]


def build_woocommerce(click, line, *, total, hours=0, **values):
    return woocommerce.build_order(
        hours,
        meta={"click_id": click},
        total=total,
        total_tax="0.00",
        shipping_total="0.00",
        shipping_tax="0.00",
        shipping_lines=[],
        line_items=[line],
        **values,
    )


@pytest.mark.parametrize(
    "name", ["wc_gc_giftcard_to_multiple", "_wc_gc_giftcard_amount", "pw_gift_card_to"]
)
def test_what_buys_a_gift_card_of_woocommerce_is_no_sale(name, connect, click):
    meta = [{"id": 1, "key": name, "value": "jo@buyers.example.org"}]
    card = woocommerce.build_line(1, "50.00", meta_data=meta)
    body = build_woocommerce(click, card, total="50.00")
    connection = connect("woocommerce")
    assert send(connection, body).result == ["The sale has no amount.", USED]
    other = connect("woocommerce", id_prefix="b-", **WHEN_BOUGHT)
    assert send(other, body).result == ["A sale of 50 EUR was created."]
    assert list_commissions(connection) == [("b-723", "50", ["5"])]


@pytest.mark.parametrize(
    ("settings", "before", "after"),
    [
        # A refund of 20 of the 50 that were paid.
        ({}, ("50", ["5"]), ("30", ["3"])),
        # A refund of 20 of 20.
        (WHEN_BOUGHT, ("20", ["2"]), None),
    ],
)
def test_what_a_gift_card_of_woocommerce_paid(settings, before, after, connect, click):
    connection = connect("woocommerce", **settings)
    cards = [{"id": 9, "code": "AAAA-BBBB", "amount": "30.00"}]
    lamp = woocommerce.build_line(1, "50.00")
    values = {"total": "20.00", "gift_cards": cards}
    send(connection, build_woocommerce(click, lamp, **values))
    assert list_commissions(connection) == [("723", *before)]
    refunds = woocommerce.build_refunds((8, "20.00"))
    body = build_woocommerce(click, lamp, hours=1, **values) | {"refunds": refunds}
    send(connection, body)
    assert list_commissions(connection) == ([("723", *after)] if after else [])
