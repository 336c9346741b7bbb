"""Lines whose sum is not the sale, and events of one second, of every kind of shop."""

from itertools import count, permutations

import pytest

from affiliate_site.shops.processing import process_event
from tests import woocommerce_events as woocommerce
from tests.paddle_events import build_adjustment, build_transaction
from tests.program_scenario import CONVERSION_CREATED_AT
from tests.shop_inbox import deliver, list_sales
from tracking.models.shops import ConnectionMode
from tracking.services.connections import create_connection
from tracking.services.inbox import process_again

pytestmark = pytest.mark.usefixtures("shared_scenario")
numbers = count()
SECRETS = {
    "woocommerce": woocommerce.SECRET,
    "paddle": "pdl_ntfset_01jq5a0000000000000000000z",
    "other": "a-secret-of-twenty-letters",
}
MAPPING = {
    "signature": {"kind": "header", "header": "X-Secret"},
    "sale": {
        "order_id": "id",
        "amount": "net",
        "currency": "currency",
        "referral": ["ref"],
        "lines": {"items": "items", "amount": "net", "product": "sku"},
    },
}


@pytest.fixture
def connect(scenario):
    """Connect a shop; products earn 10 %, those of the type `half` 50 %."""
    scenario.program.update_row(auto_approve_commissions=True)
    scenario.create_commission_type("half", "50")

    def connect(kind, *products, **settings):
        return create_connection(
            scenario.account,
            kind=kind,
            program=scenario.program,
            secret=SECRETS[kind],
            mode=ConnectionMode.LIVE,
            settings={"commission_types": dict.fromkeys(products, "half")} | settings,
            at=CONVERSION_CREATED_AT,
        )

    return connect


@pytest.fixture
def click(scenario):
    return str(scenario.create_click().public_id)


def send(connection, body, kind="order.updated"):
    key = f"event {next(numbers)}"
    return deliver(connection, body, key=key, kind=kind)


def build_order(click, *, total="30.00", **values):
    """A lamp of 10 at 50 % and a table of 20 at 10 %, without tax and shipping."""
    return woocommerce.build_order(
        meta={"click_id": click},
        total=total,
        total_tax="0.00",
        shipping_total="0.00",
        shipping_tax="0.00",
        shipping_lines=[],
        line_items=[
            woocommerce.build_line(1, "10.00", sku="LAMP"),
            woocommerce.build_line(2, "20.00", sku="TABLE", product=94),
        ],
        **values,
    )


def list_commissions(connection):
    ((_, amount, commissions),) = list_sales(connection.account)
    return amount, [commission for commission, _ in commissions]


@pytest.mark.parametrize(
    ("total", "fees", "expected"),
    [
        ("30.00", [], ("30", ["5", "2"])),
        # 9 and 18.
        ("27.00", ["-3.00"], ("27", ["4.5", "1.8"])),
        # A gift card paid 15: 5 and 10.
        ("15.00", [], ("15", ["2.5", "1"])),
    ],
)
def test_a_fee_below_zero_and_a_gift_card_lower_all_lines(total, fees, expected, connect, click):
    connection = connect("woocommerce", "LAMP")
    rows = [{"id": 3, "name": "Fee", "total": fee, "total_tax": "0"} for fee in fees]
    send(connection, build_order(click, total=total, fee_lines=rows))
    assert list_commissions(connection) == expected


def test_a_credit_of_paddle_lowers_the_line_above_zero(connect, click):
    connection = connect("paddle", "pro_half")
    lines = ((3000, "pri_1", "pro_half"), (-500, "pri_2", "pro_2"))
    custom = {"click_id": click}
    body = build_transaction(lines=lines, tax=0, custom_data=custom)
    send(connection, body, "transaction.completed")
    assert list_commissions(connection) == ("25", ["12.5"])


def test_a_line_of_paddle_that_is_refunded_whole_leaves_nothing(connect, click):
    connection = connect("paddle", "pro_half")
    lines = ((3000, "pri_1", "pro_half"), (-500, "pri_2", "pro_2"))
    custom = {"click_id": click}
    body = build_transaction(lines=lines, tax=0, custom_data=custom)
    send(connection, body, "transaction.completed")
    refund = build_adjustment("adj_1", 3000, hours=1, tax=0)
    send(connection, refund, "adjustment.created")
    assert list_sales(connection.account) == []


@pytest.mark.parametrize("is_turned", [False, True])
def test_a_mapped_line_below_zero_lowers_the_others(is_turned, connect, click):
    connection = connect("other", "pro", other=MAPPING)
    items = [{"sku": "basic", "net": -5}, {"sku": "pro", "net": 30}]
    body = {"id": "7", "net": 25, "currency": "EUR", "ref": click}
    items = items[::-1] if is_turned else items
    send(connection, body | {"items": items}, "event")
    assert list_commissions(connection) == ("25", ["12.5"])


def test_an_edit_that_leaves_the_time_of_the_change_counts(connect, click):
    connection = connect("woocommerce")
    send(connection, build_order(click, total="110.00"))
    send(connection, build_order(click, total="100.00"))
    assert list_commissions(connection)[0] == "100"


@pytest.mark.parametrize("order", [*permutations(range(3))])
def test_refunds_of_one_second_add_up_in_any_order(order, connect, click):
    connection = connect("woocommerce")
    refunds = [[], [(99, "3.00")], [(99, "3.00"), (100, "6.00")]]
    rows = [woocommerce.build_refunds(*each) for each in refunds]
    for number in order:
        send(connection, build_order(click) | {"refunds": rows[number]})
    assert list_commissions(connection)[0] == "21"


@pytest.mark.parametrize("statuses", [*permutations(["failed", "processing"])])
def test_a_payment_that_failed_and_was_repeated_within_a_second_counts(statuses, connect, click):
    connection = connect("woocommerce")
    for status in statuses:
        send(connection, build_order(click) | {"status": status})
    assert list_commissions(connection)[0] == "30"


def test_processing_an_earlier_event_again_does_not_undo_a_later_one(connect, click):
    connection = connect("woocommerce")
    first = send(connection, build_order(click, total="110.00"))
    send(connection, build_order(click, total="100.00"))
    process_again(first.reload(), at=CONVERSION_CREATED_AT)
    process_event(first.reload(), at=CONVERSION_CREATED_AT)
    assert list_commissions(connection)[0] == "100"
