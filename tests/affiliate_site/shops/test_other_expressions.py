"""Any other shop: amounts and texts of several paths, conditions, forms, addresses."""

from urllib.parse import urlencode

import pytest

from affiliate_site.shops.base import sign
from affiliate_site.shops.kinds import SHOPS
from affiliate_site.shops.processing import process_event
from tests.affiliate_site.shops.test_other import (
    SECRET,
    build_refund,
    build_sale,
    change_mapping,
    connect,
    deliver,
)
from tests.ledger_checks import assert_ledger_consistent
from tests.program_scenario import CONVERSION_CREATED_AT
from tests.shop_inbox import list_sales
from tracking.models.shops import ShopEventState

pytestmark = pytest.mark.usefixtures("shared_scenario")
FORM = "application/x-www-form-urlencoded"
SIGNATURE = {"kind": "hmac", "header": "X-Signature"}
FLAT = {
    "signature": SIGNATURE,
    "sale": {"order_id": "order", "amount": "net", "currency": "currency"},
}


@pytest.fixture
def scenario(scenario):
    scenario.program.update_row(auto_approve_commissions=True)
    yield scenario
    assert_ledger_consistent(scenario.account)


@pytest.fixture
def click(scenario):
    return str(scenario.create_click().public_id)


def build_flat(part="sale", **fields):
    """The mapping of a flat body with other fields of one part."""
    return FLAT | {part: FLAT.get(part, {}) | fields}


def deliver_flat(scenario, body, mapping):
    """Deliver a sale of the affiliate, with an order in EUR; return the event."""
    mapping = mapping | {"sale": {"referral": ["ref"]} | mapping["sale"]}
    body = {"order": "1001", "currency": "EUR", "ref": scenario.mina.code} | body
    return deliver(connect(scenario, mapping), body)


@pytest.mark.parametrize(
    ("expression", "unit", "body", "amount"),
    [
        ("total - tax", "minor", {"total": 10710, "tax": 1710}, "90"),
        ("total - tax", "major", {"total": "107.10", "tax": 17.1}, "90"),
        ("net + fee - off", "minor", {"net": 9000, "fee": 500, "off": 250}, "92.5"),
        ("net + off", "major", {"net": "100.00", "off": "-10.00"}, "90"),
        ("a - b", "major", {"a": "0.30", "b": "0.10"}, "0.2"),
        ("a + b", "major", {"a": "10.004", "b": "0.001"}, "10.01"),
        ("lines.*.net", "minor", {"lines": [{"net": 800}, {"net": 150}]}, "9.5"),
        ("net - taxes.*.tax", "minor", {"net": 900, "taxes": []}, "9"),
        ("a-b", "minor", {"a-b": 900}, "9"),
    ],
)
def test_an_amount_adds_and_subtracts_paths(expression, unit, body, amount, scenario):
    mapping = build_flat(amount=expression, unit=unit)
    event = deliver_flat(scenario, body, mapping)
    assert event.result == [f"A sale of {amount} EUR was created."]
    assert list_sales(scenario.account)[0][:2] == ("1001", amount)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"total": 5}, "The event has no sale.amount at tax."),
        ({"total": 5, "tax": None}, "The event has no sale.amount at tax."),
        (
            {"total": 5, "tax": 6},
            "Of the event, sale.amount is below zero: total - tax.",
        ),
        ({"total": 5, "tax": "x"}, "sale.amount: “x” is no amount."),
        ({"total": 5, "tax": 10**20}, "is no amount of a sale."),
    ],
)
def test_an_amount_that_cannot_be_calculated_fails(body, sentence, scenario):
    event = deliver_flat(scenario, body, build_flat(amount="total - tax"))
    assert event.state == ShopEventState.FAILED
    assert event.result[0].endswith(sentence)


def test_what_was_paid_is_the_amount_if_a_path_of_it_leads_nowhere(scenario):
    mapping = build_flat(paid="net + tax")
    deliver_flat(scenario, {"net": 100}, mapping)
    assert scenario.account.shop_orders.get().facts["sale"]["paid"] == "100.00"


def test_a_currency_may_be_a_constant_and_ids_may_be_joined(scenario):
    mapping = build_flat(currency='"EUR"', order_id='order + "-" + payment')
    event = deliver_flat(scenario, {"net": 100, "currency": None, "payment": 2}, mapping)
    assert event.result == ["A sale of 100 EUR was created."]
    assert list_sales(scenario.account)[0][0] == "1001-2"


def test_joined_texts_need_each_part(scenario):
    mapping = build_flat(order_id='order + "-" + payment')
    event = deliver_flat(scenario, {"net": 100}, mapping)
    sentence = 'The event has no sale.order_id at order + "-" + payment.'
    assert event.result == [sentence]


@pytest.mark.parametrize(
    ("condition", "body", "is_sale"),
    [
        ({"any": [{"path": "t", "equals": "a"}, {"path": "t", "equals": "b"}]}, "b", 1),
        ({"any": [{"path": "t", "equals": "a"}, {"path": "t", "equals": "b"}]}, "c", 0),
        ({"path": "t", "differs": "true"}, True, 0),
        ({"path": "t", "differs": "true"}, False, 1),
        ({"path": "other", "differs": "true"}, True, 1),
    ],
)
def test_conditions_may_be_alternatives_or_negated(condition, body, is_sale, scenario):
    mapping = build_flat(when=[condition])
    event = deliver_flat(scenario, {"net": 100, "t": body}, mapping)
    assert len(list_sales(scenario.account)) == is_sale
    assert (event.state == ShopEventState.DONE) == bool(is_sale)


@pytest.mark.parametrize(
    ("path", "address", "is_found"),
    [
        ("page?ref", "https://shop.example.net/?utm_source=x&ref={}", True),
        ("page?ref", "/lamps?ref=first&ref={}", True),
        ("page?*", "https://shop.example.net/?via={}", True),
        ("page?partner", "https://shop.example.net/?partner={}#top", True),
        ("page?*", "https://shop.example.net/?utm_source={}", False),
        ("page?ref", "https://[", False),
        ("page?ref", None, False),
        ("page?ref", {"ref": "{}"}, False),
    ],
)
def test_a_parameter_of_the_landing_page_refers(path, address, is_found, scenario):
    page = address.format(scenario.mina.code) if isinstance(address, str) else address
    mapping = build_flat(referral=[path])
    deliver_flat(scenario, {"net": 100, "page": page}, mapping)
    assert bool(list_sales(scenario.account)) is is_found


@pytest.mark.parametrize("amount", [-2380, 2380, "-2380"])
def test_a_refund_below_zero_is_one(amount, scenario, click):
    connection = connect(scenario)
    deliver(connection, build_sale(ref=click))
    assert deliver(connection, build_refund("r1", amount, 1)).result == ["Refunded 20 EUR."]
    assert list_sales(connection.account) == [("1001", "80", [("8", "approved")])]


def test_refunds_add_paths_too(scenario, click):
    connection = connect(scenario, change_mapping("refund", amount="data.a + data.b"))
    deliver(connection, build_sale(ref=click))
    deliver(connection, build_refund("r1", 0, 1, a=-2000, b=-380))
    assert list_sales(connection.account) == [("1001", "80", [("8", "approved")])]


def test_a_line_below_zero_lowers_the_others(scenario, click):
    """A fee of -3 on 10 (half) and 20 (a tenth) leaves 9 and 18: 4.50 and 1.80."""
    scenario.create_commission_type("half", "50")
    connection = connect(scenario, commission_types={"LAMP": "half"})
    items = [
        {"sku": "LAMP", "net": 1000},
        {"sku": "BULB", "net": 2000},
        {"sku": "FEE", "net": -300},
    ]
    deliver(connection, build_sale(ref=click, net=2700, gross=2700, items=items))
    assert list_sales(connection.account) == [
        ("1001", "27", [("4.5", "approved"), ("1.8", "approved")])
    ]


def test_amounts_of_lines_may_be_calculated(scenario, click):
    lines = {"items": "data.items", "amount": "price - tax", "product": "sku"}
    scenario.create_commission_type("half", "50")
    connection = connect(
        scenario, change_mapping("sale", lines=lines), commission_types={"LAMP": "half"}
    )
    items = [
        {"sku": "LAMP", "price": 5950, "tax": 950},
        {"sku": "BULB", "price": 5950, "tax": 950},
    ]
    deliver(connection, build_sale(ref=click, items=items))
    assert list_sales(connection.account)[0][2] == [
        ("25", "approved"),
        ("5", "approved"),
    ]


def post_form(client, connection, raw, content_type=FORM):
    signature = sign(SECRET, raw).hex()
    return client.post(
        f"/in/{connection.public_id}/",
        data=raw,
        content_type=content_type,
        headers={"X-Signature": signature},
    )


def read_newest(connection):
    """The newest event, processed."""
    event = connection.account.shop_events.latest("id")
    process_event(event, at=CONVERSION_CREATED_AT)
    return event.reload()


def test_the_fields_of_a_form_are_an_event(client, scenario):
    mapping = build_flat(referral=["url_params[ref]"], unit="minor")
    connection = connect(scenario, mapping)
    fields = {
        "order": "ä 1",
        "net": "1000",
        "currency": "usd",
        "url_params[ref]": scenario.mina.code,
    }
    raw = urlencode(fields).encode()
    response = post_form(client, connection, raw, f"{FORM}; charset=utf-8")
    assert response.json() == {"stored": True, "is_new": True}
    assert post_form(client, connection, raw).json()["is_new"] is False
    event = read_newest(connection)
    assert event.body == (
        '{"order": "ä 1", "net": "1000", "currency": "usd",'
        f' "url_params[ref]": "{scenario.mina.code}"}}'
    )
    assert list_sales(scenario.account)[0] == ("ä 1", "10", [("1", "approved")])


def test_json_with_the_type_of_a_form_is_json(client, scenario):
    connection = connect(scenario, FLAT)
    assert post_form(client, connection, b' {"order": "1"}').status_code == 200
    assert connection.account.shop_events.get().body == ' {"order": "1"}'


def test_of_a_repeated_field_the_last_counts():
    body = SHOPS["other"].parse(b"a=1&b=&a=2", FORM)
    assert body == {"a": "2", "b": ""}


@pytest.mark.parametrize(
    "raw",
    [
        b"text",
        b"a=%ff",
        b"\xff=1",
        b"&".join(b"%d=1" % number for number in range(1001)),
    ],
)
def test_a_form_that_cannot_be_read_is_refused(raw, client, scenario):
    connection = connect(scenario, FLAT)
    response = post_form(client, connection, raw)
    assert response.status_code == 400
    assert response.json()["message"] == ("The body is no form of at most 1000 fields in UTF-8.")
    assert not connection.account.shop_events.exists()


def test_a_form_with_what_no_text_has_is_refused(client, scenario):
    mapping = FLAT | {"event": {"id": "order"}}
    connection = connect(scenario, mapping)
    assert post_form(client, connection, b"order=%00").status_code == 400
