"""Names handed on, so that Django finds them; code imports from their own modules."""

from accounts.models.accounts import Account, Plan
from accounts.models.days import ChangedDay, CountedDay
from accounts.models.events import Event
from accounts.models.keys import ApiKey, IdempotencyKey, RateWindow
from accounts.models.users import User
from accounts.models.webhooks import Delivery, WebhookEndpoint

__all__ = [
    "Account",
    "ApiKey",
    "ChangedDay",
    "CountedDay",
    "Delivery",
    "Event",
    "IdempotencyKey",
    "Plan",
    "RateWindow",
    "User",
    "WebhookEndpoint",
]
