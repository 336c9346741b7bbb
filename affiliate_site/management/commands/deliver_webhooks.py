import signal
from contextlib import contextmanager

from django.core.management.base import CommandError

from accounts.commands import TellingCommand
from accounts.services.deliveries import still_waiting
from affiliate_site.webhooks.worker import Worker


class Command(TellingCommand):
    help = "Send due webhooks and postbacks until told to stop. Several may run."

    def add_arguments(self, parser):
        super().add_arguments(parser)
        parser.add_argument(
            "--once", action="store_true", help="send what is due now, then end"
        )

    def work(self, *, at, once, **options):
        if self.as_json and not once:
            raise CommandError(
                "--json tells a summary, and only --once has one", returncode=2
            )
        self.counts = {"sent": 0, "failed": 0}
        worker = Worker(tell=self.tell_delivery)
        with stopped_by_signals(worker):
            worker.run(until=at if once else None)
        if once:
            counts = {**self.counts, "waiting": still_waiting()}
            lines = [f"{name}: {count}" for name, count in counts.items()]
            self.tell("\n".join(lines), **counts)

    def tell_delivery(self, delivery, outcome):
        self.counts["failed" if outcome.trouble else "sent"] += 1
        if not self.as_json:
            self.stdout.write(line_of(delivery, outcome))
            self.stdout.flush()


def line_of(delivery, outcome) -> str:
    """`failed 292 evt_… customer.created to acme/we_…: answered 500, next try …`"""
    how = outcome.trouble or f"answered {outcome.status}"
    if delivery.due_at:
        how += f", next try {delivery.due_at:%Y-%m-%d %H:%M:%S} UTC"
    if delivery.endpoint.disabled_at:
        how += "; the webhook is disabled now"
    return (
        f"{'failed' if outcome.trouble else 'sent'} {delivery.pk}"
        f" {delivery.webhook_id} {delivery.event.kind}"
        f" to {delivery.endpoint.account}/{delivery.endpoint}: {how}"
    )


@contextmanager
def stopped_by_signals(worker):
    """SIGTERM and SIGINT end the work politely."""
    before = {
        name: signal.signal(name, worker.stop)
        for name in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)
