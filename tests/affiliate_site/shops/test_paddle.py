"""Events of Paddle Billing: what they do to sales, refunds and customers."""

import json
from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from accounts.exact_json import format_decimal
from payouts.services.ledger import get_payable_balances_by_slug
from tests.ledger_checks import assert_ledger_consistent
from tests.paddle_events import (
    CUSTOMER,
    SECRET,
    build_adjustment,
    build_event,
    build_renewal,
    build_subscription,
    build_transaction,
    sign_event,
)
from tests.program_scenario import CONVERSION_CREATED_AT
from tests.shop_inbox import ORDERS_OF_FIVE, list_sales
from tests.shop_inbox import deliver as deliver_event
from tracking.models.shops import ConnectionMode, ShopEventState
from tracking.services.connections import (
    create_connection,
    forget_earlier_secret,
    set_connection_secret,
    update_connection,
)

pytestmark = pytest.mark.usefixtures("shared_scenario")
OTHER_SECRET = "pdl_ntfset_01jq5a0000000000000000000z"

OUT_OF_RANGE = "9999-12-31T23:59:59-12:00"


@pytest.fixture
def scenario(scenario):
    scenario.program.update_row(auto_approve_commissions=True)
    yield scenario
    assert_ledger_consistent(scenario.account)


@pytest.fixture
def connection(scenario):
    return create_connection(
        scenario.account,
        kind="paddle",
        program=scenario.program,
        secret=SECRET,
        mode=ConnectionMode.LIVE,
        at=CONVERSION_CREATED_AT,
    )


@pytest.fixture
def referral(scenario):
    """Custom data with a click."""
    return {"click_id": str(scenario.create_click().public_id)}


def deliver(connection, body):
    return deliver_event(
        connection,
        body,
        key=body["event_id"],
        kind=body["event_type"],
        at=datetime.fromisoformat(body["occurred_at"]),
    )


def change_settings(connection, **settings):
    update_connection(
        connection.account,
        connection_id=connection.public_id,
        changes={"settings": settings},
        at=CONVERSION_CREATED_AT,
    )
    return connection.reload()


def get_balance(scenario):
    balances = get_payable_balances_by_slug(scenario.account)
    return format_decimal(balances[scenario.mina.slug]["EUR"])


def test_a_transaction_with_a_click_is_a_sale_without_tax(connection, referral):
    event = deliver(connection, build_transaction(custom_data=referral))
    assert event.result == ["A sale of 100 EUR was created."]
    assert list_sales(connection.account) == [("txn_1", "100", [("10", "approved")])]


def test_tax_earns_where_the_account_wants_it(connection, referral):
    connection = change_settings(connection, includes_tax=True)
    deliver(connection, build_transaction(custom_data=referral))
    deliver(connection, build_adjustment("adj_1", 2000, hours=1))
    assert list_sales(connection.account) == [("txn_1", "95.2", [("9.52", "approved")])]


def test_a_discount_is_taken_off(connection, referral):
    deliver(connection, build_transaction(custom_data=referral, discount=2500))
    assert list_sales(connection.account) == [("txn_1", "75", [("7.5", "approved")])]


def test_without_a_referral_nothing_is_created(connection):
    event = deliver(connection, build_transaction())
    assert event.state == ShopEventState.NO_REFERRAL
    assert list_sales(connection.account) == []


def test_a_discount_is_an_affiliates_coupon_by_its_mapped_id(scenario, connection):
    connection = change_settings(connection, coupons={"dsc_1": scenario.mina.coupon})
    deliver(connection, build_transaction(discount_id="dsc_1"))
    assert connection.account.conversions.get().tracking_source == "coupon"


def test_a_subscription_from_its_trial_to_a_lost_chargeback(scenario, connection, referral):
    account = connection.account
    deliver(
        connection,
        build_subscription("trialing", status="trialing", custom_data=referral),
    )
    assert account.customers.get().status == "trial"
    trial = build_transaction(lines=((0, "pri_1", "pro_1"),))
    assert deliver(connection, trial).result == ["The sale has no amount."]
    deliver(connection, build_subscription("activated", 336))
    deliver(connection, build_renewal(336, key="txn_2"))
    deliver(connection, build_renewal(1080, key="txn_3"))
    assert list_sales(account) == [
        ("txn_2", "100", [("10", "approved")]),
        ("txn_3", "100", [("10", "approved")]),
    ]
    labels = account.shop_orders.order_by("id").values_list("label", flat=True)
    assert list(labels)[1:] == [
        "transaction txn_2, renewal 1",
        "transaction txn_3, renewal 2",
    ]
    refund = build_adjustment("adj_1", 3333, 1090, transaction="txn_3")
    assert deliver(connection, refund).result == ["Refunded 33.33 EUR."]
    scenario.pay("16.67")
    deliver(connection, build_adjustment("adj_2", 3333, 1100, transaction="txn_3"))
    assert list_sales(account)[1] == ("txn_3", "33.34", [("3.33", "approved")])
    assert get_balance(scenario) == "-3.34"
    lost = build_adjustment("adj_3", 3334, 1200, action="chargeback", transaction="txn_3")
    deliver(connection, lost)
    assert list_sales(account) == [("txn_2", "100", [("10", "approved")])]
    assert get_balance(scenario) == "-6.67"
    deliver(connection, build_subscription("canceled", 1300, status="canceled"))
    assert account.customers.get().status == "canceled"


def test_refunds_are_of_their_lines_with_their_commission_types(scenario, connection, referral):
    scenario.create_commission_type("addon", "50")
    connection = change_settings(connection, commission_types={"pro_2": "addon"})
    lines = ((10000, "pri_1", "pro_1"), (2000, "pri_2", "pro_2"))
    deliver(connection, build_transaction(custom_data=referral, lines=lines))
    deliver(connection, build_adjustment("adj_1", 500, hours=1, line=1))
    assert list_sales(connection.account) == [
        ("txn_1", "115", [("10", "approved"), ("7.5", "approved")])
    ]


def test_a_refund_counts_when_it_is_approved_and_not_when_it_is_rejected(connection, referral):
    account = connection.account
    deliver(connection, build_transaction(custom_data=referral))
    pending = build_adjustment("adj_1", 2000, hours=1, status="pending_approval")
    event = deliver(connection, pending)
    assert event.state == ShopEventState.IGNORED
    assert list_sales(account) == [("txn_1", "100", [("10", "approved")])]
    deliver(connection, build_adjustment("adj_1", 2000, hours=2, is_update=True))
    assert list_sales(account) == [("txn_1", "80", [("8", "approved")])]
    rejected = build_adjustment("adj_2", 1000, hours=3, status="rejected", is_update=True)
    deliver(connection, rejected)
    assert list_sales(account) == [("txn_1", "80", [("8", "approved")])]


@pytest.mark.parametrize("action", ["refund", "credit"])
def test_a_reversed_adjustment_is_put_back(action, connection, referral):
    account = connection.account
    deliver(connection, build_transaction(custom_data=referral))
    deliver(connection, build_adjustment("adj_1", 10000, hours=1, action=action))
    assert list_sales(account) == []
    reversal = build_adjustment(
        "adj_1", 10000, hours=2, action=action, status="reversed", is_update=True
    )
    deliver(connection, reversal)
    assert list_sales(account) == [("txn_1", "100", [("10", "approved")])]


def test_what_a_credit_pays_counts_where_the_credit_was_taken_off(connection, referral):
    deliver(connection, build_transaction(custom_data=referral))
    deliver(connection, build_adjustment("adj_1", 4000, hours=1, action="credit"))
    upgrade = build_renewal(2, key="txn_2", origin="subscription_update")
    upgrade["data"]["details"]["totals"] |= {"credit": "4760", "grand_total": "7140"}
    deliver(connection, upgrade)
    assert list_sales(connection.account) == [
        ("txn_1", "60", [("6", "approved")]),
        ("txn_2", "100", [("10", "approved")]),
    ]


def test_a_refund_of_tax_changes_nothing(connection, referral):
    deliver(connection, build_transaction(custom_data=referral))
    refund = build_adjustment("adj_1", 0, hours=1)
    totals = {"subtotal": "0", "tax": "1900", "total": "1900"}
    refund["data"]["items"][0] |= {"type": "tax", "totals": totals}
    refund["data"]["totals"] |= totals
    deliver(connection, refund)
    assert list_sales(connection.account) == [("txn_1", "100", [("10", "approved")])]


def test_a_refund_without_lines_takes_its_part(connection, referral):
    deliver(connection, build_transaction(custom_data=referral))
    deliver(connection, build_adjustment("adj_1", 2000, hours=1, items=[]))
    assert list_sales(connection.account) == [("txn_1", "80", [("8", "approved")])]


def test_a_warning_holds_the_commission_until_it_is_reversed(connection, referral):
    account = connection.account
    deliver(connection, build_transaction(custom_data=referral))
    deliver(connection, build_adjustment("adj_1", 10000, 1, action="chargeback_warning"))
    assert list_sales(account) == [("txn_1", "100", [("10", "pending")])]
    reverse = build_adjustment("adj_2", 10000, 2, action="chargeback_warning_reverse")
    deliver(connection, reverse)
    assert list_sales(account) == [("txn_1", "100", [("10", "approved")])]


def test_a_reversed_chargeback_puts_the_sale_back_and_stays_so(connection, referral):
    account = connection.account
    deliver(connection, build_transaction(custom_data=referral))
    deliver(connection, build_adjustment("adj_1", 10000, 1, action="chargeback"))
    assert list_sales(account) == []
    deliver(connection, build_adjustment("adj_2", 10000, 2, action="chargeback_reverse"))
    assert list_sales(account) == [("txn_1", "100", [("10", "approved")])]
    update = build_adjustment("adj_1", 10000, 3, action="chargeback", is_update=True, created=1)
    deliver(connection, update)
    assert list_sales(account) == [("txn_1", "100", [("10", "approved")])]


STORIES = {
    "refunds, one reversed": [
        build_transaction(custom_data="CLICK"),
        build_adjustment("adj_1", 2000, 1, status="pending_approval"),
        build_adjustment("adj_1", 2000, 2, is_update=True),
        build_adjustment("adj_2", 3000, 3),
        build_adjustment("adj_2", 3000, 4, status="reversed", is_update=True),
    ],
    "a subscription with a refund": [
        build_subscription(custom_data="CLICK"),
        build_transaction(subscription_id="sub_1"),
        build_renewal(720, key="txn_2"),
        build_adjustment("adj_1", 5000, 730, transaction="txn_2"),
        build_adjustment("adj_2", 1001, 740, transaction="txn_1", action="credit"),
    ],
    "a chargeback": [
        build_transaction(custom_data="CLICK"),
        build_adjustment("adj_1", 5000, 1, action="chargeback_warning"),
        build_adjustment("adj_2", 2000, 2),
        build_adjustment("adj_3", 5000, 3, action="chargeback"),
        build_adjustment("adj_4", 1000, 4, items=[]),
    ],
}
ENDS = {
    "refunds, one reversed": [("txn_1", "80", [("8", "approved")])],
    "a subscription with a refund": [
        ("txn_1", "89.99", [("9", "approved")]),
        ("txn_2", "50", [("5", "approved")]),
    ],
    # Of the line 80 is left, and 60 of 100 were paid back as parts of all.
    "a chargeback": [("txn_1", "20", [("2", "approved")])],
}


@pytest.mark.parametrize("name", STORIES)
@pytest.mark.parametrize("order", ORDERS_OF_FIVE)
def test_every_order_of_events_has_the_same_end(name, order, connection, referral):
    story = STORIES[name]
    for number in order:
        body = story[number]
        if body["data"].get("custom_data") == "CLICK":
            body = body | {"data": body["data"] | {"custom_data": referral}}
        deliver(connection, body)
    assert list_sales(connection.account) == ENDS[name]


def test_yen_have_no_cents(connection, referral):
    lines = ((1000, "pri_1", "pro_1"),)
    body = build_transaction(custom_data=referral, currency="JPY", lines=lines, tax=10)
    deliver(connection, body)
    assert list_sales(connection.account) == [("txn_1", "1000", [("100", "approved")])]


def test_a_downgrade_counts_as_one_line(connection, referral):
    lines = ((10000, "pri_1", "pro_1"), (-4000, "pri_2", "pro_2"))
    deliver(connection, build_transaction(custom_data=referral, lines=lines, tax=0))
    assert list_sales(connection.account) == [("txn_1", "60", [("6", "approved")])]


def test_a_sale_keeps_its_currency(connection, referral):
    deliver(connection, build_transaction(custom_data=referral))
    event = deliver(connection, build_transaction(1, currency="USD"))
    assert event.state == ShopEventState.FAILED
    assert event.result == ["The order was in EUR, and now it is in USD."]
    assert list_sales(connection.account) == [("txn_1", "100", [("10", "approved")])]


@pytest.mark.parametrize(
    "total", ["-5", "1e4", "12.5", "NaN", "9" * 30, "9" * 5000, "", None, {}, True]
)
def test_odd_amounts_fail_with_a_sentence(total, connection, referral):
    body = build_transaction(custom_data=referral)
    body["data"]["details"]["totals"]["total"] = total
    event = deliver(connection, body)
    assert event.state == ShopEventState.FAILED
    assert event.result[0].startswith("The event does not look as expected: ")
    assert list_sales(connection.account) == []


def test_events_that_do_nothing_say_why(connection):
    customer = {"id": CUSTOMER, "email": "jo@buyers.example.org"}
    event = deliver(connection, build_event("customer.created", customer))
    assert event.result == ["A customer counts with its first sale or trial."]
    reverse = build_adjustment("adj_1", 100, action="credit_reverse")
    assert "reversed" in deliver(connection, reverse).result[0]
    unknown = build_adjustment("adj_2", 100, action="gift")
    assert deliver(connection, unknown).state == ShopEventState.IGNORED


def send(client, connection, body, *, raw=None, at=None, secrets=(SECRET,)):
    raw = raw or json.dumps(body).encode()
    signature = sign_event(raw, at=at or timezone.now(), secrets=secrets)
    return client.post(
        f"/in/{connection.public_id}/",
        data=raw,
        content_type="application/json",
        headers={"Paddle-Signature": signature},
    )


def test_a_signed_event_is_stored_once(client, connection):
    body = build_transaction()
    assert send(client, connection, body).json() == {"stored": True, "is_new": True}
    assert send(client, connection, body).json() == {"stored": True, "is_new": False}
    event = connection.account.shop_events.get()
    assert (event.key, event.kind) == (body["event_id"], "transaction.completed")
    assert json.loads(event.body) == body


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"secrets": [OTHER_SECRET]}, "does not match the secret of this connection."),
        ({"secrets": []}, "The header Paddle-Signature is missing or has no h1."),
        ({"at": CONVERSION_CREATED_AT}, "too old, or the clocks differ."),
        ({"raw": b"[" * 50_000}, "The body is no JSON object."),
        ({"raw": b'{"data": 1e9999999999999999999}'}, "The body is no JSON object."),
        ({"raw": b'{"data": 1e999999999}'}, "The body is no JSON object."),
        ({"body": build_event("\0", {"id": "x"})}, "characters that no text has."),
        ({"body": build_event("\ud800", {"id": "x"})}, "characters that no text has."),
        ({"raw": b"[]"}, "The body is no JSON object."),
        ({"raw": b'{"event_id": "\xff"}'}, "The body is no JSON object."),
        ({"raw": b"{}"}, "The event has no occurred_at."),
        ({"body": {"occurred_at": "2026-03-04T09:15:27Z"}}, "has no event_id."),
        ({"body": {"occurred_at": "soon"}}, "occurred_at of the event is no time."),
        ({"body": {"occurred_at": OUT_OF_RANGE}}, "is no time."),
        ({"body": {"occurred_at": 5}}, "The event has no occurred_at."),
    ],
)
def test_what_cannot_be_taken_is_refused(change, sentence, client, connection):
    body = change.pop("body", build_transaction())
    response = send(client, connection, body, **change)
    assert response.status_code == 400
    assert response.json()["message"].endswith(sentence)
    assert not connection.account.shop_events.exists()


def test_the_signature_is_of_the_time_and_the_body(client, connection):
    raw = json.dumps(build_transaction()).encode()
    now = timezone.now()
    later = sign_event(raw, at=now).replace(
        f"ts={int(now.timestamp())}",
        f"ts={int((now + timedelta(seconds=2)).timestamp())}",
    )
    for signature, sent in ((later, raw), (sign_event(raw, at=now), raw + b" ")):
        response = client.post(
            f"/in/{connection.public_id}/",
            data=sent,
            content_type="application/json",
            headers={"Paddle-Signature": signature},
        )
        assert response.status_code == 400


def test_two_secrets_are_valid_during_a_rotation(client, connection):
    def send_with(*secrets):
        body = build_transaction(key=f"txn_{secrets}")
        return send(client, connection, body, secrets=secrets).status_code

    account, name = connection.account, connection.public_id
    set_connection_secret(
        account, connection_id=name, secret=OTHER_SECRET, at=CONVERSION_CREATED_AT
    )
    assert send_with(SECRET) == send_with(OTHER_SECRET) == 200
    assert send_with("pdl_ntfset_foreign", OTHER_SECRET) == 200
    forget_earlier_secret(account, connection_id=name, at=CONVERSION_CREATED_AT)
    assert (send_with(SECRET), send_with(OTHER_SECRET)) == (400, 200)


def test_the_secret_of_another_account_is_refused(client, connection, other_account):
    foreign = create_connection(
        other_account,
        kind="paddle",
        secret=OTHER_SECRET,
        mode=ConnectionMode.LIVE,
        at=CONVERSION_CREATED_AT,
    )
    response = send(client, connection, build_transaction(), secrets=[OTHER_SECRET])
    assert response.status_code == 400
    assert send(client, foreign, build_transaction()).status_code == 400
    assert not other_account.shop_events.exists()


def test_a_body_above_a_megabyte_is_refused(client, connection):
    body = build_transaction(custom_data={"note": "x" * 1_000_001})
    assert send(client, connection, body).status_code == 413
