"""The address that a shop sends its events to."""

from django.conf import settings

from tracking.models.shops import Connection


def build_event_url(connection: Connection) -> str:
    """Return the address of a connection."""
    return f"{settings.PUBLIC_URL}/in/{connection.public_id}/"
