"""What events of Stripe are worth: lines, taxes, shipping, credits, double payments."""

import pytest

from tests.program_scenario import CONVERSION_CREATED_AT
from tests.shop_inbox import deliver, list_sales
from tests.stripe_events import (
    SECRET,
    build_charge,
    build_checkout,
    build_dispute,
    build_event,
    build_invoice,
    build_subscription_checkout,
)
from tracking.models.shops import ConnectionMode, ShopEventState
from tracking.services.connections import create_connection

pytestmark = pytest.mark.usefixtures("shared_scenario")

BASIC, HALF = "prod_basic", "prod_half"


@pytest.fixture
def connect(scenario):
    """Connect Stripe with settings; without a type products earn 10 %, `HALF` 50 %."""
    scenario.program.update_row(auto_approve_commissions=True)
    scenario.create_commission_type("half", "50")

    def connect(**settings):
        return create_connection(
            scenario.account,
            kind="stripe",
            program=scenario.program,
            secret=SECRET,
            mode=ConnectionMode.LIVE,
            settings={"commission_types": {HALF: "half"}} | settings,
            at=CONVERSION_CREATED_AT,
        )

    return connect


@pytest.fixture
def click(scenario):
    return str(scenario.create_click().public_id)


def sell(connection, click, invoice):
    """Deliver a checkout with the click, then its invoice; return the event of it."""
    deliver(connection, build_subscription_checkout(client_reference_id=click))
    return deliver(connection, invoice)


def list_commissions(connection):
    """The sale's amount and those of its commissions."""
    ((_, amount, commissions),) = list_sales(connection.account)
    return amount, [commission for commission, _ in commissions]


def build_lines(*pairs):
    return tuple((amount, f"price_{name}", name) for amount, name in pairs)


INVOICES = {
    # -5 of unused time and +30: 25 at 50 %.
    "a credit before a line": (
        {},
        {"lines": build_lines((-500, BASIC), (3000, HALF)), "tax": 0},
        ("25", ["12.5"]),
    ),
    "a credit after a line": (
        {},
        {"lines": build_lines((3000, HALF), (-500, BASIC)), "tax": 0},
        ("25", ["12.5"]),
    ),
    # 10 of 50 % and 20 of 10 %, of which 20 of 30 were paid: 6.67 and 13.33.
    "a credit balance": (
        {},
        {
            "lines": build_lines((1000, HALF), (2000, BASIC)),
            "tax": 0,
            "amount_paid": 2000,
        },
        ("20", ["3.34", "1.33"]),
    ),
    # 11.90 and 23.80.
    "tax that earns": (
        {"includes_tax": True},
        {"lines": build_lines((1000, HALF), (2000, BASIC)), "tax": 570},
        ("35.7", ["5.95", "2.38"]),
    ),
    # -0.95 and +4.00 tax of -5 and +20.
    "a tax below zero": (
        {},
        {
            "lines": build_lines((-500, BASIC), (2000, HALF)),
            "tax": 305,
            "total_taxes": [{"amount": -95}, {"amount": 400}],
        },
        ("15", ["7.5"]),
    ),
    # Shipping of 5.00 with 0.95 tax on top; products of 100.00 with 19.00.
    "shipping with tax on top, tax earns": (
        {"includes_tax": True},
        {
            "lines": build_lines((10000, BASIC)),
            "tax": 1995,
            "amount_paid": 12495,
            "total": 12495,
            "shipping_cost": {
                "amount_subtotal": 500,
                "amount_tax": 95,
                "amount_total": 595,
            },
        },
        ("119", ["11.9"]),
    ),
    # Shipping of 5.95 that includes 0.95 tax, in either reading of the subtotal.
    **{
        f"shipping that includes its tax, subtotal {subtotal}": (
            {},
            {
                "lines": build_lines((10000, BASIC)),
                "tax": 1995,
                "amount_paid": 12495,
                "total": 12495,
                "shipping_cost": {
                    "amount_subtotal": subtotal,
                    "amount_tax": 95,
                    "amount_total": 595,
                },
            },
            ("100", ["10"]),
        )
        for subtotal in (500, 595)
    },
    "shipping earns, its tax does not": (
        {"includes_shipping": True},
        {
            "lines": build_lines((10000, BASIC)),
            "tax": 1995,
            "amount_paid": 12495,
            "total": 12495,
            "shipping_cost": {
                "amount_subtotal": 500,
                "amount_tax": 95,
                "amount_total": 595,
            },
        },
        ("105", ["10.5"]),
    ),
}


@pytest.mark.parametrize("name", INVOICES)
def test_an_invoice_is_worth_what_its_lines_say(name, connect, click):
    settings, values, expected = INVOICES[name]
    connection = connect(**settings)
    sell(connection, click, build_invoice(1, **values))
    assert list_commissions(connection) == expected


def test_lines_that_the_event_lacks_have_the_default_type_and_it_says_so(connect, click):
    connection = connect()
    lines = build_lines(*[(1000, HALF)] * 10)
    invoice = build_invoice(1, lines=lines, tax=0, total=13000, amount_paid=13000)
    invoice["data"]["object"]["lines"]["has_more"] = True
    event = sell(connection, click, invoice)
    assert list_commissions(connection) == ("130", ["50", "3"])
    assert event.result == [
        "A sale of 130 EUR was created.",
        "The event has 10 lines of the invoice: the rest of 30 EUR has the program's"
        " default commission type.",
    ]


@pytest.mark.parametrize(
    ("settings", "amount"),
    [
        ({}, "100"),
        ({"includes_tax": True}, "119"),
        ({"includes_shipping": True}, "105"),
        ({"includes_tax": True, "includes_shipping": True}, "124.95"),
    ],
)
def test_a_checkout_is_worth_its_products_unless_more_earns(settings, amount, connect, click):
    connection = connect(**settings)
    checkout = build_checkout(
        client_reference_id=click,
        amount_total=12495,
        total_details={
            "amount_discount": 0,
            "amount_shipping": 500,
            "amount_tax": 1995,
        },
        shipping_cost={"amount_subtotal": 500, "amount_tax": 95, "amount_total": 595},
    )
    deliver(connection, checkout)
    assert list_commissions(connection)[0] == amount


def build_payment(key, amount):
    payment = {
        "id": f"inpay_{key}",
        "object": "invoice_payment",
        "amount_paid": amount,
        "currency": "eur",
        "invoice": "in_1",
        "payment": {"type": "payment_intent", "payment_intent": f"pi_{key}"},
    }
    return build_event("invoice_payment.paid", payment, hours=1)


def test_an_invoice_that_was_paid_twice_and_refunded_once_earns(connect, click):
    connection = connect()
    sell(connection, click, build_invoice(1))
    deliver(connection, build_payment("in_1", 11900))
    deliver(connection, build_payment("in_2", 11900))
    charge = build_charge(11900, 2, id="ch_2", payment_intent="pi_in_2")
    deliver(connection, charge)
    assert list_commissions(connection) == ("100", ["10"])
    charge = build_charge(5950, 3, id="ch_1", payment_intent="pi_in_1")
    deliver(connection, charge)
    assert list_commissions(connection) == ("50", ["5"])


def test_an_invoice_that_was_paid_in_two_parts_loses_what_is_refunded(connect, click):
    connection = connect()
    sell(connection, click, build_invoice(1))
    deliver(connection, build_payment("in_1", 5950))
    deliver(connection, build_payment("in_2", 5950))
    charge = build_charge(5950, 2, id="ch_2", amount=5950, payment_intent="pi_in_2")
    deliver(connection, charge)
    assert list_commissions(connection) == ("50", ["5"])


@pytest.mark.parametrize("is_turned", [False, True])
def test_an_inquiry_that_becomes_a_dispute_within_a_second_is_held(is_turned, connect, click):
    connection = connect()
    deliver(connection, build_checkout(client_reference_id=click))
    inquiry = build_dispute("warning_needs_response", hours=1)
    dispute = build_dispute("needs_response", hours=1)
    dispute["type"] = "charge.dispute.funds_withdrawn"
    events = [inquiry, dispute | {"id": "evt_withdrawn"}]
    for event in reversed(events) if is_turned else events:
        deliver(connection, event)
    assert list_sales(connection.account) == [("pi_1", "100", [("10", "pending")])]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("appeal_under_review", [("pi_1", "100", [("10", "pending")])]),
        ("appeal_needs_response", [("pi_1", "100", [("10", "pending")])]),
        ("won", [("pi_1", "100", [("10", "approved")])]),
        ("prevented", [("pi_1", "100", [("10", "approved")])]),
        ("warning_closed", [("pi_1", "100", [("10", "approved")])]),
        ("lost", []),
    ],
)
def test_an_appeal_keeps_a_dispute_open(status, expected, connect, click):
    connection = connect()
    deliver(connection, build_checkout(client_reference_id=click))
    deliver(connection, build_dispute("lost", hours=1))
    deliver(connection, build_dispute(status, hours=2))
    assert list_sales(connection.account) == expected


def test_an_unknown_state_of_a_dispute_fails_with_a_sentence(connect, click):
    connection = connect()
    deliver(connection, build_checkout(client_reference_id=click))
    event = deliver(connection, build_dispute("reopened", hours=1))
    assert event.state == ShopEventState.FAILED
    assert event.result == [
        "The event does not look as expected: “reopened” is no known state of a dispute."
    ]


@pytest.mark.parametrize(
    "discounts",
    [
        ["di_1"],
        [{"id": "di_2", "source": {"coupon": "co_1", "type": "coupon"}}],
        [{"id": "di_2", "source": {"coupon": {"id": "co_1", "name": "Spring"}}}],
        [{"id": "di_2", "promotion_code": "promo_1"}],
    ],
)
def test_discounts_are_found_as_every_version_names_them(discounts, connect, scenario):
    coupons = dict.fromkeys(("di_1", "co_1", "promo_1"), scenario.mina.coupon)
    connection = connect(coupons=coupons)
    deliver(connection, build_invoice(1, discounts=discounts))
    assert connection.account.conversions.get().tracking_source == "coupon"


def test_a_discount_of_a_customer_names_who_referred_them(connect, scenario):
    connection = connect(coupons={"promo_1": scenario.mina.coupon})
    discount = {
        "id": "di_1",
        "object": "discount",
        "customer": "cus_1",
        "promotion_code": "promo_1",
        "source": {"coupon": "co_1", "type": "coupon"},
    }
    deliver(connection, build_event("customer.discount.created", discount))
    deliver(connection, build_invoice(1))
    assert list_commissions(connection) == ("100", ["10"])


def test_the_first_invoice_of_a_trial_has_nothing_to_earn(connect, click):
    invoice = build_invoice(1, lines=build_lines((0, BASIC)), tax=0)
    event = sell(connect(), click, invoice)
    assert event.result == ["The sale has no amount."]
    assert event.state == ShopEventState.IGNORED


def test_a_credit_note_says_what_counts_instead(connect):
    note = {"id": "cn_1", "object": "credit_note"}
    event = deliver(connect(), build_event("credit_note.created", note))
    assert event.state == ShopEventState.IGNORED
    assert event.result == ["What it pays back is an event of its own."]


def test_a_reference_that_happens_to_be_a_code_pays_nobody(connect, scenario):
    checkout = build_checkout(client_reference_id=scenario.mina.code)
    event = deliver(connect(), checkout)
    assert event.state == ShopEventState.NO_REFERRAL
    connection = connect(reference_may_be_code=True)
    event = deliver(connection, checkout)
    assert event.state == ShopEventState.DONE


def test_two_references_of_one_time_are_compared(connect, click):
    connection = connect()
    for number in (1, 2):
        checkout = build_subscription_checkout(client_reference_id=click)
        deliver(connection, checkout | {"id": f"evt_{number}"})
    deliver(connection, build_invoice(1))
    assert list_commissions(connection) == ("100", ["10"])


def test_an_older_connection_takes_codes_as_references(connect, scenario):
    connection = connect()
    connection.update_row(settings={})
    deliver(connection, build_checkout(client_reference_id=scenario.mina.code))
    assert connection.account.conversions.count() == 1


@pytest.mark.parametrize("code", ["SUMMER10", "summer10", " Summer10 "])
def test_codes_of_the_shop_are_known_in_any_case(code, connect, scenario):
    connection = connect(coupons={"SUMMER10": scenario.mina.coupon})
    discounts = [{"promotion_code": {"id": "promo_1", "code": code}}]
    deliver(connection, build_checkout(discounts=discounts))
    assert connection.account.conversions.get().tracking_source == "coupon"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"amount_paid": 0}, ("100", ["10"])),
        # A balance paid 59.50 of 119, the customer the rest.
        ({"amount_paid": 0, "amount_due": 5950}, ("50", ["5"])),
        # Newer versions say so in what was paid, here a half.
        ({"amount_paid": 5950}, ("50", ["5"])),
    ],
)
def test_an_invoice_that_was_paid_outside_of_stripe_is_a_sale(values, expected, connect, click):
    connection = connect()
    invoice = build_invoice(1, total=11900, paid_out_of_band=True, **values)
    sell(connection, click, invoice)
    assert list_commissions(connection) == expected


def test_a_billing_credit_lowers_only_the_line_that_it_paid(connect, click):
    connection = connect()
    lines = ((10000, "price_1", HALF), (5000, "price_2", BASIC))
    invoice = build_invoice(1, lines=lines, tax=0, total=9000, amount_paid=9000)
    usage = invoice["data"]["object"]["lines"]["data"][0]
    usage["discount_amounts"] = [{"amount": 2000, "discount": "di_1"}]
    usage["pretax_credit_amounts"] = [
        {"amount": 2000, "discount": "di_1", "type": "discount"},
        {"amount": 4000, "type": "credit_balance_transaction"},
    ]
    sell(connection, click, invoice)
    # 40 at 50 %, and 50 at 10 %.
    assert list_commissions(connection) == ("90", ["20", "5"])
