"""The settings of an account's portal for affiliates."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from accounts.models.accounts import Account
from accounts.services.changes import log_event
from tracking.models.portal import PortalSettings


def get_portal_settings(account: Account) -> PortalSettings:
    """Return the settings of an account; unsaved defaults before the first change."""
    row = account.portal_settings.first()
    return row or PortalSettings(account=account)


def update_portal_settings(
    account: Account, *, changes: Mapping[str, Any], at: datetime
) -> PortalSettings:
    """Change columns of the settings; the audit log gets their names."""
    with transaction.atomic():
        account.portal_settings.insert_or_ignore(
            PortalSettings(account=account), unique_fields=("account",)
        )
        row = account.portal_settings.select_for_update(no_key=True).get()
        # A null of a column that came later is its false.
        fields = sorted(
            it
            for it, new in changes.items()
            if ((old := getattr(row, it)) or new) and old != new
        )
        if fields:
            row.update_row(**{name: changes[name] for name in fields})
            log_event(account, "portal.set", row, at=at, fields=fields)
    return row
