"""Circuit breaker: after a failure, an optional server is not used for a while."""

import time

import structlog

LOG_INTERVAL_SECONDS = 60
log = structlog.get_logger(__name__)


class CircuitBreaker:
    """Whether this process uses an optional server; `event` names the log record."""

    def __init__(self, event: str) -> None:
        self.event = event
        self.open_until = 0.0
        self.logged_at = float(-LOG_INTERVAL_SECONDS)

    @property
    def is_open(self) -> bool:
        return time.monotonic() < self.open_until

    def open(self, reason: str, *, seconds: float) -> None:
        """Stop using the server for a while; log this at most once a minute."""
        now = time.monotonic()
        self.open_until = now + seconds
        if now >= self.logged_at + LOG_INTERVAL_SECONDS:
            self.logged_at = now
            log.warning(self.event, reason=reason)
