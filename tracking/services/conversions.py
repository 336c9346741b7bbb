"""Writes rows of conversions; `payouts.services` calls this and adds the commissions."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import OperationalError
from django.db.models import QuerySet

from accounts.compiled_queries import compiled
from accounts.db_compat import is_row_lock_timeout
from accounts.exact_json import format_decimal
from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from accounts.services.changes import (
    Change,
    log_event,
    mark_stale,
    record_all_changes,
    record_change,
)
from tracking.attribution import TRACKING_SOURCE_NAMES
from tracking.claims import (
    CONTESTED_CLAIM,
    CONTESTED_CUSTOMER,
    FORMER_CUSTOMER_ID,
    UNCONFIRMED_CUSTOMER,
    ClaimStatus,
    Trust,
)
from tracking.errors import ConversionNotFound, TooManyConversionAttempts
from tracking.models.clicks import parse_client_ip
from tracking.models.conversions import Conversion, FormerExternalId
from tracking.models.customers import Customer
from tracking.models.late_changes import record_late_change
from tracking.services.attribution import Attribution, create_attribution_record
from tracking.services.concurrency import ConcurrentUpdate
from tracking.services.customers import NOT_DELETED_SQL, get_or_create_customer
from tracking.services.warnings import find_warnings

# Changes are in the audit log with both values: see payouts/services/audit_log_invariants.py.
AUDITED_COLUMNS = ("affiliate", "program", "amount", "currency")


@compiled
def conversion_by_pk(account: Account, pk: int) -> QuerySet[Conversion]:
    """A conversion that is not deleted, with its program and affiliate."""
    rows = Conversion.objects.of(account).not_deleted()
    return rows.select_related("program", "affiliate").filter(pk=pk)


@compiled
def locked_conversion_by_pk(account: Account, pk: int) -> QuerySet[Conversion]:
    """The row of `conversion_by_pk`, locked until the transaction ends."""
    rows = conversion_by_pk(account=account, pk=pk)
    return rows.select_for_update(no_key=True, of=("self",))


@compiled
def conversion_by_external_id(account: Account, external_id: str) -> QuerySet[Conversion]:
    """The conversion with this external id, with program and affiliate."""
    rows = Conversion.objects.of(account).not_deleted()
    return rows.select_related("program", "affiliate").filter(external_id=external_id)


def find_conversion(account: Account, external_id: str | None) -> Conversion | None:
    """Find the conversion with this external id, with program and affiliate."""
    if external_id is None:
        return None
    return conversion_by_external_id.first(account=account, external_id=external_id)


def write_conversion(
    account: Account,
    *,
    attribution: Attribution,
    claim: Conversion | None,
    external_id: str | None,
    customer_id: str | None,
    amount: Decimal,
    currency: str,
    meta_data: dict[str, str],
    user_agent: str | None,
    ip: str | None,
    at: datetime,
    email: str = "",
    extra_warnings: Sequence[str] = (),
    is_signed: bool = False,
    disputed_at: datetime | None = None,
    created_at: datetime | None = None,
) -> tuple[Conversion, list[Change]]:
    """Insert a conversion, its customer and its attribution record.

    Returns the changes that the caller records with those of the commissions, too.
    `email` is the buyer's, which is only compared. `created_at` is the time of a sale of
    an earlier day. A `claim` is the conversion that becomes this fact; it keeps its ID
    and time. Raises `ConcurrentUpdate` if another
    request has taken the `external_id` or changed the claim, `FormerCustomerId`, and
    `TooManyConversionAttempts` if another request with this `external_id` takes too
    long.
    """
    customer = get_or_create_customer(
        account,
        attribution,
        customer_id=customer_id,
        is_signed=is_signed,
        warnings=[it for it in extra_warnings if it == FORMER_CUSTOMER_ID],
        created_at=created_at,
        at=at,
    )
    changes: list[Change] = []
    if customer is not None and attribution.customer is None:
        changes.append(("customer.created", customer))
    parameter = attribution.winning_parameter
    is_claim = attribution.trust is Trust.CLAIM
    values: dict[str, Any] = {
        "program": attribution.program,
        "affiliate": attribution.affiliate,
        "customer": customer,
        "click": attribution.click,
        "amount": amount,
        "currency": currency,
        "meta_data": meta_data,
        "claim_status": ClaimStatus.OPEN if is_claim else None,
        "is_amount_claimed": is_claim,
        "is_contested": attribution.is_contested,
        "disputed_at": disputed_at,
        "warnings": list_warnings(attribution, customer, [customer_id, email], extra_warnings),
        "user_agent": user_agent,
        "ip": parse_client_ip(ip),
    }
    if not attribution.is_decided_by_claim:
        values["tracking_source"] = TRACKING_SOURCE_NAMES.get(parameter, parameter)
    if claim is not None:
        record_all_changes(account, changes, at=at)
        conversion = lock_claim(account, claim)
        replace_claim(conversion, at=at, **values)
        # Read it again: webhook bodies have the order of keys that PostgreSQL stores.
        rows = account.conversions.select_related("program", "affiliate", "customer", "click")
        conversion = rows.get(pk=conversion.pk)
        changes = [("conversion.updated", conversion)]
    else:
        values["created_at"] = created_at or at
        conversion = Conversion(account=account, external_id=external_id, **values)
        if not insert_conversion(conversion):
            raise ConcurrentUpdate
        changes.append(("conversion.created", conversion))
    create_attribution_record(account, attribution, subject=conversion)
    return conversion, changes


def insert_conversion(conversion: Conversion) -> bool:
    """Insert a conversion; return False if its `external_id` is taken.

    The unique constraint detects duplicates: the second of two inserts waits for the
    first, and raises `TooManyConversionAttempts` if that takes too long.
    """
    try:
        return conversion.account.conversions.insert_or_ignore(
            conversion,
            unique_fields=("account", "external_id"),
            condition_sql=NOT_DELETED_SQL,
        )
    except OperationalError as error:
        if not is_row_lock_timeout(error):
            raise
        raise TooManyConversionAttempts(external_id=conversion.external_id) from error


def replace_claim(conversion: Conversion, *, at: datetime, **values: Any) -> None:
    """Update a claim to what a fact or a person says; log what money depends on.

    The caller has locked the row and replaces the commissions afterwards.
    """
    was_contested = conversion.is_contested
    _replace_values(conversion, "conversion.confirmed", values, at=at)
    if was_contested and not conversion.is_contested:
        end_contest(conversion, at=at)


def replace_affiliate(conversion: Conversion, *, at: datetime, **values: Any) -> None:
    """Update a conversion that staff attribute to another affiliate; log the change.

    The caller has locked the row and replaces the commissions afterwards.
    """
    _replace_values(conversion, "conversion.reattributed", values, at=at)


def _replace_values(
    conversion: Conversion, event: str, values: Mapping[str, Any], *, at: datetime
) -> None:
    account = conversion.account
    before = {name: getattr(conversion, name) for name in AUDITED_COLUMNS if name in values}
    mark_stale(account, [conversion], at)
    record_late_change(account, [conversion.created_at], at=at)
    conversion.update_row(**values)
    changes = {
        name: [_serialize_audited(old), _serialize_audited(getattr(conversion, name))]
        for name, old in before.items()
        if getattr(conversion, name) != old
    }
    log_event(account, event, conversion, at=at, **changes)


def end_contest(conversion: Conversion, *, at: datetime) -> None:
    """Mark the claims of a conversion as decided."""
    claims = conversion.account.conversion_claims.filter(conversion=conversion)
    claims.update(decided_at=at)


def _serialize_audited(value: Any) -> Any:
    if isinstance(value, Decimal):
        return format_decimal(value)
    return str(getattr(value, "log_id", value))


def list_warnings(
    attribution: Attribution,
    customer: Customer | None,
    buyer: Sequence[str | None],
    extra_warnings: Sequence[str],
) -> list[str] | None:
    """The warnings of a new conversion, or of a claim that becomes a fact."""
    warnings = list(extra_warnings)
    if customer is not None:
        buyer = [*buyer, customer.email_folded]
    if attribution.trust is Trust.FACT and attribution.is_doubtful:
        warnings.append(UNCONFIRMED_CUSTOMER)
    if customer is not None and customer.is_contested:
        warnings.append(CONTESTED_CUSTOMER)
    if attribution.is_contested:
        warnings.append(CONTESTED_CLAIM)  # the fact does not say which visitor bought
    return find_warnings(attribution.affiliate, buyer=buyer, extra_warnings=warnings)


def lock_claim(account: Account, claim: Conversion) -> Conversion:
    """Lock a claim; raise `ConcurrentUpdate` if its state has changed."""
    locked = account.conversions.not_deleted().select_for_update(no_key=True)
    return get_or_raise(
        locked.filter(
            external_id=claim.external_id,
            claim_status=claim.claim_status,
            is_contested=claim.is_contested,
        ),
        ConcurrentUpdate,
        pk=claim.pk,
    )


def get_conversion(account: Account, conversion_id: int, *, lock: bool = False) -> Conversion:
    """Get a conversion with its program and affiliate.

    `lock` blocks concurrent updates until the transaction ends. Raises
    `ConversionNotFound`, also if it is deleted.
    """
    find = _lock_conversion if lock else conversion_by_pk.first
    conversion = find(account=account, pk=conversion_id)
    if conversion is None:
        raise ConversionNotFound
    return conversion


def _lock_conversion(account: Account, pk: int) -> Conversion | None:
    """Lock a conversion that is not deleted, read with its program and affiliate.

    If another request changes the affiliate while this one waits for the lock, the
    first query finds nothing: PostgreSQL joins the new row with the old affiliate.
    """
    query = locked_conversion_by_pk
    return query.first(account=account, pk=pk) or query.first(account=account, pk=pk)


def lock_with_holder(
    account: Account, conversion_id: int, external_id: str | None
) -> tuple[Conversion, Conversion | None]:
    """Lock a conversion, and another one that holds the external id, if any.

    They are locked in the order of their ids. Raises `ConversionNotFound`, and
    `ConcurrentUpdate` if the other one lost the id, or was deleted, meanwhile.
    """
    holder = find_conversion(account, external_id)
    if holder is None or holder.pk == conversion_id:
        return get_conversion(account, conversion_id, lock=True), None
    locked = {pk: _lock_conversion(account, pk) for pk in sorted([conversion_id, holder.pk])}
    conversion, holder = locked[conversion_id], locked[holder.pk]
    if conversion is None:
        raise ConversionNotFound
    if holder is None or holder.external_id != external_id:
        raise ConcurrentUpdate
    return conversion, holder


@contextmanager
def apply_conversion_changes(
    conversion: Conversion, changes: Mapping[str, Any], *, at: datetime
) -> Iterator[None]:
    """Update the values that differ; log the change when the block is done.

    The block updates what depends on the conversion. The caller has locked the row. An
    `amount` in `changes` becomes a fact, even if it equals the claimed amount.
    """
    if "amount" in changes and conversion.is_amount_claimed:
        conversion.update_row(is_amount_claimed=False)
        if changes["amount"] == conversion.amount:
            log_event(conversion.account, "conversion.amount_confirmed", conversion, at=at)
    values = {name: value for name, value in changes.items() if getattr(conversion, name) != value}
    if not values:
        yield
        return
    details: dict[str, Any] = {"fields": sorted(values)}
    if "amount" in values:
        details["amount"] = [
            format_decimal(conversion.amount),
            format_decimal(values["amount"]),
        ]
        record_late_change(conversion.account, [conversion.created_at], at=at)
    if "external_id" in values and conversion.external_id is not None:
        record_former_external_id(conversion, conversion.external_id)
    conversion.update_row(**values)
    yield
    record_change(conversion.account, "conversion.updated", conversion, at=at, **details)


def record_former_external_id(conversion: Conversion, external_id: str) -> None:
    """Record an id that a conversion is about to lose, unless it had lost it before."""
    account = conversion.account
    account.former_external_ids.insert_or_ignore(
        FormerExternalId(account=account, conversion=conversion, external_id=external_id),
        unique_fields=("account", "external_id", "conversion"),
    )


def release_external_id(claim: Conversion, *, at: datetime) -> None:
    """Clear the external id of a claim, because another conversion is that sale.

    A contest of the claim ends: staff can no longer confirm one of its claims. The
    caller has locked the row and disapproved the commissions.
    """
    values: dict[str, Any] = {"external_id": None, "claim_status": ClaimStatus.REVIEWED}
    if claim.is_contested:
        end_contest(claim, at=at)
        remaining = [it for it in claim.warnings or () if it != CONTESTED_CLAIM]
        values |= {"is_contested": False, "warnings": remaining or None}
    claim.update_row(**values)
    fields = ["external_id"]
    record_change(claim.account, "conversion.updated", claim, at=at, fields=fields)


def soft_delete_conversion(conversion: Conversion, *, at: datetime) -> None:
    """Mark a conversion as deleted and erase its visitor data.

    Its `external_id` may be used again. The caller has locked the row and deletes the
    commissions afterwards.
    """
    record_change(conversion.account, "conversion.deleted", conversion, at=at)
    if conversion.is_contested:
        end_contest(conversion, at=at)
    conversion.update_row(deleted_at=at, meta_data={}, user_agent=None, ip=None)
