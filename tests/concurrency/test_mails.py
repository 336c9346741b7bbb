"""Mail by several workers: no mail is sent twice, even if workers are killed.

Real commits, processes and a mail server on loopback (docs/reliability.md, section 6).
"""

import random
import subprocess
import sys
from collections import Counter
from datetime import timedelta
from signal import SIGTERM

import pytest
from django.utils import timezone

from affiliate_site.webhooks.worker import MAX_MAILS, DeliveryWorker
from tests.command_line import ROOT, build_environment
from tests.mail_server import run_mail_server
from tracking.services.mails import OUTCOME_UNKNOWN, queue_mail

pytestmark = pytest.mark.integration

WORKERS = 3
TIMEOUT_SECONDS = 300  # an upper limit for slow machines


@pytest.fixture
def mail_server(settings):
    """A mail server, which this process uses too."""
    with run_mail_server() as server:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
        yield server


@pytest.fixture
def start_worker(mail_server):
    """Start a worker process: `start_worker()`; it is stopped after the test."""
    processes = []

    def start():
        process = subprocess.Popen(
            [sys.executable, "manage.py", "deliver_webhooks"],
            cwd=ROOT,
            env=build_environment() | {"EMAIL_URL": mail_server.url},
            stdout=subprocess.DEVNULL,
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.terminate()
    for process in processes:
        process.wait(TIMEOUT_SECONDS)


@pytest.mark.parametrize(
    ("mails", "kills"),
    [
        pytest.param(100, 0, id="nobody is killed"),
        pytest.param(150, 3, id="killed"),
        pytest.param(3_000, 40, id="whole", marks=pytest.mark.slow),
    ],
)
def test_sends_no_mail_twice(scenario, mail_server, start_worker, mails, kills):
    dice = random.Random(7)  # noqa: S311 - reproducible kills
    affiliate, account = scenario.mina.affiliate, scenario.account
    affiliate.update_row(email=f"mina@{account}.example.org")
    for number in range(mails):
        queue_mail(
            affiliate,
            kind="payment",
            about=f"pa_{number}",
            subject=f"pa_{number}",
            text="You were paid",
            at=timezone.now(),
        )
    running = [start_worker() for _ in range(WORKERS)]
    for kill in range(kills):
        arrived = mails * (kill + 1) // (kills + 2)
        mail_server.wait_for(arrived, timeout_seconds=TIMEOUT_SECONDS)
        running.pop(dice.randrange(WORKERS)).kill()
        running.append(start_worker())
    arrived = mails - kills * MAX_MAILS
    mail_server.wait_for(arrived, timeout_seconds=TIMEOUT_SECONDS)
    for process in running:
        process.terminate()
        assert process.wait(TIMEOUT_SECONDS) in (0, -SIGTERM)
    DeliveryWorker(on_result=lambda *_: None).run(due_before=timezone.now() + timedelta(minutes=1))

    # Other tests leave mails, which the workers send, too.
    own = [it for it in mail_server.messages if it["To"] == affiliate.email]
    counts = Counter(message["Subject"] for message in own)
    rows = account.mails.order_by("id")
    sent = set(rows.exclude(sent_at=None).values_list("about", flat=True))
    lost = rows.filter(sent_at=None)
    assert set(counts.values()) == {1}
    assert sent <= set(counts)
    assert set(lost.values_list("due_at", "error")) <= {(None, OUTCOME_UNKNOWN)}
    assert len(sent) + lost.count() == mails
    assert lost.count() <= kills * MAX_MAILS
