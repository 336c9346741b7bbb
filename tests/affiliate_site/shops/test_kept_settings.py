"""An order keeps the settings that say what it is worth; a new one has the present."""

import pytest

from affiliate_site.shops.processing import process_event
from tests.ledger_checks import assert_ledger_consistent
from tests.program_scenario import CONVERSION_CREATED_AT
from tests.shop_inbox import deliver, list_sales
from tests.shopify_events import SECRET as SHOPIFY_SECRET
from tests.shopify_events import build_order, build_refund
from tests.stripe_events import SECRET, build_charge, build_checkout, build_invoice
from tracking.models.shops import ConnectionMode
from tracking.services.connections import create_connection, update_connection
from tracking.services.inbox import process_again

pytestmark = pytest.mark.usefixtures("shared_scenario")


@pytest.fixture
def scenario(scenario):
    scenario.create_commission_type("addon", "50")
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


def change_settings(connection, **settings):
    update_connection(
        connection.account,
        connection_id=connection.public_id,
        changes={"settings": settings},
        at=CONVERSION_CREATED_AT,
    )
    connection.settings = settings


SETTINGS = {
    "tax": {"includes_tax": True},
    "shipping": {"includes_shipping": True},
    "commission types": {"commission_types": {"plink_1": "addon"}},
    "a type for another product": {"commission_types": {"plink_2": "addon"}},
}


@pytest.mark.parametrize("changed", SETTINGS)
@pytest.mark.parametrize("first", [{}, *SETTINGS.values()])
def test_a_refund_takes_its_part_of_the_old_price(connection, click, first, changed):
    """What a refund leaves does not depend on settings that changed after the sale."""
    totals = {"amount_discount": 0, "amount_shipping": 1000, "amount_tax": 1900}
    sale = build_checkout(client_reference_id=click, total_details=totals)
    change_settings(connection, **first)
    deliver(connection, sale)
    ((_, before, commissions),) = list_sales(connection.account)
    change_settings(connection, **SETTINGS[changed])
    deliver(connection, build_charge(5950, hours=1))
    ((_, after, half),) = list_sales(connection.account)
    assert float(after) == float(before) / 2
    assert float(half[0][0]) == float(commissions[0][0]) / 2


@pytest.mark.parametrize("changed", SETTINGS)
def test_a_second_event_of_the_sale_changes_nothing(connection, click, changed):
    totals = {"amount_discount": 0, "amount_shipping": 1000, "amount_tax": 1900}
    values = {"client_reference_id": click, "total_details": totals}
    deliver(connection, build_checkout(**values))
    before = list_sales(connection.account)
    change_settings(connection, **SETTINGS[changed])
    event = deliver(connection, build_checkout(hours=1, **values))
    assert event.result == []
    assert list_sales(connection.account) == before


def test_a_sale_keeps_the_settings_of_its_earlier_refund(connection, click):
    """Both are read in the same way, whatever comes first."""
    deliver(connection, build_charge(5950, hours=1))
    change_settings(connection, includes_tax=True)
    deliver(connection, build_checkout(client_reference_id=click))
    assert list_sales(connection.account) == [("pi_1", "50", [("5", "pending")])]


def test_a_sale_whose_referral_comes_later_keeps_its_settings(connection, click):
    deliver(connection, build_invoice(1))
    change_settings(connection, includes_tax=True)
    referral = build_checkout(
        hours=1, mode="subscription", client_reference_id=click, payment_intent=None
    )
    deliver(connection, referral)
    assert list_sales(connection.account) == [("in_1", "100", [("10", "pending")])]


def test_a_new_order_has_the_present_settings(connection, click):
    deliver(connection, build_checkout(client_reference_id=click))
    change_settings(connection, includes_tax=True)
    deliver(
        connection,
        build_checkout(id="cs_2", payment_intent="pi_2", client_reference_id=click),
    )
    assert [row[:2] for row in list_sales(connection.account)] == [
        ("pi_1", "100"),
        ("pi_2", "119"),
    ]


@pytest.mark.parametrize(
    ("settings", "sale"),
    [
        ({"includes_tax": True}, ("pi_1", "119", [("11.9", "pending")])),
        (
            {"commission_types": {"plink_1": "addon"}},
            ("pi_1", "100", [("50", "pending")]),
        ),
    ],
)
def test_processed_again_an_order_without_a_sale_has_the_present_settings(
    scenario, connection, settings, sale
):
    code = {"promotion_code": "promo_1"}
    event = deliver(connection, build_checkout(discounts=[code]))
    assert list_sales(connection.account) == []
    coupons = {"promo_1": scenario.mina.coupon}
    change_settings(connection, coupons=coupons, **settings)
    event = event.reload()
    process_again(event, at=CONVERSION_CREATED_AT)
    process_event(event.reload(), at=CONVERSION_CREATED_AT)
    assert list_sales(connection.account) == [sale]


@pytest.mark.parametrize("again", ["sale", "refund"])
@pytest.mark.parametrize(
    "changed", [{"includes_tax": True}, {"commission_types": {"LAMP-1": "addon"}}]
)
def test_processed_again_an_order_with_refunds_keeps_its_settings(scenario, again, changed):
    """The refund is stored as the first settings read it, and is not read again."""
    shop = create_connection(
        scenario.account,
        kind="shopify",
        program=scenario.program,
        secret=SHOPIFY_SECRET,
        mode=ConnectionMode.LIVE,
        at=CONVERSION_CREATED_AT,
    )
    codes = [{"code": "LAMP10", "amount": "0.00", "type": "fixed_amount"}]
    order = build_order(discount_codes=codes)
    lines = [(order["line_items"][0]["id"], "50.00", "9.50")]
    refund = build_refund(7, lines=lines, money="59.50")
    events = {
        "sale": deliver(shop, order, key="1", kind="orders/paid"),
        "refund": deliver(shop, refund, key="2", kind="refunds/create"),
    }
    assert list_sales(shop.account) == []
    change_settings(shop, coupons={"LAMP10": scenario.mina.coupon}, **changed)

    for event in (events[again], events["sale"]):
        process_again(event.reload(), at=CONVERSION_CREATED_AT)
        process_event(event.reload(), at=CONVERSION_CREATED_AT)

    assert [row[1:] for row in list_sales(shop.account)] == [("50", [("5", "pending")])]


def test_processed_again_a_sale_keeps_its_settings(connection, click):
    event = deliver(connection, build_checkout(client_reference_id=click))
    change_settings(connection, includes_tax=True)
    process_again(event.reload(), at=CONVERSION_CREATED_AT)
    process_event(event.reload(), at=CONVERSION_CREATED_AT)
    assert [row[1] for row in list_sales(connection.account)] == ["100"]
