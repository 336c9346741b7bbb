"""Contract 6.2 and 6.3: endpoints made, given another secret, disabled, enabled."""

import base64
import re
from datetime import timedelta

import pytest

from accounts.errors import (
    OddSetting,
    OddUrl,
    UnknownEventName,
    UnknownWebhook,
    WebhookExists,
    WebhookForlorn,
    WebhookUnsigned,
)
from accounts.services.webhooks import (
    add_postback,
    add_webhook,
    disable,
    disable_postbacks,
    enable,
    rotate_secret,
    webhook_named,
)
from tests.conftest import NOW

URL = "https://hooks.example.net/affiliate"
POSTBACK = "https://track.example.net/?s=${click_subid}"


@pytest.fixture
def webhook(account):
    return add_webhook(account, url=URL, at=NOW)


def kinds(account):
    rows = account.events.order_by("id").values_list("kind", flat=True)
    return [kind for kind in rows if kind.startswith("webhook.")]


def test_makes_a_webhook_with_a_secret_of_32_bytes(account):
    webhook = add_webhook(
        account,
        url=URL,
        events=["payment.created", "conversion.created", "payment.created"],
        at=NOW,
    )

    kept = account.webhook_endpoints.get()
    assert kept == webhook
    assert re.fullmatch(r"we_[A-Za-z0-9]{16}", kept.public_id)
    assert (kept.url, kept.created_at) == (URL, NOW)
    assert kept.events == ["conversion.created", "payment.created"]
    assert kept.secret.startswith("whsec_")
    assert len(base64.b64decode(kept.secret.removeprefix("whsec_"))) == 32
    assert kinds(account) == ["webhook.added"]


def test_refuses_a_twin(account, webhook):
    with pytest.raises(WebhookExists) as refused:
        add_webhook(account, url=URL, at=NOW)

    assert str(refused.value) == (
        f"'{webhook.public_id}' tells this URL of the same events already"
    )
    add_webhook(account, url=URL, events=["payment.created"], at=NOW)
    disable(webhook, at=NOW)
    add_webhook(account, url=URL, at=NOW)


def test_takes_no_url_that_is_too_long(account):
    with pytest.raises(OddSetting, match="The URL must be 2000 characters at most"):
        add_webhook(account, url=f"{URL}?{'x' * 2000}", at=NOW)


def test_gives_each_webhook_a_secret_of_its_own(account):
    made = [add_webhook(account, url=f"{URL}/{it}", at=NOW) for it in range(3)]

    assert len({webhook.secret for webhook in made}) == 3


def test_writes_no_secret_into_the_diary(account, webhook):
    rotate_secret(account, webhook=webhook.public_id, at=NOW)

    assert "whsec_" not in str(list(account.events.values()))


def test_refuses_an_event_that_there_is_not(account):
    with pytest.raises(UnknownEventName) as refused:
        add_webhook(account, url=URL, events=["sale.created"], at=NOW)

    assert "There is no event 'sale.created'; the events are affi" in str(refused.value)
    assert not account.webhook_endpoints.exists()


def test_refuses_a_url_that_is_not_called(account):
    with pytest.raises(OddUrl):
        add_webhook(account, url="http://hooks.example.net/", at=NOW)

    account.refresh_from_db()
    assert not account.uses_webhooks


def test_signs_with_both_secrets_for_a_day(account, webhook):
    first = webhook.secret

    rotated = rotate_secret(account, webhook=webhook.public_id, at=NOW)

    day = timedelta(hours=24)
    assert rotated.secret != first
    assert rotated.secrets(at=NOW) == [rotated.secret, first]
    assert rotated.secrets(at=NOW + day - timedelta(seconds=1)) == [
        rotated.secret,
        first,
    ]
    assert rotated.secrets(at=NOW + day) == [rotated.secret]
    assert kinds(account) == ["webhook.added", "webhook.secret_rotated"]


def test_disables_and_enables_a_webhook_once(account, webhook):
    disable(webhook, at=NOW)
    disable(webhook_named(account, webhook.public_id), at=NOW + timedelta(hours=1))

    kept = webhook_named(account, webhook.public_id)
    assert (kept.disabled_at, kept.disabled_because) == (NOW, "by hand")
    for _ in range(2):
        enable(account, webhook=webhook.public_id, at=NOW)
    kept = webhook_named(account, webhook.public_id)
    assert (kept.disabled_at, kept.disabled_because) == (None, "")
    assert kinds(account) == ["webhook.added", "webhook.disabled", "webhook.enabled"]


def test_knows_no_webhook_of_another_account(other_account, webhook):
    for act in (rotate_secret, enable):
        with pytest.raises(UnknownWebhook) as refused:
            act(other_account, webhook=webhook.public_id, at=NOW)
        assert str(refused.value) == (
            f"The account has no webhook '{webhook.public_id}'"
        )


def test_makes_a_postback_of_an_affiliate(account):
    postback = add_postback(account, affiliate="mina", url=POSTBACK, at=NOW)

    assert (postback.affiliate, postback.method) == ("mina", "GET")
    assert (postback.secret, postback.url) == ("", POSTBACK)


def test_has_no_secret_of_a_postback_to_rotate(account):
    postback = add_postback(account, affiliate="mina", url=POSTBACK, at=NOW)

    with pytest.raises(WebhookUnsigned):
        rotate_secret(account, webhook=postback.public_id, at=NOW)


def test_calls_no_postback_for_what_is_not_the_affiliates(account):
    with pytest.raises(UnknownEventName):
        add_postback(
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
def test_lets_no_macro_say_who_is_called(account, url):
    with pytest.raises(OddUrl):
        add_postback(account, affiliate="mina", url=url, at=NOW)


def test_calls_nobody_again_for_an_affiliate_who_is_gone(account):
    postback = add_postback(account, affiliate="mina", url=POSTBACK, at=NOW)
    disable_postbacks(account, affiliate="mina", at=NOW)

    with pytest.raises(WebhookForlorn):
        enable(account, webhook=postback.public_id, at=NOW)
