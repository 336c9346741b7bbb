"""Conversions, written by the stories of payouts alone: each one earns something."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from typing import Any

from accounts.exact_json import plain
from accounts.models.accounts import Account
from accounts.services.events import note
from tracking.attribution import SOURCE_NAMES
from tracking.errors import ConversionNotFound, DuplicateConversion
from tracking.models.conversions import Conversion
from tracking.services.attribution import Finding, keep_decision
from tracking.services.clicks import first_address
from tracking.services.customers import PRESENT, buyer
from tracking.services.warnings import warnings_about


def create_conversion(
    account: Account,
    *,
    finding: Finding,
    external_id: str | None,
    customer_id: str | None,
    amount: Decimal,
    currency: str,
    meta_data: dict[str, str],
    user_agent: str | None,
    ip: str | None,
    at: datetime,
) -> Conversion:
    """Write a sale, its customer and the decision whose it is."""
    customer = buyer(account, finding, customer_id=customer_id, at=at)
    clue = finding.deciding_clue
    conversion = Conversion(
        account=account,
        external_id=external_id,
        program=finding.program,
        affiliate=finding.affiliate,
        customer=customer,
        click=finding.click,
        amount=amount,
        currency=currency,
        tracking_source=SOURCE_NAMES.get(clue, clue),
        meta_data=meta_data,
        warnings=warnings_about(finding.affiliate, customer_id=customer_id),
        user_agent=user_agent,
        ip=first_address(ip),
        created_at=at,
    )
    # The constraint decides: the second of two at once waits here for the first.
    if not account.conversions.insert_unless_taken(
        conversion, on=("account", "external_id"), among=PRESENT
    ):
        raise DuplicateConversion(external_id=external_id)
    keep_decision(account, finding, about=conversion)
    return conversion


def conversion_numbered(
    account: Account, number: int, *, lock: bool = False
) -> Conversion:
    """The account's present conversion with this number, its rules beside it.

    `lock`: nobody else revises it until the transaction ends.
    """
    rows = account.conversions.present().select_related("program", "affiliate")
    if lock:
        rows = rows.select_for_update(no_key=True, of=("self",))
    conversion = rows.filter(pk=number).first()
    if conversion is None:
        raise ConversionNotFound
    return conversion


@contextmanager
def changed(
    conversion: Conversion, changes: Mapping[str, Any], *, at: datetime
) -> Iterator[None]:
    """Write what is another value now; once what follows from it is done as well, the
    diary's line. Whoever calls has locked the sale."""
    values = {
        name: value
        for name, value in changes.items()
        if getattr(conversion, name) != value
    }
    if not values:
        yield
        return
    facts: dict[str, Any] = {"fields": sorted(values)}
    if "amount" in values:
        facts["amount"] = [plain(conversion.amount), plain(values["amount"])]
    conversion.change(**values)
    yield
    note(conversion.account, "conversion.updated", conversion, at=at, **facts)


def remove(conversion: Conversion, *, at: datetime) -> None:
    """Mark a sale as removed; its `external_id` is free, its visitor forgotten.

    Whoever calls has locked the sale, and takes its commissions back afterwards.
    """
    note(conversion.account, "conversion.deleted", conversion, at=at)  # as it was last
    conversion.change(removed_at=at, meta_data={}, user_agent=None, ip=None)
