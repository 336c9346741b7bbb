"""Page calls take the same time whether they store something or not.

Otherwise the time would reveal which accounts, codes, coupons and customers exist: an
unknown coupon takes 0.67 of the time of a sale, an unknown account 0.14 to 0.19 of that
of a click or a sale; with the wait 0.90 to 0.99. Equal work would have to store rows
for accounts that do not exist (`make bench-page-calls`).
"""

import time

MAX_DELAY_SECONDS = 0.25
WEIGHT = 0.1  # of the latest call in the average


class Pacer:
    """The average duration of calls that store something; others wait for it.

    Each process has its own averages, since duration depends on machine and load.
    """

    def __init__(self) -> None:
        self.averages: dict[str, float] = {}  # seconds by name of the call

    def record(self, name: str, seconds: float) -> None:
        """Count the duration of a call that has stored something."""
        average = self.averages.get(name, seconds)
        self.averages[name] = average + WEIGHT * (seconds - average)

    def get_delay(self, name: str, seconds: float) -> float:
        """The seconds by which a call that took `seconds` ends before the average."""
        delay = self.averages.get(name, 0.0) - seconds
        return min(max(delay, 0.0), MAX_DELAY_SECONDS)

    def wait(self, name: str, seconds: float) -> None:
        """Wait until the call has taken the average time."""
        time.sleep(self.get_delay(name, seconds))
