"""Re-exports for Django's model discovery; code imports from the submodules."""

from accounts.models.accounts import Account, Plan
from accounts.models.api_keys import ApiKey, IdempotencyKey, RateWindow
from accounts.models.audit_log import AuditLogEntry
from accounts.models.command_runs import CommandRun
from accounts.models.daily_stats import StaleDay
from accounts.models.invitations import Invitation
from accounts.models.logos import Logo
from accounts.models.row_counts import DailyRowCount
from accounts.models.saved_views import SavedView
from accounts.models.signing_secrets import SigningSecret
from accounts.models.users import User
from accounts.models.webhooks import Delivery, WebhookEndpoint

__all__ = [
    "Account",
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
