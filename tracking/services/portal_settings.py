"""The settings of an account's portal for affiliates."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction

from accounts.models.accounts import Account
from accounts.services.changes import log_event
from tracking.models.portal import PortalSettings
from tracking.services.portal_terms import publish_terms


def get_portal_settings(account: Account) -> PortalSettings:
    """Return the settings of an account; unsaved defaults before the first change."""
    row = account.portal_settings.first()
    return row or PortalSettings(account=account)


def build_portal_url(account: Account, path: str = "") -> str:
    """Return the address of a page of the portal."""
    return f"{settings.PUBLIC_URL}/partners/{account.slug}/{path}"


def update_portal_settings(
    account: Account, *, changes: Mapping[str, Any], at: datetime
) -> PortalSettings:
    """Change columns of the settings; the audit log gets their names.

    Other `terms` than the present ones are a new version.
    """
    changes = dict(changes)
    terms = changes.pop("terms", None)
    with transaction.atomic():
        account.portal_settings.insert_or_ignore(
            PortalSettings(account=account), unique_fields=("account",)
        )
        row = account.portal_settings.select_for_update(no_key=True).get()
        fields = sorted(it for it in changes if getattr(row, it) != changes[it])
        if fields:
            row.update_row(**{name: changes[name] for name in fields})
            log_event(account, "portal.set", row, at=at, fields=fields)
        if terms is not None:
            publish_terms(account, terms, at=at)
    return row
