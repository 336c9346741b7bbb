"""Names handed on, so that Django finds them; code imports from their own modules."""

from accounts.models.accounts import Account, Plan
from accounts.models.events import Event
from accounts.models.keys import ApiKey, IdempotencyKey, RateWindow

__all__ = ["Account", "ApiKey", "Event", "IdempotencyKey", "Plan", "RateWindow"]
