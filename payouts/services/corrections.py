"""What staff change of a sale by hand: corrections, holds, and contested claims.

Corrections and the early end of a hold have a reason. A claim is contested if two
visitors claim one conversion: see docs/tracking-trust.md.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import transaction

from accounts.actor import get_actor
from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from accounts.services.changes import log_event
from payouts.calculation import LineItem, allocate_proportionally
from payouts.errors import SameAffiliate, SettledCommission
from payouts.models.commissions import Commission, CommissionKind
from payouts.models.refunds import Correction
from payouts.rates import ProgramRates
from payouts.services.calculation_input import drop_unknown_types, list_rates
from payouts.services.commissions import list_claimed_commissions
from payouts.services.conversion_creation import write_commissions
from payouts.services.conversion_updates import (
    delete_conversion,
    lock_commission,
    lock_conversion,
    update_conversion,
)
from payouts.services.payables import is_early
from payouts.services.refunds import list_existing_commissions, list_lines
from tracking.attribution import STAFF, TRACKING_SOURCE_NAMES
from tracking.claims import CONTESTED_CLAIM, ClaimStatus
from tracking.errors import ClaimNotFound, ContestedClaim, DuplicateConversion
from tracking.models.conversions import Conversion, ConversionClaim
from tracking.money import ZERO
from tracking.services.affiliates import get_affiliate
from tracking.services.attribution import (
    attribute_by_staff,
    create_attribution_record,
    store_attribution_record,
)
from tracking.services.conversions import get_conversion, replace_affiliate, replace_claim
from tracking.services.customers import confirm_customer
from tracking.services.warnings import CUSTOMER_IS_AFFILIATE, find_warnings


def correct_conversion(
    account: Account,
    *,
    conversion_id: int,
    changes: Mapping[str, Any],
    should_recalculate: bool,
    reason: str,
    at: datetime,
) -> Conversion:
    """Update a conversion as `update_conversion` does, and record the reason."""
    with transaction.atomic():
        conversion = update_conversion(
            account,
            conversion_id=conversion_id,
            changes=changes,
            should_recalculate=should_recalculate,
            at=at,
        )
        record_reason(conversion, reason, at=at)
    return conversion


def reattribute_conversion(
    account: Account,
    *,
    conversion_id: int,
    affiliate_id: str,
    reason: str,
    at: datetime,
) -> Conversion:
    """Attribute a conversion to another affiliate of its program, as staff decided.

    All its commissions are removed. Its lines earn the new affiliate, and those above
    it, what the rates of now give. The customer stays with its affiliate. Raises
    `AffiliateNotFound`, `SameAffiliate`, `AffiliateNotApproved`, `ProgramArchived`,
    `ContestedClaim`, and `SettledCommission` if a commission is paid or final.
    """
    with transaction.atomic():
        conversion = lock_conversion(account, conversion_id)
        if conversion.is_contested:
            raise ContestedClaim
        program, affiliate = conversion.program, get_affiliate(account, affiliate_id)
        if affiliate == conversion.affiliate:
            raise SameAffiliate(affiliate=affiliate.slug)
        attribution = attribute_by_staff(account, program=program, affiliate=affiliate, at=at)
        attribution.result.ensure_affiliate_eligible()
        line_items = [
            LineItem(row.sub_amount or ZERO, row.commission_type, row.comment)
            for row in list_lines(list_existing_commissions(conversion))
        ]
        customer = conversion.customer
        warnings = find_warnings(
            affiliate,
            buyer=[customer.customer_id, customer.email_folded] if customer else [],
            extra_warnings=[
                each for each in conversion.warnings or () if each != CUSTOMER_IS_AFFILIATE
            ],
        )
        replace_affiliate(
            conversion,
            affiliate=affiliate,
            click=None,
            tracking_source=TRACKING_SOURCE_NAMES[STAFF],
            warnings=warnings,
            claim_status=conversion.claim_status and ClaimStatus.REVIEWED,
            at=at,
        )
        create_attribution_record(account, attribution, subject=conversion)
        rates = list_rates(
            account,
            program,
            group_id=affiliate.group_id,
            affiliate=affiliate,
            at=conversion.created_at,
        )
        is_browser_sale = conversion.is_amount_claimed
        _replace_commissions(conversion, line_items, rates, is_browser_sale=is_browser_sale, at=at)
        record_reason(conversion, reason, at=at)
    return conversion


def remove_conversion(
    account: Account, *, conversion_id: int, reason: str, at: datetime
) -> Conversion:
    """Remove a conversion as `delete_conversion` does, and record the reason."""
    with transaction.atomic():
        conversion = lock_conversion(account, conversion_id)
        delete_conversion(account, conversion_id=conversion_id, at=at)
        record_reason(conversion, reason, at=at)
    return conversion


def list_corrections(conversion: Conversion) -> list[Correction]:
    """Return the corrections of a conversion, the oldest first."""
    rows = conversion.account.corrections.filter(conversion=conversion)
    return list(rows.order_by("id"))


def record_reason(conversion: Conversion, reason: str, *, at: datetime) -> None:
    """Keep why staff changed a conversion or its commissions."""
    conversion.account.corrections.create(
        conversion=conversion, reason=reason, actor=get_actor().name, created_at=at
    )


def release_commission(
    account: Account, *, commission_id: int, reason: str, at: datetime
) -> Commission:
    """End the hold of a commission; one that has reached its end stays as it is. It is due
    now, unless a risk case is about it.

    The reason is kept with the sale, as the audit log must not hold what people write.
    Raises `CommissionNotFound`.
    """
    with transaction.atomic():
        commission = lock_commission(account, commission_id=commission_id, at=at)
        conversion, due_at = commission.conversion, commission.due_at
        if conversion is None or due_at is None or not is_early(commission, at=at):
            return commission
        commission.update_locked(at=at, due_at=at)
        record_reason(conversion, reason, at=at)
        log_event(account, "commission.released", commission, at=at, until=due_at.isoformat())
    return commission


def confirm_claim(account: Account, *, claim_id: int, at: datetime) -> Conversion:
    """Decide a contested conversion for one of its claims: it becomes a fact.

    Affiliate and program are those of the claim; so are amounts and currency, unless a
    fact has set them. New commissions follow the usual rules. Raises `ClaimNotFound`
    if the conversion is not contested any more, and `SettledCommission` if a commission
    is paid or final.
    """
    with transaction.atomic():
        rows = account.conversion_claims.select_related(
            "program", "affiliate", "click", "conversion__customer"
        )
        claim = get_or_raise(
            rows.filter(conversion__deleted_at=None),
            ClaimNotFound(claim_id=claim_id),
            pk=claim_id,
        )
        _confirm_customer_of(claim, at=at)
        conversion = get_conversion(account, claim.conversion_id, lock=True)
        if not conversion.is_contested:
            raise ClaimNotFound(claim_id=claim_id)
        line_items = _list_line_items(claim, conversion)
        parameter = store_attribution_record(claim.attribution, conversion=conversion)
        remaining = [it for it in conversion.warnings or () if it != CONTESTED_CLAIM]
        values: dict[str, Any] = {}
        if conversion.is_amount_claimed:
            amount = sum((item.sub_amount for item in line_items), ZERO)
            values = {"amount": amount, "currency": claim.currency}
        replace_claim(
            conversion,
            at=at,
            program=claim.program,
            affiliate=claim.affiliate,
            click=claim.click,
            tracking_source=TRACKING_SOURCE_NAMES.get(parameter, parameter),
            warnings=remaining or None,
            claim_status=None,
            is_amount_claimed=False,
            is_contested=False,
            **values,
        )
        claim.update_row(confirmed_at=at)
        affiliate = claim.affiliate
        rates = list_rates(
            account,
            claim.program,
            group_id=affiliate.group_id,
            affiliate=affiliate,
            at=conversion.created_at,
        )
        _replace_commissions(conversion, line_items, rates, at=at)
    return conversion


def _replace_commissions(
    conversion: Conversion,
    line_items: Sequence[LineItem],
    rates: ProgramRates,
    *,
    is_browser_sale: bool = False,
    at: datetime,
) -> None:
    """Write the commissions of a sale that staff have decided about. Raises
    `SettledCommission` if one that they replace is paid or final."""
    try:
        write_commissions(
            conversion,
            drop_unknown_types(line_items, rates),
            rates,
            [("conversion.updated", conversion)],
            is_browser_sale=is_browser_sale,
            replaces_claim=True,
            at=at,
        )
    except DuplicateConversion:
        raise SettledCommission from None


def _confirm_customer_of(claim: ConversionClaim, *, at: datetime) -> None:
    """Confirm the customer of a claim. The caller locks the conversion afterwards."""
    rows = claim.account.customers.filter(conversions=claim.conversion, is_confirmed=False)
    for customer in rows.select_for_update(no_key=True, of=("self",)):
        confirm_customer(claim.account, customer, owner=claim, at=at)


def _list_line_items(claim: ConversionClaim, conversion: Conversion) -> list[LineItem]:
    """Return the line items of the sale that a claim describes.

    If a fact has reported the conversion, they are those of its commissions. If a fact
    has only stated the amount, the items of the claim are scaled to that amount.
    """
    items = claim.line_items
    if conversion.claim_status is None:
        items = [
            vars(commission)
            for commission in list_claimed_commissions(conversion)
            if commission.kind == CommissionKind.REGULAR
        ]
    sub_amounts = [Decimal(item["sub_amount"]) for item in items]
    if conversion.claim_status is not None and not conversion.is_amount_claimed:
        sub_amounts = allocate_proportionally(
            sub_amounts,
            old_total=sum(sub_amounts, ZERO),
            new_total=conversion.amount,
            currency=conversion.currency,
            is_complete=True,
        )
    return [
        LineItem(sub_amount, item["commission_type"], item["comment"])
        for item, sub_amount in zip(items, sub_amounts, strict=True)
    ]
