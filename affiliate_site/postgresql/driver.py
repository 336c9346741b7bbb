"""psycopg, but its connections do not wait forever for a server that has stopped to
answer.
"""

from typing import Any

from psycopg import *  # noqa: F403 - Django looks up the driver's names here
from psycopg import Connection, OperationalError, errors

POLL_SECONDS = 0.1  # psycopg's own interval


class LimitedConnection(Connection[Any]):
    """Closes itself if the server does not answer within `answer_seconds`."""

    answer_seconds: float | None = None

    def wait(
        self, gen: Any, interval: float = POLL_SECONDS, timeout: float | None = None
    ) -> Any:
        if timeout is None:
            timeout = self.answer_seconds
        try:
            return super().wait(gen, interval, timeout)
        except errors._WaitTimeout:  # noqa: SLF001 - psycopg wants it converted
            # A late answer would be taken for that to the next statement.
            self.pgconn.finish()
            raise OperationalError(f"no answer within {timeout} s") from None


connect = LimitedConnection.connect
