"""Orders are known by the names that shops show: found, answered for, and erased."""

from itertools import count

import pytest

from payouts.missing_sales import Answer
from payouts.services.erasure import erase_person
from payouts.services.missing_sales import explain_missing_sale
from tests import paddle_events, shopify_events, stripe_events, woocommerce_events
from tests.program_scenario import CONVERSION_CREATED_AT as AT
from tests.program_scenario import ProgramScenario
from tests.shop_inbox import deliver
from tracking.models.shops import ConnectionMode
from tracking.search import normalize_order_name
from tracking.services.connections import create_connection
from tracking.services.search import find_orders, list_exact_orders

pytestmark = pytest.mark.usefixtures("shared_scenario")
numbers = count()
ORDER = str(shopify_events.ORDER)


def connect(scenario, kind="shopify", **settings):
    return create_connection(
        scenario.account,
        kind=kind,
        program=scenario.program,
        mode=ConnectionMode.LIVE,
        settings=settings,
        at=AT,
    )


def send(connection, body, kind="orders/updated"):
    return deliver(connection, body, key=f"event {next(numbers)}", kind=kind)


def build_order(code, **values):
    attributes = [{"name": "ref", "value": code}]
    return shopify_events.build_order(note_attributes=attributes, **values)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("#1001", "1001"),
        (" Order #HL-1001 ", "hl-1001"),
        ("order no. 1001/DE", "1001/de"),
        ("#", "#"),
        ("", ""),
        ("x" * 300, "x" * 255),
    ],
)
def test_normalizes_names(text, name):
    assert normalize_order_name(text) == name


@pytest.mark.parametrize(
    ("kind", "build", "topic", "name"),
    [
        ("shopify", shopify_events.build_order, "orders/paid", "9999"),
        (
            "woocommerce",
            lambda **values: woocommerce_events.build_order(number="HL-7", **values),
            "order.updated",
            "hl-7",
        ),
        (
            "stripe",
            lambda **values: stripe_events.build_invoice(number="A1-0001", **values),
            "invoice.paid",
            "a1-0001",
        ),
        (
            "paddle",
            paddle_events.build_transaction,
            "transaction.completed",
            "871-10042",
        ),
    ],
)
def test_keeps_the_name_beside_the_id(scenario, kind, build, topic, name):
    event = send(connect(scenario, kind), build(), topic)
    assert event.order.reload().name == name


@pytest.mark.parametrize("term", ["#HL1001", "hl1001", "Order #hl1001", "HL1001"])
def test_finds_a_sale_by_the_whole_name(scenario, other_account, term):
    for each in (scenario, ProgramScenario(other_account, prefix="o-")):
        send(connect(each), build_order(each.mina.code, name="#HL1001"))
    account = scenario.account
    sale = account.conversions.get()
    assert list_exact_orders(account, term) == [sale.pk]
    assert find_orders(account, term).pks == [sale.pk]


def test_finds_a_sale_by_the_beginning_of_the_name(scenario):
    send(connect(scenario), build_order(scenario.mina.code, name="#HL1001"))
    sale = scenario.account.conversions.get()
    assert find_orders(scenario.account, "hl10").pks == [sale.pk]
    assert find_orders(scenario.account, "1001").pks == []
    assert list_exact_orders(scenario.account, "hl10") == []


def test_an_order_without_a_sale_is_not_found(scenario):
    send(connect(scenario), build_order("nobody", name="#HL1001"))
    assert find_orders(scenario.account, "HL1001").pks == []
    assert list_exact_orders(scenario.account, "HL1001") == []


@pytest.mark.parametrize("text", ["#1001", "1001", " #1001 ", ORDER])
def test_answers_for_the_name_of_an_order(scenario, text):
    connection = connect(scenario, id_prefix="de-")
    send(connection, build_order(scenario.mina.code, name="#1001"))
    affiliate = scenario.mina.affiliate
    found = explain_missing_sale(affiliate, text if text != ORDER else f"de-{ORDER}")
    assert (found.answer, found.is_own) == (Answer.OWN, True)
    assert found.conversion.external_id == f"de-{ORDER}"


def test_answers_for_an_order_that_nobody_referred(scenario):
    send(connect(scenario), shopify_events.build_order(name="#1001"))
    affiliate = scenario.mina.affiliate
    assert explain_missing_sale(affiliate, "1001").answer == Answer.NO_REFERRAL
    assert explain_missing_sale(affiliate, "#1002").answer == Answer.NOTHING


@pytest.mark.parametrize("text", ["ORDER-7", "order-7", "#Order-7", " order-7"])
def test_answers_in_any_case(scenario, text):
    scenario.create_conversion("1", external_id="ORDER-7")
    affiliate = scenario.mina.affiliate
    assert explain_missing_sale(affiliate, text).answer == Answer.OWN


def test_the_name_is_erased_with_the_person(scenario):
    event = send(connect(scenario), build_order(scenario.mina.code, name="#1001"))
    account = scenario.account
    order = event.order.reload()
    assert (order.name, order.label) == ("1001", "order #1001")
    customer = account.customers.get()
    erase_person(account, identifier=customer.public_id, at=AT)
    order = order.reload()
    assert (order.name, order.label) == ("", f"order {ORDER}")
    assert "1001" not in str(order.facts["sale"].get("name", ""))
    assert order.facts["sale"]["label"] == f"order {ORDER}"
    assert find_orders(account, "#1001").pks == []


@pytest.mark.parametrize("text", ["#1294", "1294", "order-1294", "ORDER-1294"])
def test_answers_for_the_number_of_an_order(scenario, text):
    scenario.create_conversion("1", external_id="ORDER-1294")
    scenario.create_conversion("1", external_id="ORDER-1295")
    found = explain_missing_sale(scenario.mina.affiliate, text)
    assert (found.answer, found.conversion.external_id) == (Answer.OWN, "ORDER-1294")


@pytest.mark.parametrize("text", ["ORDER-1294", "#1294", "1294"])
def test_answers_where_orders_are_numbers(scenario, text):
    scenario.create_conversion("1", external_id="1294")
    affiliate = scenario.mina.affiliate
    assert explain_missing_sale(affiliate, text).answer == Answer.OWN


def test_finds_the_own_one_of_two_with_a_number(scenario):
    nils = scenario.create_enrolled_affiliate("Nils", "Berg")
    scenario.create_conversion("1", external_id="DE-7", affiliate=nils)
    scenario.create_conversion("1", external_id="FR-7")
    found = explain_missing_sale(scenario.mina.affiliate, "#7")
    assert found.conversion.external_id == "FR-7"
    assert explain_missing_sale(scenario.mina.affiliate, "DE-7").answer == Answer.NOTHING
