"""reliability.md, section 11: at least once, whoever is killed, whoever is slow.

Real commits, real processes, a real receiver that verifies what it is told.
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

from accounts.services.webhooks import add_webhook
from affiliate_site.webhooks.worker import HANDS, PER_ENDPOINT, Worker
from tests.command_line import ROOT, environment
from tests.receiver import drips_headers, is_silent, receiving, says

WORKERS = 3
PATIENCE = 300  # seconds, for a machine that is busy; nothing waits so long


class Heard:
    """What a receiver was told: each id once it is verified, and how often."""

    def __init__(self, secret: str) -> None:
        self.webhook = Webhook(secret)
        self.times: dict[str, int] = {}
        self.changed = threading.Condition()

    def answer(self, handler) -> None:
        call = handler.server.calls.pop()
        name = call.headers["webhook-id"]
        self.webhook.verify(call.body, call.headers)
        with self.changed:
            self.times[name] = self.times.get(name, 0) + 1
            self.changed.notify_all()
        says(204)(handler)

    def wait_for(self, number: int) -> None:
        """Until so many different ones have arrived."""
        with self.changed:
            self.changed.wait_for(lambda: len(self.times) >= number, PATIENCE)
            assert len(self.times) >= number


@pytest.fixture
def start(settings):
    """A process that delivers until it is killed or, at last, stopped: `start()`."""
    started = []

    def start():
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.concurrency.webhook_worker"],
            cwd=ROOT,
            env=environment()
            | {"WEBHOOK_ALLOWED_HOSTS": ",".join(settings.WEBHOOK_ALLOWED_HOSTS)},
            stdout=subprocess.DEVNULL,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.terminate()
    for process in started:
        process.wait(PATIENCE)


def register(shop, number):
    """So many customers, so many events."""
    with transaction.atomic():
        for each in range(number):
            shop.customer(f"c-{each}", referral_code=shop.mina.code)


@pytest.fixture
def listen(shop, settings):
    """The receiver hears of the shop's new customers: `listen(receiver)`."""

    def listen(receiver):
        settings.WEBHOOK_ALLOWED_HOSTS |= {receiver.place}
        events = ["customer.created"]
        return add_webhook(
            shop.account, url=receiver.url, events=events, at=timezone.now()
        )

    return listen


@pytest.mark.parametrize(
    ("events", "kills"),
    [
        pytest.param(150, 3, id="quick"),
        pytest.param(10_000, 40, id="whole", marks=pytest.mark.slow),
    ],
)
def test_loses_nothing_when_workers_are_killed(shop, listen, start, events, kills):
    dice = random.Random(7)  # noqa: S311 - the same dead in each run
    with receiving() as receiver:
        webhook = listen(receiver)
        heard = Heard(webhook.secret)
        receiver.answer = heard.answer
        register(shop, events)
        running = [start() for _ in range(WORKERS)]
        for kill in range(kills):
            heard.wait_for(events * (kill + 1) // (kills + 1))
            running.pop(dice.randrange(WORKERS)).kill()
            running.append(start())
        heard.wait_for(events)
        for process in running:
            process.terminate()
            assert process.wait(PATIENCE) in (0, -SIGTERM)  # or it had not begun yet

        # What was heard and not written down is sent once more.
        Worker(tell=lambda *_: None).run(until=timezone.now() + timedelta(minutes=1))

    rows = shop.account.deliveries.filter(endpoint=webhook)
    assert set(heard.times) == set(rows.values_list("webhook_id", flat=True))
    assert len(heard.times) == events
    assert not rows.filter(delivered_at=None).exists()
    assert sum(heard.times.values()) <= events + kills * HANDS


def test_serves_the_others_beside_the_slow_and_the_endless(shop, listen, start):
    """Two never end their answer: they hold a few calls each, and nobody up."""
    with receiving() as slow, receiving() as endless, receiving() as quick:
        slow.answer, endless.answer = is_silent, drips_headers
        listen(slow)
        listen(endless)
        heard = Heard(listen(quick).secret)
        quick.answer = heard.answer
        register(shop, 100)

        start()
        heard.wait_for(100)

        assert slow.connections + endless.connections <= 4 * PER_ENDPOINT
