"""Commissions: creation, approval, disapproval and changes of amounts."""

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Coalesce

from accounts.compiled_queries import compiled
from accounts.exact_json import format_decimal
from accounts.models.accounts import Account
from accounts.services.changes import record_change
from payouts.calculation import CommissionDraft, calculate_exact_amount
from payouts.errors import (
    CommissionApproved,
    CommissionChanged,
    CommissionNotFound,
    CommissionUnfunded,
    DisputedSale,
)
from payouts.models.commissions import (
    BalanceKey,
    Commission,
    CommissionStatus,
    is_finalized,
    record_pending_change,
)
from payouts.services.claims import review_claim_of
from payouts.services.decisions import (
    add_reason,
    forget_suspended,
    mark_reasons_past,
)
from payouts.services.ledger import LedgerSession, open_ledger_session
from tracking.errors import DuplicateConversion
from tracking.models.conversions import Conversion
from tracking.models.late_changes import record_late_change
from tracking.money import round_amount

# In the audit log with their old and new value, which the reconciliation compares.
AMOUNTS_LOGGED = ("amount", "sub_amount")


@compiled
def commission_by_pk(account: Account, pk: int) -> QuerySet[Commission]:
    """A commission that is not deleted."""
    return Commission.objects.of(account).not_deleted().filter(pk=pk)


@compiled
def commission_with_customer(account: Account, pk: int) -> QuerySet[Commission]:
    """A commission with its conversion and the conversion's customer."""
    rows = Commission.objects.of(account).not_deleted()
    return rows.select_related("conversion__customer").filter(pk=pk)


def create_commissions(
    conversion: Conversion,
    drafts: Sequence[CommissionDraft],
    *,
    ledger: LedgerSession,
    at: datetime,
    created_at: datetime | None = None,
    is_extra: bool = False,
) -> list[Commission]:
    """Insert the commissions of a conversion, or extra ones.

    `created_at` is the time of a sale of an earlier day. The caller posts the
    commissions to the ledger.
    """
    account = conversion.account
    if account.uses_payouts:
        drafts = set_unfunded_pending(conversion, drafts, ledger)
    regular = [
        _build_commission(conversion, draft, at, created_at=created_at, is_extra=is_extra)
        for draft in drafts
        if draft.base_index is None
    ]
    for commission in regular:
        commission.affiliate = conversion.affiliate  # the answer shows it
    account.commissions.bulk_create(regular)
    levels = [
        _build_commission(
            conversion,
            draft,
            at,
            created_at=created_at,
            is_extra=is_extra,
            base_commission=regular[draft.base_index],
        )
        for draft in drafts
        if draft.base_index is not None
    ]
    account.commissions.bulk_create(levels)
    record_late_change(account, [conversion.created_at], at=at)
    commissions = regular + levels
    if any(commission.is_pending for commission in commissions):
        record_pending_change(conversion, 1, commissions, at)
    return commissions


def set_unfunded_pending(
    conversion: Conversion, drafts: Sequence[CommissionDraft], ledger: LedgerSession
) -> list[CommissionDraft]:
    """Return the drafts; those the payout balance does not cover become pending."""
    reserved: list[tuple[BalanceKey, Decimal]] = []
    checked: list[CommissionDraft] = []
    for draft in drafts:
        if draft.base_index is not None:
            base_status = checked[draft.base_index].status
            draft = draft.with_approval_context(base_status=base_status)
        if draft.status == CommissionStatus.APPROVED:
            balance_key = (draft.affiliate_id, conversion.currency)
            if ledger.has_funds(balance_key, draft.amount, reserved=reserved):
                reserved.append((balance_key, draft.amount))
            else:
                draft = draft.with_approval_context(has_funds=False)
        checked.append(draft)
    return checked


def list_claimed_commissions(conversion: Conversion) -> list[Commission]:
    """Return the commissions that a fact, or a decision of staff, deletes with a claim.

    Extra rewards stay, unless the conversion has got another affiliate or currency.
    """
    rows = conversion.account.commissions.not_deleted().filter(conversion=conversion)
    earner = Coalesce("base_commission__affiliate", "affiliate")
    return list(
        rows.alias(earner=earner)
        .filter(
            Q(is_extra=False) | ~Q(earner=conversion.affiliate_id, currency=conversion.currency)
        )
        .order_by("id")
    )


def delete_claimed_commissions(
    conversion: Conversion, *, ledger: LedgerSession, at: datetime
) -> None:
    """Delete the commissions of a claim: those of a fact replace them.

    Raises `DuplicateConversion` if one is settled: then somebody has decided about the
    claim already.
    """
    ledger.lock_balances()
    for commission in list_claimed_commissions(conversion):
        if commission.is_settled:
            raise DuplicateConversion(external_id=conversion.external_id)
        status = CommissionStatus.DISAPPROVED
        apply_changes(commission, ledger=ledger, at=at, status=status)
        commission.update_locked(at=at, deleted_at=at)


def approve_commission(
    account: Account,
    *,
    commission_id: int,
    at: datetime,
    confirmed: Commission | None = None,
) -> Commission:
    """Approve a commission: its amount becomes payable to the affiliate.

    Raises `CommissionChanged` if amount, status or payment differ from `confirmed`.
    """
    return _set_commission_status(
        account, commission_id, CommissionStatus.APPROVED, at, confirmed=confirmed
    )


def disapprove_commission(
    account: Account,
    *,
    commission_id: int,
    at: datetime,
    reason: str = "",
    confirmed: Commission | None = None,
) -> Commission:
    """Disapprove a commission; the affiliate's balance may become negative.

    A `reason` is added to the comment: the audit log, which is never erased, must not
    hold what people write. Raises `CommentTooLong`, and `CommissionChanged` as
    `approve_commission` does.
    """
    return _set_commission_status(
        account,
        commission_id,
        CommissionStatus.DISAPPROVED,
        at,
        reason=reason,
        confirmed=confirmed,
    )


def reopen_commission(
    account: Account,
    *,
    commission_id: int,
    at: datetime,
    confirmed: Commission | None = None,
) -> Commission:
    """Set a commission back to pending; the affiliate's balance may become negative.

    Raises `CommissionChanged` as `approve_commission` does.
    """
    return _set_commission_status(
        account, commission_id, CommissionStatus.PENDING, at, confirmed=confirmed
    )


def get_commission(account: Account, commission_id: int) -> Commission:
    """Return a commission that is not deleted, or raise `CommissionNotFound`."""
    return commission_by_pk.get_or_raise(CommissionNotFound, account=account, pk=commission_id)


def set_status(
    commission: Commission,
    status: str,
    *,
    ledger: LedgerSession,
    at: datetime,
    **values: Any,
) -> None:
    """Approve, disapprove or reopen a commission whose balances are locked.

    `values` are other columns to update if the status changes. Raises as
    `change_status`.
    """
    details = change_status(commission, status, ledger=ledger, at=at, **values)
    record_update(commission, details, at=at)


def change_status(
    commission: Commission,
    status: str,
    *,
    ledger: LedgerSession,
    at: datetime,
    **values: Any,
) -> dict[str, Any]:
    """Set a status as `set_status` does, but leave the record to the caller.

    The reason of a disapproval that ends becomes one of the past in the comment.
    Returns the details for `record_update`. Raises `CommissionApproved`, `DisputedSale`
    or `CommissionUnfunded` (docs/api-contract.md, section 2.3.3).
    """
    ensure_not_finalized(commission)
    if commission.status == status:
        return {}
    conversion = commission.conversion
    is_disputed = conversion is not None and conversion.disputed_at is not None
    if is_disputed and status == CommissionStatus.APPROVED:
        raise DisputedSale
    if is_finalized(status, commission.account) and not ledger.has_funds(
        commission.balance_key, commission.amount, reserved=()
    ):
        raise CommissionUnfunded
    if commission.status == CommissionStatus.DISAPPROVED and commission.comment:
        values.setdefault("comment", mark_reasons_past(commission.comment))
    if is_disputed and status == CommissionStatus.DISAPPROVED:
        forget_suspended(commission)
    return update_and_post(commission, ledger=ledger, at=at, status=status, **values)


def ensure_not_finalized(commission: Commission) -> None:
    """Raise `CommissionApproved` if the commission is final."""
    if commission.is_finalized:
        raise CommissionApproved


def apply_changes(
    commission: Commission, *, ledger: LedgerSession, at: datetime, **values: Any
) -> None:
    """Update the columns that change, post to the ledger and write the audit log.

    The caller has locked the balances. Without any change nothing is written.
    """
    details = update_and_post(commission, ledger=ledger, at=at, **values)
    record_update(commission, details, at=at)


def record_update(commission: Commission, details: dict[str, Any], *, at: datetime) -> None:
    """Record what `update_and_post` has changed, if anything."""
    if details:
        record_change(commission.account, "commission.updated", commission, at=at, **details)


def update_and_post(
    commission: Commission, *, ledger: LedgerSession, at: datetime, **values: Any
) -> dict[str, Any]:
    """Update the columns that change and post to the ledger.

    Returns the details for the audit log, empty without any change.
    """
    changed = {name: value for name, value in values.items() if getattr(commission, name) != value}
    if not changed:
        return {}
    old_status, old_amount = commission.status, commission.amount
    old_amounts = {name: getattr(commission, name) for name in AMOUNTS_LOGGED}
    status = changed.get("status", old_status)
    if status != old_status:
        # Only an approved commission is part of a payment: docs/api-contract.md,
        # section 2.3.3.
        finalized_at = at if is_finalized(status, commission.account) else None
        changed |= {"payment": None, "finalized_at": finalized_at}
    commission.update_locked(at=at, **changed)
    details: dict[str, Any] = {}
    if "comment" in changed:
        details["fields"] = ["comment"]  # may contain personal data
    if status != old_status:
        details["status"] = [old_status, str(status)]
    for name, old in old_amounts.items():
        if name in changed:
            details[name] = [format_decimal(old), format_decimal(changed[name])]
    ledger.post_commission_changed(
        commission, previous_status=old_status, previous_amount=old_amount
    )
    return details


def get_recalculated_fields(commission: Commission, sub_amount: Decimal) -> dict[str, Any]:
    """Return the columns to update for another sub-amount, at the commission's rate."""
    exact_amount = calculate_exact_amount(
        sub_amount, commission.rate_kind, commission.rate, commission.rate_fixed
    )
    amount = round_amount(exact_amount, commission.currency)
    if (sub_amount, amount) == (commission.sub_amount, commission.amount):
        return {}
    calculation = json.loads(commission.calculation) | {
        "sub_amount": str(sub_amount),
        "exact_amount": str(exact_amount),
        "amount": str(amount),
    }
    calculation.pop("is_overridden", None)
    return {
        "sub_amount": sub_amount,
        "amount": amount,
        "calculation": json.dumps(calculation, sort_keys=True),
    }


def get_overridden_fields(amount: Decimal, *, calculation: str) -> dict[str, Any]:
    """Return the columns to update for an overridden amount of this calculation."""
    overridden = {"amount": str(amount), "is_overridden": True}
    return {
        "amount": amount,
        "calculation": json.dumps(json.loads(calculation) | overridden, sort_keys=True),
    }


def _set_commission_status(
    account: Account,
    commission_id: int,
    status: CommissionStatus,
    at: datetime,
    *,
    reason: str = "",
    confirmed: Commission | None = None,
) -> Commission:
    with transaction.atomic():
        commission = commission_with_customer.get_or_raise(
            CommissionNotFound, account=account, pk=commission_id
        )
        conversion = commission.conversion
        if conversion is not None:
            conversion.account = account
            review_claim_of(conversion, status=status, at=at)
            rows = account.conversions.filter(pk=conversion.pk)
            locked = rows.select_for_update(no_key=True)
            _, conversion.disputed_at = locked.values_list("pk", "disputed_at").get()
        balance_key = commission.balance_key
        with open_ledger_session(account, [balance_key], at=at) as ledger:
            ledger.lock_balances()
            commission = get_commission(account, commission_id)
            if confirmed is not None:
                _ensure_unchanged(commission, confirmed)
            commission.conversion = conversion
            values = {"comment": add_reason(commission, reason)} if reason else {}
            set_status(commission, status, ledger=ledger, at=at, **values)
    return commission


def _ensure_unchanged(commission: Commission, confirmed: Commission) -> None:
    if any(
        getattr(commission, name) != getattr(confirmed, name)
        for name in ("amount", "status", "payment_id")
    ):
        raise CommissionChanged(
            amount=format_decimal(commission.amount),
            currency=commission.currency,
            status="paid" if commission.payment_id else commission.status,
        )


def _build_commission(
    conversion: Conversion,
    draft: CommissionDraft,
    at: datetime,
    *,
    created_at: datetime | None,
    is_extra: bool,
    base_commission: Commission | None = None,
) -> Commission:
    account, rate = conversion.account, draft.rate
    return Commission(
        account=account,
        conversion=conversion,
        affiliate_id=draft.affiliate_id,
        kind=draft.kind,
        is_extra=is_extra,
        base_commission=base_commission,
        commission_type=rate.identifier,
        name=rate.title,
        currency=conversion.currency,
        sub_amount=draft.line_item.sub_amount,
        amount=draft.amount,
        rate_kind=rate.kind,
        rate=rate.value,
        rate_fixed=rate.fixed or None,  # type: ignore[misc]
        calculation=json.dumps(draft.serialize_calculation(), sort_keys=True),
        status=draft.status,
        comment=draft.line_item.comment,
        created_at=created_at or at,
        finalized_at=at if is_finalized(draft.status, account) else None,
        due_at=conversion.created_at + timedelta(days=rate.hold.days),
        under_review_since=at if draft.is_held else None,
    )
