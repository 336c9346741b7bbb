"""Page calls take the same time whether they store something or not.

Otherwise the time would reveal which accounts, codes, coupons and customers exist: an
unknown coupon takes 0.67 of the time of a sale, an unknown account 0.14 to 0.19 of that
of a click or a sale; with the wait 0.90 to 0.99. Equal work would have to store rows
for accounts that do not exist (`make bench-page-calls`).
"""

import time
from collections import defaultdict, deque
from statistics import median
from threading import BoundedSemaphore

from affiliate_site.env import WEB_THREADS

MAX_DELAY_SECONDS = 0.05
WINDOW = 101  # calls in the median
MAX_WAITING = max(1, WEB_THREADS // 4)  # threads of a process


class Pacer:
    """The median duration of recent calls that store something; others wait for it.

    One slow call does not change the median. A waiting call occupies a thread: when a
    quarter of them wait, further calls are answered at once. Each process has its own
    durations, since they depend on machine and load.
    """

    def __init__(self) -> None:
        self.durations: defaultdict[str, deque[float]] = defaultdict(
            lambda: deque(maxlen=WINDOW)
        )  # seconds by name of the call
        self.free_slots = BoundedSemaphore(MAX_WAITING)

    def record(self, name: str, seconds: float) -> None:
        """Count the duration of a call that has stored something."""
        self.durations[name].append(seconds)

    def get_delay(self, name: str, seconds: float) -> float:
        """The seconds by which a call that took `seconds` ends before the median."""
        recent = self.durations[name].copy()
        delay = median(recent) - seconds if recent else 0.0
        return min(max(delay, 0.0), MAX_DELAY_SECONDS)

    def wait(self, name: str, seconds: float) -> None:
        """Wait until the call has taken the median time, if a slot is free."""
        delay = self.get_delay(name, seconds)
        if delay and self.free_slots.acquire(blocking=False):
            try:
                time.sleep(delay)
            finally:
                self.free_slots.release()
