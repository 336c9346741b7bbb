"""Ready-made mappings: bodies as the vendors send them, signed as they sign.

The shapes are those of the vendors' documentation and software for developers; all
values are made up. Each sale of 90 without tax earns 9.
"""

import hashlib
import hmac
import json
from base64 import b64encode
from urllib.parse import urlencode

import pytest
from django.utils import timezone
from standardwebhooks import Webhook

from affiliate_site.shops.processing import process_event
from affiliate_site.shops.ready_made import READY_MADE
from tests.affiliate_site.shops.test_other_signatures import sign_fields
from tests.ledger_checks import assert_ledger_consistent
from tests.program_scenario import CONVERSION_CREATED_AT
from tests.shop_inbox import list_sales
from tracking.models.shops import ConnectionMode
from tracking.services.connections import create_connection
from tracking.services.shop_mappings import validate_mapping

pytestmark = pytest.mark.usefixtures("shared_scenario")
SECRET = "secret-of-the-shop"
FORM = "application/x-www-form-urlencoded"
FULL = [("approved", "90", "9")]
REST = [("approved", "60", "6")]


@pytest.fixture
def scenario(scenario):
    scenario.program.update_row(auto_approve_commissions=True)
    yield scenario
    assert_ledger_consistent(scenario.account)


class Vendor:
    """Sends bodies to a connection with a ready-made mapping."""

    secret = SECRET

    def __init__(self, client, scenario, name):
        self.client, self.code = client, scenario.mina.code
        self.connection = create_connection(
            scenario.account,
            kind="other",
            program=scenario.program,
            secret=self.secret,
            mode=ConnectionMode.LIVE,
            settings={"other": READY_MADE[name].mapping},
            at=CONVERSION_CREATED_AT,
        )

    def post(self, body):
        raw = json.dumps(body).encode()
        return self.send(raw, "application/json", headers=self.sign(raw))

    def send(self, raw, content_type, *, query="", headers=None):
        path = f"/in/{self.connection.public_id}/{query}"
        return self.client.post(path, data=raw, content_type=content_type, headers=headers or {})

    def deliver(self, body):
        """Post a body, and process what waits; return what the newest event did."""
        assert self.post(body).status_code == 200
        events = self.connection.account.shop_events
        for event in events.filter(state="received").order_by("id"):
            process_event(event, at=timezone.now())
        return events.latest("id").result

    def list_results(self):
        """Status, amount and commission of each sale."""
        return [
            (status, amount, commission)
            for _, amount, commissions in list_sales(self.connection.account)
            for commission, status in commissions
        ]


class LemonSqueezy(Vendor):
    def sign(self, raw):
        digest = hmac.digest(SECRET.encode(), raw, hashlib.sha256).hex()
        return {"X-Signature": digest}

    def build(self, event="order_created", kind="orders", **attributes):
        refs = {"ref": self.code}
        values = {
            "customer_id": 7,
            "currency": "EUR",
            "subtotal": 10000,
            "discount_total": 1000,
            "tax": 1710,
            "total": 10710,
            "refunded_amount": 0,
            "status": "paid",
            "test_mode": False,
            "user_email": "jo@buyers.example.org",
            "updated_at": timezone.now().isoformat(),
        }
        return {
            "meta": {"event_name": event, "custom_data": refs},
            "data": {"type": kind, "id": "1", "attributes": values | attributes},
        }

    def sale(self):
        return self.build()

    def refund(self):
        return self.build("order_refunded", status="refunded", refunded_amount=3570)

    def ignored(self):
        yield self.build(test_mode=True)
        yield self.build("subscription_created")
        invoice = ("subscription_payment_success", "subscription-invoices")
        yield self.build(*invoice, billing_reason="initial")


class Polar(Vendor):
    secret = "polar_whs_" + "a" * 24

    def sign(self, raw):
        at = timezone.now()
        key = hashlib.sha256(raw).hexdigest()
        signature = Webhook(self.secret.encode()).sign(key, at, raw.decode())
        return {
            "webhook-id": key,
            "webhook-timestamp": str(int(at.timestamp())),
            "webhook-signature": signature,
        }

    def build(self, kind, **data):
        return {"type": kind, "timestamp": timezone.now().isoformat(), "data": data}

    def sale(self):
        return self.build(
            "order.paid",
            id="ord_1",
            status="paid",
            subtotal_amount=10000,
            discount_amount=1000,
            net_amount=9000,
            tax_amount=1710,
            total_amount=10710,
            currency="eur",
            customer_id="cus_1",
            customer={"email": "jo@buyers.example.org"},
            discount=None,
            metadata={"ref": self.code},
        )

    def refund(self, status="succeeded"):
        return self.build(
            "refund.updated",
            id="ref_1",
            status=status,
            amount=3000,
            tax_amount=570,
            currency="eur",
            order_id="ord_1",
        )

    def ignored(self):
        yield self.refund("pending")
        yield self.build("order.created", id="ord_1")


class Chargebee(Vendor):
    secret = "hook:a-password"

    def sign(self, raw):
        return {"Authorization": f"Basic {b64encode(self.secret.encode()).decode()}"}

    def build(self, kind, **content):
        return {
            "id": f"ev_{kind}",
            "occurred_at": int(timezone.now().timestamp()),
            "object": "event",
            "event_type": kind,
            "content": content,
        }

    def sale(self, kind="payment_succeeded", status="paid"):
        return self.build(
            kind,
            invoice={
                "id": "inv_1",
                "customer_id": "cus_1",
                "status": status,
                "currency_code": "EUR",
                "sub_total": 10000,
                "tax": 1710,
                "total": 10710,
                "discounts": [{"amount": 1000, "entity_id": "SPRING"}],
            },
            customer={"id": "cus_1", "email": "jo@buyers.example.org"},
            subscription={"id": "sub_1", "cf_ref": self.code},
        )

    def refund(self):
        return self.build(
            "credit_note_created",
            credit_note={
                "id": "cn_1",
                "reference_invoice_id": "inv_1",
                "type": "refundable",
                "status": "refunded",
                "currency_code": "EUR",
                "total": 3570,
                "deleted": False,
            },
        )

    def ignored(self):
        yield self.sale("invoice_generated", "payment_due")
        yield self.build("subscription_created", subscription={"id": "sub_1"})


class Shopware(Vendor):
    rest = []  # it reports full refunds only

    def sign(self, raw):
        digest = hmac.digest(SECRET.encode(), raw, hashlib.sha256).hex()
        return {"shopware-shop-signature": digest}

    def build(self, state, **order):
        values = {
            "orderNumber": "10001",
            "amountTotal": 119.0,
            "amountNet": 100.0,
            "taxStatus": "gross",
            "currency": {"isoCode": "EUR"},
            "shippingCosts": {
                "totalPrice": 11.9,
                "calculatedTaxes": [{"tax": 1.9, "taxRate": 19, "price": 11.9}],
            },
            "orderCustomer": {"customerId": "c1", "email": "jo@buyers.example.org"},
            "affiliateCode": self.code,
            "lineItems": [{"payload": {"productNumber": "LAMP"}}],
        }
        return {
            "data": {
                "payload": {"order": values | order},
                "event": f"state_enter.order_transaction.state.{state}",
            },
            "source": {"shopId": "s1", "eventId": f"e-{state}"},
            "timestamp": int(timezone.now().timestamp()),
        }

    def sale(self):
        return self.build("paid")

    def refund(self):
        return self.build("refunded")

    def ignored(self):
        yield self.build("refunded_partially")
        yield self.build("paid", taxStatus="net") | {"source": {"eventId": "e-net"}}


class FormVendor(Vendor):
    def post(self, body):
        return self.send(urlencode(body).encode(), FORM)


class Gumroad(FormVendor):
    full = [("pending", "90", "9")]  # a claim
    rest = []  # it reports full refunds only

    def post(self, body):
        query = f"?secret={SECRET}"
        return self.send(urlencode(body).encode(), FORM, query=query)

    def build(self, resource="sale", **fields):
        values = {
            "sale_id": "akGeF0==",
            "order_number": "223478607",
            "email": "jo@buyers.example.org",
            "price": "9000",
            "currency": "eur",
            "url_params[ref]": self.code,
            "refunded": "false",
            "disputed": "false",
            "dispute_won": "false",
            "resource_name": resource,
        }
        return values | fields

    def sale(self):
        return self.build()

    def refund(self):
        return self.build("refund", refunded="true")

    def ignored(self):
        yield self.build(test="true")


class Digistore24(FormVendor):
    def post(self, body):
        signature = sign_fields(body, SECRET)
        raw = urlencode(body | {"sha_sign": signature}).encode()
        response = self.send(raw, FORM)
        assert response.content == b"OK"
        return response

    def build(self, event="on_payment", **fields):
        values = {
            "event": event,
            "api_mode": "live",
            "order_id": "A3NXHEHF",
            "order_item_id": "501",
            "pay_sequence_no": "0",
            "transaction_id": "9001",
            "amount_netto": "90.00",
            "amount_brutto": "107.10",
            "currency": "EUR",
            "buyer_id": "77",
            "email": "jo@buyers.example.org",
            "custom": self.code,
            "coupon_code": "",
        }
        return values | fields

    def sale(self):
        return self.build()

    def refund(self):
        return self.build(
            "on_refund",
            transaction_id="9002",
            amount_netto="-30.00",
            amount_brutto="-35.70",
        )

    def ignored(self):
        yield self.build("connection_test")
        yield self.build(api_mode="test")


VENDORS = {
    "lemon_squeezy": LemonSqueezy,
    "polar": Polar,
    "chargebee": Chargebee,
    "shopware": Shopware,
    "gumroad": Gumroad,
    "digistore24": Digistore24,
}


@pytest.fixture(params=READY_MADE)
def vendor(request, client, scenario):
    return VENDORS[request.param](client, scenario, request.param)


@pytest.mark.parametrize("name", READY_MADE)
def test_it_is_a_mapping_with_its_proof(name):
    validate_mapping(READY_MADE[name].mapping)
    assert READY_MADE[name].proof
    assert READY_MADE[name].steps


def test_a_sale_its_refund_and_their_repetition(vendor):
    sale, refund = vendor.sale(), vendor.refund()
    vendor.deliver(sale)
    assert vendor.list_results() == getattr(vendor, "full", FULL)
    vendor.deliver(sale)
    assert vendor.list_results() == getattr(vendor, "full", FULL)
    vendor.deliver(refund)
    assert vendor.list_results() == getattr(vendor, "rest", REST)
    for body in (refund, sale):
        vendor.deliver(body)
        assert vendor.list_results() == getattr(vendor, "rest", REST)
    assert vendor.connection.account.shop_events.count() == 2


def test_other_events_change_nothing(vendor):
    for body in vendor.ignored():
        result = vendor.deliver(body)
        assert result == ["The conditions of neither a sale nor a refund are met."]
    assert vendor.list_results() == []


def test_a_renewal_of_lemon_squeezy_is_a_sale_of_its_own(client, scenario):
    vendor = LemonSqueezy(client, scenario, "lemon_squeezy")
    invoice = ("subscription_payment_success", "subscription-invoices")
    vendor.deliver(vendor.sale())
    vendor.deliver(vendor.build(*invoice, billing_reason="renewal"))
    assert [order for order, _, _ in list_sales(scenario.account)] == [
        "orders-1",
        "subscription-invoices-1",
    ]
    assert vendor.list_results() == FULL + FULL


def test_a_refund_of_polar_that_fails_is_put_back(client, scenario):
    vendor = Polar(client, scenario, "polar")
    for body in (vendor.sale(), vendor.refund(), vendor.refund("failed")):
        vendor.deliver(body)
    assert vendor.list_results() == FULL


def test_a_dispute_of_gumroad_that_is_won_is_put_back(client, scenario):
    vendor = Gumroad(client, scenario, "gumroad")
    vendor.deliver(vendor.sale())
    vendor.deliver(vendor.build("dispute", disputed="true"))
    assert vendor.list_results() == []
    won = vendor.build("dispute_won", disputed="true", dispute_won="true")
    vendor.deliver(won)
    assert vendor.list_results() == Gumroad.full


def test_payments_of_digistore24_are_sales_of_their_own(client, scenario):
    vendor = Digistore24(client, scenario, "digistore24")
    for number in ("1", "2"):
        fields = {"pay_sequence_no": number, "transaction_id": f"900{number}"}
        vendor.deliver(vendor.build(**fields))
    assert vendor.list_results() == FULL + FULL
