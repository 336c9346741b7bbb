"""Mail that a provider could not deliver, as its webhook reports it."""

from typing import Any

from anymail.signals import EventType, tracking

from tracking.services.mails import record_bounce

UNREACHABLE = (EventType.BOUNCED, EventType.REJECTED, EventType.COMPLAINED)


def mark_address(sender: Any, event: Any, **kwargs: Any) -> None:
    """Write no more to an address that does not exist, or whose owner complained."""
    if event.event_type in UNREACHABLE and event.recipient:
        record_bounce(event.recipient)


tracking.connect(mark_address)
