"""Corrections of a sale by staff, and the early end of a hold, each with a reason."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from accounts.actor import get_actor
from accounts.models.accounts import Account
from accounts.services.changes import log_event
from payouts.calculation import LineItem
from payouts.errors import SameAffiliate, SettledCommission
from payouts.models.commissions import Commission
from payouts.models.refunds import Correction
from payouts.services.calculation_input import drop_unknown_types, list_rates
from payouts.services.conversion_creation import write_commissions
from payouts.services.conversion_updates import (
    delete_conversion,
    lock_commission,
    lock_conversion,
    update_conversion,
)
from payouts.services.payables import is_on_hold
from payouts.services.refunds import list_existing_commissions, list_lines
from tracking.attribution import STAFF, TRACKING_SOURCE_NAMES
from tracking.claims import ClaimStatus
from tracking.errors import ContestedClaim, DuplicateConversion
from tracking.models.conversions import Conversion
from tracking.money import ZERO
from tracking.services.affiliates import get_affiliate
from tracking.services.attribution import (
    attribute_by_staff,
    create_attribution_record,
)
from tracking.services.conversions import replace_affiliate
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
        rates = list_rates(account, program, group_id=affiliate.group_id)
        try:
            write_commissions(
                conversion,
                drop_unknown_types(line_items, rates),
                rates,
                [("conversion.updated", conversion)],
                is_browser_sale=conversion.is_amount_claimed,
                replaces_claim=True,
                at=at,
            )
        except DuplicateConversion:
            raise SettledCommission from None
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
    """Make a commission due now; one that is not on hold stays as it is.

    The reason is kept with the sale, as the audit log must not hold what people write.
    Raises `CommissionNotFound`.
    """
    with transaction.atomic():
        commission = lock_commission(account, commission_id=commission_id, at=at)
        conversion, due_at = commission.conversion, commission.due_at
        if conversion is None or due_at is None or not is_on_hold(commission, at=at):
            return commission
        commission.update_locked(at=at, due_at=at)
        record_reason(conversion, reason, at=at)
        log_event(account, "commission.released", commission, at=at, until=due_at.isoformat())
    return commission
