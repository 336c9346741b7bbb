"""Re-exports for Django's model discovery; code imports from the submodules."""

from accounts.models.accounts import Account, AccountDeletion, Logo, Plan
from accounts.models.api_keys import ApiKey, IdempotencyKey, RateWindow, SigningSecret
from accounts.models.audit_log import AuditLogEntry, CommandRun
from accounts.models.row_counts import DailyRowCount, StaleDay
from accounts.models.users import Invitation, SavedView, User
from accounts.models.webhooks import Delivery, WebhookEndpoint

__all__ = [
    "Account",
    "AccountDeletion",
    "ApiKey",
    "AuditLogEntry",
    "CommandRun",
    "DailyRowCount",
    "Delivery",
    "IdempotencyKey",
    "Invitation",
    "Logo",
    "Plan",
    "RateWindow",
    "SavedView",
    "SigningSecret",
    "StaleDay",
    "User",
    "WebhookEndpoint",
]
