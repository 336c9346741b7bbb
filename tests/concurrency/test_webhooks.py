"""Webhook delivery by several workers: at least once, even if workers are killed.

Real commits, processes and receivers (docs/reliability.md, section 6).
"""

import random
import subprocess
import sys
import threading
from datetime import timedelta
from signal import SIGTERM

import pytest
from django.db import transaction
from django.utils import timezone
from standardwebhooks import Webhook

from accounts.services.webhooks import create_webhook
from affiliate_site.webhooks.worker import (
    MAX_CALLS_PER_ENDPOINT,
    MAX_CONCURRENCY,
    DeliveryWorker,
)
from tests.command_line import ROOT, build_environment
from tests.webhook_receiver import drip_headers, hang, respond_with, run_receiver

pytestmark = pytest.mark.integration

WORKERS = 3
TIMEOUT_SECONDS = 300  # an upper limit for slow machines


class ReceivedWebhooks:
    """Counts the verified deliveries of a receiver by webhook id."""

    def __init__(self, secret: str) -> None:
        self.webhook = Webhook(secret)
        self.counts: dict[str, int] = {}
        self.changed = threading.Condition()

    def respond(self, handler) -> None:
        request = handler.server.requests.pop()
        message_id = request.headers["webhook-id"]
        self.webhook.verify(request.body, request.headers)
        with self.changed:
            self.counts[message_id] = self.counts.get(message_id, 0) + 1
            self.changed.notify_all()
        respond_with(204)(handler)

    def wait_for(self, number: int) -> None:
        """Wait until this number of different deliveries has arrived."""
        with self.changed:
            self.changed.wait_for(lambda: len(self.counts) >= number, TIMEOUT_SECONDS)
            assert len(self.counts) >= number


@pytest.fixture
def start_worker(settings):
    """Start a worker process: `start_worker()`; it is stopped after the test."""
    processes = []

    def start():
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.concurrency.webhook_worker"],
            cwd=ROOT,
            env=build_environment()
            | {"WEBHOOK_ALLOWED_HOSTS": ",".join(settings.WEBHOOK_ALLOWED_HOSTS)},
            stdout=subprocess.DEVNULL,
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.terminate()
    for process in processes:
        process.wait(TIMEOUT_SECONDS)


def create_customers(shop, number):
    """Create customers: one event each."""
    with transaction.atomic():
        for index in range(number):
            shop.create_customer(f"c-{index}", referral_code=shop.mina.code)


@pytest.fixture
def subscribe_receiver(scenario, settings):
    """Subscribe a receiver to new customers: `subscribe_receiver(receiver)`."""

    def subscribe(receiver):
        settings.WEBHOOK_ALLOWED_HOSTS |= {receiver.host_and_port}
        events = ["customer.created"]
        return create_webhook(scenario.account, url=receiver.url, events=events, at=timezone.now())

    return subscribe


@pytest.mark.parametrize(
    ("events", "kills"),
    [
        pytest.param(150, 3, id="quick"),
        pytest.param(10_000, 40, id="whole", marks=pytest.mark.slow),
    ],
)
def test_loses_no_delivery_when_workers_are_killed(
    scenario, subscribe_receiver, start_worker, events, kills
):
    dice = random.Random(7)  # noqa: S311 - reproducible kills
    with run_receiver() as receiver:
        webhook = subscribe_receiver(receiver)
        received = ReceivedWebhooks(webhook.secret)
        receiver.respond = received.respond
        create_customers(scenario, events)
        running = [start_worker() for _ in range(WORKERS)]
        for kill in range(kills):
            received.wait_for(events * (kill + 1) // (kills + 1))
            running.pop(dice.randrange(WORKERS)).kill()
            running.append(start_worker())
        received.wait_for(events)
        for process in running:
            process.terminate()
            assert process.wait(TIMEOUT_SECONDS) in (
                0,
                -SIGTERM,
            )  # -SIGTERM: before the signal handler was installed

        # Deliveries without a recorded result are sent again.
        DeliveryWorker(on_result=lambda *_: None).run(
            due_before=timezone.now() + timedelta(minutes=1)
        )

    rows = scenario.account.deliveries.filter(endpoint=webhook)
    assert set(received.counts) == set(rows.values_list("message_id", flat=True))
    assert len(received.counts) == events
    assert not rows.filter(delivered_at=None).exists()
    assert sum(received.counts.values()) <= events + kills * MAX_CONCURRENCY


def test_slow_endpoints_do_not_delay_others(scenario, subscribe_receiver, start_worker):
    """Two receivers never complete a response; each occupies only a few calls."""
    with run_receiver() as slow, run_receiver() as endless, run_receiver() as fast:
        slow.respond, endless.respond = hang, drip_headers
        subscribe_receiver(slow)
        subscribe_receiver(endless)
        received = ReceivedWebhooks(subscribe_receiver(fast).secret)
        fast.respond = received.respond
        create_customers(scenario, 100)

        start_worker()
        received.wait_for(100)

        assert slow.connections + endless.connections <= 4 * MAX_CALLS_PER_ENDPOINT
