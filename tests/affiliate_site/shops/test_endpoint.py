"""`POST /in/<connection>/`: what a shop is answered, and what is stored."""

import json
from datetime import timedelta

import pytest
from django.db import connection as database
from django.test import Client
from django.utils import timezone

from affiliate_site.shops.views import MAX_EVENT_SIZE
from tests.stripe_events import SECRET, build_checkout
from tracking.models.shops import ConnectionMode, RefusalReason
from tracking.services.connections import (
    MAX_REFUSED_COUNT,
    count_refusal,
    create_connection,
    forget_earlier_secret,
    list_refused_requests,
    set_connection_secret,
    update_connection,
)

stripe = pytest.importorskip("stripe")


@pytest.fixture
def connection(account):
    return create_connection(
        account,
        kind="stripe",
        secret=SECRET,
        mode=ConnectionMode.LIVE,
        at=timezone.now(),
    )


@pytest.fixture
def post(client):
    def send(target, body, *, secret=SECRET, age=timedelta(), header=None):
        text = body if isinstance(body, str) else json.dumps(body)
        signed_at = int((timezone.now() - age).timestamp())
        if header is None:
            header = stripe.WebhookSignature.generate_signature_header(text, secret, signed_at)
        return client.post(
            f"/in/{target}/",
            text,
            content_type="application/json",
            headers={"Stripe-Signature": header},
        )

    return send


def assert_refused(response, message, account):
    assert response.status_code == 400
    body = response.json()
    assert body.pop("traceId") == response["X-Trace-Id"]
    assert body == {"message": message, "code": 400}
    assert not account.shop_events.exists()


MISMATCH = "The signature does not match the signing secret of this connection."


def test_a_signed_event_is_stored(connection, post):
    response = post(connection, build_checkout())
    assert response.status_code == 200
    assert response.json() == {"stored": True, "is_new": True}
    event = connection.account.shop_events.get()
    assert (event.key, event.kind) == (
        "evt_checkout_session_completed_0_cs_live_a1",
        "checkout.session.completed",
    )
    is_embedded = database.vendor == "sqlite"
    assert event.state == ("no_referral" if is_embedded else "received")


def test_the_same_event_is_one(connection, post):
    post(connection, build_checkout())
    response = post(connection, build_checkout())
    assert response.json() == {"stored": True, "is_new": False}
    assert connection.account.shop_events.count() == 1


def test_another_secret_is_refused(connection, post):
    response = post(connection, build_checkout(), secret="whsec_of_somebody_else")
    assert_refused(response, MISMATCH, connection.account)


def test_the_secret_of_another_account_is_refused(connection, other_account, post):
    create_connection(other_account, kind="stripe", secret="whsec_other_account", at=timezone.now())
    response = post(connection, build_checkout(), secret="whsec_other_account")
    assert_refused(response, MISMATCH, connection.account)


@pytest.mark.parametrize("age", [timedelta(minutes=6), timedelta(minutes=-6)])
def test_an_old_signature_is_refused(connection, post, age):
    response = post(connection, build_checkout(), age=age)
    message = "The signature is too old, or the clocks differ."
    assert_refused(response, message, connection.account)


@pytest.mark.parametrize("header", ["", "t=", "t=abc,v1=00", "v1=00", "t=1e400,v1=0"])
def test_a_signature_without_a_time_is_refused(connection, post, header):
    response = post(connection, build_checkout(), header=header)
    assert_refused(response, "The signature has no time.", connection.account)


def test_a_signature_outside_ascii_is_refused(connection, post):
    header = f"t={int(timezone.now().timestamp())},v1=\u00e9"
    response = post(connection, build_checkout(), header=header)
    message = "The signature has characters that no signature has."
    assert_refused(response, message, connection.account)


@pytest.mark.parametrize("body", ['{"id": 1}', '{"id": "evt_1", "type": "x", "created": "1e999"}'])
def test_json_that_is_no_event_is_refused(connection, post, body):
    response = post(connection, body)
    message = "The body is no event of this kind of shop: it lacks ID, kind or time."
    assert_refused(response, message, connection.account)


@pytest.mark.parametrize("body", ["", "[]", "{", "null", '"text"', "[" * 100_000])
def test_a_body_that_is_no_event_is_refused(connection, post, body):
    response = post(connection, body)
    assert_refused(response, "The body is no JSON object.", connection.account)


def test_without_a_secret_everything_is_refused(connection, post):
    connection.update_row(secrets=[])
    response = post(connection, build_checkout())
    message = "This connection has no signing secret yet."
    assert_refused(response, message, connection.account)


def count_refusals(connection):
    row = connection.reload()
    return row.refused_count, row.refused_since is not None


def test_counts_requests_with_a_wrong_signature(connection, post):
    for _ in range(3):
        post(connection, build_checkout(), secret="whsec_of_somebody_else")
    assert count_refusals(connection) == (3, True)


def test_begins_to_count_again_after_an_event(connection, post):
    post(connection, build_checkout(), secret="whsec_of_somebody_else")
    post(connection, build_checkout())
    assert count_refusals(connection) == (0, False)


def test_begins_to_count_again_with_another_secret(connection, post):
    post(connection, build_checkout(), secret="whsec_the_new_one")
    set_connection_secret(
        connection.account,
        connection_id=connection.public_id,
        secret="whsec_the_new_one",
        at=timezone.now(),
    )
    assert count_refusals(connection) == (0, False)


def test_strangers_cause_few_writes(connection, post, capture_queries):
    for _ in range(2):
        post(connection, "{}", header="")
    connection.update_row(refused_count=MAX_REFUSED_COUNT - 1)
    account = connection.account
    account.refused_requests.update(count=MAX_REFUSED_COUNT - 1)
    post(connection, "{}", header="")
    with capture_queries() as queries:
        post(connection, "{}", header="")
    # It reads the connection and the count, and the account's time zone.
    assert all(query["sql"].startswith("SELECT") for query in queries)
    assert count_refusals(connection)[0] == MAX_REFUSED_COUNT
    assert account.refused_requests.get().count == MAX_REFUSED_COUNT


def test_counts_refused_requests_by_day_and_reason(connection, post):
    post(connection, build_checkout(), secret="whsec_of_somebody_else")
    post(connection, build_checkout(), secret="whsec_of_somebody_else")
    post(connection, build_checkout(), age=timedelta(minutes=6))
    post(connection, '{"id": 1}')
    large = build_checkout(metadata={"text": "x" * MAX_EVENT_SIZE})
    assert post(connection, large).status_code == 413
    connection.update_row(secrets=[])
    post(connection, build_checkout())
    counts = connection.account.refused_requests.order_by("reason")
    today = connection.account.get_day(timezone.now())
    assert list(counts.values_list("connection", "day", "reason", "count")) == [
        (connection.pk, today, "no_secret", 1),
        (connection.pk, today, "signature", 2),
        (connection.pk, today, "time", 1),
        (connection.pk, today, "too_large", 1),
        (connection.pk, today, "unreadable", 1),
    ]


def test_another_day_is_counted_by_itself(connection):
    now = timezone.now()
    for days in (0, 0, 1):
        at = now - timedelta(days=days)
        count_refusal(connection, RefusalReason.SIGNATURE, at=at)
    found = [(row.count, row.last_at) for row in list_refused_requests(connection)]
    assert found == [(2, now), (1, now - timedelta(days=1))]


def test_counts_nothing_for_another_connection(connection, other_account, post):
    other = create_connection(
        other_account, kind="stripe", secret="whsec_other_account", at=timezone.now()
    )
    post(connection, build_checkout(), secret="whsec_other_account")
    assert count_refusals(other) == (0, False)


def test_two_secrets_are_valid_during_a_rotation(connection, post):
    account, at = connection.account, timezone.now()
    target = {"connection_id": connection.public_id, "at": at}
    set_connection_secret(account, secret="whsec_the_new_one", **target)
    assert post(connection, build_checkout()).status_code == 200
    new = build_checkout(id="cs_2")
    assert post(connection, new, secret="whsec_the_new_one").status_code == 200
    forget_earlier_secret(account, **target)
    assert post(connection, build_checkout(id="cs_3")).status_code == 400


def test_an_unknown_connection_is_not_found(db, post):
    assert post("cn_AAAAAAAAAAAAAAAA", build_checkout()).status_code == 404


def test_a_connection_that_is_off_is_not_found(connection, post):
    update_connection(
        connection.account,
        connection_id=connection.public_id,
        changes={"mode": ConnectionMode.OFF},
        at=timezone.now(),
    )
    assert post(connection, build_checkout()).status_code == 404


def test_a_large_body_is_refused(connection, post):
    body = build_checkout(metadata={"text": "x" * MAX_EVENT_SIZE})
    assert post(connection, body).status_code == 413
    assert not connection.account.shop_events.exists()


def test_only_post_is_allowed(connection, client):
    response = client.get(f"/in/{connection}/")
    assert (response.status_code, response["Allow"]) == (405, "POST")


def test_needs_no_token_against_forgery(connection, post, client):
    client.handler.enforce_csrf_checks = True
    assert post(connection, build_checkout()).status_code == 200


def test_has_no_cross_origin_headers(connection):
    response = Client().options(f"/in/{connection}/")
    assert "Access-Control-Allow-Origin" not in response
