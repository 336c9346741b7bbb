"""Management commands for webhooks."""

import pytest

from accounts.services.changes import record_change
from tests.command_line import (
    is_usage_error,
    run_command,
    run_failing_command,
    run_json_command,
)
from tests.conftest import NOW

URL = "https://hooks.example.net/affiliate"


@pytest.fixture(autouse=True)
def render_names(settings):
    settings.EVENT_PAYLOAD_RENDERER = "tests.accounts.services.test_outbox.render"


@pytest.fixture
def webhook(account):
    return run_json_command("create_webhook", "harbor", URL)["webhook"]


def test_prints_the_id_and_only_once_the_secret(account):
    output = run_command("create_webhook", "harbor", URL)

    stored = account.webhook_endpoints.get()
    assert output == f"{stored.public_id}\n{stored.secret}\n"
    assert "whsec_" not in run_command("list_webhooks", "harbor")
    assert "whsec_" not in str(run_json_command("list_webhooks", "harbor"))


def test_prints_a_new_webhook_as_json(account):
    output = run_json_command(
        "create_webhook",
        *("harbor", URL, "--event", "payment.created"),
        *("--event", "conversion.created"),
    )

    stored = account.webhook_endpoints.get()
    assert output == {
        "webhook": stored.public_id,
        "url": URL,
        "events": ["conversion.created", "payment.created"],
        "secret": stored.secret,
    }


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (
            ["harbor", "http://hooks.example.net/"],
            "Invalid URL: only https on port 443: start with https://, or your"
            " operator can add hooks.example.net:80 to WEBHOOK_ALLOWED_HOSTS",
        ),
        (
            ["harbor", URL, "--event", "sale"],
            "Unknown event 'sale'; available events: affiliate.created,",
        ),
    ],
    ids=["url", "event"],
)
def test_prints_why_no_webhook_is_created(account, arguments, reason):
    assert run_failing_command("create_webhook", *arguments).startswith(reason)
    assert not account.webhook_endpoints.exists()


def test_lists_webhooks(account, other_account, webhook):
    run_command("create_webhook", other_account.slug, f"{URL}/zz-marker")
    run_command("disable_webhook", "harbor", webhook)

    table = run_command("list_webhooks", "harbor").splitlines()
    (output,) = run_json_command("list_webhooks", "harbor")["webhooks"]

    stored = account.webhook_endpoints.get()
    assert table[0].split() == [
        *("ID", "URL", "Events", "Affiliate", "Created", "Failing", "since"),
        *("Disabled", "Reason"),
    ]
    assert table[1].split()[:4] == [webhook, URL, "all", "-"]
    assert len(table) == 2
    assert output | {"created_at": "", "disabled_at": ""} == {
        "webhook": webhook,
        "url": URL,
        "events": [],
        "affiliate": "",
        "method": "POST",
        "created_at": "",
        "failing_since": None,
        "disabled_at": "",
        "disabled_because": "by hand",
    }
    assert stored.disabled_at is not None


def test_disabling_and_enabling_are_idempotent(account, webhook):
    first = run_json_command("disable_webhook", "harbor", webhook)
    assert run_json_command("disable_webhook", "harbor", webhook) == first
    assert first["webhook"] == webhook
    assert first["disabled_at"]
    for _ in range(2):
        text = run_command("enable_webhook", "harbor", webhook)
        assert text == f"{webhook} is enabled\n"

    assert account.webhook_endpoints.get().disabled_at is None
    assert run_json_command("enable_webhook", "harbor", webhook) == {
        "webhook": webhook,
        "disabled_at": None,
    }


def test_prints_only_the_rotated_secret(account, webhook):
    old = account.webhook_endpoints.get().secret

    output = run_command("rotate_webhook_secret", "harbor", webhook)

    stored = account.webhook_endpoints.get()
    assert output == f"{stored.secret}\n"
    assert (stored.old_secret, old != stored.secret) == (old, True)
    again = run_json_command("rotate_webhook_secret", "harbor", webhook)
    assert set(again) == {"webhook", "secret", "both_sign_until"}


@pytest.mark.parametrize("command", ["disable_webhook", "enable_webhook", "rotate_webhook_secret"])
def test_rejects_a_webhook_of_another_account(other_account, webhook, command):
    assert run_failing_command(command, other_account.slug, webhook) == (
        f"Webhook '{webhook}' not found"
    )


def test_lists_and_resends_deliveries(account, webhook):
    account.refresh_from_db()  # the command set `uses_webhooks`
    record_change(account, "customer.created", account, at=NOW)
    delivery = account.deliveries.get()
    delivery.update_row(delivered_at=NOW, due_at=None, attempts=1, status=204)

    table = run_command("list_deliveries", "harbor", webhook).splitlines()
    (output,) = run_json_command("list_deliveries", "harbor", webhook)["deliveries"]

    assert table[1].split()[:4] == [
        str(delivery.pk),
        delivery.message_id,
        "customer.created",
        "account:harbor",
    ]
    assert output == {
        "id": delivery.pk,
        "webhook_id": delivery.message_id,
        "kind": "customer.created",
        "subject": "account:harbor",
        "created_at": "2026-03-04T09:15:27+00:00",
        "attempts": 1,
        "attempted_at": None,
        "status": 204,
        "trouble": "",
        "answer": "",
        "delivered_at": "2026-03-04T09:15:27+00:00",
        "due_at": None,
    }
    assert run_json_command("list_deliveries", "harbor", webhook, "--failed") == {"deliveries": []}

    text = run_command("resend_delivery", "harbor", str(delivery.pk))
    assert text == f"Delivery {delivery.pk} is sent again\n"

    delivery.refresh_from_db()
    assert delivery.due_at
    assert delivery.attempts == 0


def test_rejects_an_unknown_delivery(account, webhook):
    assert run_failing_command("resend_delivery", "harbor", "12") == (
        "Delivery 12 not found; deliveries are kept for 30 days"
    )
    assert is_usage_error("resend_delivery", "harbor", "evt_12")
