"""The command `deliver_webhooks`."""

import io
import json
import signal
import subprocess
import sys
from datetime import timedelta
from smtplib import SMTPRecipientsRefused
from uuid import uuid4

import pytest
from django.core.mail.backends import locmem
from django.core.management import call_command
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from accounts.services.webhooks import create_webhook, disable_webhook
from affiliate_site import env
from affiliate_site.operations import health
from affiliate_site.webhooks.worker import DeliveryWorker
from payouts.services.mails import update_payment_mails
from payouts.services.payout_answers import PayoutResult, ResultState
from payouts.services.payout_results import apply_payout_results
from tests.command_line import (
    PROCESS_SECONDS,
    ROOT,
    build_environment,
    is_usage_error,
    run_command,
    run_failing_command,
    run_json_command,
)
from tests.factories.accounts import AccountFactory
from tests.payout_scenario import Paid, create_run, get_lines
from tests.program_scenario import ProgramScenario
from tests.webhook_receiver import respond_with
from tracking.services.mails import queue_mail
from tracking.services.portal_links import request_portal_link

NO_EVENTS = {"events": 0, "events_waiting": 0, "scenarios": 0, "scenarios_waiting": 0}
NO_MAILS = {"mails_sent": 0, "mails_failed": 0, "mails_waiting": 0, **NO_EVENTS}


@pytest.fixture
def webhook(scenario, webhook_receiver):
    """A webhook that subscribes to new customers."""
    return create_webhook(
        scenario.account,
        url=webhook_receiver.url,
        events=["customer.created"],
        at=timezone.now(),
    )


def create_customers(scenario, *customer_ids):
    for customer_id in customer_ids:
        scenario.create_customer(customer_id, at=timezone.now(), referral_code=scenario.mina.code)


def test_sends_due_deliveries_and_prints_each(scenario, webhook, webhook_receiver):
    create_customers(scenario, "c-1", "c-2")
    first, second = scenario.account.deliveries.order_by("id")

    lines = run_command("deliver_webhooks", "--once").splitlines()

    outcome = f"customer.created to harbor/{webhook}: answered 204"
    assert sorted(lines[:2]) == sorted(
        [f"sent {delivery.pk} {delivery.message_id} {outcome}" for delivery in (first, second)]
    )
    counts = {"sent": 2, "failed": 0, "waiting": 0} | NO_MAILS
    assert lines[2:] == [f"{name}: {count}" for name, count in counts.items()]
    assert {request.headers["webhook-id"] for request in webhook_receiver.requests} == {
        first.message_id,
        second.message_id,
    }


def test_succeeds_even_if_receivers_fail(scenario, webhook, webhook_receiver):
    create_customers(scenario, "c-1")
    webhook_receiver.respond = respond_with(500, b"Oh no")

    assert run_json_command("deliver_webhooks", "--once") == {
        "sent": 0,
        "failed": 1,
        "waiting": 1,
        **NO_MAILS,
    }

    delivery = scenario.account.deliveries.get()
    assert (delivery.status, delivery.response_body, delivery.attempts) == (
        500,
        "Oh no",
        1,
    )
    # The next attempt is not due yet.
    assert run_json_command("deliver_webhooks", "--once") == {
        "sent": 0,
        "failed": 0,
        "waiting": 1,
        **NO_MAILS,
    }


def test_prints_error_of_failed_delivery(scenario, webhook, webhook_receiver):
    create_customers(scenario, "c-1")
    webhook_receiver.respond = respond_with(302, Location="http://169.254.169.254/")

    output = run_command("deliver_webhooks", "--once")

    assert "failed" in output
    assert "answered 302, a redirect, and none is followed, next attempt 2" in output


def test_reports_disabled_webhook(scenario, webhook, webhook_receiver):
    create_customers(scenario, "c-1")
    webhook_receiver.respond = respond_with(410)

    assert ": answered 410; the webhook is now disabled" in run_command(
        "deliver_webhooks", "--once"
    )


def test_sends_nothing_to_disabled_webhook(scenario, webhook, webhook_receiver):
    create_customers(scenario, "c-1")
    disable_webhook(webhook, at=timezone.now())

    counts = run_json_command("deliver_webhooks", "--once")

    assert counts == {"sent": 0, "failed": 0, "waiting": 0, **NO_MAILS}
    assert webhook_receiver.requests == []


def test_sends_mail_and_prints_neither_address_nor_error(scenario, mailoutbox, monkeypatch):
    affiliate, now = scenario.mina.affiliate, timezone.now()
    for about in ("pa_1", "pa_2"):
        queue_mail(affiliate, kind="payment", about=about, subject="x", text="y", at=now)
    assert run_command("deliver_webhooks", "--once").splitlines()[:2] == [
        f"sent mail {mail.pk} payment/{mail.about} of harbor"
        for mail in scenario.account.mails.order_by("id")
    ]
    assert [mail.to for mail in mailoutbox] == [[affiliate.email]] * 2

    def fail(self, messages):
        raise SMTPRecipientsRefused({affiliate.email: (450, affiliate.email.encode())})

    queue_mail(affiliate, kind="payment", about="pa_3", subject="x", text="y", at=now)
    monkeypatch.setattr(locmem.EmailBackend, "send_messages", fail)
    output = run_command("deliver_webhooks", "--once")
    mail = scenario.account.mails.get(about="pa_3")
    assert mail.error == f"refused: 450 {affiliate.email}"
    assert affiliate.email not in output
    assert output.startswith(f"failed mail {mail.pk} payment/pa_3 of harbor, next attempt")
    assert "mails_failed: 1\nmails_waiting: 1" in output

    def refuse(self):
        raise ConnectionRefusedError("[Errno 111] Connection refused")

    scenario.account.mails.update(due_at=now)
    monkeypatch.setattr(locmem.EmailBackend, "open", refuse)
    assert (
        f"failed mail {mail.pk} payment/pa_3 of harbor: no connection: ConnectionRefusedError"
        " [Errno 111] Connection refused, next attempt"
    ) in run_command("deliver_webhooks", "--once")


def test_looks_up_who_asked_for_a_link_and_mails_it(scenario, mailoutbox):
    account, now = scenario.account, timezone.now()
    for email in ("nobody@notes.example.org", scenario.mina.affiliate.email):
        request_portal_link(account, email=email, purpose="sign_in", at=now)
    result = run_json_command("deliver_webhooks", "--once")
    assert (result["mails_sent"], result["mails_waiting"]) == (1, 0)
    [mail] = mailoutbox
    assert mail.to == [scenario.mina.affiliate.email]
    assert f"/partners/{account.slug}/sign-in/" in mail.body
    assert [row.kind for row in account.mails.all()] == ["portal_link"]


def test_a_bounce_stops_neither_a_run_nor_other_mail(scenario, mailoutbox, monkeypatch):
    account, now = scenario.account, timezone.now()
    scenario.create_enrolled_affiliate("Nils", "Berg", email="nils@notes.example.org")
    changes = {"mails_payments": True, "mail_subject": "", "mail_text": ""}
    update_payment_mails(account, changes=changes, at=now)
    send_messages = locmem.EmailBackend.send_messages

    def bounce_one(self, messages):
        if messages[0].to == [scenario.mina.affiliate.email]:
            raise SMTPRecipientsRefused({"mina": (550, b"no such user")})
        return send_messages(self, messages)

    monkeypatch.setattr(locmem.EmailBackend, "send_messages", bounce_one)
    run = create_run(account, Paid("20"), Paid("7", slug="nilsberg"))
    results = [PayoutResult(line.payment.public_id, ResultState.SETTLED) for line in get_lines(run)]
    apply_payout_results(account, results, at=now)
    assert run_json_command("deliver_webhooks", "--once") == {
        "sent": 0,
        "failed": 0,
        "waiting": 0,
        "mails_sent": 1,
        "mails_failed": 1,
        "mails_waiting": 0,
        **NO_EVENTS,
    }
    assert run.reload().state == "settled"
    assert [mail.to for mail in mailoutbox] == [["nils@notes.example.org"]]
    assert set(account.mails.values_list("recipient", "error", "due_at")) == {
        (scenario.mina.affiliate.email, "refused: 550 no such user", None),
        ("nils@notes.example.org", "", None),
    }


def test_json_requires_once(db):
    assert is_usage_error("deliver_webhooks", "--json")


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_runs_until_signal(committed_db, webhook_receiver, name):
    """A process ends with exit code 0 and logs every delivery, as JSON if all is."""
    scenario = ProgramScenario(AccountFactory(slug=f"webhooks-{uuid4().hex[:12]}"))
    create_webhook(scenario.account, url=webhook_receiver.url, at=timezone.now())
    create_customers(scenario, "c-1")
    with subprocess.Popen(
        [sys.executable, "manage.py", "deliver_webhooks"],
        cwd=ROOT,
        env=build_environment()
        | {
            "WEBHOOK_ALLOWED_HOSTS": webhook_receiver.host_and_port,
            "LOG_LEVEL": "INFO",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as worker:
        lines = []
        while not lines or f"to {scenario.account}/" not in lines[-1].get("text", ""):
            line = worker.stderr.readline()
            assert line, lines
            lines.append(json.loads(line))
        worker.send_signal(signal.Signals[name])
        out, err = worker.communicate(timeout=PROCESS_SECONDS)

    assert (worker.returncode, out) == (0, "")
    assert all(json.loads(line) for line in err.splitlines())
    started = next(line for line in lines if line["event"] == "started")
    assert started["text"].startswith("Sending webhooks and postbacks as they come; ")
    assert lines[-1]["outcome"] == "sent"
    assert scenario.account.deliveries.get().delivered_at


def test_goes_on_after_its_output_was_closed(scenario, webhook, webhook_receiver):
    """Otherwise claimed deliveries would wait for the end of their lease."""

    class ClosedPipe(io.StringIO):
        def write(self, text):
            raise BrokenPipeError(32, "Broken pipe")

    create_customers(scenario, "c-1", "c-2", "c-3")

    with pytest.raises(BrokenPipeError):  # of the summary, which nobody can read
        call_command("deliver_webhooks", "--once", stdout=ClosedPipe())

    assert not scenario.account.deliveries.filter(delivered_at=None).exists()


def test_refuses_a_database_that_is_not_migrated(db, monkeypatch):
    monkeypatch.setattr(health, "_migrated", set())
    MigrationRecorder.Migration.objects.filter(app="accounts").last().delete()

    assert run_failing_command("deliver_webhooks") == (
        "unapplied migrations: run manage.py migrate"
    )


def test_says_that_it_lives_while_nothing_is_due(db, monkeypatch):
    """A line at the start, and one each ten minutes without a delivery."""
    start = timezone.now()

    def run(worker, due_before):
        for minute in range(25):
            worker.on_heartbeat(start + timedelta(minutes=minute))

    monkeypatch.setattr(DeliveryWorker, "run", run)
    monkeypatch.setattr(env, "LOG_FORMAT", "text")

    assert run_command("deliver_webhooks").splitlines() == [
        "Sending webhooks and postbacks as they come; 0 wait for their time",
        *["Nothing was due for 10 minutes; 0 wait for their time"] * 2,
    ]
    assert run_command("deliver_webhooks", "--once").splitlines()[0] == "sent: 0"


def test_reports_alerts_that_were_opened(scenario):
    scenario.account.payout_methods.create(
        affiliate=scenario.mina.affiliate, kind="wise", on_hold_reason="closed"
    )

    lines = run_command("deliver_webhooks", "--once").splitlines()

    assert lines[0] == f"opened alerts of {scenario.account}: 1"
    assert "opened alerts" not in run_command("deliver_webhooks", "--once")
