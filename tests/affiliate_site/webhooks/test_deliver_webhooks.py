"""operations.md, section 3: `deliver_webhooks`, as scripts and eyes read it."""

import re
import signal
import subprocess
import sys
from uuid import uuid4

import pytest
from django.utils import timezone

from accounts.services.webhooks import add_webhook, disable
from tests.command_line import ROOT, environment, is_refused_as_wrong, run, run_json
from tests.factories.accounts import AccountFactory
from tests.receiver import says
from tests.shop import Shop


@pytest.fixture
def listening(shop, receiver):
    """A webhook of Harbor's that hears of new customers."""
    return add_webhook(
        shop.account, url=receiver.url, events=["customer.created"], at=timezone.now()
    )


def register(shop, *names):
    for name in names:
        shop.customer(name, at=timezone.now(), referral_code=shop.mina.code)


def test_sends_what_is_due_and_tells_each_delivery(shop, listening, receiver):
    register(shop, "c-1", "c-2")
    first, second = shop.account.deliveries.order_by("id")

    told = run("deliver_webhooks", "--once").splitlines()

    where = f"customer.created to harbor/{listening}: answered 204"
    assert sorted(told[:2]) == sorted(
        [f"sent {it.pk} {it.webhook_id} {where}" for it in (first, second)]
    )
    assert told[2:] == ["sent: 2", "failed: 0", "waiting: 0"]
    assert {call.headers["webhook-id"] for call in receiver.calls} == {
        first.webhook_id,
        second.webhook_id,
    }


def test_ends_well_also_when_receivers_fail(shop, listening, receiver):
    register(shop, "c-1")
    receiver.answer = says(500, b"Oh no")

    assert run_json("deliver_webhooks", "--once") == {
        "sent": 0,
        "failed": 1,
        "waiting": 1,
    }

    kept = shop.account.deliveries.get()
    assert (kept.status, kept.answer, kept.attempts) == (500, "Oh no", 1)
    # The next try is not due yet.
    assert run_json("deliver_webhooks", "--once") == {
        "sent": 0,
        "failed": 0,
        "waiting": 1,
    }


def test_tells_why_a_delivery_failed(shop, listening, receiver):
    register(shop, "c-1")
    receiver.answer = says(302, Location="http://169.254.169.254/")

    told = run("deliver_webhooks", "--once")

    assert "failed" in told
    assert "answered 302, a redirect, and none is followed, next try 2" in told


def test_tells_that_a_webhook_is_disabled_now(shop, listening, receiver):
    register(shop, "c-1")
    receiver.answer = says(410)

    assert ": answered 410; the webhook is disabled now" in run(
        "deliver_webhooks", "--once"
    )


def test_sends_nothing_to_a_disabled_webhook(shop, listening, receiver):
    register(shop, "c-1")
    disable(listening, at=timezone.now())

    counts = run_json("deliver_webhooks", "--once")

    assert counts == {"sent": 0, "failed": 0, "waiting": 0}
    assert receiver.calls == []


def test_has_no_summary_to_tell_of_endless_work(db):
    assert is_refused_as_wrong("deliver_webhooks", "--json")


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_works_until_it_is_told_to_stop(committed, receiver, name):
    """A process of its own, as an operator runs it: exit 0, and every line said."""
    shop = Shop(AccountFactory(slug=f"webhooks-{uuid4().hex[:12]}"))
    add_webhook(shop.account, url=receiver.url, at=timezone.now())
    register(shop, "c-1")
    with subprocess.Popen(
        [sys.executable, "manage.py", "deliver_webhooks"],
        cwd=ROOT,
        env=environment() | {"WEBHOOK_ALLOWED_HOSTS": receiver.place},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as worker:
        mine = re.compile(
            rf"sent \d+ evt_\w{{16}} customer.created to {shop.account}/we_\w+: "
        )
        while not mine.match(line := worker.stdout.readline()):
            assert line, worker.stderr.read()
        worker.send_signal(signal.Signals[name])
        _, err = worker.communicate(timeout=30)

    assert (worker.returncode, err) == (0, "")
    assert shop.account.deliveries.get().delivered_at
