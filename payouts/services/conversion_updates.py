"""Changes of a conversion and of its commissions.

Each operation locks the conversion first, so that it and its commissions stay as they
were read, and then the balances of all affiliates that it may change.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import IntegrityError, transaction

from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from accounts.services.changes import log_event, mark_stale, record_change
from payouts.calculation import LineItem, allocate_proportionally
from payouts.errors import CommissionNotFound, SubAmountNotEditable
from payouts.models.commissions import (
    Commission,
    CommissionKind,
    CommissionStatus,
)
from payouts.services.calculation_input import ensure_types_known, list_rates
from payouts.services.claims import review_claim
from payouts.services.commissions import (
    apply_changes,
    ensure_not_finalized,
    get_commission,
    get_overridden_fields,
    get_recalculated_fields,
    set_status,
)
from payouts.services.conversion_creation import round_line_items, write_commissions
from payouts.services.disputes import suspend_commissions
from payouts.services.ledger import LedgerSession, open_ledger_session
from tracking.errors import (
    AffiliateDeleted,
    AmountTooLarge,
    ConversionNotFound,
    DuplicateConversion,
)
from tracking.models.conversions import Conversion
from tracking.money import ZERO, round_and_check_amount
from tracking.services.concurrency import ConcurrentUpdate, retry_on_conflict
from tracking.services.conversions import (
    apply_conversion_changes,
    find_conversion,
    get_conversion,
    lock_with_holder,
    release_external_id,
    soft_delete_conversion,
)
from tracking.services.programs import ensure_not_archived


@retry_on_conflict
def update_conversion(
    account: Account,
    *,
    conversion_id: int,
    changes: Mapping[str, Any],
    should_recalculate: bool,
    status: str | None = None,
    at: datetime,
) -> Conversion:
    """Update `amount`, `external_id` and `meta_data`, those of them in `changes`.

    With `should_recalculate` the commissions follow the amount. A `status` is set on
    all commissions. If a claim holds the `external_id`, the claim loses it. Raises
    `DuplicateConversion` if a fact holds the `external_id`, or a claim with a settled
    commission.
    """
    external_id = changes.get("external_id")
    try:
        with transaction.atomic():
            review_claim(account, conversion_id, status=status, at=at)
            conversion, holder = lock_with_holder(account, conversion_id, external_id)
            old_amount = conversion.amount
            if holder is not None:
                _take_external_id(conversion, holder, at=at)
            with apply_conversion_changes(conversion, changes, at=at):
                if should_recalculate and "amount" in changes:
                    with lock_commissions(conversion, at=at) as (ledger, commissions):
                        _recalculate_commissions(
                            conversion, commissions, old_amount, ledger=ledger, at=at
                        )
                if status is not None:
                    _set_commission_statuses(conversion, status, at=at)
    except IntegrityError as error:
        holder = find_conversion(account, external_id)
        if holder is None or holder.pk == conversion_id:
            raise
        raise ConcurrentUpdate from error  # it was created meanwhile
    return conversion


def delete_conversion(account: Account, *, conversion_id: int, at: datetime) -> None:
    """Delete a conversion and its commissions; approved amounts are no longer payable.

    Raises `CommissionApproved` if one of the commissions is final.
    """
    with transaction.atomic():
        conversion = get_conversion(account, conversion_id, lock=True)
        delete_conversions([conversion], at=at)


def delete_conversions(conversions: Sequence[Conversion], *, at: datetime) -> None:
    """Delete locked conversions as `delete_conversion` does, in one ledger session."""
    with lock_commissions(*conversions, at=at) as (ledger, commissions):
        for commission in commissions:
            ensure_not_finalized(commission)
        for conversion in conversions:
            soft_delete_conversion(conversion, at=at)
        mark_stale(conversions[0].account, commissions, at)
        for commission in commissions:
            commission.update_locked(at=at, deleted_at=at, payment=None)
            ledger.post_commission_deleted(commission)


def restore_conversion(account: Account, *, conversion_id: int, at: datetime) -> Conversion:
    """Undo a deletion: the commissions that ended with it have their status again.

    Visitor data stays erased. Raises `ConversionNotFound`, and `DuplicateConversion` if
    another conversion has the external ID by now.
    """
    try:
        with transaction.atomic():
            rows = account.conversions.select_related("program", "affiliate")
            rows = rows.select_for_update(no_key=True, of=("self",))
            conversion = get_or_raise(
                rows.exclude(deleted_at=None), ConversionNotFound, pk=conversion_id
            )
            deleted = account.commissions.filter(
                conversion=conversion, deleted_at=conversion.deleted_at
            )
            commissions = list(deleted.order_by("id"))
            keys = {row.balance_key for row in commissions}
            with open_ledger_session(account, keys, at=at) as ledger:
                ledger.lock_balances()
                conversion.update_row(deleted_at=None)
                record_change(account, "conversion.updated", conversion, at=at)
                log_event(account, "conversion.restored", conversion, at=at)
                mark_stale(account, commissions, at)
                for commission in commissions:
                    commission.conversion = conversion
                    commission.restore(at=at)
                    ledger.post_commission_restored(commission)
                if conversion.disputed_at is not None:
                    suspend_commissions(conversion, commissions, ledger=ledger, at=at)
    except IntegrityError:
        raise DuplicateConversion(external_id=conversion.external_id) from None
    return conversion


def add_commissions(
    account: Account,
    *,
    conversion_id: int,
    line_items: Sequence[LineItem],
    at: datetime,
) -> list[Commission]:
    """Add commissions to a conversion, whose amount stays; caps are ignored."""
    with transaction.atomic():
        conversion = get_conversion(account, conversion_id, lock=True)
        affiliate, program = conversion.affiliate, conversion.program
        line_items = round_line_items(line_items, conversion.currency)
        rates = list_rates(
            account,
            program,
            group_id=affiliate.group_id,
            affiliate=affiliate,
            at=conversion.created_at,
        )
        ensure_types_known(line_items, rates)
        if affiliate.deleted_at is not None:
            raise AffiliateDeleted
        ensure_not_archived(program)
        return write_commissions(conversion, line_items, rates, is_extra=True, at=at)


def update_commission(
    account: Account, *, commission_id: int, changes: Mapping[str, Any], at: datetime
) -> Commission:
    """Update `amount`, `sub_amount`, `comment` and `status`, those in `changes`.

    The conversion's amount and the level commissions follow the sub-amount.
    """
    with transaction.atomic():
        commission = get_commission(account, commission_id)
        status = changes.get("status")
        review_claim(account, commission.conversion_id, status=status, at=at)
        if commission.conversion_id is None:  # a bonus
            balance_key = commission.balance_key
            with open_ledger_session(account, [balance_key], at=at) as ledger:
                ledger.lock_balances()
                commission = get_commission(account, commission_id)
                _update_fields(commission, changes, [], ledger=ledger, at=at)
            return commission
        conversion = get_conversion(account, commission.conversion_id, lock=True)
        with lock_commissions(conversion, at=at) as (ledger, commissions):
            commission = _select_commission(commissions, commission_id)
            _update_fields(commission, changes, commissions, ledger=ledger, at=at)
    return commission


@retry_on_conflict
def lock_conversion(
    account: Account, conversion_id: int, *, external_id: str | None = None
) -> Conversion:
    """Lock the customer of a conversion, then the conversion.

    With an `external_id`, also lock the conversion that holds it, as
    `update_conversion` does.
    """
    customers = account.customers.filter(conversions=conversion_id)
    list(customers.select_for_update(no_key=True, of=("self",)))
    return lock_with_holder(account, conversion_id, external_id)[0]


def lock_commission(account: Account, *, commission_id: int, at: datetime) -> Commission:
    """Lock a commission with all that `update_commission` locks, in the same order."""
    commission = get_commission(account, commission_id)
    if commission.conversion_id is None:  # a bonus
        with open_ledger_session(account, [commission.balance_key], at=at) as ledger:
            ledger.lock_balances()
            return get_commission(account, commission_id)
    conversion = lock_conversion(account, commission.conversion_id)
    with lock_commissions(conversion, at=at) as (_, commissions):
        return _select_commission(commissions, commission_id)


def get_conversion_currency(account: Account, conversion_id: int) -> str:
    """Return the currency of a conversion."""
    return get_conversion(account, conversion_id).currency


def get_conversion_by_external_id(account: Account, external_id: str) -> Conversion:
    """Return the conversion with this external id, or raise `ConversionNotFound`."""
    rows = account.conversions.not_deleted()
    return get_or_raise(rows, ConversionNotFound, external_id=external_id)


@contextmanager
def lock_commissions(
    *conversions: Conversion, at: datetime
) -> Iterator[tuple[LedgerSession, list[Commission]]]:
    """Lock the balances of the commissions of conversions, then read the commissions.

    The caller has locked the conversions.
    """
    account = conversions[0].account
    commissions = account.commissions.not_deleted().filter(conversion__in=conversions)
    with open_ledger_session(account, {row.balance_key for row in commissions}, at=at) as ledger:
        ledger.lock_balances()
        locked = list(commissions.order_by("id"))
        for commission in locked:
            commission.conversion = next(
                it for it in conversions if it.pk == commission.conversion_id
            )
        yield ledger, locked


def _set_commission_statuses(conversion: Conversion, status: str, *, at: datetime) -> None:
    with lock_commissions(conversion, at=at) as (ledger, commissions):
        for commission in commissions:
            if commission.status != status:
                set_status(commission, status, ledger=ledger, at=at)


def _take_external_id(conversion: Conversion, holder: Conversion, *, at: datetime) -> None:
    """Move the external id from `holder`, a claim, to the conversion that is the sale.

    The commissions of the claim become disapproved. Raises `DuplicateConversion` if
    the holder is a fact, or one of its commissions is settled.
    """
    if holder.claim_status is None:
        raise DuplicateConversion(external_id=holder.external_id)
    # The balances of both are locked at once, in their order.
    with lock_commissions(conversion, holder, at=at) as (ledger, commissions):
        for commission in commissions:
            if commission.conversion_id != holder.pk:
                continue
            if commission.is_settled:
                raise DuplicateConversion(external_id=holder.external_id)
            status = CommissionStatus.DISAPPROVED
            apply_changes(commission, ledger=ledger, at=at, status=status)
    release_external_id(holder, at=at)


def _recalculate_commissions(
    conversion: Conversion,
    commissions: Sequence[Commission],
    old_amount: Decimal,
    *,
    ledger: LedgerSession,
    at: datetime,
) -> None:
    regular = [row for row in commissions if row.kind == CommissionKind.REGULAR]
    changeable = [row for row in regular if not row.is_finalized]
    sub_amounts = validate_allocated_amounts(
        allocate_proportionally(
            [commission.sub_amount or ZERO for commission in changeable],
            old_total=old_amount,
            new_total=conversion.amount,
            currency=conversion.currency,
            is_complete=len(changeable) == len(regular),
        ),
        conversion,
    )
    for commission, sub_amount in zip(changeable, sub_amounts, strict=True):
        fields = get_recalculated_fields(commission, sub_amount)
        apply_changes(commission, ledger=ledger, at=at, **fields)
        _recalculate_level_commissions(commission, commissions, ledger=ledger, at=at)


def validate_allocated_amounts(amounts: Sequence[Decimal], conversion: Conversion) -> list[Decimal]:
    """Return the amounts rounded, or raise `AmountTooLarge` for the path `amount`."""
    try:
        return [round_and_check_amount(amount, conversion.currency) for amount in amounts]
    except AmountTooLarge:
        raise AmountTooLarge(path="amount") from None


def _recalculate_level_commissions(
    commission: Commission,
    commissions: Sequence[Commission],
    *,
    ledger: LedgerSession,
    at: datetime,
) -> None:
    """Give the level commissions the sub-amount of their base commission."""
    sub_amount = commission.sub_amount or ZERO
    for level in commissions:
        if level.base_commission_id != commission.pk:
            continue
        if not level.is_finalized:
            fields = get_recalculated_fields(level, sub_amount)
            apply_changes(level, ledger=ledger, at=at, **fields)


def _update_fields(
    commission: Commission,
    changes: Mapping[str, Any],
    commissions: Sequence[Commission],
    *,
    ledger: LedgerSession,
    at: datetime,
) -> None:
    values: dict[str, Any] = {}
    sub_amount, old_sub_amount = changes.get("sub_amount"), commission.sub_amount
    if sub_amount is not None and commission.kind != CommissionKind.REGULAR:
        raise SubAmountNotEditable
    if sub_amount is not None and sub_amount != old_sub_amount:
        values |= get_recalculated_fields(commission, sub_amount)
    amount = changes.get("amount")
    if amount is not None and (values or amount != commission.amount):
        calculation = values.get("calculation", commission.calculation)
        values |= get_overridden_fields(amount, calculation=calculation)
    if values:
        ensure_not_finalized(commission)
    if "comment" in changes:
        values["comment"] = changes["comment"]
    apply_changes(commission, ledger=ledger, at=at, **values)
    if "status" in changes:
        sent = {name: changes[name] for name in ("comment",) if name in changes}
        set_status(commission, changes["status"], ledger=ledger, at=at, **sent)
    if sub_amount is not None:
        difference = sub_amount - (old_sub_amount or ZERO)
        _follow_sub_amount(commission, difference, commissions, ledger=ledger, at=at)


def _follow_sub_amount(
    commission: Commission,
    difference: Decimal,
    commissions: Sequence[Commission],
    *,
    ledger: LedgerSession,
    at: datetime,
) -> None:
    """Let level commissions and conversion follow a sub-amount that was stated.

    The conversion's amount changes by the same difference, but not below 0, and becomes
    a fact.
    """
    if difference:
        _recalculate_level_commissions(commission, commissions, ledger=ledger, at=at)
    conversion = get_conversion(commission.account, commission.conversion_id or 0)
    amount = max(conversion.amount + difference, ZERO)
    try:
        amount = round_and_check_amount(amount, conversion.currency)
    except AmountTooLarge:
        raise AmountTooLarge(path="conversion_sub_amount") from None
    with apply_conversion_changes(conversion, {"amount": amount}, at=at):
        pass  # the commissions are updated already


def _select_commission(commissions: Sequence[Commission], commission_id: int) -> Commission:
    for commission in commissions:
        if commission.pk == commission_id:
            return commission
    raise CommissionNotFound
