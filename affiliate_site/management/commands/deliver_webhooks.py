import signal
from contextlib import contextmanager
from datetime import timedelta

import structlog
from django.core.management.base import CommandError
from django.utils import timezone

from accounts.command_line import discard_output
from accounts.commands import JsonCommand, escape_controls
from accounts.services.deliveries import count_pending_deliveries
from accounts.services.queues import count_waiting_rows
from affiliate_site import env
from affiliate_site.operations.health import NotReady, check_migrations
from affiliate_site.webhooks.worker import DeliveryWorker
from payouts.models.scenarios import Scenario
from tracking.models.mails import Mail
from tracking.models.shops import ShopEvent
from tracking.services.mails import NO_CONNECTION

log = structlog.get_logger(__name__)

QUIET_INTERVAL = timedelta(minutes=10)  # without a delivery; then a line is printed


class Command(JsonCommand):
    help = (
        "Send due webhooks, postbacks and mail to affiliates, process the events of shops,"
        " calculate scenarios, and evaluate risk rules and, every hour, watches, until"
        " stopped. Several workers may run."
    )

    def add_arguments(self, parser):
        super().add_arguments(parser)
        parser.add_argument("--once", action="store_true", help="do what is due now, then exit")

    def run(self, *, at, once=False, **options):
        if self.as_json and not once:
            raise CommandError(
                "--json prints a summary, which exists only with --once", returncode=2
            )
        try:
            check_migrations()
        except NotReady as error:
            raise CommandError(str(error)) from error
        self.is_service = not once
        self.counts = {"sent": 0, "failed": 0}
        self.event_counts = {"events": 0}
        self.scenario_counts = {"scenarios": 0}
        self.mail_counts = {"mails_sent": 0, "mails_failed": 0}
        worker = DeliveryWorker(
            self.report_delivery,
            self.report_alive,
            self.report_mail,
            self.report_event,
            self.report_alerts,
            self.report_scenario,
        )
        if self.is_service:
            self.write_waiting("started", "Sending webhooks and postbacks as they come")
        self.quiet_since = at
        with stop_on_signals(worker):
            worker.run(due_before=at if once else None)
        if once:
            counts = {
                **self.counts,
                "waiting": count_pending_deliveries(),
                **self.mail_counts,
                "mails_waiting": count_waiting_rows(Mail),
                **self.event_counts,
                "events_waiting": count_waiting_rows(ShopEvent),
                **self.scenario_counts,
                "scenarios_waiting": count_waiting_rows(Scenario),
            }
            lines = [f"{name}: {count}" for name, count in counts.items()]
            self.write_result("\n".join(lines), **counts)

    def report_delivery(self, delivery, result):
        self.quiet_since = timezone.now()
        outcome = "failed" if result.error else "sent"
        self.counts[outcome] += 1
        text = format_delivery(delivery, result)
        self.write_event("delivery", text, outcome=outcome, id=delivery.pk)

    def report_mail(self, mail, result):
        """Report a mail without its text and address, which an error may name, too."""
        self.quiet_since = timezone.now()
        outcome = "failed" if result.error else "sent"
        self.mail_counts[f"mails_{outcome}"] += 1
        text = f"{outcome} mail {mail.pk} {mail} of {mail.account}"
        if result.error.startswith(NO_CONNECTION):
            text += f": {result.error}"
        if mail.due_at:
            text += f", next attempt {mail.due_at:%Y-%m-%d %H:%M} UTC"
        self.write_event("mail", text, outcome=outcome, id=mail.pk)

    def report_event(self, event):
        """Report an event of a shop without its body, which may name people."""
        self.quiet_since = timezone.now()
        self.event_counts["events"] += 1
        text = f"{event.state} {event.kind} {event} of {event.connection}"
        self.write_event("shop_event", text, outcome=event.state, id=event.pk)

    def report_alerts(self, account, number):
        """Report how many alerts the watches of an account opened, if any."""
        if number:
            text = f"opened alerts of {account}: {number}"
            self.write_event("alerts", text, count=number)

    def report_scenario(self, scenario):
        """Report that a scenario has a result or an error, or begins again later."""
        self.quiet_since = timezone.now()
        outcome = "waiting" if scenario.due_at else "failed" if scenario.error else "calculated"
        self.scenario_counts["scenarios"] += outcome == "calculated"
        text = f"{outcome} scenario {scenario} of {scenario.account}"
        self.write_event("scenario", text, outcome=outcome, id=scenario.pk)

    def report_alive(self, at):
        """Say that nothing was sent for a while, and why."""
        if self.is_service and at - self.quiet_since >= QUIET_INTERVAL:
            self.quiet_since = at
            minutes = QUIET_INTERVAL // timedelta(minutes=1)
            self.write_waiting("waiting", f"Nothing was due for {minutes} minutes")

    def write_waiting(self, event, text):
        """Print a text with the number of deliveries that wait."""
        count = count_pending_deliveries()
        self.write_event(event, f"{text}; {count} wait for their time", count=count)

    def write_event(self, event, text, **fields):
        """Print a line, or log it as JSON if the service logs so."""
        if self.as_json:
            return
        if self.is_service and env.LOG_FORMAT == "json":
            log.info(event, **fields, text=text)
            return
        try:
            self.stdout.write(escape_controls(text))
            self.stdout.flush()
        except OSError as error:
            # The deliveries that are claimed must be sent and recorded all the same.
            discard_output()
            log.warning("output_closed", reason=str(error))


def format_delivery(delivery, result) -> str:
    """`failed 292 evt_… customer.created to acme/we_…: answered 500, next attempt …`"""
    outcome = result.error or f"answered {result.status}"
    if delivery.due_at:
        outcome += f", next attempt {delivery.due_at:%Y-%m-%d %H:%M} UTC"
    if delivery.endpoint.disabled_at:
        outcome += "; the webhook is now disabled"
    return (
        f"{'failed' if result.error else 'sent'} {delivery.pk}"
        f" {delivery.message_id} {delivery.event.kind}"
        f" to {delivery.endpoint.account}/{delivery.endpoint}: {outcome}"
    )


@contextmanager
def stop_on_signals(worker):
    """Stop the worker on SIGTERM and SIGINT; restore the handlers afterwards."""
    previous = {name: signal.signal(name, worker.stop) for name in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for name, handler in previous.items():
            signal.signal(name, handler)
