"""How far an import is: rows a second, and the minutes that are left."""

import math
import time
from collections.abc import Callable

SECONDS_PER_MINUTE = 60
MIN_SECONDS = 5.0  # between two lines
PLURALS = {"bonus": "bonuses", "belongings": "affiliates' notes and payout methods"}


class Progress:
    """Writes at most a line every few seconds: `progress("conversion", 300, 8_000)`.

    `clock` returns seconds that only rise. The rate is that of the rows of this kind.
    """

    def __init__(
        self,
        write: Callable[[str], object],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.write, self.clock = write, clock
        self.kind = ""
        self.first_count = 0
        self.started_at = self.written_at = clock()

    def __call__(self, kind: str, count: int, total: int | None) -> None:
        """Say that `count` rows of a kind are read, of about `total` if it is known."""
        now = self.clock()
        if kind != self.kind:
            self.kind, self.first_count, self.started_at = kind, count, now
        if now - self.written_at < MIN_SECONDS:
            return
        self.written_at = now
        self.write(self.describe(count, total, now - self.started_at))

    def describe(self, count: int, total: int | None, seconds: float) -> str:
        """Return a line such as `conversions: 300 of about 8,000, 60 a second, 3
        minutes left`."""
        kinds = PLURALS.get(self.kind, f"{self.kind.replace('_', ' ')}s")
        parts = [f"{kinds}: {count:,}"]
        if total is not None:
            parts[0] += f" of about {max(total, count):,}"
        rate = (count - self.first_count) / seconds if seconds else 0
        if rate:
            parts.append(f"{rate:,.0f} a second" if rate >= 1 else "below 1 a second")
        if rate and total is not None:
            parts.append(describe_rest(max(total - count, 0) / rate))
        return ", ".join(parts)


def describe_rest(seconds: float) -> str:
    """Return `less than a minute left`, else `7 minutes left`, rounded up."""
    if seconds < SECONDS_PER_MINUTE:
        return "less than a minute left"
    return f"{math.ceil(seconds / SECONDS_PER_MINUTE):,} minutes left"
