"""psycopg with a time limit for each answer of the server."""

from typing import Any

from psycopg import *  # noqa: F403 - Django looks up the driver's names here
from psycopg import Connection, OperationalError, errors

POLL_SECONDS = 0.1  # psycopg's own interval


class LimitedConnection(Connection[Any]):
    """Closes itself if the server does not answer within `answer_seconds`."""

    answer_seconds: float | None = None

    def wait(self, gen: Any, interval: float = POLL_SECONDS, timeout: float | None = None) -> Any:
        if timeout is None:
            timeout = self.answer_seconds
        try:
            return super().wait(gen, interval, timeout)
        except errors._WaitTimeout:  # noqa: SLF001 - psycopg wants it converted
            # On an open connection, a late answer would be read as the next one.
            self.pgconn.finish()
            raise OperationalError(f"no answer within {timeout} s") from None


connect = LimitedConnection.connect
