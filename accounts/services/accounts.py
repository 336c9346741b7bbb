"""Create, find, lock and unlock accounts, and change their plan and settings."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import available_timezones

from django.db import IntegrityError, models, transaction

from accounts.errors import (
    AccountLocked,
    AccountNotFound,
    DuplicateAccount,
    InvalidSetting,
    InvalidSlug,
    PlanNotFound,
    UnknownTimeZone,
)
from accounts.ids import SLUG_PATTERN
from accounts.lookups import get_or_raise
from accounts.models.accounts import Account, Logo, Plan
from accounts.services.changes import log_event

MAX_TEXT_LENGTH = 255
MAX_INTEGER = 2**31 - 1
MAX_VISITOR_DATA_DAYS = 365
# Above the longest cookie time of a program (365), and the age of tracking ids (400).
MIN_CLICK_DAYS, MAX_CLICK_DAYS = 400, 3650
COLOR_PATTERN = re.compile(r"#[0-9a-f]{6}")
MIN_CONTRAST = 4.5  # of QR codes with white


def create_account(
    *,
    slug: str,
    name: str,
    plan: str,
    uses_payouts: bool,
    pending_as_null: bool,
    at: datetime,
) -> Account:
    """Create an account on a plan."""
    if not SLUG_PATTERN.fullmatch(slug):
        raise InvalidSlug(slug=slug)
    validate_name("The name", name)
    try:
        with transaction.atomic():
            account = Account.objects.create(
                slug=slug,
                name=name,
                plan=get_plan(plan),
                uses_payouts=uses_payouts,
                pending_as_null=pending_as_null,
                created_at=at,
            )
            log_event(account, "account.created", account, at=at, plan=plan)
    except IntegrityError:
        if Account.objects.filter(slug=slug).exists():
            raise DuplicateAccount(slug=slug) from None
        raise
    return account


def validate_length(
    setting: str, text: str, limit: int = MAX_TEXT_LENGTH, *, path: str | None = None
) -> None:
    """Raise `InvalidSetting` for a text longer than its column; SQLite takes any."""
    if len(text) > limit:
        rule = f"{limit} characters at most"
        raise InvalidSetting(setting=setting, rule=rule, path=path)


def validate_name(setting: str, text: str, *, path: str | None = None) -> None:
    """Raise if a name or title is blank, too long, or has control characters."""
    if not text.strip() or not text.isprintable():
        raise InvalidSetting(setting=setting, rule="text in one line", path=path)
    validate_length(setting, text, path=path)


def get_plan(name: str) -> Plan:
    """Return the plan with this name."""
    plan = Plan.objects.filter(name=name).first()
    if plan is None:
        names = Plan.objects.order_by("id").values_list("name", flat=True)
        raise PlanNotFound(plan=name, plans=", ".join(names))
    return plan


def get_account(slug: str) -> Account:
    """Return the account with this slug."""
    accounts = Account.objects.select_related("plan")
    return get_or_raise(accounts, AccountNotFound(slug=slug), slug=slug)


def list_accounts() -> list[Account]:
    """List the accounts with their plans, but for those that are being deleted."""
    accounts = Account.objects.select_related("plan").filter(deletions=None)
    return list(accounts.order_by("id"))


def set_plan(account: Account, *, plan: str, at: datetime) -> Account:
    """Move an account to another plan."""
    new, old = get_plan(plan), account.plan
    if new != old:
        with transaction.atomic():
            Account.objects.filter(pk=account.pk).update(plan=new)
            account.plan = new
            log_event(account, "account.plan_changed", account, at=at, plan=[old.name, plan])
    return account


def dismiss_onboarding(account: Account, *, at: datetime) -> Account:
    """Hide the onboarding checklist from all staff of the account; idempotent."""
    with transaction.atomic():
        rows = Account.objects.filter(pk=account.pk, onboarding_dismissed_at=None)
        if rows.update(onboarding_dismissed_at=at):
            account.onboarding_dismissed_at = at
            log_event(account, "account.onboarding_dismissed", account, at=at)
    return account


def update_page_tracking(
    account: Account,
    *,
    require_signatures: bool | None = None,
    max_browser_amount: int | None = None,
    at: datetime,
) -> Account:
    """Set what the browser script may report; None leaves a setting unchanged.

    `max_browser_amount` is in units of the program's currency.
    """
    sent = {
        "require_signatures": require_signatures,
        "max_browser_amount": max_browser_amount,
    }
    changes = {name: value for name, value in sent.items() if value is not None}
    return update_settings(account, changes=changes, kind="account.page_tracking_changed", at=at)


def update_settings(
    account: Account,
    *,
    changes: Mapping[str, Any],
    kind: str = "account.settings_changed",
    at: datetime,
) -> Account:
    """Set the columns in `changes`; log an event of `kind` with old and new values."""
    validate_settings(changes)
    with transaction.atomic():
        accounts = Account.objects.select_for_update(no_key=True, of=("self",))
        present = accounts.get(pk=account.pk)
        values = {name: value for name, value in changes.items() if value != getattr(present, name)}
        if values:
            Account.objects.filter(pk=account.pk).update(**values)
            logged = {name: [getattr(present, name), values[name]] for name in values}
            log_event(account, kind, account, at=at, **logged)
    for name, value in changes.items():
        setattr(account, name, value)
    return account


def validate_settings(changes: Mapping[str, Any]) -> None:
    """Raise `InvalidSetting` or `UnknownTimeZone` for the first invalid value."""
    if "name" in changes:
        validate_name("The name", changes["name"], path="name")
    if changes.get("time_zone", "UTC") not in available_timezones():
        raise UnknownTimeZone(time_zone=changes["time_zone"])
    if not is_dark_color(changes.get("link_color", "#000000")):
        raise InvalidSetting(
            setting="The color of QR codes",
            rule="written as #rrggbb and dark enough for scanners, such as #14532d",
            path="link_color",
        )
    if not 0 < changes.get("max_browser_amount", 1) <= MAX_INTEGER:
        raise InvalidSetting(
            setting="The highest amount of a page",
            rule=f"a whole number from 1 to {MAX_INTEGER}",
            path="max_browser_amount",
        )
    if not 0 < changes.get("visitor_data_days", 1) <= MAX_VISITOR_DATA_DAYS:
        raise InvalidSetting(
            setting="The days of visitor data",
            rule=f"a whole number from 1 to {MAX_VISITOR_DATA_DAYS}",
            path="visitor_data_days",
        )
    click_days = changes.get("click_days", MAX_CLICK_DAYS)
    if not MIN_CLICK_DAYS <= click_days <= MAX_CLICK_DAYS:
        raise InvalidSetting(
            setting="The days of clicks",
            rule=f"a whole number from {MIN_CLICK_DAYS} to {MAX_CLICK_DAYS}",
            path="click_days",
        )


def is_dark_color(color: str) -> bool:
    """Whether `#rrggbb` has a contrast of at least 4.5 with white (WCAG 2.2)."""
    if not COLOR_PATTERN.fullmatch(color):
        return False
    shares = [int(color[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (
        share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares
    )
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return 1.05 / (luminance + 0.05) >= MIN_CONTRAST


def record_reconciliation(account: Account, *, discrepancy_count: int, at: datetime) -> None:
    """Record the time of a ledger reconciliation and how many rows differed."""
    Account.objects.filter(pk=account.pk).update(
        reconciled_at=at, discrepancy_count=discrepancy_count
    )


@dataclass(frozen=True)
class ReconciliationState:
    """Results of the last reconciliations of all accounts."""

    discrepancy_count: int
    unchecked_count: int  # accounts that were never reconciled


def get_reconciliation_state() -> ReconciliationState:
    """Return the sum of the results that `record_reconciliation` stored."""
    totals = Account.objects.aggregate(
        discrepancies=models.Sum("discrepancy_count"),
        unchecked=models.Count("pk", filter=models.Q(reconciled_at=None)),
    )
    return ReconciliationState(totals["discrepancies"] or 0, totals["unchecked"])


def lock_account(account: Account, *, at: datetime) -> Account:
    """Lock an account, so that it accepts no tracking requests; idempotent."""
    return _set_lock(account, at, at=at, kind="account.locked")


def unlock_account(account: Account, *, at: datetime) -> Account:
    """Unlock an account, so that it accepts tracking requests again; idempotent."""
    return _set_lock(account, None, at=at, kind="account.unlocked")


def ensure_not_locked(account: Account) -> None:
    """Raise `AccountLocked` if the account is locked."""
    if account.locked_at is not None:
        raise AccountLocked


def _set_lock(account: Account, locked_at: datetime | None, *, at: datetime, kind: str) -> Account:
    with transaction.atomic():
        changed = Account.objects.filter(
            pk=account.pk, locked_at__isnull=locked_at is not None
        ).update(locked_at=locked_at)
        if changed:
            account.locked_at = locked_at
            log_event(account, kind, account, at=at)
    return account


MAX_LOGO_BYTES = 20_000  # a page repeats it in up to six QR codes
MEDIA_TYPES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg"}


def set_logo(account: Account, *, image: bytes | None, at: datetime) -> Logo | None:
    """Replace the logo of an account, or remove it if `image` is None.

    Raises `InvalidSetting` unless it is a PNG or JPEG of at most `MAX_LOGO_BYTES`: an
    SVG could contain scripts.
    """
    new = None
    if image is not None:
        new = Logo(account=account, media_type=detect_media_type(image), image=image)
    with transaction.atomic():
        account.lock_row()
        old = account.logos.first()
        if old is None and new is None:
            return None
        account.logos.all().delete()
        if new is not None:
            new.save()
        change = [None if logo is None else str(logo) for logo in (old, new)]
        log_event(account, "account.settings_changed", account, at=at, logo=change)
    return new


def find_logo(account: Account) -> tuple[str, bytes] | None:
    """Return media type and content of the logo; None without one that is an image.

    Browsers get no other type, whatever is stored.
    """
    logo = account.logos.first()
    if logo is None or logo.media_type not in MEDIA_TYPES.values():
        return None
    return logo.media_type, bytes(logo.image)


def detect_media_type(image: bytes) -> str:
    """Return the media type of an image by its first bytes; raise `InvalidSetting`."""
    types = (type for start, type in MEDIA_TYPES.items() if image.startswith(start))
    media_type = next(types, "")
    if not media_type or len(image) > MAX_LOGO_BYTES:
        raise InvalidSetting(
            setting="The logo",
            rule=f"a PNG or JPEG of at most {MAX_LOGO_BYTES:,} bytes",
            path="logo",
        )
    return media_type
