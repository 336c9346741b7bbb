"""Creation of a conversion: attribution, commissions, ledger, audit log."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal

from django.db import transaction

from accounts.errors import ErrorList, InvalidInput
from accounts.models.accounts import Account
from accounts.services.changes import record_change, record_changes
from payouts.calculation import calculate_commissions
from payouts.models.commissions import Commission
from payouts.services.calculation_input import (
    LineItemData,
    build_calculation_input,
    drop_unknown_types,
    resolve_line_items,
)
from payouts.services.commissions import (
    create_commissions,
    list_balance_keys,
    set_status,
)
from payouts.services.ledger import open_ledger_session
from tracking.attribution import (
    REST_CONVERSION_ORDER,
    CandidateOrder,
    TrackingParameters,
)
from tracking.errors import AmountTooLarge, NegativeAmount
from tracking.models.conversions import Conversion
from tracking.models.prospects import PromotionMethod
from tracking.money import ZERO, validate_amount
from tracking.services.attribution import attribute
from tracking.services.concurrency import retry_on_conflict
from tracking.services.conversions import insert_conversion
from tracking.services.prospects import promote_winning_prospect
from tracking.services.warnings import ODD_COMMISSION_TYPE


@dataclass(frozen=True)
class ConversionData:
    """A conversion as the caller sent it; its amounts are not rounded yet."""

    parameters: TrackingParameters
    line_items: Sequence[LineItemData]
    external_id: str | None = None
    currency: str | None = None  # None: the program's
    meta_data: dict[str, str] = field(default_factory=dict)
    user_agent: str | None = None
    ip: str | None = None
    ignore_cookie_age: bool = False
    candidate_order: CandidateOrder = REST_CONVERSION_ORDER
    is_browser_sale: bool = False  # reported by the browser script
    extra_warnings: tuple[str, ...] = ()  # about the call itself


@retry_on_conflict
def create_conversion(
    account: Account,
    *,
    data: ConversionData,
    status: str | None = None,
    at: datetime,
) -> Conversion:
    """Create a conversion with its commissions in one transaction.

    With a `status` the commissions that have another one are set to it; all of them
    are logged with it.
    """
    with transaction.atomic():
        attribution = attribute(
            account,
            parameters=data.parameters,
            order=data.candidate_order,
            at=at,
            ignore_cookie_age=data.ignore_cookie_age,
        )
        attribution.result.ensure_affiliate_eligible(
            customer_id=data.parameters.customer_id or ""
        )
        currency = data.currency or attribution.program.currency
        rounded_items = round_line_items(data.line_items, currency)
        amount = calculate_total(rounded_items, currency)
        extra_warnings = data.extra_warnings
        if data.is_browser_sale:
            sent_items = rounded_items
            rounded_items = drop_unknown_types(account, attribution.program, sent_items)
            if rounded_items != sent_items:
                extra_warnings = (*extra_warnings, ODD_COMMISSION_TYPE)
        line_items = resolve_line_items(
            account, attribution.program, rounded_items, group_id=attribution.group_id
        )
        attribution.result.ensure_cookie_valid()
        attribution = promote_winning_prospect(
            account, attribution, method=PromotionMethod.CONVERSION, at=at
        )
        conversion = insert_conversion(
            account,
            attribution=attribution,
            external_id=data.external_id,
            customer_id=data.parameters.customer_id,
            amount=amount,
            currency=currency,
            meta_data=data.meta_data,
            user_agent=data.user_agent,
            ip=data.ip,
            at=at,
            extra_warnings=extra_warnings,
        )
        drafts = calculate_commissions(
            build_calculation_input(
                conversion, line_items=line_items, is_browser_sale=data.is_browser_sale
            )
        )
        with open_ledger_session(
            account, list_balance_keys(conversion, drafts), at=at
        ) as ledger:
            commissions = create_commissions(conversion, drafts, ledger=ledger, at=at)
            if status is None:
                _log_created(conversion, commissions, at=at)
            for commission in commissions:
                ledger.post_commission_created(commission)
            if status is not None:
                for commission in commissions:
                    if commission.status != status:
                        set_status(commission, status, ledger=ledger, at=at)
                _log_created(conversion, commissions, at=at)
    return conversion


def _log_created(
    conversion: Conversion, commissions: Sequence[Commission], *, at: datetime
) -> None:
    record_change(conversion.account, "conversion.created", conversion, at=at)
    record_changes(conversion.account, "commission.created", commissions, at=at)


def round_line_items(
    line_items: Sequence[LineItemData], currency: str
) -> list[LineItemData]:
    """Round the sub-amounts to minor units, or raise the errors of all invalid ones."""
    rounded: list[LineItemData] = []
    errors: list[InvalidInput] = []
    for item in line_items:
        try:
            amount = validate_amount(item.sub_amount, currency)
        except (AmountTooLarge, NegativeAmount) as error:
            errors.append(type(error)(path=item.amount_path))
        else:
            rounded.append(replace(item, sub_amount=amount))
    if errors:
        raise ErrorList(errors)
    return rounded


def calculate_total(line_items: Sequence[LineItemData], currency: str) -> Decimal:
    """Return the sum of the sub-amounts, or raise `AmountTooLarge`."""
    try:
        return validate_amount(
            sum((item.sub_amount for item in line_items), ZERO), currency
        )
    except AmountTooLarge:
        raise AmountTooLarge(path="commissions") from None
