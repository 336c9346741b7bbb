"""Django's PostgreSQL backend with faster connections and a time limit for answers.

Django imports a backend from a module with the name `base`.
"""

import math
import select
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db.backends.postgresql import base
from psycopg import adapters
from psycopg.postgres import types
from psycopg.pq import Format

from affiliate_site.postgresql import driver

# Django replaces psycopg's loader of times, which may be compiled, by a slower one that
# sets the time zone. All sessions are in UTC, which psycopg's own loader sets, too.
UTC_LOADER = adapters.get_loader(types["timestamptz"].oid, Format.TEXT)


class DatabaseWrapper(base.DatabaseWrapper):
    """Checks a kept connection without a query, loads times fast, and does not wait
    forever for an answer.

    `answer_seconds` is the limit for one answer; None: no limit. The server's own time
    limits do not help if its process is frozen, nor do those of TCP, because its
    machine still acknowledges packets.
    """

    Database = driver  # connects for Django, and has the names of its errors

    def __init__(self, settings_dict: dict[str, Any], alias: str = "default") -> None:
        super().__init__(settings_dict, alias)
        self.answer_seconds: float | None = settings_dict.get("ANSWER_SECONDS")

    @contextmanager
    def limit_answers(self, seconds: float | None) -> Iterator[None]:
        """Set `answer_seconds` within the block, also for new connections."""
        before = self.answer_seconds
        self.set_answer_seconds(seconds)
        try:
            yield
        finally:
            self.set_answer_seconds(before)

    def set_answer_seconds(self, seconds: float | None) -> None:
        self.answer_seconds = seconds
        if self.connection is not None:
            self.connection.answer_seconds = seconds

    def is_usable(self) -> bool:
        """Return whether a kept connection works.

        An idle connection receives nothing. Only if there is something to read, such as
        the end of the connection, does a query check it.
        """
        if self.connection is None or self.connection.closed:
            return False
        poller = select.poll()
        poller.register(self.connection.fileno(), select.POLLIN)
        return not poller.poll(0) or super().is_usable()

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        if self.answer_seconds is not None:
            limit = math.ceil(self.answer_seconds)
            limit = min(limit, conn_params.get("connect_timeout", limit))
            conn_params = conn_params | {"connect_timeout": limit}
        connection = super().get_new_connection(conn_params)
        connection.answer_seconds = self.answer_seconds
        connection.adapters.register_loader("timestamptz", UTC_LOADER)
        return connection

    def create_cursor(self, name: str | None = None) -> Any:
        """Return a cursor of the connection; Django's method adds its own loader."""
        if name is None:
            return self.connection.cursor()
        return self.connection.cursor(name, scrollable=False, withhold=self.connection.autocommit)
