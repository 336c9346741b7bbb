"""docs/api-contract.md, sections 6.2 and 6.3: webhooks and postbacks."""

import base64
import re
from datetime import timedelta

import pytest

from accounts.errors import (
    DuplicateWebhook,
    InvalidSetting,
    InvalidUrl,
    PostbackNotEditable,
    PostbackNotSigned,
    UnknownEventName,
    WebhookNotFound,
    WebhookOwnerDeleted,
)
from accounts.services.webhooks import (
    create_postback_endpoint,
    create_webhook,
    disable_postbacks,
    disable_webhook,
    enable_webhook,
    get_webhook,
    rotate_secret,
    update_webhook,
)
from tests.conftest import NOW

URL = "https://hooks.example.net/affiliate"
POSTBACK = "https://track.example.net/?s=${click_subid}"


@pytest.fixture
def webhook(account):
    return create_webhook(account, url=URL, at=NOW)


def list_logged_kinds(account):
    rows = account.audit_log.order_by("id").values_list("kind", flat=True)
    return [kind for kind in rows if kind.startswith("webhook.")]


def test_creates_a_webhook_with_a_secret_of_32_bytes(account):
    webhook = create_webhook(
        account,
        url=URL,
        events=["payment.created", "conversion.created", "payment.created"],
        at=NOW,
    )

    stored = account.webhook_endpoints.get()
    assert stored == webhook
    assert re.fullmatch(r"we_[A-Za-z0-9]{16}", stored.public_id)
    assert (stored.url, stored.created_at) == (URL, NOW)
    assert stored.events == ["conversion.created", "payment.created"]
    assert stored.secret.startswith("whsec_")
    assert len(base64.b64decode(stored.secret.removeprefix("whsec_"))) == 32
    assert list_logged_kinds(account) == ["webhook.created"]


def test_rejects_a_duplicate_webhook(account, webhook):
    with pytest.raises(DuplicateWebhook) as error:
        create_webhook(account, url=URL, at=NOW)

    assert str(error.value) == (
        f"Webhook '{webhook.public_id}' already has this URL and these events"
    )
    create_webhook(account, url=URL, events=["payment.created"], at=NOW)
    disable_webhook(webhook, at=NOW)
    create_webhook(account, url=URL, at=NOW)


def test_rejects_a_url_that_is_too_long(account):
    with pytest.raises(InvalidSetting, match="The URL must be 2000 characters at most"):
        create_webhook(account, url=f"{URL}?{'x' * 2000}", at=NOW)


def test_each_webhook_has_its_own_secret(account):
    webhooks = [create_webhook(account, url=f"{URL}/{n}", at=NOW) for n in range(3)]

    assert len({webhook.secret for webhook in webhooks}) == 3


def test_writes_no_secret_to_the_audit_log(account, webhook):
    rotate_secret(account, webhook=webhook.public_id, at=NOW)

    assert "whsec_" not in str(list(account.audit_log.values()))


def test_rejects_an_unknown_event(account):
    with pytest.raises(UnknownEventName) as error:
        create_webhook(account, url=URL, events=["sale.created"], at=NOW)

    expected = "Unknown event 'sale.created'; available events: affiliate.created, "
    assert str(error.value).startswith(expected)
    assert not account.webhook_endpoints.exists()


def test_rejects_a_url_that_is_not_allowed(account):
    with pytest.raises(InvalidUrl):
        create_webhook(account, url="http://hooks.example.net/", at=NOW)

    account.refresh_from_db()
    assert not account.uses_webhooks


def test_both_secrets_sign_for_24_hours(account, webhook):
    first = webhook.secret

    rotated = rotate_secret(account, webhook=webhook.public_id, at=NOW)

    day = timedelta(hours=24)
    assert rotated.secret != first
    assert rotated.get_signing_secrets(at=NOW) == [rotated.secret, first]
    assert rotated.get_signing_secrets(at=NOW + day - timedelta(seconds=1)) == [
        rotated.secret,
        first,
    ]
    assert rotated.get_signing_secrets(at=NOW + day) == [rotated.secret]
    assert list_logged_kinds(account) == ["webhook.created", "webhook.secret_rotated"]


def test_disabling_and_enabling_are_idempotent(account, webhook):
    disable_webhook(webhook, at=NOW)
    disable_webhook(get_webhook(account, webhook.public_id), at=NOW + timedelta(hours=1))

    stored = get_webhook(account, webhook.public_id)
    assert (stored.disabled_at, stored.disabled_because) == (NOW, "by hand")
    for _ in range(2):
        enable_webhook(account, webhook=webhook.public_id, at=NOW)
    stored = get_webhook(account, webhook.public_id)
    assert (stored.disabled_at, stored.disabled_because) == (None, "")
    assert list_logged_kinds(account) == [
        "webhook.created",
        "webhook.disabled",
        "webhook.enabled",
    ]


def test_rejects_a_webhook_of_another_account(other_account, webhook):
    for action in (rotate_secret, enable_webhook):
        with pytest.raises(WebhookNotFound) as error:
            action(other_account, webhook=webhook.public_id, at=NOW)
        assert str(error.value) == f"Webhook '{webhook.public_id}' not found"


def test_creates_an_affiliate_postback(account):
    postback = create_postback_endpoint(account, affiliate="mina", url=POSTBACK, at=NOW)

    assert (postback.affiliate, postback.method) == ("mina", "GET")
    assert (postback.secret, postback.url) == ("", POSTBACK)


def test_rejects_rotating_the_secret_of_a_postback(account):
    postback = create_postback_endpoint(account, affiliate="mina", url=POSTBACK, at=NOW)

    with pytest.raises(PostbackNotSigned):
        rotate_secret(account, webhook=postback.public_id, at=NOW)


def test_rejects_an_event_that_is_not_for_postbacks(account):
    with pytest.raises(UnknownEventName):
        create_postback_endpoint(
            account, affiliate="mina", url=POSTBACK, events=["payment.created"], at=NOW
        )


@pytest.mark.parametrize(
    "url",
    [
        "https://${customer.id}/",
        "https://track.example.net${customer.id}/",
        "https://track.example.net:${customer.id}/",
        "https://${customer.id}@track.example.net/",
        "${customer.id}://track.example.net/",
        "https://[${customer.id}]/",
    ],
)
def test_rejects_macros_in_the_host(account, url):
    with pytest.raises(InvalidUrl):
        create_postback_endpoint(account, affiliate="mina", url=url, at=NOW)


def test_does_not_enable_the_postback_of_a_deleted_affiliate(account):
    postback = create_postback_endpoint(account, affiliate="mina", url=POSTBACK, at=NOW)
    disable_postbacks(account, affiliate="mina", at=NOW)

    with pytest.raises(WebhookOwnerDeleted):
        enable_webhook(account, webhook=postback.public_id, at=NOW)


# Changing


def test_changes_url_and_events_and_keeps_the_secret(account, webhook):
    webhook.update_row(failing_since=NOW, backoff_until=NOW)
    url = "https://hooks.example.net/new?token=zz-secret"

    events = ["payment.created", "conversion.created", "payment.created"]
    update_webhook(account, webhook=webhook.public_id, url=url, events=events, at=NOW)

    stored = account.webhook_endpoints.get()
    assert (stored.url, stored.secret) == (url, webhook.secret)
    assert stored.events == ["conversion.created", "payment.created"]
    assert (stored.failing_since, stored.backoff_until) == (None, None)
    entry = account.audit_log.get(kind="webhook.updated")
    assert entry.details == {"events": [[], stored.events], "is_url_changed": True}


def test_new_events_do_not_end_the_pause_after_failures(account, webhook):
    webhook.update_row(failing_since=NOW, backoff_until=NOW)

    update_webhook(account, webhook=webhook.public_id, url=URL, events=["payment.created"], at=NOW)

    assert account.webhook_endpoints.get().failing_since == NOW


def test_logs_no_change_that_changes_nothing(account, webhook):
    update_webhook(account, webhook=webhook.public_id, url=URL, events=[], at=NOW)

    assert list_logged_kinds(account) == ["webhook.created"]


def test_rejects_the_url_and_events_of_another_webhook(account, webhook):
    other = create_webhook(account, url=f"{URL}/other", at=NOW)
    values = {"url": URL, "events": [], "at": NOW}

    with pytest.raises(DuplicateWebhook):
        update_webhook(account, webhook=other.public_id, **values)

    disable_webhook(webhook, at=NOW)
    update_webhook(account, webhook=other.public_id, **values)


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"url": "http://127.0.0.1/", "events": []}, InvalidUrl),
        ({"url": f"{URL}?{'x' * 2000}", "events": []}, InvalidSetting),
        ({"url": URL, "events": ["customer.born"]}, UnknownEventName),
    ],
)
def test_changes_follow_the_rules_of_new_webhooks(account, webhook, values, error):
    with pytest.raises(error):
        update_webhook(account, webhook=webhook.public_id, **values, at=NOW)

    stored = account.webhook_endpoints.get()
    assert (stored.url, stored.events) == (URL, [])


def test_changes_no_postback_and_no_webhook_of_another_account(account, other_account, webhook):
    postback = create_postback_endpoint(account, affiliate="mina", url=POSTBACK, at=NOW)
    values = {"url": f"{URL}/new", "events": [], "at": NOW}

    with pytest.raises(PostbackNotEditable):
        update_webhook(account, webhook=postback.public_id, **values)
    with pytest.raises(WebhookNotFound):
        update_webhook(other_account, webhook=webhook.public_id, **values)

    assert set(account.webhook_endpoints.values_list("url", flat=True)) == {
        URL,
        POSTBACK,
    }


def test_the_log_leaves_out_the_errors_of_postbacks(account):
    """They name the host of an affiliate, and the log cannot be erased."""
    postback = create_postback_endpoint(account, affiliate="mina", url=POSTBACK, at=NOW)
    reason = "8 tries failed: no connection: mina.example has no address"

    disable_webhook(postback, reason=reason, at=NOW)

    assert postback.reload().disabled_because == reason
    entry = account.audit_log.get(kind="webhook.disabled")
    assert entry.details == {"reason": "8 tries failed"}
