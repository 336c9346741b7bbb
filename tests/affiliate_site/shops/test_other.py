"""Any other shop: events that a mapping reads, and their signatures."""

import hashlib
import hmac
import json
from base64 import b64encode
from copy import deepcopy
from datetime import timedelta

import pytest
from django.utils import timezone
from standardwebhooks import Webhook

from accounts.exact_json import format_decimal
from affiliate_site.shops.base import parse_body
from affiliate_site.shops.kinds import SHOPS
from affiliate_site.shops.processing import process_event
from payouts.services.ledger import get_payable_balances_by_slug
from tests.ledger_checks import assert_ledger_consistent
from tests.program_scenario import CONVERSION_CREATED_AT
from tests.shop_inbox import ORDERS_OF_FIVE, list_sales
from tests.tracking.services.test_shop_mappings import MAPPING
from tracking.models.shops import ConnectionMode, ShopEventState
from tracking.services.connections import (
    create_connection,
    forget_earlier_secret,
    set_connection_secret,
)
from tracking.services.inbox import store_event

pytestmark = pytest.mark.usefixtures("shared_scenario")
SECRET = "a-secret-of-the-shop"
OTHER_SECRET = "a-newer-secret-of-the-shop"
WEBHOOK_SECRET = "whsec_" + b64encode(b"of the standard, 24 byte").decode()


@pytest.fixture
def scenario(scenario):
    scenario.program.update_row(auto_approve_commissions=True)
    yield scenario
    assert_ledger_consistent(scenario.account)


@pytest.fixture
def connection(scenario):
    return connect(scenario)


@pytest.fixture
def click(scenario):
    return str(scenario.create_click().public_id)


def connect(scenario, mapping=MAPPING, *, secret=SECRET, **settings):
    return create_connection(
        scenario.account,
        kind="other",
        program=scenario.program,
        secret=secret,
        mode=ConnectionMode.LIVE,
        settings=({"other": mapping} if mapping else {}) | settings,
        at=CONVERSION_CREATED_AT,
    )


def change_mapping(part, **fields):
    """The mapping with other fields of one part."""
    return MAPPING | {part: MAPPING[part] | fields}


def drop(part, *names):
    """The mapping without fields of one part."""
    return MAPPING | {part: {name: it for name, it in MAPPING[part].items() if name not in names}}


def build_body(kind, hours=0, *, key=None, **data):
    created = CONVERSION_CREATED_AT + timedelta(hours=hours)
    return {
        "id": key or f"{kind}_{hours}_{data.get('id')}",
        "type": kind,
        "live": True,
        "created": created.isoformat(),
        "data": data,
    }


def build_sale(hours=0, *, order="1001", **data):
    """A sale of 100 EUR and 19 tax, of two products."""
    defaults = {
        "id": order,
        "net": 10000,
        "gross": 11900,
        "currency": "eur",
        "customer": {"id": "c-7", "email": "jo@buyers.example.org"},
        "ref": None,
        "coupons": [],
        "items": [{"sku": "LAMP", "net": 8000}, {"sku": "BULB", "net": 2000}],
    }
    return build_body("sale", hours, **(defaults | data))


def build_refund(key, amount, hours=0, *, order="1001", **data):
    """A refund of a part of what was paid."""
    defaults = {"id": key, "order": order, "amount": amount, "currency": "eur"}
    return build_body("refund", hours, **(defaults | {"status": "done"} | data))


def deliver(connection, body, *, at=CONVERSION_CREATED_AT):
    """Identify, store and process an event; return it."""
    raw = json.dumps(body).encode()
    shop = SHOPS[connection.kind]
    envelope = shop.identify(connection, {}, parse_body(raw), raw, at=at)
    event = store_event(connection, envelope, at=at)
    if event is not None:
        process_event(event, at=max(at, envelope.occurred_at))
    return event


def test_a_sale_with_a_click_is_created(connection, click):
    event = deliver(connection, build_sale(ref=click))
    assert event.result == ["A sale of 100 EUR was created."]
    assert list_sales(connection.account) == [("1001", "100", [("10", "approved")])]
    assert (event.key, event.kind) == ("sale_0_1001", "sale")
    assert event.occurred_at == CONVERSION_CREATED_AT


def test_a_customer_from_the_first_sale_to_a_debt(scenario, connection, click):
    account = connection.account
    free = build_sale(order="1000", net=0, gross=0, items=[], ref=click)
    assert deliver(connection, free).result == ["The sale has no amount."]
    deliver(connection, build_sale(24))
    deliver(connection, build_sale(720, order="1002"))
    assert list_sales(account) == [
        ("1001", "100", [("10", "approved")]),
        ("1002", "100", [("10", "approved")]),
    ]
    event = deliver(connection, build_refund("r1", 3967, 730, order="1002"))
    assert event.result == ["Refunded 33.34 EUR."]
    scenario.pay("16.67")
    deliver(connection, build_refund("r2", 3966, 740, order="1002"))
    assert list_sales(account)[1] == ("1002", "33.34", [("3.33", "approved")])
    deliver(connection, build_refund("r3", 3967, 750, order="1002"))
    assert list_sales(account) == [("1001", "100", [("10", "approved")])]
    balance = get_payable_balances_by_slug(account)[scenario.mina.slug]["EUR"]
    assert format_decimal(balance) == "-6.67"
    canceled = build_refund("r3", 3967, 760, order="1002", status="failed")
    assert deliver(connection, canceled).result[0] == "The sale was put back."
    assert list_sales(account)[1] == ("1002", "33.34", [("3.33", "approved")])


def test_lines_have_commission_types(scenario, click):
    scenario.create_commission_type("addon", "50")
    connection = connect(scenario, commission_types={"BULB": "addon"})
    deliver(connection, build_sale(ref=click))
    assert list_sales(connection.account) == [
        ("1001", "100", [("8", "approved"), ("10", "approved")])
    ]


def test_items_may_be_named_each(scenario, click):
    scenario.create_commission_type("addon", "50")
    lines = MAPPING["sale"]["lines"] | {"items": "data.items.*"}
    mapping = change_mapping("sale", lines=lines)
    connection = connect(scenario, mapping, commission_types={"BULB": "addon"})
    deliver(connection, build_sale(ref=click))
    assert list_sales(connection.account)[0][2] == [
        ("8", "approved"),
        ("10", "approved"),
    ]


def test_amounts_in_the_major_unit_are_rounded(scenario, click):
    connection = connect(scenario, drop("sale", "unit", "paid", "lines"))
    deliver(connection, build_sale(ref=click, net="49.995"))
    deliver(connection, build_refund("r1", 10.5, 1))
    assert list_sales(connection.account) == [("1001", "39.5", [("3.95", "approved")])]


def test_a_coupon_names_the_affiliate(scenario, connection):
    coupons = [{"code": "none"}, {"code": scenario.mina.coupon}]
    deliver(connection, build_sale(coupons=coupons))
    assert connection.account.conversions.get().tracking_source == "coupon"


def test_a_path_may_choose_the_program(scenario, click):
    rule = {"field": "data.brand", "value": "x", "program": scenario.program.slug}
    connection = connect(scenario, programs=[rule])
    connection.update_row(program=None)
    deliver(connection, build_sale(ref=click, brand="x"))
    order = connection.account.shop_orders.get()
    assert order.facts["sale"]["attributes"] == {"data.brand": "x"}
    assert len(list_sales(connection.account)) == 1


@pytest.mark.parametrize("stores_email", [True, False])
def test_the_email_address_is_kept_where_the_account_wants_it(stores_email, scenario):
    connection = connect(scenario, stores_email=stores_email)
    deliver(connection, build_sale())
    customer = connection.account.shop_customers.get()
    assert ("email" in customer.facts) is stores_email


def test_without_an_id_the_body_is_the_event(scenario, click):
    mapping = drop("refund", "refund_id") | {"event": {"time": "created"}}
    connection = connect(scenario, mapping)
    deliver(connection, build_sale(ref=click))
    refund = build_refund("r1", 2380, 1)
    assert deliver(connection, refund).kind == "event"
    assert deliver(connection, refund) is None
    deliver(connection, build_refund("r1", 2380, 2))
    assert list_sales(connection.account) == [("1001", "60", [("6", "approved")])]


def test_without_a_refund_id_that_of_the_event_counts(scenario, click):
    connection = connect(scenario, drop("refund", "refund_id"))
    deliver(connection, build_sale(ref=click))
    deliver(connection, build_refund("r1", 2380, 1))
    assert [row.external_id for row in connection.account.refunds.all()] == ["refund_1_r1"]


@pytest.mark.parametrize(
    "created",
    [
        "2026-03-04T09:15:27Z",
        "2026-03-04T10:15:27+01:00",
        1772615727,
        "1772615727",
        1772615727000,
    ],
)
def test_times_are_texts_or_numbers(created, connection):
    event = deliver(connection, build_sale() | {"created": created})
    assert event.occurred_at == CONVERSION_CREATED_AT


@pytest.mark.parametrize(
    "created",
    [None, "soon", -1, 10**15, [], {}, True, "9" * 40, "9999-12-31T23:59:59-12:00"],
)
def test_without_a_time_an_event_occurred_when_it_arrived(created, connection, click):
    at = CONVERSION_CREATED_AT + timedelta(hours=1)
    body = build_sale(ref=click) | {"created": created}
    if created is None:
        del body["created"]
    assert deliver(connection, body, at=at).occurred_at == at
    assert connection.account.conversions.get().created_at == at


def test_other_events_do_nothing(connection):
    event = deliver(connection, build_sale() | {"live": False})
    assert event.state == ShopEventState.IGNORED
    assert event.result == ["The conditions of neither a sale nor a refund are met."]


def test_a_mapping_of_the_signature_only_stores_events(scenario):
    connection = connect(scenario, {"signature": MAPPING["signature"]})
    event = deliver(connection, build_sale())
    assert event.result == ["This connection has no mapping of sales yet."]
    assert json.loads(event.body) == build_sale()


STORY = [
    build_sale(ref="CLICK"),
    build_refund("r1", 2380, 1),
    build_refund("r1", 2380, 2, status="failed"),
    build_refund("r2", 1190, 3),
    build_sale(4, order="1002"),
]


@pytest.mark.parametrize("order", ORDERS_OF_FIVE)
def test_every_order_of_events_has_the_same_end(order, connection, click):
    for number in order:
        body = deepcopy(STORY[number])
        if body["data"].get("ref") == "CLICK":
            body["data"]["ref"] = click
        deliver(connection, body)
    assert list_sales(connection.account) == [
        ("1001", "90", [("9", "approved")]),
        ("1002", "100", [("10", "approved")]),
    ]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"net": -5}, "sale.amount: “-5” is no amount of a sale."),
        ({"net": "-5"}, "sale.amount: “-5” is no amount of a sale."),
        ({"net": "ten"}, "sale.amount: “ten” is no amount."),
        ({"net": "NaN"}, "sale.amount: “NaN” is no amount."),
        ({"net": 10.5}, "sale.amount: “10.5” is no whole number, as cents are."),
        ({"net": 10**20}, "is no amount of a sale."),
        ({"net": None}, "The event has no sale.amount at data.net."),
        ({"net": {}}, "sale.amount: an object is no amount."),
        ({"gross": []}, "sale.paid: a list is no amount."),
        ({"items": [{}]}, "The event has no sale.lines.amount.0 at net."),
        ({"items": [5]}, "The event has no sale.lines.amount.0 at net."),
        ({"id": None}, "The event has no sale.order_id at data.id."),
        ({"id": {}}, "sale.order_id is no text of at most 255 characters."),
        ({"id": "x" * 256}, "sale.order_id is no text of at most 255 characters."),
        ({"currency": None}, "The event has no sale.currency at data.currency."),
        ({"currency": "XYZ"}, "“XYZ” is no currency."),
        ({"customer": {"id": []}}, "sale.customer is no text of at most 255"),
    ],
)
def test_odd_sales_fail_with_a_sentence(change, sentence, connection, click):
    event = deliver(connection, build_sale(ref=click, **change) | {"id": "e"})
    assert event.state == ShopEventState.FAILED
    assert sentence in event.result[0]
    assert list_sales(connection.account) == []


def test_odd_refunds_fail_with_a_sentence(connection, click):
    deliver(connection, build_sale(ref=click))
    event = deliver(connection, build_refund("r1", "--20", 1))
    assert "refund.amount: “-20” is no amount" in event.result[0]
    event = deliver(connection, build_refund("r2", 20, 1, currency=""))
    assert event.result == ["The event has no sale.currency at data.currency."]
    assert list_sales(connection.account) == [("1001", "100", [("10", "approved")])]


def test_a_refund_above_the_sale_takes_the_sale(connection, click):
    deliver(connection, build_sale(ref=click))
    deliver(connection, build_refund("r1", 99999999, 1))
    assert list_sales(connection.account) == []


def test_a_sale_keeps_its_currency(connection, click):
    deliver(connection, build_sale(ref=click))
    event = deliver(connection, build_sale(1, currency="usd"))
    assert event.result == ["The order was in EUR, and now it is in USD."]


def send(client, connection, raw, **headers):
    return client.post(
        f"/in/{connection.public_id}/",
        data=raw,
        content_type="application/json",
        headers=headers,
    )


def sign(raw, *, secret=SECRET, prefix="sha256=", encode=bytes.hex):
    digest = hmac.new(secret.encode(), raw, hashlib.sha256).digest()
    return prefix + encode(digest)


def encode_base64(digest):
    return b64encode(digest).decode()


def test_a_signed_event_is_stored_once(client, connection):
    raw = json.dumps(build_sale()).encode()
    for is_new in (True, False):
        response = send(client, connection, raw, **{"X-Signature": sign(raw)})
        assert response.json() == {"stored": True, "is_new": is_new}
    upper = sign(raw, prefix="").upper()
    again = send(client, connection, raw, **{"X-Signature": "sha256=" + upper})
    assert again.status_code == 200
    assert connection.account.shop_events.get().body == raw.decode()


def test_a_signature_may_be_base64_without_a_prefix(client, scenario):
    signature = {"kind": "hmac", "header": "X-Sig", "encoding": "base64"}
    connection = connect(scenario, MAPPING | {"signature": signature})
    raw = json.dumps(build_sale()).encode()
    sent = sign(raw, prefix="", encode=encode_base64)
    assert send(client, connection, raw, **{"X-Sig": sent}).status_code == 200
    assert send(client, connection, raw, **{"X-Sig": sign(raw)}).status_code == 400


def test_a_header_may_hold_the_secret(client, scenario):
    signature = {"kind": "header", "header": "Authorization", "prefix": "Bearer "}
    connection = connect(scenario, MAPPING | {"signature": signature})
    raw = json.dumps(build_sale()).encode()

    def send_with(text):
        return send(client, connection, raw, Authorization=text).status_code

    assert send_with(f"Bearer {SECRET}") == 200
    assert (send_with(SECRET), send_with("Bearer wröng"), send_with("")) == (400,) * 3


def test_standard_webhooks_are_verified_by_their_library(client, scenario):
    mapping = MAPPING | {"signature": {"kind": "standard_webhooks"}, "event": {}}
    connection = connect(scenario, mapping, secret=WEBHOOK_SECRET)
    raw = json.dumps(build_sale()).encode()

    def send_at(at, key="msg_1", secret=WEBHOOK_SECRET):
        signature = Webhook(secret).sign(key, at, raw.decode())
        headers = {
            "Webhook-Id": key,
            "Webhook-Timestamp": str(int(at.timestamp())),
            "Webhook-Signature": signature,
        }
        return send(client, connection, raw, **headers)

    now = timezone.now()
    assert send_at(now).json() == {"stored": True, "is_new": True}
    assert send_at(now).json() == {"stored": True, "is_new": False}
    old = send_at(now - timedelta(minutes=6), "msg_2")
    assert old.json()["message"] == "The signature is too old, or the clocks differ."
    foreign = send_at(now, "msg_3", secret=b64encode(b"another").decode())
    assert foreign.status_code == 400
    assert foreign.json()["message"] == (
        "The signature does not match the secret of this connection."
    )
    odd = send(
        client,
        connection,
        raw,
        **{
            "Webhook-Id": "msg_4",
            "Webhook-Timestamp": str(int(now.timestamp())),
            "Webhook-Signature": "v1",
        },
    )
    assert odd.status_code == 400
    assert [row.key for row in connection.account.shop_events.all()] == ["msg_1"]


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b"", "The body is no JSON object."),
        (b"[]", "The body is no JSON object."),
        (b"[" * 100_000, "The body is no JSON object."),
        (b'{"a": ' * 100_000, "The body is no JSON object."),
        (b'{"id": "\xff"}', "The body is no JSON object."),
        (b'{"id": {}}', "Of the event, event.id is no text of at most 255 characters."),
        (b'{"id": "\\u0000"}', "has characters that no text has."),
    ],
)
def test_what_cannot_be_taken_is_refused(raw, sentence, client, connection):
    response = send(client, connection, raw, **{"X-Signature": sign(raw)})
    assert response.status_code == 400
    assert response.json()["message"].endswith(sentence)
    assert not connection.account.shop_events.exists()


def test_a_deep_body_is_stored_and_does_nothing(client, connection):
    raw = b'{"id": "deep", "data": ' + b"[" * 500 + b"]" * 500 + b"}"
    response = send(client, connection, raw, **{"X-Signature": sign(raw)})
    assert response.status_code == 200
    assert list_sales(connection.account) == []


def test_a_wrong_or_missing_signature_is_refused(client, connection, scenario):
    raw = json.dumps(build_sale()).encode()
    for sent in ("", "sha256=", sign(raw + b" "), sign(raw, secret=OTHER_SECRET)):
        response = send(client, connection, raw, **{"X-Signature": sent})
        assert response.status_code == 400
        assert response.json()["message"] == (
            "The signature does not match the secret of this connection."
        )
    unsigned = connect(scenario, None)
    assert send(client, unsigned, raw).json()["message"] == (
        "This connection does not say yet how its events are signed."
    )
    assert not connection.account.shop_events.exists()


def test_two_secrets_are_valid_during_a_rotation(client, connection):
    account, name = connection.account, connection.public_id
    raw = json.dumps(build_sale()).encode()

    def send_with(secret):
        headers = {"X-Signature": sign(raw, secret=secret)}
        return send(client, connection, raw, **headers).status_code

    set_connection_secret(
        account, connection_id=name, secret=OTHER_SECRET, at=CONVERSION_CREATED_AT
    )
    assert (send_with(SECRET), send_with(OTHER_SECRET)) == (200, 200)
    forget_earlier_secret(account, connection_id=name, at=CONVERSION_CREATED_AT)
    assert (send_with(SECRET), send_with(OTHER_SECRET)) == (400, 200)
