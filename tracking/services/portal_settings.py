"""The settings of an account's portal for affiliates."""

import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import urlunsplit

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.http.request import validate_host

from accounts.email_addresses import clean_sender_name
from accounts.errors import InvalidSetting
from accounts.models.accounts import Account
from accounts.services.changes import log_event
from accounts.url_safety import split_url
from tracking.errors import HostTaken
from tracking.models.portal import PortalSettings
from tracking.services.portal_terms import publish_terms

MAX_PAYOUT_DAY = 28  # every month has it
HOST = re.compile(r"(?=.{1,253}$)([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z][a-z0-9-]*")


def get_portal_settings(account: Account) -> PortalSettings:
    """Return the settings of an account; unsaved defaults before the first change."""
    row = account.portal_settings.first()
    return row or PortalSettings(account=account)


def find_portal(slug: str) -> PortalSettings | None:
    """Return the settings of an account with its plan, if its portal is on."""
    rows = PortalSettings.objects.across_accounts().filter(
        account__slug=slug, account__locked_at=None, is_on=True
    )
    return rows.select_related("account__plan").first()


def find_account_of_host(host: str) -> Account | None:
    """Return the account whose portal has this host as its own."""
    rows = PortalSettings.objects.across_accounts().filter(host=host, is_on=True)
    row = rows.select_related("account").order_by("id").first()
    return row.account if row else None


def list_portals_with_host() -> list[PortalSettings]:
    """Return the settings of all accounts whose portal has a host of its own."""
    rows = PortalSettings.objects.across_accounts().exclude(host=None).select_related("account")
    return list(rows.order_by("account__slug"))


def build_portal_url(account: Account, path: str = "") -> str:
    """Return the address of a page of the portal, at the host that the account set."""
    base, host = settings.PUBLIC_URL, get_portal_settings(account).host
    if host:
        base = urlunsplit(split_url(base)._replace(netloc=host))
    return f"{base}/partners/{account.slug}/{path}"


def get_contact(account: Account) -> str:
    """Return whom affiliates write to: an address, else the name of the account."""
    return get_portal_settings(account).contact_email or account.name


def update_portal_settings(
    account: Account, *, changes: Mapping[str, Any], at: datetime
) -> PortalSettings:
    """Change columns of the settings; the audit log gets their names.

    Other `terms` than the present ones, or `translations` of them, are a new version.
    Raises `InvalidSetting` for a
    `payout_day` that some month does not have, and for a `sender_name` that would not
    be sent as it is. A `host` is set by `set_portal_host`.
    """
    changes = dict(changes)
    terms, translations = changes.pop("terms", None), changes.pop("translations", None)
    validate_payout_day(changes.get("payout_day"))
    validate_sender_name(changes.get("sender_name") or "")
    with transaction.atomic():
        account.portal_settings.insert_or_ignore(
            PortalSettings(account=account), unique_fields=("account",)
        )
        row = account.portal_settings.select_for_update(no_key=True).get()
        # A null of a column that came later is its false.
        fields = sorted(
            it for it, new in changes.items() if ((old := getattr(row, it)) or new) and old != new
        )
        if fields:
            row.update_row(**{name: changes[name] for name in fields})
            log_event(account, "portal.set", row, at=at, fields=fields)
        if terms is not None:
            publish_terms(account, terms, translations=translations, at=at)
    return row


def set_portal_host(account: Account, host: str | None, *, at: datetime) -> PortalSettings:
    """Give the portal a host of its own, or none. Only operators do.

    Raises `HostTaken`, and `InvalidSetting` for what is no host of this service.
    """
    host = host.lower() if host else None
    if host:
        validate_portal_host(account, host)
    return update_portal_settings(account, changes={"host": host}, at=at)


def validate_portal_host(account: Account, host: str) -> None:
    """Raise `HostTaken` or `InvalidSetting` if a portal must not have this host."""
    rule = ""
    if not HOST.fullmatch(host):
        rule = "a name like partners.example.com, without scheme and port"
    elif host == split_url(settings.PUBLIC_URL).hostname:
        rule = f"another one than {host}, which is that of the service: give --none"
    elif not validate_host(host, settings.ALLOWED_HOSTS):
        rule = f"in ALLOWED_HOSTS: point {host} at this service and add it there"
    if rule:
        raise InvalidSetting(setting="The host", rule=rule, path="host")
    others = PortalSettings.objects.across_accounts().exclude(account=account)
    if others.filter(Q(host=host) | Q(host__startswith=f"{host}:")).exists():
        raise HostTaken(host=host)


def validate_payout_day(day: int | None) -> None:
    """Raise `InvalidSetting` for a day that some month does not have."""
    if day is not None and not 1 <= day <= MAX_PAYOUT_DAY:
        rule = f"from 1 to {MAX_PAYOUT_DAY}"
        raise InvalidSetting(setting="The day", rule=rule, path="payout_day")


def validate_sender_name(name: str) -> None:
    """Raise `InvalidSetting` for a name that mail programs may show as another."""
    if clean_sender_name(name) != name:
        rule = "one line without @, =? and invisible characters"
        raise InvalidSetting(setting="The sender", rule=rule, path="sender_name")


def find_next_payout_day(settings: PortalSettings, *, today: date) -> date | None:
    """Return the day of the next planned payments, today at the earliest."""
    if settings.payout_day is None:
        return None
    day = today.replace(day=settings.payout_day)
    if day < today:
        day = (today.replace(day=1) + timedelta(days=31)).replace(day=day.day)
    return day
