"""Webhooks at the command line, in the manner of operations.md, section 3."""

import pytest

from accounts.services.events import note
from tests.command_line import is_refused_as_wrong, refusal, run, run_json
from tests.conftest import NOW

URL = "https://hooks.example.net/affiliate"


@pytest.fixture(autouse=True)
def plug(settings):
    settings.EVENT_BODY = "tests.accounts.services.test_outbox.render"


@pytest.fixture
def webhook(account):
    return run_json("create_webhook", "harbor", URL)["webhook"]


def test_prints_the_id_and_this_once_the_secret(account):
    told = run("create_webhook", "harbor", URL)

    kept = account.webhook_endpoints.get()
    assert told == f"{kept.public_id}\n{kept.secret}\n"
    assert "whsec_" not in run("list_webhooks", "harbor")
    assert "whsec_" not in str(run_json("list_webhooks", "harbor"))


def test_tells_a_new_webhook_as_json(account):
    told = run_json(
        "create_webhook",
        *("harbor", URL, "--event", "payment.created"),
        *("--event", "conversion.created"),
    )

    kept = account.webhook_endpoints.get()
    assert told == {
        "webhook": kept.public_id,
        "url": URL,
        "events": ["conversion.created", "payment.created"],
        "secret": kept.secret,
    }


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["nobody", URL], "There is no account 'nobody'"),
        (
            ["harbor", "http://hooks.example.net/"],
            "The URL cannot be called: only https on port 443 is called, or what"
            " WEBHOOK_ALLOWED_HOSTS lists",
        ),
        (
            ["harbor", URL, "--event", "sale"],
            "There is no event 'sale'; the events are affiliate.created,",
        ),
    ],
    ids=["account", "url", "event"],
)
def test_says_why_there_is_no_new_webhook(account, arguments, reason):
    assert refusal("create_webhook", *arguments).startswith(reason)
    assert not account.webhook_endpoints.exists()


def test_lists_webhooks(account, other_account, webhook):
    run("create_webhook", other_account.slug, f"{URL}/zz-marker")
    run("disable_webhook", "harbor", webhook)

    table = run("list_webhooks", "harbor").splitlines()
    (told,) = run_json("list_webhooks", "harbor")["webhooks"]

    kept = account.webhook_endpoints.get()
    assert table[0].split() == [
        *("Id", "URL", "Events", "Affiliate", "Created", "Failing", "since"),
        *("Disabled", "Because"),
    ]
    assert table[1].split()[:4] == [webhook, URL, "all", "-"]
    assert len(table) == 2
    assert told | {"created_at": "", "disabled_at": ""} == {
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
    assert kept.disabled_at is not None


def test_disables_and_enables_again_and_again(account, webhook):
    first = run_json("disable_webhook", "harbor", webhook)
    assert run_json("disable_webhook", "harbor", webhook) == first
    assert first["webhook"] == webhook
    assert first["disabled_at"]
    for _ in range(2):
        assert run("enable_webhook", "harbor", webhook) == ""

    assert account.webhook_endpoints.get().disabled_at is None
    assert run_json("enable_webhook", "harbor", webhook) == {
        "webhook": webhook,
        "disabled_at": None,
    }


def test_prints_another_secret_alone(account, webhook):
    old = account.webhook_endpoints.get().secret

    told = run("rotate_webhook_secret", "harbor", webhook)

    kept = account.webhook_endpoints.get()
    assert told == f"{kept.secret}\n"
    assert (kept.old_secret, old != kept.secret) == (old, True)
    again = run_json("rotate_webhook_secret", "harbor", webhook)
    assert set(again) == {"webhook", "secret", "both_sign_until"}


@pytest.mark.parametrize(
    "command", ["disable_webhook", "enable_webhook", "rotate_webhook_secret"]
)
def test_knows_no_webhook_of_another_account(other_account, webhook, command):
    assert refusal(command, other_account.slug, webhook) == (
        f"The account has no webhook '{webhook}'"
    )


def test_lists_and_resends_deliveries(account, webhook):
    account.refresh_from_db()  # it listens since the command
    note(account, "customer.created", account, at=NOW)
    delivery = account.deliveries.get()
    delivery.change(delivered_at=NOW, due_at=None, attempts=1, status=204)

    table = run("list_deliveries", "harbor", webhook).splitlines()
    (told,) = run_json("list_deliveries", "harbor", webhook)["deliveries"]

    assert table[1].split()[:4] == [
        str(delivery.pk),
        delivery.webhook_id,
        "customer.created",
        "account:harbor",
    ]
    assert told == {
        "id": delivery.pk,
        "webhook_id": delivery.webhook_id,
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
    assert run_json("list_deliveries", "harbor", webhook, "--failed") == {
        "deliveries": []
    }

    assert run("resend_delivery", "harbor", str(delivery.pk)) == ""

    delivery.refresh_from_db()
    assert delivery.due_at
    assert delivery.attempts == 0


def test_resends_nothing_that_there_is_not(account, webhook):
    assert refusal("resend_delivery", "harbor", "12") == (
        "The account has no delivery 12; they are kept for 30 days"
    )
    assert is_refused_as_wrong("resend_delivery", "harbor", "evt_12")
