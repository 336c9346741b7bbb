"""Claims of pages: limits, competing claims, and decisions by key or by staff.

The rules are in tracking/claims.py, their reasons in docs/tracking-trust.md.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from accounts.lookups import get_or_raise
from accounts.models.accounts import Account, join_within_account
from accounts.services.changes import log_event, record_change
from payouts.calculation import CommissionRate, LineItem
from payouts.models.commissions import CommissionKind, CommissionStatus
from tracking.attribution import TRACKING_ID, find_rejection_reason
from tracking.claims import (
    CONTESTED_CLAIM,
    FEW_ITEMS,
    MAX_CLAIMED_COMMISSIONS,
    MAX_COMPETING_CLAIMS,
    MAX_OPEN_CLAIMS,
    ClaimStatus,
    is_other_visitor,
)
from tracking.errors import (
    ClaimedAmountTooLarge,
    ClaimedCurrencyNotAllowed,
    ContestedClaim,
    TooManyOpenClaims,
)
from tracking.models.conversions import Conversion, ConversionClaim
from tracking.services.attribution import (
    Attribution,
    get_attribution_record,
    serialize_attribution,
)
from tracking.services.candidates import resolve_claim
from tracking.services.concurrency import ConcurrentUpdate
from tracking.services.customers import confirm_customer
from tracking.services.page_storage import (
    BYTES_OF_CLAIM,
    CLAIMS,
    name_owner,
    take_storage,
)


def ensure_claim_allowed(
    account: Account,
    attribution: Attribution,
    amount: Decimal,
    currency: str,
    *,
    items: int,
) -> None:
    """Raise if a page may not report this sale, which has this many line items.

    So nobody can fill a balance or a table with claims.
    """
    if currency != attribution.program.currency:
        raise ClaimedCurrencyNotAllowed
    if amount > account.max_browser_amount:
        raise ClaimedAmountTooLarge
    if attribution.prospect is not None:
        return
    open_claims = account.conversions.not_deleted().filter(
        affiliate=attribution.affiliate, claim_status=ClaimStatus.OPEN
    )
    if open_claims[:MAX_OPEN_CLAIMS].count() >= MAX_OPEN_CLAIMS:
        raise TooManyOpenClaims
    if items > FEW_ITEMS:
        joined = open_claims.annotate(part=join_within_account("commissions"))
        parts = joined.order_by().values("part__pk")[:MAX_CLAIMED_COMMISSIONS]
        if parts.count() >= MAX_CLAIMED_COMMISSIONS:
            raise TooManyOpenClaims


def contest_claim(
    conversion: Conversion,
    attribution: Attribution,
    amount: Decimal,
    line_items: Sequence[LineItem],
    rates: Mapping[str, CommissionRate],
    *,
    at: datetime,
) -> None:
    """Store the claim of another visitor beside the first one, which is kept."""
    account = conversion.account
    locked = account.conversions.select_for_update(no_key=True).select_related(None)
    conversion = get_or_raise(
        locked.filter(claim_status__isnull=False, deleted_at=None),
        ConcurrentUpdate,
        pk=conversion.pk,
        external_id=conversion.external_id,
    )
    claims = list(account.conversion_claims.filter(conversion=conversion))
    originals = [] if claims else [_build_original_claim(conversion)]
    visitor = (attribution.tracking_id, attribution.affiliate.pk, amount)
    is_listed = any(row.affiliate_id == attribution.affiliate.pk for row in claims)
    if (len(claims) >= MAX_COMPETING_CLAIMS and is_listed) or not all(
        is_other_visitor((claim.tracking_id, claim.affiliate_id, claim.amount), visitor)
        for claim in (*claims, *originals)
    ):
        return
    competing = ConversionClaim(
        account=account,
        conversion=conversion,
        tracking_id=attribution.tracking_id,
        program=attribution.program,
        affiliate=attribution.affiliate,
        click=attribution.click,
        amount=amount,
        currency=attribution.program.currency,
        line_items=[
            _serialize_line_item(item.sub_amount, rates[item.type_name].identifier, item.comment)
            for item in line_items
        ],
        attribution=serialize_attribution(attribution),
        created_at=at,
    )
    account.conversion_claims.bulk_create([*originals, competing])
    if not conversion.is_contested:
        warnings = [*(conversion.warnings or ()), CONTESTED_CLAIM]
        conversion.update_row(warnings=warnings, is_contested=True)
        fields = ["warnings"]
        record_change(account, "conversion.updated", conversion, at=at, fields=fields)
    log_event(account, "conversion.contested", conversion, at=at)
    take_storage(
        account,
        CLAIMS,
        owner=name_owner(attribution.affiliate.pk, None),
        program=attribution.program.pk,
        row_bytes=BYTES_OF_CLAIM,
        texts=[item.comment for item in line_items],
    )


def review_claim(
    account: Account, conversion_id: int | None, *, status: str | None, at: datetime
) -> None:
    """Prepare a decision about the commissions of a conversion that pages reported.

    The claim becomes reviewed. An approval also confirms the customer, if that has the
    same affiliate: renewals of the customer then follow the usual rules. Raises
    `ContestedClaim` for the approval of a contested conversion. Call it first in the
    transaction: it locks the customer before the conversion.
    """
    if conversion_id is None or status in (None, CommissionStatus.PENDING):
        return
    conversion = account.conversions.select_related("customer").get(pk=conversion_id)
    review_claim_of(conversion, status=status, at=at)


def review_claim_of(conversion: Conversion, *, status: str, at: datetime) -> None:
    """Review a claim as `review_claim` does, of a conversion read with its customer."""
    account, customer = conversion.account, conversion.customer
    if status == CommissionStatus.APPROVED:
        if conversion.is_contested:
            raise ContestedClaim
        if (
            customer is not None
            and not customer.is_confirmed
            and customer.affiliate_id == conversion.affiliate_id
        ):
            rows = account.customers.filter(pk=customer.pk, is_confirmed=False)
            for unconfirmed in rows.select_for_update(no_key=True):
                confirm_customer(account, unconfirmed, owner=conversion, at=at)
    if conversion.claim_status == ClaimStatus.OPEN:
        conversion.update_row(
            expected={"claim_status": ClaimStatus.OPEN},
            claim_status=ClaimStatus.REVIEWED,
        )


def find_deciding_claim(
    conversion: Conversion, *, at: datetime
) -> Conversion | ConversionClaim | None:
    """Return the claim that decides about a fact which names no affiliate.

    That is the first claim of the conversion. If the conversion is contested, it is the
    first claim whose affiliate may earn and whose commissions nobody has disapproved.
    """
    first = None if _is_rejected(conversion) else conversion
    if not conversion.is_contested:
        return first
    account = conversion.account
    competing = account.conversion_claims.filter(
        conversion=conversion, is_original=False
    ).select_related("conversion", "program", "affiliate", "click")
    claims: list[Conversion | ConversionClaim] = [*competing.order_by("id")]
    for claim in claims if first is None else [first, *claims]:
        candidate = resolve_claim(account, claim).candidate
        if not find_rejection_reason(candidate, at, ignore_cookie_age=True):
            return claim
    return first


def _is_rejected(claim: Conversion) -> bool:
    """Has staff or a key disapproved everything that a claim would earn?"""
    if claim.claim_status != ClaimStatus.REVIEWED:
        return False
    commissions = claim.account.commissions.not_deleted().filter(conversion=claim)
    return not commissions.exclude(status=CommissionStatus.DISAPPROVED).exists()


def _build_original_claim(conversion: Conversion) -> ConversionClaim:
    """The first claim, from the conversion that it was stored as."""
    account = conversion.account
    record = get_attribution_record(conversion)
    candidates: list[dict[str, Any]] = json.loads(record.inputs)["candidates"]
    sent = {candidate["parameter"]: candidate["value"] for candidate in candidates}
    commissions = account.commissions.not_deleted().filter(
        conversion=conversion, kind=CommissionKind.REGULAR, is_extra=False
    )
    return ConversionClaim(
        account=account,
        conversion=conversion,
        tracking_id=sent.get(TRACKING_ID),
        program=conversion.program,
        affiliate=conversion.affiliate,
        click=conversion.click,
        amount=conversion.amount,
        currency=conversion.currency,
        line_items=[
            _serialize_line_item(row.sub_amount, row.commission_type, row.comment)
            for row in commissions.order_by("id")
        ],
        attribution={
            "engine": record.engine,
            "inputs": record.inputs,
            "outcome": record.outcome,
        },
        is_original=True,
        created_at=conversion.created_at,
    )


def _serialize_line_item(
    sub_amount: Decimal | None, commission_type: str, comment: str | None
) -> dict[str, str | None]:
    return {
        "sub_amount": str(sub_amount),
        "commission_type": commission_type,
        "comment": comment,
    }
