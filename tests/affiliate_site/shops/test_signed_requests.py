"""`POST /in/<id>/` of shops that sign the body: what is refused, and what is stored."""

import json

import pytest
from django.test import Client
from django.utils import timezone

from affiliate_site.shops.processing import process_due_events
from tests import shopify_events, woocommerce_events
from tests.shop_inbox import list_sales
from tracking.models.shops import ConnectionMode
from tracking.services.connections import (
    create_connection,
    forget_earlier_secret,
    set_connection_secret,
)

pytestmark = pytest.mark.usefixtures("shared_scenario")
KINDS = {
    "woocommerce": (woocommerce_events, "order.updated", "X-WC-Webhook-Signature"),
    "shopify": (shopify_events, "orders/updated", "X-Shopify-Hmac-Sha256"),
}
MISMATCH = "The signature does not match the secret of this connection."
NOT_JSON = "The body is no JSON object."
NO_EVENT = "The body is no event of this kind of shop: it lacks ID, kind or time."


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def events(kind):
    return KINDS[kind][0]


@pytest.fixture
def connect(scenario, kind):
    def create(account=scenario.account, **values):
        values = {"secret": KINDS[kind][0].SECRET, "mode": ConnectionMode.LIVE} | values
        return create_connection(account, kind=kind, at=timezone.now(), **values)

    return create


@pytest.fixture
def connection(connect):
    return connect()


@pytest.fixture
def order(scenario, kind, events):
    """A paid order that the referral code of an affiliate came with."""
    if kind == "shopify":
        return events.build_order(landing_site=f"/?ref={scenario.mina.code}")
    return events.build_order(meta={"referral_code": scenario.mina.code})


def post(connection, request, **headers):
    raw, own = request
    return Client().post(
        f"/in/{connection if isinstance(connection, str) else connection.public_id}/",
        raw,
        content_type="application/json",
        headers=own | headers,
    )


def assert_refused(response, connection, message, status=400):
    assert response.status_code == status
    body = response.json()
    assert (body["message"], body["code"]) == (message, status)
    assert not connection.account.shop_events.exists()


def test_a_signed_event_is_stored_and_applied(connection, events, order):
    response = post(connection, events.build_request(order))
    assert response.status_code == 200
    assert response.json() == {"stored": True, "is_new": True}
    list(process_due_events(due_before=timezone.now()))
    ((_, amount, commissions),) = list_sales(connection.account)
    assert (amount, commissions) == ("100", [("10", "pending")])


def test_copies_of_an_event_are_one(connection, events, order):
    request = events.build_request(order)
    answers = [post(connection, request).json()["is_new"] for _ in range(20)]
    assert answers == [True] + [False] * 19
    list(process_due_events(due_before=timezone.now()))
    assert connection.account.shop_events.count() == 1
    assert len(list_sales(connection.account)) == 1


def test_a_replay_as_another_event_changes_nothing(connection, kind, events, order):
    post(connection, events.build_request(order))
    option = "event" if kind == "shopify" else "delivery"
    again = post(connection, events.build_request(order, **{option: "again"}))
    assert again.json()["is_new"]
    list(process_due_events(due_before=timezone.now()))
    assert len(list_sales(connection.account)) == 1


def test_events_with_one_id_and_other_bodies_are_several(connection, events, order):
    """WooCommerce counts deliveries by the second, Shopify acts of the shop."""
    for number in (1, 2):
        response = post(connection, events.build_request(order | {"id": number}))
        assert response.json()["is_new"]


def test_a_wrong_signature_is_refused(connection, events, order):
    request = events.build_request(order, secret="another secret")
    assert_refused(post(connection, request), connection, MISMATCH)


def test_a_changed_body_is_refused(connection, events, order):
    raw, headers = events.build_request(order)
    request = (raw.replace(b"100.00", b"900.00"), headers)
    assert_refused(post(connection, request), connection, MISMATCH)


@pytest.mark.parametrize("signature", ["", "é", "AAAA", "=" * 10_000])
def test_an_odd_signature_is_refused(signature, kind, connection, events, order):
    header = KINDS[kind][2]
    response = post(connection, events.build_request(order), **{header: signature})
    assert_refused(response, connection, MISMATCH)


def test_the_secret_of_another_account_is_refused(
    connect, connection, events, order, other_account
):
    other = connect(other_account, secret="the secret of another account")
    request = events.build_request(order, secret="the secret of another account")
    assert_refused(post(connection, request), connection, MISMATCH)
    assert post(other, request).status_code == 200
    assert not connection.account.shop_events.exists()


def test_both_secrets_count_during_a_rotation(connection, events, order):
    account, at = connection.account, timezone.now()
    values = {"connection_id": connection.public_id, "at": at}
    set_connection_secret(account, secret="the newer secret", **values)
    newer = events.build_request(order | {"id": 1}, secret="the newer secret")
    earlier = events.build_request(order | {"id": 2})
    assert post(connection, newer).status_code == 200
    assert post(connection, earlier).status_code == 200
    forget_earlier_secret(account, **values)
    assert post(connection, earlier).status_code == 400


def test_without_a_secret_everything_is_refused(connect, events, order):
    connection = connect(secret="")
    response = post(connection, events.build_request(order, secret=""))
    message = "This connection has no signing secret yet."
    assert_refused(response, connection, message)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b"5",
        b'{"id": ',
        b"\xff\xfe{",
        b'{"id": "\x00"}',
        b"[" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b'{"id": ' + b"1" * 10_000 + b"}",
    ],
    ids=range(9),
)
def test_a_body_that_is_no_object_is_refused(raw, connection, events):
    response = post(connection, events.build_request(raw))
    assert_refused(response, connection, NOT_JSON)


@pytest.mark.parametrize("depth", [50, 500])
def test_a_deep_body_is_no_error_of_ours(depth, connection, events, order):
    text = json.dumps(order)[:-1] + ', "deep": ' + "[" * depth + "]" * depth + "}"
    response = post(connection, events.build_request(text.encode()))
    assert response.status_code == 200


def test_an_event_without_a_topic_is_refused(kind, connection, events, order):
    response = post(connection, events.build_request(order, ""))
    name = {"woocommerce": "WooCommerce", "shopify": "Shopify"}[kind]
    message = f"The event has no topic: send it by a webhook of {name}."
    assert_refused(response, connection, message)


def test_an_unknown_topic_is_stored_and_ignored(connection, events, order):
    assert post(connection, events.build_request(order, "a/b")).status_code == 200
    list(process_due_events(due_before=timezone.now()))
    event = connection.account.shop_events.get()
    assert (event.state, event.kind) == ("ignored", "a/b")
    assert event.result == ["This kind of event does nothing."]


def test_an_unknown_connection_is_not_found(connection, events, order):
    response = post("cn_unknown", events.build_request(order))
    assert_refused(response, connection, "Not Found", 404)


def test_a_connection_that_is_off_is_not_found(connection, events, order):
    connection.update_row(mode=ConnectionMode.OFF)
    response = post(connection, events.build_request(order))
    assert_refused(response, connection, "Not Found", 404)


def test_a_large_body_is_refused(connection, events, order):
    request = events.build_request(order | {"note": "x" * 1_000_000})
    response = post(connection, request)
    assert_refused(response, connection, "Request Entity Too Large", 413)


@pytest.mark.parametrize("method", ["get", "put", "patch", "delete"])
def test_only_posts_are_allowed(method, connection):
    response = getattr(Client(), method)(f"/in/{connection.public_id}/")
    assert response.status_code == 405


def send_ping(connection, raw=b"webhook_id=142", **headers):
    content_type = "application/x-www-form-urlencoded"
    path = f"/in/{connection.public_id}/"
    return Client().post(path, raw, content_type=content_type, headers=headers)


@pytest.mark.parametrize("kind", ["woocommerce"], indirect=True)
@pytest.mark.parametrize("secret", ["", woocommerce_events.SECRET])
def test_the_ping_of_woocommerce_is_answered_and_not_stored(secret, connect):
    connection = connect(secret=secret)
    response = send_ping(connection)
    assert (response.status_code, response.json()) == (200, {"stored": False})
    assert not connection.account.shop_events.exists()


@pytest.mark.parametrize("kind", ["woocommerce"], indirect=True)
def test_what_only_looks_like_a_ping_is_refused(connection):
    for raw in (b"webhook_id=" + b"1" * 100, b"id=142", b""):
        assert send_ping(connection, raw).status_code == 400


@pytest.mark.parametrize("kind", ["shopify"], indirect=True)
def test_shopify_has_no_ping(connection):
    assert send_ping(connection).status_code == 400


@pytest.mark.parametrize("kind", ["woocommerce"], indirect=True)
@pytest.mark.parametrize("values", [{"id": 723}, {"id": 723.5}, {}, {"id": None}])
def test_a_deletion_has_only_an_id(values, connection, events):
    response = post(connection, events.build_request(values, "order.deleted"))
    if values != {"id": 723}:
        assert_refused(response, connection, NO_EVENT)
        return
    list(process_due_events(due_before=timezone.now()))
    event = connection.account.shop_events.get()
    assert event.state == "done"
    assert json.loads(event.body)["received_at"] == event.created_at.isoformat()


@pytest.mark.parametrize("at", ["never", 5, "0001-01-01T00:00:00+14:00"])
def test_an_odd_time_is_no_error_of_ours(at, kind, connection, events, order):
    if kind == "shopify":
        request = events.build_request(order)
        response = post(connection, request, **{"X-Shopify-Triggered-At": str(at)})
    else:
        body = order | {"date_modified_gmt": at}
        response = post(connection, events.build_request(body))
    assert response.status_code == 400
    assert not connection.account.shop_events.exists()
