"""Accounts: opened, found, locked."""

from datetime import datetime

from django.db import IntegrityError, transaction

from accounts.errors import (
    AccountExists,
    AccountLocked,
    OddSetting,
    OddSlug,
    UnknownAccount,
    UnknownPlan,
)
from accounts.ids import SLUG
from accounts.models.accounts import Account, Plan
from accounts.services.events import note

LONGEST_TEXT = 255


def open_account(
    *,
    slug: str,
    name: str,
    plan: str,
    uses_payouts: bool,
    pending_as_null: bool,
    at: datetime,
) -> Account:
    """Open an account on a plan."""
    if not SLUG.fullmatch(slug):
        raise OddSlug(slug=slug)
    refuse_long("The name", name)
    try:
        with transaction.atomic():
            account = Account.objects.create(
                slug=slug,
                name=name,
                plan=plan_named(plan),
                uses_payouts=uses_payouts,
                pending_as_null=pending_as_null,
                created_at=at,
            )
            note(account, "account.opened", account, at=at, plan=plan)
    except IntegrityError:
        if Account.objects.filter(slug=slug).exists():
            raise AccountExists(slug=slug) from None
        raise
    return account


def refuse_long(setting: str, text: str, limit: int = LONGEST_TEXT) -> None:
    """Stop here if a text does not fit its column; SQLite would not say so."""
    if len(text) > limit:
        raise OddSetting(setting=setting, rule=f"{limit} characters at most")


def plan_named(name: str) -> Plan:
    """The plan of this name."""
    plan = Plan.objects.filter(name=name).first()
    if plan is None:
        names = Plan.objects.order_by("id").values_list("name", flat=True)
        raise UnknownPlan(plan=name, plans=", ".join(names))
    return plan


def account_named(slug: str) -> Account:
    """The account with this slug."""
    account = Account.objects.select_related("plan").filter(slug=slug).first()
    if account is None:
        raise UnknownAccount(slug=slug)
    return account


def move_to_plan(account: Account, *, plan: str, at: datetime) -> Account:
    """Put an account on another plan."""
    goal, was = plan_named(plan), account.plan
    if goal != was:
        with transaction.atomic():
            Account.objects.filter(pk=account.pk).update(plan=goal)
            account.plan = goal
            note(account, "account.plan_changed", account, at=at, plan=[was.name, plan])
    return account


def note_proof(account: Account, *, differing_rows: int, at: datetime) -> None:
    """Remember that the books of an account were proved, and what came of it."""
    Account.objects.filter(pk=account.pk).update(
        proved_at=at, differing_rows=differing_rows
    )


def lock(account: Account, *, at: datetime) -> Account:
    """Refuse tracking from now on; a locked account stays as it is."""
    return _set_lock(account, at, at=at, kind="account.locked")


def unlock(account: Account, *, at: datetime) -> Account:
    """Accept tracking again."""
    return _set_lock(account, None, at=at, kind="account.unlocked")


def refuse_locked(account: Account) -> None:
    """Stop here if the account is locked."""
    if account.locked_at is not None:
        raise AccountLocked


def _set_lock(
    account: Account, locked_at: datetime | None, *, at: datetime, kind: str
) -> Account:
    with transaction.atomic():
        changed = Account.objects.filter(
            pk=account.pk, locked_at__isnull=locked_at is not None
        ).update(locked_at=locked_at)
        if changed:
            account.locked_at = locked_at
            note(account, kind, account, at=at)
    return account
