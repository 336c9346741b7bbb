"""Any other shop: the kinds of signatures, answers, and sales that are only claims."""

import hashlib
import hmac
import json
from base64 import b64encode
from decimal import Decimal
from urllib.parse import quote, urlencode

import pytest
from django.utils import timezone
from standardwebhooks import Webhook

from payouts.calculation import LineItem
from payouts.services.commissions import approve_commission
from payouts.services.conversion_creation import ConversionData, create_conversion
from tests.affiliate_site.shops.test_other import (
    SECRET,
    build_refund,
    build_sale,
    connect,
    deliver,
)
from tests.affiliate_site.shops.test_other_expressions import FLAT, FORM
from tests.ledger_checks import assert_ledger_consistent
from tests.program_scenario import CONVERSION_CREATED_AT
from tests.shop_inbox import list_sales
from tests.tracking.services.test_shop_mappings import MAPPING
from tracking.attribution import TrackingParameters
from tracking.claims import ClaimStatus

pytestmark = pytest.mark.usefixtures("shared_scenario")
RAW = json.dumps({"order": "1001", "net": "100", "currency": "EUR"}).encode()
KEY = b"a key of twenty-four byte"
CLAIMS = MAPPING | {"signature": {"kind": "address"}}
SIGNED_FORM = {"event": "on_payment", "order_id": "A1", "name": "M & S", "empty": ""}


@pytest.fixture
def scenario(scenario):
    scenario.program.update_row(auto_approve_commissions=True)
    yield scenario
    assert_ledger_consistent(scenario.account)


def connect_signed(scenario, secret=SECRET, *, answer=None, **signature):
    mapping = FLAT | {"signature": signature} | ({"answer": answer} if answer else {})
    return connect(scenario, mapping, secret=secret)


def send(client, connection, raw=RAW, *, query="", content_type=None, headers=None):
    return client.post(
        f"/in/{connection.public_id}/{query}",
        data=raw,
        content_type=content_type or "application/json",
        headers=headers or {},
    )


@pytest.mark.parametrize(
    "secret",
    [
        "whsec_" + b64encode(KEY).decode(),
        "whsec_" + b64encode(KEY).decode().rstrip("="),
        "v1,whsec_" + b64encode(KEY).decode(),
        b64encode(KEY).decode(),
        KEY.hex(),
        KEY.decode(),
    ],
)
@pytest.mark.parametrize("prefix", ["webhook-", "svix-"])
def test_standard_webhooks_with_secrets_as_vendors_show_them(prefix, secret, client, scenario):
    connection = connect_signed(scenario, secret, kind="standard_webhooks")

    def send_signed(key, number):
        at = timezone.now()
        headers = {
            f"{prefix}id": f"msg_{number}",
            f"{prefix}timestamp": str(int(at.timestamp())),
            f"{prefix}signature": Webhook(key).sign(f"msg_{number}", at, RAW.decode()),
        }
        return send(client, connection, headers=headers)

    assert send_signed(KEY, 1).json() == {"stored": True, "is_new": True}
    assert send_signed(KEY, 1).json() == {"stored": True, "is_new": False}
    assert send_signed(b"another key", 2).status_code == 400
    assert [row.key for row in connection.account.shop_events.all()] == ["msg_1"]


@pytest.mark.parametrize("secret", [b64encode(KEY).decode(), KEY.hex(), KEY.decode()])
def test_an_hmac_with_secrets_as_vendors_show_them(secret, client, scenario):
    connection = connect_signed(scenario, secret, kind="hmac", header="X-Signature")
    digest = hmac.digest(KEY, RAW, hashlib.sha256).hex()
    assert send(client, connection, headers={"X-Signature": digest}).status_code == 200
    assert send(client, connection, headers={"X-Signature": "0"}).status_code == 400


def test_basic_authentication(client, scenario):
    connection = connect_signed(scenario, "shop:p\u00e4ssword", kind="basic")

    def send_as(text, scheme="Basic"):
        credentials = b64encode(text.encode()).decode()
        headers = {"Authorization": f"{scheme} {credentials}"}
        return send(client, connection, headers=headers).status_code

    assert (send_as("shop:p\u00e4ssword"), send_as("shop:p\u00e4ssword", "BASIC")) == (
        200,
        200,
    )
    assert (send_as("shop:other"), send_as("shop:p\u00e4ssword", "Bearer")) == (
        400,
        400,
    )
    assert send(client, connection).status_code == 400


def sign_fields(fields, secret=SECRET):
    """The SHA-512 of the sorted fields, as Digistore24's guide describes it."""
    signed = "".join(f"{key}={fields[key]}{secret}" for key in sorted(fields) if fields[key])
    return hashlib.sha512(signed.encode()).hexdigest().upper()


def send_fields(client, connection, fields, signature):
    raw = urlencode(fields | {"sha_sign": signature}).encode()
    return send(client, connection, raw, content_type=FORM)


@pytest.fixture
def signed_form(scenario):
    return connect_signed(scenario, answer="OK", kind="sorted_parameters", parameter="sha_sign")


def test_a_hash_of_sorted_fields_and_the_answer_of_the_mapping(client, signed_form):
    response = send_fields(client, signed_form, SIGNED_FORM, sign_fields(SIGNED_FORM))
    assert (response.status_code, response.content) == (200, b"OK")
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    assert json.loads(signed_form.account.shop_events.get().body)["name"] == "M & S"
    again = send_fields(client, signed_form, SIGNED_FORM, sign_fields(SIGNED_FORM))
    assert again.content == b"OK"
    assert signed_form.account.shop_events.count() == 1


def test_a_hash_of_fields_without_entities(client, signed_form):
    sent = SIGNED_FORM | {"name": "M &amp; S"}
    response = send_fields(client, signed_form, sent, sign_fields(SIGNED_FORM))
    assert response.content == b"OK"


@pytest.mark.parametrize(
    "change", [{"order_id": "A2"}, {"added": "1"}, {"empty": "1"}, {"name": ""}]
)
def test_a_hash_of_other_fields_is_refused(change, client, signed_form):
    signature = sign_fields(SIGNED_FORM)
    response = send_fields(client, signed_form, SIGNED_FORM | change, signature)
    assert response.status_code == 400
    missing = send_fields(client, signed_form, SIGNED_FORM, "")
    assert missing.status_code == 400
    assert not signed_form.account.shop_events.exists()


def test_signed_fields_cannot_be_hidden_in_json(client, signed_form):
    """Empty fields are not signed: as a form, this has the fields that were signed."""
    signature = sign_fields(SIGNED_FORM)
    signed = urlencode(SIGNED_FORM | {"sha_sign": signature})
    raw = f'{{"order":"1001","net":"9","currency":"EUR","x":"=&{signed}&"}}='
    for content_type in (FORM, "application/json"):
        text = raw.removesuffix("=") if "json" in content_type else raw
        response = send(client, signed_form, text.encode(), content_type=content_type)
        assert response.status_code == 400
    assert not signed_form.account.shop_events.exists()


def test_a_secret_in_the_address(client, scenario):
    connection = connect_signed(scenario, "a secret & more", kind="address")
    assert send(client, connection, query=f"?secret={quote('a secret & more')}").json() == {
        "stored": True,
        "is_new": True,
    }
    for query in ("", "?secret=", "?secret=another"):
        response = send(client, connection, query=query)
        assert response.status_code == 400
        assert response.json()["message"] == (
            "The address does not end with ?secret= and the secret of this connection."
        )
    assert connection.account.shop_events.count() == 1


@pytest.fixture
def claiming(scenario):
    return connect(scenario, CLAIMS, stores_email=True)


@pytest.fixture
def click(scenario):
    return str(scenario.create_click().public_id)


def test_sales_of_an_address_are_claims_that_wait_for_staff(claiming, click, scenario):
    event = deliver(claiming, build_sale(ref=click))
    assert event.result == ["A sale of 100 EUR was claimed: approve or disapprove it."]
    assert list_sales(claiming.account) == [("1001", "100", [("10", "pending")])]
    sale = claiming.account.conversions.get()
    assert (sale.claim_status, sale.is_amount_claimed) == (ClaimStatus.OPEN, True)
    customer = claiming.account.customers.get()
    assert (customer.is_confirmed, customer.meta_data) == (False, {})
    deliver(claiming, build_refund("r1", 2380, 1))
    assert list_sales(claiming.account) == [("1001", "80", [("8", "pending")])]
    assert sale.reload().claim_status == ClaimStatus.OPEN
    approve(claiming.account)
    deliver(claiming, build_refund("r2", 2380, 2))
    assert list_sales(claiming.account) == [("1001", "60", [("6", "approved")])]
    assert sale.reload().claim_status == ClaimStatus.REVIEWED


def approve(account):
    commission = account.commissions.get(deleted_at=None)
    approve_commission(account, commission_id=commission.pk, at=CONVERSION_CREATED_AT)


def report(scenario, amount="100"):
    """The order as the shop's server reports it, with a key."""
    data = ConversionData(
        parameters=TrackingParameters(referral_code=scenario.mina.code),
        line_items=[LineItem(Decimal(amount), None)],
        external_id="1001",
        currency="EUR",
    )
    return create_conversion(scenario.account, data=data, at=CONVERSION_CREATED_AT)


def test_a_claim_takes_nothing_from_a_fact(claiming, click, scenario):
    report(scenario)
    event = deliver(claiming, build_sale(ref=click, net=90000))
    assert event.result[0].startswith("This sale was reported in another way before.")
    deliver(claiming, build_refund("r1", 11900, 1))
    assert list_sales(claiming.account) == [("1001", "100", [("10", "approved")])]


def test_a_confirmed_claim_is_not_refunded_by_an_address(claiming, click, scenario):
    deliver(claiming, build_sale(ref=click))
    report(scenario, "90")
    assert list_sales(claiming.account) == [("1001", "90", [("9", "approved")])]
    event = deliver(claiming, build_refund("r1", 11900, 1))
    assert event.result[0].startswith("The sale is confirmed, and the address")
    assert list_sales(claiming.account) == [("1001", "90", [("9", "approved")])]


def test_an_account_may_take_no_sales_without_a_signature(claiming, click):
    claiming.account.require_signatures = True
    claiming.account.save()
    event = deliver(claiming, build_sale(ref=click))
    assert event.result[0].startswith("The account takes no sales without a signature")
    assert list_sales(claiming.account) == []
