"""Hostile events at the address of each kind of shop: one effect at most, no 5xx, and
nothing of another account changes.
"""

import hashlib
import hmac
import json
import random
from base64 import b64encode
from copy import deepcopy
from datetime import timedelta
from http.client import HTTPConnection
from threading import Barrier
from uuid import uuid4

import pytest
from django.utils import timezone

from affiliate_site.shops.processing import OUR_FAULT, process_due_events
from tests import paddle_events, shopify_events, stripe_events, woocommerce_events
from tests.affiliate_site.shops import test_other as other_events
from tests.concurrency.conftest import scenario, server
from tests.concurrency.server import TIMEOUT, run_simultaneously
from tests.factories.accounts import AccountFactory
from tests.ledger_checks import snapshot_account
from tests.program_scenario import ProgramScenario
from tests.shop_inbox import list_sales
from tests.tracking.services.test_shop_mappings import MAPPING
from tracking.models.shops import ConnectionMode, ShopEventState
from tracking.services.connections import SECRET_PREFIXES, create_connection
from tracking.services.inbox import LEASE

pytestmark = [pytest.mark.integration]

__all__ = ["scenario", "server"]

SECRET = "a-secret-of-the-shop"
CLIENTS, COPIES = 20, 200
MUTATIONS = 60
OUR_FAULT_BEGINNING = OUR_FAULT.partition(";")[0]
ODD_VALUES = (
    *(-1, 0, 10**30, -0.01, "-5", "ten", "", "NaN", "1e400", "\u0660", "x" * 5000),
    *("a\x00b", "\ud800", None, True, [], {}, [None], [[]], {"a": []}),
)
LITERALS = (b"NaN", b"1e400", b"1e999999999", b"-0", b"9" * 5000, b"Infinity")


def sign(raw, secret, encode=bytes.hex):
    return encode(hmac.new(secret.encode(), raw, hashlib.sha256).digest())


def encode_base64(digest):
    return b64encode(digest).decode()


def sign_stripe(raw, secret, at, number):
    stamp = int(at.timestamp())
    return {"Stripe-Signature": f"t={stamp},v1={sign(b'%d.' % stamp + raw, secret)}"}


def sign_paddle(raw, secret, at, number):
    stamp = int(at.timestamp())
    return {"Paddle-Signature": f"ts={stamp};h1={sign(b'%d:' % stamp + raw, secret)}"}


def sign_woocommerce(raw, secret, at, number):
    delivery = f"d-{number}"
    return woocommerce_events.build_headers(raw, secret=secret, delivery=delivery)


def sign_shopify(raw, secret, at, number):
    topic, event = "orders/updated", f"e-{number}"
    return shopify_events.build_headers(raw, topic, secret=secret, event=event)


def sign_other(raw, secret, at, number):
    return {"X-Signature": "sha256=" + sign(raw, secret)}


# Of each kind: how it signs, and a sale that a referral code came with.
KINDS = {
    "stripe": (
        sign_stripe,
        lambda code: stripe_events.build_checkout(client_reference_id=code),
    ),
    "woocommerce": (
        sign_woocommerce,
        lambda code: woocommerce_events.build_order(meta={"referral_code": code}),
    ),
    "shopify": (
        sign_shopify,
        lambda code: shopify_events.build_order(landing_site=f"/?ref={code}"),
    ),
    "paddle": (
        sign_paddle,
        lambda code: paddle_events.build_transaction(custom_data={"ref": code}),
    ),
    "other": (sign_other, lambda code: other_events.build_sale(ref=code)),
}
SIGNED_TIMES = ("stripe", "paddle")
EVENT_IDS = {"stripe": "id", "paddle": "event_id", "other": "id"}


class Shop:
    """A shop with a live connection, which signs and sends."""

    def __init__(self, kind, scenario, server, secret=SECRET):
        self.kind, self.account, self.server = kind, scenario.account, server
        secret = f"{SECRET_PREFIXES.get(kind, '')}{secret}"
        self.secret, self.number = secret, 0
        self.sign, build = KINDS[kind]
        self.sale = json.loads(json.dumps(build(scenario.mina.code)))
        self.connection = create_connection(
            scenario.account,
            kind=kind,
            program=scenario.program,
            secret=secret,
            mode=ConnectionMode.LIVE,
            settings={"other": MAPPING, "reference_may_be_code": True},
            at=timezone.now(),
        )

    def build_request(self, body, *, secret="", at=None):
        """The body as bytes, and headers; each is an event of its own."""
        self.number += 1
        if isinstance(body, dict) and self.kind in EVENT_IDS:
            body = body | {EVENT_IDS[self.kind]: f"event-{self.number}"}
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        secret, at = secret or self.secret, at or timezone.now()
        headers = self.sign(raw, secret, at, self.number)
        return raw, headers | {"Content-Type": "application/json"}

    def open(self):
        return HTTPConnection("127.0.0.1", self.server.port, timeout=TIMEOUT)

    def post(self, raw, headers, http=None):
        """Send a request; return the status and the answer."""
        used = http or self.open()
        used.request("POST", f"/in/{self.connection}/", raw, headers)
        response = used.getresponse()
        answer = response.status, json.loads(response.read())
        if http is None:
            used.close()
        return answer

    def send(self, body, **options):
        """Send an event and process it; return the status."""
        status, _ = self.post(*self.build_request(body, **options))
        process()
        return status

    def list_amounts(self):
        return [amount for _, amount, _ in list_sales(self.account)]


def process():
    for _ in process_due_events(due_before=timezone.now() + 2 * LEASE):
        pass


@pytest.fixture(params=KINDS)
def shop(request, scenario, server):
    return Shop(request.param, scenario, server)


@pytest.fixture
def other_scenario(committed_db):
    slug = f"bystander-{uuid4().hex[:12]}"
    return ProgramScenario(AccountFactory(slug=slug, plan__name="enterprise"))


@pytest.fixture
def bystander(other_scenario):
    """Another account, which nothing may change."""
    before = snapshot_account(other_scenario.account)
    yield other_scenario
    assert snapshot_account(other_scenario.account) == before


def test_200_copies_at_once_are_one_sale(shop):
    request, barrier = shop.build_request(shop.sale), Barrier(CLIENTS)

    def post(_):
        http = shop.open()
        barrier.wait()
        answers = [shop.post(*request, http) for _ in range(COPIES // CLIENTS)]
        http.close()
        return answers

    clients = run_simultaneously(range(CLIENTS), post)
    answers = [answer for answers in clients for answer in answers]
    process()
    assert [status for status, _ in answers] == [200] * COPIES
    assert sum(answer["is_new"] for _, answer in answers) == 1
    assert shop.account.shop_events.count() == 1
    assert shop.list_amounts() == ["100"]


def test_the_same_sale_as_many_events_is_one(shop):
    assert {shop.send(shop.sale) for _ in range(5)} == {200}
    assert shop.account.shop_events.count() > 1 or shop.kind == "woocommerce"
    assert shop.list_amounts() == ["100"]


def test_what_another_account_signs_is_refused(shop, other_scenario):
    other = Shop(shop.kind, other_scenario, shop.server, secret="another-secret-here")
    for sender, address in ((other, shop), (shop, other)):
        status, answer = address.post(*sender.build_request(sender.sale))
        assert (status, answer["code"]) == (400, 400)
    for each in (other, shop):
        assert not each.account.shop_events.exists()
    assert other.send(other.sale) == 200
    assert (other.list_amounts(), shop.list_amounts()) == (["100"], [])


@pytest.mark.parametrize("minutes", [-6, 6, -(10**6)])
def test_an_old_request_is_refused_where_the_time_is_signed(shop, minutes):
    at = timezone.now() + timedelta(minutes=minutes)
    request = shop.build_request(shop.sale, at=at)
    status, _ = shop.post(*request)
    assert status == (400 if shop.kind in SIGNED_TIMES else 200)


BODIES = {
    "nothing": b"",
    "no JSON": b"<order/>",
    "no object": b"[1]",
    "text": b'"sale"',
    "null": b"null",
    "not UTF-8": b'{"id": "\xff"}',
    "UTF-16": '{"id": "1"}'.encode("utf-16"),
    "byte order mark": b'\xef\xbb\xbf{"id": "1"}',
    "deep lists": b'{"id": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep objects": b'{"id": "1", "a": ' + b'{"a":' * 900 + b"1" + b"}" * 901,
    "many keys": json.dumps({f"k{n}": n for n in range(50_000)}).encode(),
    "above a megabyte": b'{"id": "' + b"x" * 1_000_000 + b'"}',
    "a key twice": b'{"id": "1", "id": "2", "type": "sale", "type": "refund"}',
}


@pytest.mark.parametrize("raw", BODIES.values(), ids=BODIES)
def test_odd_bodies_are_no_error_of_ours(shop, bystander, raw):
    status, answer = shop.post(*shop.build_request(raw))
    process()
    assert status in ((413,) if len(raw) > 1_000_000 else (200, 400)), answer
    assert shop.list_amounts() == []
    assert_no_fault_of_ours(shop)


def list_places(value, place=()):
    """The places of all values in a body, also of objects and lists."""
    pairs = ()
    if isinstance(value, dict):
        pairs = value.items()
    elif isinstance(value, list):
        pairs = enumerate(value)
    for key, each in pairs:
        yield (*place, key)
        yield from list_places(each, (*place, key))


def change(body, place, value):
    """The body with another value at a place."""
    changed = deepcopy(body)
    *parents, key = place
    target = changed
    for parent in parents:
        target = target[parent]
    target[key] = value
    return changed


def test_odd_values_are_no_error_of_ours(shop, bystander):
    dice = random.Random(7)  # noqa: S311 - reproducible bodies
    places = list(list_places(shop.sale))
    for _ in range(MUTATIONS):
        place, value = dice.choice(places), dice.choice(ODD_VALUES)
        status, answer = shop.post(*shop.build_request(change(shop.sale, place, value)))
        assert status in (200, 400), (place, value, answer)
    for literal in LITERALS:
        for place in dice.sample(places, 5):
            raw = json.dumps(change(shop.sale, place, "LITERAL")).encode()
            request = shop.build_request(raw.replace(b'"LITERAL"', literal))
            status, answer = shop.post(*request)
            assert status in (200, 400), (place, literal, answer)
    process()
    assert_no_fault_of_ours(shop)


def test_another_currency_changes_nothing(shop):
    shop.send(shop.sale)
    text = json.dumps(shop.sale)
    changed = text.replace('"EUR"', '"USD"').replace('"eur"', '"usd"')
    assert changed != text
    shop.send(json.loads(changed))
    assert shop.list_amounts() == ["100"]
    assert shop.account.conversions.get().currency == "EUR"
    assert_no_fault_of_ours(shop)


def assert_no_fault_of_ours(shop):
    """No event failed by a programming error, or was not processed."""
    for event in shop.account.shop_events.all():
        assert event.state != ShopEventState.RECEIVED, event.body[:500]
        assert OUR_FAULT_BEGINNING not in " ".join(event.result), event.body[:3000]
