"""Events of shops by several requests and workers: each has one effect, none is lost.

Real commits and processes (docs/reliability.md, section 6).
"""

import json
import random
import subprocess
import sys
from contextlib import suppress
from http.client import HTTPConnection
from threading import Barrier

import pytest
import stripe
from django.db import connection as database
from django.utils import timezone

from affiliate_site.shops.processing import process_due_events
from tests.command_line import ROOT, build_environment
from tests.concurrency.server import TIMEOUT, run_simultaneously
from tests.stripe_events import SECRET, build_charge, build_checkout
from tracking.models.shops import ConnectionMode, ShopEventState
from tracking.services.connections import create_connection
from tracking.services.inbox import LEASE, Envelope, store_event

pytestmark = pytest.mark.integration

CLIENTS = 20
COPIES = 200
POLL_SECONDS = 0.1
TIMEOUT_SECONDS = 300  # an upper limit for slow machines


@pytest.fixture
def connection(scenario):
    return create_connection(
        scenario.account,
        kind="stripe",
        program=scenario.program,
        secret=SECRET,
        mode=ConnectionMode.LIVE,
        at=timezone.now(),
    )


def build_sale(scenario, number):
    """A checkout with a click of its own, and a refund of half of it."""
    payment = f"pi_{number}"
    sale = build_checkout(
        id=f"cs_{number}",
        payment_intent=payment,
        customer=None,
        metadata={"referral_code": scenario.mina.code},
    )
    refund = build_charge(5950, hours=1, id=f"ch_{number}", payment_intent=payment)
    return sale, refund


def process_the_rest():
    """Process what a worker that was killed had begun, as after its lease."""
    for _ in process_due_events(due_before=timezone.now() + 2 * LEASE):
        pass


def test_200_copies_at_once_are_one_sale(scenario, connection, server):
    sale, _ = build_sale(scenario, 1)
    text = json.dumps(sale)
    barrier = Barrier(CLIENTS)

    def post(_):
        http = HTTPConnection("127.0.0.1", server.port, timeout=TIMEOUT)
        signature = stripe.WebhookSignature.generate_signature_header(text, SECRET)
        headers = {"Stripe-Signature": signature, "Content-Type": "application/json"}
        barrier.wait()
        answers = []
        for _ in range(COPIES // CLIENTS):
            http.request("POST", f"/in/{connection}/", text, headers)
            response = http.getresponse()
            answers.append((response.status, json.loads(response.read())["is_new"]))
        http.close()
        return answers

    answers = [answer for client in run_simultaneously(range(CLIENTS), post) for answer in client]
    process_the_rest()

    assert {status for status, _ in answers} == {200}
    assert sum(is_new for _, is_new in answers) == 1
    assert scenario.account.shop_events.count() == 1
    assert scenario.account.conversions.count() == 1


@pytest.mark.parametrize(
    ("sales", "kills"),
    [
        pytest.param(40, 2, id="quick"),
        pytest.param(500, 2, id="a thousand events", marks=pytest.mark.slow),
    ],
)
def test_loses_nothing_when_workers_are_killed(scenario, connection, sales, kills):
    dice = random.Random(11)  # noqa: S311 - reproducible kills
    account = scenario.account
    events = [event for number in range(sales) for event in build_sale(scenario, number)]
    dice.shuffle(events)
    for event in events:
        key, kind = event["id"], event["type"]
        envelope = Envelope(key, kind, timezone.now(), json.dumps(event))
        store_event(connection, envelope, at=timezone.now())

    def start():
        return subprocess.Popen(
            [sys.executable, "manage.py", "process_inbox", "--once"],
            cwd=ROOT,
            env=build_environment(),
            stdout=subprocess.DEVNULL,
        )

    total = len(events)
    for kill in range(kills):
        worker = start()
        wanted = total * (kill + 1) // (kills + 2)
        while worker.poll() is None and count_processed(account) < wanted:
            with suppress(subprocess.TimeoutExpired):
                worker.wait(POLL_SECONDS)  # leaves the processors to it
        worker.kill()
        worker.wait(TIMEOUT_SECONDS)
    workers = [start() for _ in range(1 if database.vendor == "sqlite" else 2)]
    for worker in workers:
        assert worker.wait(TIMEOUT_SECONDS) == 0
    process_the_rest()

    states = set(account.shop_events.values_list("state", flat=True))
    assert states == {ShopEventState.DONE}
    assert account.conversions.count() == sales
    amounts = account.conversions.values_list("amount", flat=True)
    assert {str(amount.normalize()) for amount in amounts} == {"5E+1"}


def count_processed(account):
    return account.shop_events.exclude(state=ShopEventState.RECEIVED).count()
