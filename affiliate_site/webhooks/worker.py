"""The worker that sends what is due: one thread asks the database, the others call."""

import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from datetime import datetime

from django.db import DatabaseError, connection
from django.utils import timezone

from accounts.models.webhooks import Delivery, WebhookEndpoint
from accounts.services.deliveries import Outcome, claim, due_endpoints, record
from affiliate_site.webhooks.sending import send

logger = logging.getLogger(__name__)

HANDS = 32  # calls at once
PER_ENDPOINT = 4  # of them to one receiver, while half of the hands are free; then one
FOR_THE_FAILING = 8  # of them to receivers whose last call failed, one each
OF_ONE_ACCOUNT = 2  # of those
PAUSE = 1.0  # seconds between two looks when nothing is due

Told = Callable[[Delivery, Outcome], None]


class Worker:
    """Sends what is due until it is stopped. Several may run: each claims its own.

    A receiver that is slow holds a few hands at most, one that is dead a single one:
    the others are served meanwhile.
    """

    def __init__(self, tell: Told) -> None:
        self.tell = tell
        self.until: datetime | None = None
        self.stopping = threading.Event()
        self.in_hand: dict[Future[Outcome], Delivery] = {}

    def stop(self, *_signal: object) -> None:
        """Take nothing more; what is in hand is finished and written down."""
        self.stopping.set()

    def run(self, *, until: datetime | None = None) -> None:
        """Work until stopped or, with `until`, until nothing is left that was due
        then."""
        self.until = until
        with ThreadPoolExecutor(HANDS) as hands:
            while not self.stopping.is_set():
                with self.patience():
                    self.take(hands, due=until or timezone.now())
                if self.in_hand:
                    self.finish(timeout=PAUSE)
                elif until:
                    break
                else:
                    self.stopping.wait(PAUSE)
            while self.in_hand:
                self.finish(timeout=None)

    def take(self, hands: ThreadPoolExecutor, *, due: datetime) -> None:
        """Claim as much as there are free hands for, and start calling."""
        if len(self.in_hand) == HANDS:
            return
        for endpoint in due_endpoints(at=due):
            now = timezone.now()
            most = self.room_for(endpoint, now=now)
            if most <= 0:
                continue
            for delivery in claim(endpoint, most=most, due=due, at=now):
                call = hands.submit(send, delivery, at=now)
                self.in_hand[call] = delivery

    def room_for(self, endpoint: WebhookEndpoint, *, now: datetime) -> int:
        """How many calls to this receiver may begin now."""
        calls = self.in_hand.values()
        free = HANDS - len(calls)
        busy = sum(it.endpoint_id == endpoint.pk for it in calls)
        if endpoint.failing_since is None:
            most = PER_ENDPOINT if free > HANDS // 2 else 1
            return min(free, most - busy)
        if self.until is None and (endpoint.rests_until or now) > now:
            return 0
        failing = [it for it in calls if it.endpoint.failing_since is not None]
        of_the_account = sum(it.account_id == endpoint.account_id for it in failing)
        return min(
            free,
            FOR_THE_FAILING - len(failing),
            OF_ONE_ACCOUNT - of_the_account,
            1 - busy,
        )

    def finish(self, *, timeout: float | None) -> None:
        """Write down how the calls went that are done."""
        done, _ = wait(self.in_hand, timeout, return_when=FIRST_COMPLETED)
        for call in done:
            delivery = self.in_hand.pop(call)
            outcome = outcome_of(call)
            with self.patience():
                record(delivery, outcome, at=timezone.now())
                self.tell(delivery, outcome)

    @contextmanager
    def patience(self) -> Iterator[None]:
        """A database that fails for a moment stops no worker that goes on: what was
        not written down is sent once more after its lease."""
        try:
            yield
        except DatabaseError:
            if self.until:
                raise
            logger.exception("What is due could not be read or written")
            if not connection.in_atomic_block:
                connection.close()  # the next question opens another


def outcome_of(call: Future[Outcome]) -> Outcome:
    """How a call went; a fault of ours is a failed try, and stops no other delivery."""
    error = call.exception()
    if error is None:
        return call.result()
    logger.error("A webhook could not be called", exc_info=error)
    return Outcome(trouble=f"our own fault, see the log: {type(error).__name__}")
