from contextlib import closing
from threading import Event

from django.utils import timezone

from accounts.commands import JsonCommand
from accounts.services.queues import count_waiting_rows
from affiliate_site.management.commands.deliver_webhooks import stop_on_signals
from affiliate_site.shops.processing import process_due_events
from tracking.models.shops import ShopEvent, ShopEventState

POLL_INTERVAL_SECONDS = 1.0


class Command(JsonCommand):
    help = (
        "Process the events that shops sent until stopped; several may run. The worker"
        " deliver_webhooks does it, too."
    )

    def add_arguments(self, parser):
        super().add_arguments(parser)
        parser.add_argument(
            "--once", action="store_true", help="process what is due now, then exit"
        )

    def stop(self, *_signal):
        """Finish the event in progress, and take no more."""
        self.stopping.set()

    def run(self, *, at, once=False, **options):
        self.stopping = Event()
        counts = {"processed": 0, "failed": 0}
        with stop_on_signals(self):
            while not self.stopping.is_set():
                with closing(process_due_events(due_before=timezone.now())) as events:
                    for event in events:
                        counts["processed"] += 1
                        counts["failed"] += event.state == ShopEventState.FAILED
                        if self.stopping.is_set():
                            break
                if once:
                    break
                self.stopping.wait(POLL_INTERVAL_SECONDS)
        result = counts | {"waiting": count_waiting_rows(ShopEvent)}
        self.write_result("\n".join(f"{k}: {v}" for k, v in result.items()), **result)
