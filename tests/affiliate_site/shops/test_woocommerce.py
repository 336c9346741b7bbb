"""Orders of WooCommerce: what they do to sales and refunds, to the cent."""

from decimal import Decimal
from itertools import count

import pytest

from affiliate_site.shops.processing import process_event
from payouts.services.ledger import get_payable_balances_by_slug
from payouts.services.refunds import refund_conversion
from tests.ledger_checks import assert_ledger_consistent
from tests.program_scenario import CONVERSION_CREATED_AT
from tests.shop_inbox import ORDERS_OF_FIVE, deliver, list_sales
from tests.woocommerce_events import (
    HOUR,
    SECRET,
    build_deletion,
    build_line,
    build_order,
    build_refund,
)
from tracking.models.shops import ConnectionMode, ShopEventState
from tracking.services.connections import create_connection
from tracking.services.inbox import process_again

pytestmark = pytest.mark.usefixtures("shared_scenario")
numbers = count()


@pytest.fixture
def scenario(scenario):
    scenario.program.update_row(auto_approve_commissions=True)
    yield scenario
    assert_ledger_consistent(scenario.account)


@pytest.fixture
def connection(scenario):
    return create_connection(
        scenario.account,
        kind="woocommerce",
        program=scenario.program,
        secret=SECRET,
        mode=ConnectionMode.LIVE,
        at=CONVERSION_CREATED_AT,
    )


@pytest.fixture
def meta(scenario):
    return {"click_id": str(scenario.create_click().public_id)}


def send(connection, body, topic="order.updated", hours=0):
    """Deliver a body as another event."""
    at = CONVERSION_CREATED_AT + hours * HOUR
    return deliver(connection, body, key=f"event {next(numbers)}", kind=topic, at=at)


def set_up(connection, **settings):
    connection.update_row(settings=settings)


def test_a_paid_order_is_a_sale_without_tax_and_shipping(connection, meta):
    event = send(connection, build_order(meta=meta))
    assert event.state == ShopEventState.DONE
    assert event.result == ["A sale of 100 EUR was created."]
    assert list_sales(connection.account) == [("723", "100", [("10", "approved")])]


def give_gaps(value):
    """The lists in a body as PHP writes them if a filter left gaps."""
    if isinstance(value, dict):
        return {name: give_gaps(each) for name, each in value.items()}
    if isinstance(value, list):
        return {f"{2 * number}": give_gaps(each) for number, each in enumerate(value)}
    return value


def test_lists_may_arrive_as_objects(connection, meta):
    card = [{"id": 1, "key": "pw_gift_card_to", "value": "jo@buyers.example.org"}]
    values = {
        "meta": {"other": "x"} | meta,
        "total": "160.45",  # 124.95, a gift card of 40 and a fee of -4.50
        "line_items": [
            build_line(315, "100.00", "19.00"),
            build_line(316, "40.00", meta_data=card),
        ],
        "fee_lines": [{"id": 318, "total": "-4.50", "total_tax": "0.00"}],
        "coupon_lines": [{"id": 319, "code": "SPRING"}],
        "gift_cards": [],
    }
    send(connection, give_gaps(build_order(**values)))
    # 135.50 in proportion to 100 and 40: 96.79 and 38.71, which earns nothing.
    assert list_sales(connection.account) == [("723", "96.79", [("9.68", "approved")])]
    # 16.045 is a tenth of what was paid.
    refunds = [("11", "16.05")]
    send(connection, give_gaps(build_order(1, refunds=refunds, **values)), hours=1)
    # 96.79 - 96.79 * 16.05 / 160.45 = 87.1079…
    assert list_sales(connection.account) == [("723", "87.11", [("8.71", "approved")])]


def test_the_cookie_counts_when_the_order_was_made(scenario, connection, meta):
    scenario.program.update_row(cookie_time=1)
    send(connection, build_order(hours=72, meta=meta), hours=72)
    assert len(list_sales(connection.account)) == 1


@pytest.mark.parametrize("status", ["pending", "on-hold", "checkout-draft"])
def test_an_order_counts_once_it_is_paid(status, connection, meta):
    event = send(connection, build_order(0, status, meta=meta))
    assert event.state == ShopEventState.IGNORED
    assert event.result == ["The order is not paid yet."]
    send(connection, build_order(1, "completed", meta=meta), hours=1)
    assert list_sales(connection.account) == [("723", "100", [("10", "approved")])]


@pytest.mark.parametrize(("paid_at", "sales"), [(None, 0), ("2026-03-04T09:15:27", 1)])
def test_a_status_of_the_shops_own_needs_a_payment(paid_at, sales, connection, meta):
    send(connection, build_order(0, "in-workshop", meta=meta, date_paid_gmt=paid_at))
    assert len(list_sales(connection.account)) == sales


def test_partial_refunds_take_their_part_of_what_was_paid(connection, meta):
    account = connection.account
    send(connection, build_order(meta=meta))
    event = send(connection, build_order(1, meta=meta, refunds=[(724, "24.99")]))
    assert event.result == ["Refunded 20 EUR."]
    refunds = [(724, "24.99"), (725, "12.49")]
    send(connection, build_order(2, meta=meta, refunds=refunds))
    assert list_sales(account) == [("723", "70", [("7", "approved")])]


SHIPPING = [(317, "-5.00", "-0.95")]
HALF = [(315, "-50.00", "-9.50")]
LINES = {
    "shipping alone": ("5.95", {"shipping_lines": SHIPPING}, "100", "100"),
    "a half of shipping": ("2.98", {"shipping_lines": SHIPPING}, "100", "102.5"),
    "half of the goods": ("59.50", {"line_items": HALF}, "50", "55"),
    # Half of what the lines are worth was paid back.
    "less": (
        "32.73",
        {"line_items": HALF, "shipping_lines": SHIPPING},
        "75",
        "77.5",
    ),
    # On top of the lines 12.49, a tenth of what was paid.
    "more": ("71.99", {"line_items": HALF}, "40", "44.5"),
    "an unknown line": ("59.50", {"line_items": [(9, "-50.00", "-9.50")]}, "50", "55"),
    "all, by lines of a half": ("124.95", {"line_items": HALF}, None, None),
}


@pytest.mark.parametrize(("total", "lines", "without", "with_shipping"), LINES.values(), ids=LINES)
@pytest.mark.parametrize("includes_shipping", [False, True])
def test_a_refund_takes_what_it_is_of(
    connection, meta, total, lines, without, with_shipping, includes_shipping
):
    set_up(connection, includes_shipping=includes_shipping)
    expected = with_shipping if includes_shipping else without
    send(connection, build_order(meta=meta))
    refund = build_refund(724, total, **lines)
    send(connection, build_order(1, meta=meta, refunds=[refund]), hours=1)
    amounts = [amount for _, amount, _ in list_sales(connection.account)]
    assert amounts == ([expected] if expected else [])


def test_a_refund_of_tax_that_earns_takes_tax(connection, meta):
    set_up(connection, includes_tax=True)
    send(connection, build_order(meta=meta))
    refund = build_refund(724, "19.00", line_items=[(315, "0.00", "-19.00")])
    send(connection, build_order(1, meta=meta, refunds=[refund]), hours=1)
    assert list_sales(connection.account) == [("723", "100", [("10", "approved")])]


def test_refunds_of_discounted_lines_leave_nothing_once_all_is_paid_back(connection, meta):
    """A fee of -3 lowers the line of 100 to 97, of which the shop pays back 97."""
    values = {
        "meta": meta,
        "total": "97.00",
        "total_tax": "0.00",
        "shipping_total": "0.00",
        "shipping_lines": [],
        "fee_lines": [{"id": 318, "total": "-3.00", "total_tax": "0.00"}],
    }
    send(connection, build_order(**values))
    refund = build_refund(724, "48.50", line_items=[(315, "-48.50", "0.00")])
    send(connection, build_order(1, refunds=[refund], **values), hours=1)
    # Of 97, what 48.50 is of 100 is taken: 47.05.
    assert list_sales(connection.account)[0][1] == "49.95"
    again = build_refund(725, "48.50", line_items=[(315, "-48.50", "0.00")])
    body = build_order(2, "refunded", refunds=[refund, again], **values)
    send(connection, body, hours=2)
    assert list_sales(connection.account) == []


def test_a_deleted_refund_is_put_back(connection, meta):
    send(connection, build_order(meta=meta))
    refunds = [(724, "24.99"), (725, "62.47")]
    send(connection, build_order(1, meta=meta, refunds=refunds))
    event = send(connection, build_order(2, meta=meta, refunds=refunds[:1]))
    assert event.result == ["Put back 50 EUR."]
    account = connection.account
    assert list_sales(account) == [("723", "80", [("8", "approved")])]
    assert account.refunds.get(external_id="725").canceled_at is not None


def test_a_refund_after_a_payment_leaves_a_debt(scenario, connection, meta):
    account = connection.account
    send(connection, build_order(meta=meta))
    send(connection, build_order(1, meta=meta, refunds=[(724, "24.99")]))
    scenario.pay("8")
    refunds = [(724, "24.99"), (725, "49.98")]
    send(connection, build_order(2, meta=meta, refunds=refunds))
    balances = get_payable_balances_by_slug(account)
    assert balances[scenario.mina.slug]["EUR"] == -4
    send(connection, build_order(3, "refunded", meta=meta, refunds=[(726, "124.95")]))
    balances = get_payable_balances_by_slug(account)
    assert balances[scenario.mina.slug]["EUR"] == -8


@pytest.mark.parametrize("status", ["cancelled", "failed", "trash", "refunded"])
def test_a_canceled_order_earns_nothing_until_it_is_paid_again(status, connection, meta):
    account = connection.account
    send(connection, build_order(meta=meta))
    send(connection, build_order(1, status, meta=meta))
    assert list_sales(account) == []
    send(connection, build_order(2, meta=meta))
    assert list_sales(account) == [("723", "100", [("10", "approved")])]


def test_an_order_that_was_canceled_at_once_makes_no_sale(connection, meta):
    event = send(connection, build_order(0, "failed", meta=meta))
    assert event.result == ["The order was canceled before it earned anything."]
    assert event.state == ShopEventState.DONE
    assert not connection.account.conversions.exists()


def test_a_deleted_order_earns_nothing_until_it_is_restored(connection, meta):
    account = connection.account
    send(connection, build_order(meta=meta))
    event = send(connection, build_deletion(1), "order.deleted", hours=1)
    assert event.result[0] == "Nothing is left of the sale, so it was removed."
    assert list_sales(account) == []
    send(connection, build_order(2, meta=meta), "order.restored", hours=2)
    assert list_sales(account) == [("723", "100", [("10", "approved")])]


def test_a_deleted_order_without_a_sale_waits_for_nothing(connection):
    event = send(connection, build_deletion(1), "order.deleted", hours=1)
    assert (event.state, event.due_at) == (ShopEventState.DONE, None)


def test_the_other_topics_do_nothing(connection):
    event = send(connection, {"id": 9, "code": "summer"}, "coupon.created")
    assert event.state == ShopEventState.IGNORED
    assert event.result == ["Coupons are mapped in the settings of the connection."]


STORIES = {
    "refunds, one deleted": (
        [
            (0, "processing", ()),
            (1, "processing", [(724, "24.99")]),
            (2, "processing", [(724, "24.99"), (725, "62.47")]),
            (3, "completed", [(725, "62.47")]),
            (3, "completed", [(725, "62.47"), (726, "12.49")]),
        ],
        [("723", "40.01", [("4", "approved")])],
    ),
    "canceled, then restored": (
        [
            (0, "pending", ()),
            (1, "processing", ()),
            (2, "cancelled", ()),
            (3, None, ()),
            (4, "processing", [(724, "24.99")]),
        ],
        [("723", "80", [("8", "approved")])],
    ),
    "deleted": (
        [
            (0, "processing", ()),
            (1, "completed", [(724, "24.99")]),
            (2, "on-hold", [(724, "24.99")]),
            (3, "trash", [(724, "24.99")]),
            (3, None, ()),
        ],
        [],
    ),
}


@pytest.mark.parametrize("name", STORIES)
@pytest.mark.parametrize("order", ORDERS_OF_FIVE)
def test_every_order_of_events_has_the_same_end(name, order, connection, meta):
    events, end = STORIES[name]
    for number in order:
        hours, status, refunds = events[number]
        if status is None:
            send(connection, build_deletion(hours), "order.deleted", hours=hours)
        else:
            body = build_order(hours, status, meta=meta, refunds=refunds)
            send(connection, body, hours=hours)
            send(connection, body, hours=hours)  # a copy
    assert list_sales(connection.account) == end


def test_products_have_commission_types_and_cents_are_not_lost(scenario, connection, meta):
    scenario.create_commission_type("addon", "50")
    set_up(connection, commission_types={"94": "addon"})
    body = build_order(
        meta=meta,
        line_items=[build_line(1, "84.03"), build_line(2, "8.40", product=94)],
        fee_lines=[{"id": 3, "name": "Wrap", "total": "7.56", "total_tax": "0.00"}],
    )
    send(connection, body)
    assert list_sales(connection.account) == [
        ("723", "100", [("9.16", "approved"), ("4.2", "approved")])
    ]


def test_a_fee_below_zero_is_a_discount(connection, meta):
    fee = {"id": 3, "name": "Bulk", "total": "-20.00", "total_tax": "-3.80"}
    body = build_order(meta=meta, fee_lines=[fee], total="101.15", total_tax="16.15")
    send(connection, body)
    assert list_sales(connection.account) == [("723", "80", [("8", "approved")])]


@pytest.mark.parametrize(
    ("settings", "amount"),
    [
        ({"includes_tax": True}, "119"),
        ({"includes_shipping": True}, "105"),
        ({"includes_tax": True, "includes_shipping": True}, "124.95"),
    ],
)
def test_tax_and_shipping_count_if_the_account_wants(settings, amount, connection, meta):
    set_up(connection, **settings)
    send(connection, build_order(meta=meta))
    assert list_sales(connection.account)[0][1] == amount


@pytest.mark.parametrize(
    ("currency", "text", "amount"),
    [("JPY", "1000", "1000"), ("KWD", "10.505", "10.505")],
)
def test_currencies_have_their_own_decimals(currency, text, amount, connection, meta):
    body = build_order(
        meta=meta,
        currency=currency,
        total=text,
        total_tax="0",
        shipping_total="0",
        shipping_tax="0",
        line_items=[build_line(1, text)],
    )
    send(connection, body)
    assert list_sales(connection.account)[0][1] == amount


def test_a_free_order_is_no_sale(connection, meta):
    line = build_line(1, "0.00")
    zero = dict.fromkeys(("total", "total_tax", "shipping_total"), "0.00")
    event = send(connection, build_order(meta=meta, line_items=[line], **zero))
    assert event.result == ["The sale has no amount."]


def test_a_renewal_belongs_to_the_customer(connection, meta):
    send(connection, build_order(meta=meta))
    for number in (1, 2):
        values = {"id": 723 + number, "number": str(723 + number)}
        created = build_order(hours=number)["date_modified_gmt"]
        body = build_order(
            number,
            meta={"_subscription_renewal": "700"},
            date_created_gmt=created,
            **values,
        )
        send(connection, body, hours=number)
    account = connection.account
    labels = account.shop_orders.order_by("id").values_list("label", flat=True)
    assert list(labels) == [
        "order 723",
        "order 724, renewal 1",
        "order 725, renewal 2",
    ]
    assert len(list_sales(account)) == 3


def test_a_coupon_of_an_affiliate_counts(scenario, connection):
    lines = [{"id": 1, "code": scenario.mina.coupon.lower(), "discount": "0"}]
    set_up(connection, coupons={scenario.mina.coupon.lower(): scenario.mina.coupon})
    send(connection, build_order(coupon_lines=lines))
    assert connection.account.conversions.get().tracking_source == "coupon"


@pytest.mark.parametrize(
    "parameters",
    [
        "ref={0.code}",
        "via={0.code}&utm_source=x",
        "tap_a={0.asset_id}&tap_s={0.source_id}",
    ],
)
def test_the_landing_page_names_the_affiliate(parameters, scenario, connection):
    query = parameters.format(scenario.mina)
    address = f"https://shop.example.net/lamps/?{query}"
    body = build_order(meta={"_wc_order_attribution_session_entry": address})
    send(connection, body)
    assert list_sales(connection.account) == [("723", "100", [("10", "approved")])]


def test_a_guest_has_no_customer(connection, meta):
    send(connection, build_order(meta=meta, customer_id=0))
    account = connection.account
    assert not account.shop_customers.exists()
    assert account.conversions.get().customer_id is None


def test_only_attributes_that_choose_a_program_are_kept(connection, meta):
    rule = {"field": "shelf", "value": "b", "program": "none"}
    set_up(connection, programs=[rule])
    send(connection, build_order(meta=meta | {"shelf": "a", "_vat_number": "DE12"}))
    (order,) = connection.account.shop_orders.all()
    assert order.facts["sale"]["attributes"] == {"shelf": "a"}


def test_another_currency_is_refused_with_a_sentence(connection, meta):
    send(connection, build_order(meta=meta))
    event = send(connection, build_order(1, meta=meta, currency="USD"))
    assert event.state == ShopEventState.FAILED
    assert list_sales(connection.account) == [("723", "100", [("10", "approved")])]


@pytest.mark.parametrize(
    "values",
    [
        {"total": "-5.00"},
        {"total": "NaN"},
        {"total": "1e400"},
        {"total": None},
        {"total": True},
        {"total_tax": ["1"]},
        {"id": {"a": 1}},
        {"id": ""},
        {"status": None, "total": "x"},
        {"date_modified_gmt": None},
        {"date_modified_gmt": "yesterday"},
        {"date_created_gmt": "0001-01-01T00:00:00+14:00"},
        {"line_items": "many"},
        {"line_items": [None]},
        {"refunds": [(1, "x")]},
        {"refunds": [(1, "-5")]},
        {"meta_data": [{"key": 1}]},
        {"billing": 7},
        {"currency": "XXX"},
        {"currency": ["EUR"]},
        {"customer_id": [3]},
    ],
)
def test_odd_bodies_fail_with_a_sentence(values, connection, meta):
    event = send(connection, build_order(meta=meta, **values))
    assert event.state == ShopEventState.FAILED
    assert event.due_at is not None
    assert "trace" not in event.result[0]
    assert not connection.account.conversions.exists()


def test_two_shops_with_the_same_numbers_need_a_prefix(scenario, connection, meta):
    account = scenario.account
    other = create_connection(
        account,
        kind="woocommerce",
        secret=SECRET,
        mode=ConnectionMode.LIVE,
        at=CONVERSION_CREATED_AT,
    )
    send(connection, build_order(meta=meta))
    event = send(other, build_order(meta=meta))
    assert event.state == ShopEventState.FAILED
    assert event.result == [
        "Another connected shop has reported the order 723: give this connection a"
        " prefix for its IDs, under Settings, and process the event again."
    ]
    set_up(other, id_prefix="de-")
    send(other.reload(), build_order(meta=meta))
    assert [sale[0] for sale in list_sales(account)] == ["723", "de-723"]


def test_keeps_the_address_of_a_customer_if_it_is_wanted(connection, meta):
    send(connection, build_order(meta=meta, customer_id=5))
    assert connection.account.customers.get().meta_data == {}
    set_up(connection, stores_email=True, id_prefix="de-")
    send(connection.reload(), build_order(meta=meta, id=724, customer_id=6))
    customer = connection.account.customers.get(customer_id="de-6")
    assert "@" in customer.meta_data["email"]


def report_by_api(scenario, *amounts):
    """The sale of the order, as a shop reported it by the API before."""
    return scenario.create_conversion(*amounts, external_id="723")


def refund_by_api(account, sale, key, amount):
    """A refund as the API or staff apply it."""
    refund_conversion(
        account,
        conversion_id=sale.pk,
        amount=Decimal(amount),
        external_id=key,
        reason="Returned.",
        at=CONVERSION_CREATED_AT,
    )


REFUND = ((724, "24.99"),)


def test_a_refund_that_the_api_applied_is_not_taken_off_again(scenario, connection, meta):
    sale = report_by_api(scenario, "100")
    refund_by_api(connection.account, sale, "724", "20")
    send(connection, build_order(1, meta=meta, refunds=REFUND), hours=1)
    assert list_sales(connection.account) == [("723", "80", [("8", "approved")])]


def test_a_refund_that_the_api_applies_later_counts_once(scenario, connection, meta):
    sale = report_by_api(scenario, "100")
    send(connection, build_order(meta=meta))
    refund_by_api(connection.account, sale, "724", "20")
    send(connection, build_order(1, meta=meta, refunds=REFUND), hours=1)
    assert list_sales(connection.account) == [("723", "80", [("8", "approved")])]


def test_an_adopted_sale_that_stands_at_what_is_left_stays(scenario, connection, meta):
    report_by_api(scenario, "80")
    send(connection, build_order(1, meta=meta, refunds=REFUND), hours=1)
    assert list_sales(connection.account) == [("723", "80", [("8", "approved")])]
    whole = ((724, "124.95"),)
    send(connection, build_order(2, meta=meta, refunds=whole), hours=2)
    assert list_sales(connection.account) == []


def test_every_line_of_an_adopted_sale_is_refunded(scenario, connection, meta):
    report_by_api(scenario, "60", "40")
    send(connection, build_order(meta=meta))
    half = ((724, "62.475"),)
    send(connection, build_order(1, meta=meta, refunds=half), hours=1)
    assert list_sales(connection.account) == [("723", "50", [("3", "approved"), ("2", "approved")])]


def test_a_sale_that_was_removed_before_is_not_created_again(scenario, connection, meta):
    sale = report_by_api(scenario, "100")
    scenario.delete(sale)
    event = send(connection, build_order(meta=meta))
    assert event.result == ["The sale was removed before. To count it, process the event again."]
    assert list_sales(connection.account) == []
    process_again(event.reload(), at=CONVERSION_CREATED_AT)
    process_event(event.reload(), at=CONVERSION_CREATED_AT)
    assert len(list_sales(connection.account)) == 1
