"""Confirmation of a contested claim by a person (docs/tracking-trust.md)."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import transaction

from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from payouts.calculation import LineItem, allocate_proportionally
from payouts.models.commissions import CommissionKind
from payouts.services.calculation_input import drop_unknown_types, list_rates
from payouts.services.commissions import list_claimed_commissions
from payouts.services.conversion_creation import write_commissions
from tracking.attribution import TRACKING_SOURCE_NAMES
from tracking.claims import CONTESTED_CLAIM
from tracking.errors import ClaimNotFound
from tracking.models.conversions import Conversion, ConversionClaim
from tracking.money import ZERO
from tracking.services.attribution import store_attribution_record
from tracking.services.conversions import get_conversion, replace_claim
from tracking.services.customers import confirm_customer


def confirm_claim(account: Account, *, claim_id: int, at: datetime) -> Conversion:
    """Decide a contested conversion for one of its claims: it becomes a fact.

    Affiliate and program are those of the claim; so are amounts and currency, unless a
    fact has set them. New commissions follow the usual rules. Raises `ClaimNotFound`
    if the conversion is not contested any more.
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
        rates = list_rates(account, claim.program, group_id=claim.affiliate.group_id)
        write_commissions(
            conversion,
            drop_unknown_types(line_items, rates),
            rates,
            [("conversion.updated", conversion)],
            replaces_claim=True,
            at=at,
        )
    return conversion


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
