"""Django's PostgreSQL backend, without what costs time in every request.

Django expects a backend in a module of this name.
"""

import select
from typing import Any

from django.db.backends.postgresql import base
from psycopg import adapters
from psycopg.postgres import types
from psycopg.pq import Format

# Django replaces psycopg's loader, which may be compiled, by one in Python that sets
# the time zone. All sessions are in UTC, which psycopg's own sets too.
UTC_LOADER = adapters.get_loader(types["timestamptz"].oid, Format.TEXT)


class DatabaseWrapper(base.DatabaseWrapper):
    """Checks a kept connection without a query, and loads times by compiled code."""

    def is_usable(self) -> bool:
        """Ask the server only if it has sent something, or has closed the connection.

        An idle connection is silent.
        """
        if self.connection is None or self.connection.closed:
            return False
        poller = select.poll()
        poller.register(self.connection.fileno(), select.POLLIN)
        return not poller.poll(0) or super().is_usable()

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        connection = super().get_new_connection(conn_params)
        connection.adapters.register_loader("timestamptz", UTC_LOADER)
        return connection

    def create_cursor(self, name: str | None = None) -> Any:
        """Return a cursor of the connection; Django's method adds its own loader."""
        if name is None:
            return self.connection.cursor()
        return self.connection.cursor(
            name, scrollable=False, withhold=self.connection.autocommit
        )
