"""Page calls take the same time whether they store something or not.

Otherwise the time would reveal which accounts, codes, coupons and customers exist.
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
