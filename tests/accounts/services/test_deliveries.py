"""docs/api-contract.md, section 6.3: claim, retry, give up and resend deliveries."""

import json
from datetime import timedelta

import pytest

from accounts.errors import (
    DeliveryNotFound,
    PostbackNotTestable,
    WebhookDisabled,
    WebhookNotFound,
)
from accounts.models.api_keys import Role
from accounts.services import notifications
from accounts.services.changes import record_change
from accounts.services.deliveries import (
    JITTER,
    LEASE_DURATION,
    RETRY_DELAYS,
    DeliveryResult,
    claim_deliveries,
    count_pending_deliveries,
    list_deliveries,
    list_due_endpoints,
    record_delivery_result,
    resend_delivery,
    send_test_event,
)
from accounts.services.staff import create_staff_user
from accounts.services.webhooks import (
    create_postback_endpoint,
    create_webhook,
    disable_webhook,
    enable_webhook,
)
from tests.conftest import NOW

SUCCESS = DeliveryResult(status=204)
FAILURE = DeliveryResult(status=500, response_body="Oh no", error="answered 500")
GONE = DeliveryResult(status=410, error="answered 410")
SECOND = timedelta(seconds=1)


@pytest.fixture(autouse=True)
def render_names(settings):
    settings.EVENT_PAYLOAD_RENDERER = "tests.accounts.services.test_outbox.render"


@pytest.fixture
def webhook(account):
    return create_webhook(account, url="https://hooks.example.net/", at=NOW)


@pytest.fixture
def make_events(account, webhook):
    """Create events, one second apart, and return their deliveries."""

    def make(count=1):
        for number in range(count):
            record_change(account, "customer.created", account, at=NOW + number * SECOND)
        return list(account.deliveries.order_by("id"))

    return make


def claim_due(webhook, *, limit=10, at=NOW):
    return claim_deliveries(webhook, limit=limit, due_before=at, at=at)


def reload(delivery):
    rows = type(delivery).objects.select_related("endpoint__account")
    return rows.get(pk=delivery.pk)


def attempt_delivery(delivery, result, *, at=NOW):
    """Claim a delivery when it is due and record the result."""
    due_at = max(reload(delivery).due_at, at)
    (claimed,) = claim_due(reload(delivery).endpoint, at=due_at)
    record_delivery_result(claimed, result, at=due_at)
    return reload(delivery)


def test_claims_due_deliveries_oldest_first(webhook, make_events):
    first, second, third = make_events(3)

    assert claim_due(webhook, limit=1, at=NOW + SECOND) == [first]
    assert claim_due(webhook, at=NOW + SECOND) == [second]
    assert claim_due(webhook, at=NOW + SECOND) == []
    assert list_due_endpoints(at=NOW + SECOND) == []
    assert list_due_endpoints(at=NOW + 2 * SECOND) == [webhook]
    assert claim_due(webhook, at=NOW + 2 * SECOND) == [third]


def test_a_delivery_is_due_again_after_its_lease(webhook, make_events):
    make_events()
    (expired,) = claim_due(webhook)

    later = NOW + LEASE_DURATION
    assert claim_due(webhook, at=later - SECOND) == []
    (claimed,) = claim_due(webhook, at=later)
    record_delivery_result(expired, FAILURE, at=later)  # ignored: the lease is over
    stored = reload(claimed)
    assert (stored.attempts, stored.due_at) == (0, NOW + 2 * LEASE_DURATION)
    record_delivery_result(claimed, SUCCESS, at=later)
    assert reload(claimed).delivered_at == later


def test_records_a_success(webhook, make_events):
    make_events()
    (delivery,) = claim_due(webhook)

    record_delivery_result(delivery, DeliveryResult(status=200, response_body="Thanks"), at=NOW)

    stored = reload(delivery)
    assert (stored.attempts, stored.status) == (1, 200)
    assert stored.response_body == "Thanks"
    assert (stored.delivered_at, stored.due_at, stored.error) == (NOW, None, "")
    assert stored.endpoint.failing_since is None
    assert count_pending_deliveries() == 0


def test_retries_with_growing_delays_and_then_gives_up(account, webhook, make_events):
    """Eight attempts with delays of 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 24 h."""
    (delivery,) = make_events()
    delays = []
    for _ in RETRY_DELAYS:
        before = reload(delivery).due_at
        delivery = attempt_delivery(delivery, FAILURE)
        delays.append(delivery.due_at - before)
        assert not delivery.endpoint.disabled_at

    for delay, expected in zip(delays, RETRY_DELAYS, strict=True):
        assert (1 - JITTER) * expected <= delay <= (1 + JITTER) * expected
    assert sum(RETRY_DELAYS, timedelta()) == timedelta(hours=41, minutes=35, seconds=5)

    delivery = attempt_delivery(delivery, FAILURE)
    assert (delivery.attempts, delivery.due_at) == (8, None)
    assert (delivery.status, delivery.response_body) == (500, "Oh no")
    endpoint = delivery.endpoint
    assert endpoint.disabled_because == "8 tries failed: answered 500"
    assert endpoint.failing_since == NOW
    entry = account.audit_log.get(kind="webhook.disabled")
    assert entry.details == {"reason": endpoint.disabled_because}


def test_adds_jitter_to_retries(webhook, make_events):
    make_events(5)

    for delivery in claim_due(webhook, at=NOW + 5 * SECOND):
        record_delivery_result(delivery, FAILURE, at=NOW)

    retry_times = set(webhook.account.deliveries.values_list("due_at", flat=True))
    assert len(retry_times) == 5


def test_disables_an_endpoint_that_answers_410(account, webhook, make_events):
    delivery, other = make_events(2)

    delivery = attempt_delivery(delivery, GONE)

    assert (delivery.attempts, delivery.due_at) == (1, None)
    assert delivery.endpoint.disabled_because == "the receiver is gone: answered 410"
    assert list_due_endpoints(at=NOW + LEASE_DURATION) == []
    assert reload(other).due_at == NOW + SECOND  # still pending
    assert count_pending_deliveries() == 0
    enable_webhook(account, webhook=webhook.public_id, at=NOW)
    assert claim_due(webhook, at=NOW + LEASE_DURATION) == [other]


def test_records_since_when_an_endpoint_fails(webhook, make_events):
    first, second = make_events(2)

    attempt_delivery(first, FAILURE)
    attempt_delivery(second, FAILURE)

    webhook.refresh_from_db()
    assert webhook.failing_since == NOW


def test_a_success_clears_the_failure_of_an_endpoint(webhook, make_events):
    (delivery,) = make_events()
    delivery = attempt_delivery(delivery, FAILURE)

    delivery = attempt_delivery(delivery, SUCCESS)

    assert delivery.endpoint.failing_since is None
    assert delivery.delivered_at is not None


def test_resends_a_delivered_delivery(account, webhook, make_events):
    (delivery,) = make_events()
    attempt_delivery(delivery, SUCCESS)

    later = NOW + LEASE_DURATION
    resend_delivery(account, delivery_id=delivery.pk, at=later)

    stored = reload(delivery)
    assert (stored.due_at, stored.attempts, stored.delivered_at) == (later, 0, None)
    (claimed,) = claim_due(webhook, at=later)
    assert claimed.message_id == delivery.message_id


def test_does_not_resend_to_a_disabled_webhook(account, webhook, make_events):
    (delivery,) = make_events()
    disable_webhook(webhook, at=NOW)

    with pytest.raises(WebhookDisabled) as error:
        resend_delivery(account, delivery_id=delivery.pk, at=NOW)

    assert str(error.value) == (f"The webhook '{webhook.public_id}' is disabled: enable it first")


def test_does_not_resend_a_delivery_of_another_account(other_account, make_events):
    (delivery,) = make_events()

    with pytest.raises(DeliveryNotFound):
        resend_delivery(other_account, delivery_id=delivery.pk, at=NOW)


def test_lists_the_deliveries_of_a_webhook(account, other_account, webhook, make_events):
    first, second = make_events(2)
    attempt_delivery(first, FAILURE)

    log = list_deliveries(account, webhook=webhook.public_id, only_failed=False)

    assert [row["id"] for row in log] == [second.pk, first.pk]
    assert log[1] == {
        "id": first.pk,
        "message_id": first.message_id,
        "kind": "customer.created",
        "subject": "account:harbor",
        "created_at": NOW,
        "attempts": 1,
        "attempted_at": NOW,
        "status": 500,
        "error": "answered 500",
        "response_body": "Oh no",
        "delivered_at": None,
        "due_at": reload(first).due_at,
    }
    failed = list_deliveries(account, webhook=webhook.public_id, only_failed=True)
    assert [row["id"] for row in failed] == [first.pk]
    with pytest.raises(WebhookNotFound):
        list_deliveries(other_account, webhook=webhook.public_id, only_failed=False)


def test_notifies_the_owners_that_a_webhook_is_disabled(
    account, webhook, make_events, mailoutbox, django_capture_on_commit_callbacks
):
    for role in Role.values:
        email = f"{role}@harbor.example.org"
        create_staff_user(account, email=email, role=role, password=None, at=NOW)
    (delivery,) = make_events()

    with django_capture_on_commit_callbacks(execute=True):
        attempt_delivery(delivery, GONE)

    (mail,) = mailoutbox
    assert mail.to == ["owner@harbor.example.org"]
    assert mail.subject == f"[Affiliate Site] The webhook {webhook} is disabled"
    assert "the receiver is gone: answered 410" in mail.body


def test_disables_a_webhook_even_if_no_mail_can_be_sent(
    account, make_events, monkeypatch, caplog, django_capture_on_commit_callbacks
):
    def fail_to_send(*_, **__):
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(notifications, "send_mail", fail_to_send)
    owner = {"email": "o@harbor.example.org", "role": Role.OWNER, "password": None}
    create_staff_user(account, at=NOW, **owner)
    (delivery,) = make_events()

    with django_capture_on_commit_callbacks(execute=True):
        delivery = attempt_delivery(delivery, GONE)

    assert delivery.endpoint.disabled_at
    assert "A notification e-mail could not be sent" in caplog.text


# Test events


def test_a_test_event_says_so_and_goes_to_one_webhook(account, webhook):
    create_webhook(account, url="https://hooks.example.net/other", at=NOW)
    webhook.update_row(events=["payment.created"])

    delivery = send_test_event(account, webhook=webhook.public_id, at=NOW)

    (claimed,) = claim_due(webhook)
    assert (claimed, account.deliveries.count()) == (delivery, 1)
    assert (claimed.event.kind, claimed.event.subject) == (
        "webhook.test",
        f"webhookendpoint:{webhook.public_id}",
    )
    assert json.loads(bytes(claimed.body)) == {
        "test": True,
        "message": "This is a test event. Nothing has changed.",
        "webhook": webhook.public_id,
        "created_at": "2026-03-04T09:15:27+00:00",
    }


@pytest.mark.parametrize("result", [FAILURE, GONE], ids=["failure", "gone"])
def test_a_failed_test_event_is_not_repeated_and_disables_nothing(
    account, webhook, result, mailoutbox
):
    delivery = send_test_event(account, webhook=webhook.public_id, at=NOW)

    stored = attempt_delivery(delivery, result)

    assert (stored.attempts, stored.due_at, stored.error) == (1, None, result.error)
    assert stored.endpoint.disabled_at is None
    assert stored.endpoint.failing_since is None
    assert mailoutbox == []


def test_a_successful_test_event_ends_the_failing_of_the_webhook(account, webhook):
    webhook.update_row(failing_since=NOW, backoff_until=NOW)
    delivery = send_test_event(account, webhook=webhook.public_id, at=NOW)

    stored = attempt_delivery(delivery, SUCCESS)

    assert stored.delivered_at == NOW
    assert stored.endpoint.failing_since is None


def test_sends_no_test_event_to_disabled_foreign_or_affiliates_endpoints(
    account, other_account, webhook
):
    postback = create_postback_endpoint(
        account, affiliate="mina", url="https://mina.example.net/", at=NOW
    )
    with pytest.raises(PostbackNotTestable):
        send_test_event(account, webhook=postback.public_id, at=NOW)
    with pytest.raises(WebhookNotFound):
        send_test_event(other_account, webhook=webhook.public_id, at=NOW)
    disable_webhook(webhook, at=NOW)
    with pytest.raises(WebhookDisabled):
        send_test_event(account, webhook=webhook.public_id, at=NOW)

    assert not account.deliveries.exists()
