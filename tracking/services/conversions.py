"""Conversions: rows only. `payouts.services` calls this and adds the commissions."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from typing import Any

from accounts.exact_json import format_decimal
from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from accounts.services.changes import record_change
from tracking.attribution import TRACKING_SOURCE_NAMES
from tracking.errors import ConversionNotFound, DuplicateConversion
from tracking.models.conversions import Conversion
from tracking.services.attribution import Attribution, create_attribution_record
from tracking.services.clicks import parse_client_ip
from tracking.services.customers import NOT_DELETED_SQL, get_or_create_customer
from tracking.services.warnings import find_warnings


def insert_conversion(
    account: Account,
    *,
    attribution: Attribution,
    external_id: str | None,
    customer_id: str | None,
    amount: Decimal,
    currency: str,
    meta_data: dict[str, str],
    user_agent: str | None,
    ip: str | None,
    at: datetime,
    extra_warnings: Sequence[str] = (),
) -> Conversion:
    """Insert a conversion, its customer and its attribution record.

    Raises `DuplicateConversion`.
    """
    customer = get_or_create_customer(
        account, attribution, customer_id=customer_id, at=at
    )
    parameter = attribution.winning_parameter
    conversion = Conversion(
        account=account,
        external_id=external_id,
        program=attribution.program,
        affiliate=attribution.affiliate,
        customer=customer,
        click=attribution.click,
        amount=amount,
        currency=currency,
        tracking_source=TRACKING_SOURCE_NAMES.get(parameter, parameter),
        meta_data=meta_data,
        warnings=find_warnings(
            attribution.affiliate,
            customer_id=customer_id,
            extra_warnings=extra_warnings,
        ),
        user_agent=user_agent,
        ip=parse_client_ip(ip),
        created_at=at,
    )
    # The constraint detects duplicates: a concurrent insert waits here for the first.
    if not account.conversions.insert_or_ignore(
        conversion,
        unique_fields=("account", "external_id"),
        condition_sql=NOT_DELETED_SQL,
    ):
        raise DuplicateConversion(external_id=external_id)
    create_attribution_record(account, attribution, subject=conversion)
    return conversion


def get_conversion(
    account: Account, conversion_id: int, *, lock: bool = False
) -> Conversion:
    """Get a conversion with its program and affiliate.

    `lock` blocks concurrent updates until the transaction ends. Raises
    `ConversionNotFound`, also if it is deleted.
    """
    rows = account.conversions.not_deleted().select_related("program", "affiliate")
    return get_or_raise(rows, ConversionNotFound, lock=lock, pk=conversion_id)


@contextmanager
def apply_conversion_changes(
    conversion: Conversion, changes: Mapping[str, Any], *, at: datetime
) -> Iterator[None]:
    """Update the values that differ; log the change when the block is done.

    The block updates what depends on the conversion. The caller has locked the row.
    """
    values = {
        name: value
        for name, value in changes.items()
        if getattr(conversion, name) != value
    }
    if not values:
        yield
        return
    details: dict[str, Any] = {"fields": sorted(values)}
    if "amount" in values:
        details["amount"] = [
            format_decimal(conversion.amount),
            format_decimal(values["amount"]),
        ]
    conversion.update_row(**values)
    yield
    record_change(
        conversion.account, "conversion.updated", conversion, at=at, **details
    )


def soft_delete_conversion(conversion: Conversion, *, at: datetime) -> None:
    """Mark a conversion as deleted and erase its visitor data.

    Its `external_id` may be used again. The caller has locked the row and deletes the
    commissions afterwards.
    """
    record_change(conversion.account, "conversion.deleted", conversion, at=at)
    conversion.update_row(deleted_at=at, meta_data={}, user_agent=None, ip=None)
