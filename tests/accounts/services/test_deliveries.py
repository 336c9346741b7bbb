"""Contract 6.3: claimed under a lease, tried again, given up, sent by hand."""

from datetime import timedelta

import pytest

from accounts.errors import UnknownDelivery, UnknownWebhook, WebhookDisabled
from accounts.models.keys import Role
from accounts.services import notices
from accounts.services.deliveries import (
    JITTER,
    LEASE,
    RETRY_AFTER,
    Outcome,
    claim,
    due_endpoints,
    log_of,
    record,
    send_again,
    still_waiting,
)
from accounts.services.events import note
from accounts.services.staff import invite_staff
from accounts.services.webhooks import add_webhook, disable, enable
from tests.conftest import NOW

FINE = Outcome(status=204)
BROKEN = Outcome(status=500, answer="Oh no", trouble="answered 500")
GONE = Outcome(status=410, trouble="answered 410")
SECOND = timedelta(seconds=1)


@pytest.fixture(autouse=True)
def plug(settings):
    settings.EVENT_BODY = "tests.accounts.services.test_outbox.render"


@pytest.fixture
def webhook(account):
    return add_webhook(account, url="https://hooks.example.net/", at=NOW)


@pytest.fixture
def happen(account, webhook):
    """So many events, a second apart."""

    def happen(times=1):
        for number in range(times):
            note(account, "customer.created", account, at=NOW + number * SECOND)
        return list(account.deliveries.order_by("id"))

    return happen


def claimed(webhook, *, most=10, at=NOW):
    return claim(webhook, most=most, due=at, at=at)


def again(delivery):
    return (
        type(delivery).objects.select_related("endpoint__account").get(pk=delivery.pk)
    )


def fail(delivery, *, at=NOW, outcome=BROKEN):
    """Claim it when it is due, and fail."""
    delivery = again(delivery)
    moment = max(delivery.due_at, at)
    (mine,) = claimed(delivery.endpoint, at=moment)
    record(mine, outcome, at=moment)
    return again(delivery)


def test_claims_what_is_due_the_oldest_first(webhook, happen):
    first, second, third = happen(3)

    assert claimed(webhook, most=1, at=NOW + SECOND) == [first]
    assert claimed(webhook, at=NOW + SECOND) == [second]
    assert claimed(webhook, at=NOW + SECOND) == []
    assert due_endpoints(at=NOW + SECOND) == []
    assert due_endpoints(at=NOW + 2 * SECOND) == [webhook]
    assert claimed(webhook, at=NOW + 2 * SECOND) == [third]


def test_lets_anybody_claim_what_was_not_recorded_in_time(webhook, happen):
    happen()
    (lost,) = claimed(webhook)

    assert claimed(webhook, at=NOW + LEASE - SECOND) == []
    (found,) = claimed(webhook, at=NOW + LEASE)
    record(lost, BROKEN, at=NOW + LEASE)  # too late: it is somebody else's
    assert (again(found).attempts, again(found).due_at) == (0, NOW + 2 * LEASE)
    record(found, FINE, at=NOW + LEASE)
    assert again(found).delivered_at == NOW + LEASE


def test_writes_down_a_success(webhook, happen):
    happen()
    (delivery,) = claimed(webhook)

    record(delivery, Outcome(status=200, answer="Thanks"), at=NOW)

    kept = again(delivery)
    assert (kept.attempts, kept.status, kept.answer) == (1, 200, "Thanks")
    assert (kept.delivered_at, kept.due_at, kept.trouble) == (NOW, None, "")
    assert kept.endpoint.failing_since is None
    assert still_waiting() == 0


def test_tries_again_later_and_later_and_then_gives_up(account, webhook, happen):
    """5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 24 h: the contract's eight tries."""
    (delivery,) = happen()
    pauses = []
    for _ in RETRY_AFTER:
        before = again(delivery).due_at
        delivery = fail(delivery)
        pauses.append(delivery.due_at - before)
        assert not delivery.endpoint.disabled_at

    for pause, named in zip(pauses, RETRY_AFTER, strict=True):
        assert (1 - JITTER) * named <= pause <= (1 + JITTER) * named
    assert sum(RETRY_AFTER, timedelta()) == timedelta(hours=41, minutes=35, seconds=5)

    delivery = fail(delivery)
    assert (delivery.attempts, delivery.due_at) == (8, None)
    assert (delivery.status, delivery.answer) == (500, "Oh no")
    endpoint = delivery.endpoint
    assert endpoint.disabled_because == "8 tries failed: answered 500"
    assert endpoint.failing_since == NOW
    line = account.events.get(kind="webhook.disabled")
    assert line.facts == {"because": endpoint.disabled_because}


def test_spreads_the_retries_of_many(webhook, happen):
    happen(5)

    for delivery in claimed(webhook, at=NOW + 5 * SECOND):
        record(delivery, BROKEN, at=NOW)

    moments = {again(it).due_at for it in webhook.account.deliveries.all()}
    assert len(moments) == 5


def test_disables_at_once_a_receiver_that_is_gone(account, webhook, happen):
    delivery, other = happen(2)

    delivery = fail(delivery, outcome=GONE)

    assert (delivery.attempts, delivery.due_at) == (1, None)
    assert delivery.endpoint.disabled_because == ("the receiver is gone: answered 410")
    assert due_endpoints(at=NOW + LEASE) == []
    assert again(other).due_at == NOW + SECOND  # it waits
    assert still_waiting() == 0
    enable(account, webhook=webhook.public_id, at=NOW)
    assert claimed(webhook, at=NOW + LEASE) == [other]


def test_remembers_since_when_a_receiver_fails(webhook, happen):
    first, second = happen(2)

    fail(first)
    fail(second)

    webhook.refresh_from_db()
    assert webhook.failing_since == NOW


def test_forgets_that_a_receiver_failed_once_it_answers(webhook, happen):
    (delivery,) = happen()
    delivery = fail(delivery)

    delivery = fail(delivery, outcome=FINE)

    assert delivery.endpoint.failing_since is None
    assert delivery.delivered_at is not None


def test_sends_again_by_hand_what_was_delivered(account, webhook, happen):
    (delivery,) = happen()
    fail(delivery, outcome=FINE)

    send_again(account, number=delivery.pk, at=NOW + LEASE)

    kept = again(delivery)
    assert (kept.due_at, kept.attempts, kept.delivered_at) == (NOW + LEASE, 0, None)
    assert [it.webhook_id for it in claimed(webhook, at=NOW + LEASE)] == [
        delivery.webhook_id
    ]


def test_sends_nothing_again_to_a_disabled_webhook(account, webhook, happen):
    (delivery,) = happen()
    disable(webhook, at=NOW)

    with pytest.raises(WebhookDisabled) as refused:
        send_again(account, number=delivery.pk, at=NOW)

    assert str(refused.value) == (
        f"The webhook '{webhook.public_id}' is disabled: enable it first"
    )


def test_sends_nothing_again_of_another_account(other_account, happen):
    (delivery,) = happen()

    with pytest.raises(UnknownDelivery):
        send_again(other_account, number=delivery.pk, at=NOW)


def test_shows_the_log_of_a_webhook(account, other_account, webhook, happen):
    first, second = happen(2)
    fail(first)

    log = log_of(account, webhook=webhook.public_id, failed=False)

    assert [row["id"] for row in log] == [second.pk, first.pk]
    assert log[1] == {
        "id": first.pk,
        "webhook_id": first.webhook_id,
        "kind": "customer.created",
        "subject": "account:harbor",
        "created_at": NOW,
        "attempts": 1,
        "attempted_at": NOW,
        "status": 500,
        "trouble": "answered 500",
        "answer": "Oh no",
        "delivered_at": None,
        "due_at": again(first).due_at,
    }
    failed = log_of(account, webhook=webhook.public_id, failed=True)
    assert [row["id"] for row in failed] == [first.pk]
    with pytest.raises(UnknownWebhook):
        log_of(other_account, webhook=webhook.public_id, failed=False)


def test_tells_the_owners_that_a_webhook_is_disabled(
    account, webhook, happen, mailoutbox, django_capture_on_commit_callbacks
):
    for role in Role.values:
        email = f"{role}@harbor.example.org"
        invite_staff(account, email=email, role=role, password=None, at=NOW)
    (delivery,) = happen()

    with django_capture_on_commit_callbacks(execute=True):
        fail(delivery, outcome=GONE)

    (mail,) = mailoutbox
    assert mail.to == ["owner@harbor.example.org"]
    assert mail.subject == f"[Affiliate Site] The webhook {webhook} is disabled"
    assert "the receiver is gone: answered 410" in mail.body


def test_disables_a_webhook_also_where_no_mail_can_be_sent(
    account, happen, monkeypatch, caplog, django_capture_on_commit_callbacks
):
    def fail_to_send(*_, **__):
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(notices, "send_mail", fail_to_send)
    owner = {"email": "o@harbor.example.org", "role": Role.OWNER, "password": None}
    invite_staff(account, at=NOW, **owner)
    (delivery,) = happen()

    with django_capture_on_commit_callbacks(execute=True):
        delivery = fail(delivery, outcome=GONE)

    assert delivery.endpoint.disabled_at
    assert "A notice could not be sent" in caplog.text
