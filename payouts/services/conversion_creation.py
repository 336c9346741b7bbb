"""Creation of a conversion: attribution, commissions, ledger, audit log.

A fact confirms a conversion that a page has reported, and a second page contests it.
See docs/tracking-trust.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import transaction

from accounts.errors import ErrorList, InvalidInput
from accounts.models.accounts import Account
from accounts.models.row_counts import DailyCountedRow, record_past_rows
from accounts.services.changes import Change, record_all_changes
from payouts.calculation import LineItem, calculate_commissions
from payouts.models.commissions import Commission, CommissionStatus
from payouts.rates import ProgramRates
from payouts.services.calculation_input import (
    build_calculation_input,
    drop_unknown_types,
    ensure_amount_sent,
    ensure_types_known,
    list_rates,
)
from payouts.services.claims import (
    contest_claim,
    ensure_claim_allowed,
    find_deciding_claim,
    review_claim,
)
from payouts.services.closed_months import ensure_month_open
from payouts.services.commissions import (
    change_status,
    create_commissions,
    delete_claimed_commissions,
    list_claimed_commissions,
    record_update,
)
from payouts.services.disputes import suspend_new_commissions
from payouts.services.ledger import open_ledger_session
from tracking.attribution import (
    CLICK_ID,
    REST_CONVERSION_ORDER,
    CandidateOrder,
    TrackingParameters,
)
from tracking.claims import Trust
from tracking.errors import (
    AmountTooLarge,
    ClickAfterSale,
    DuplicateConversion,
    NegativeAmount,
    SaleDayOutOfRange,
)
from tracking.models.conversions import Conversion
from tracking.models.prospects import PromotionMethod
from tracking.money import ZERO, round_and_check_amount
from tracking.services.attribution import Attribution, attribute
from tracking.services.concurrency import retry_on_conflict, suppress_conflict
from tracking.services.conversions import find_conversion, write_conversion
from tracking.services.page_storage import (
    BYTES_OF_CLAIM,
    BYTES_OF_CLAIMED_COMMISSION,
    CLAIMS,
    name_owner,
    take_storage,
)
from tracking.services.prospects import promote_winning_prospect
from tracking.services.warnings import ODD_COMMISSION_TYPE

FIRST_YEAR = 1990  # of sales; older days are slips, or those of empty cells


@dataclass(frozen=True)
class ConversionData:
    """A conversion as the caller sent it; its amounts are not rounded yet."""

    parameters: TrackingParameters
    line_items: Sequence[LineItem]
    external_id: str | None = None
    currency: str | None = None  # None: the program's
    meta_data: dict[str, str] = field(default_factory=dict)
    user_agent: str | None = None
    ip: str | None = None
    ignore_cookie_age: bool = False
    order: CandidateOrder = REST_CONVERSION_ORDER
    trust: Trust = Trust.FACT
    is_signed: bool = False  # by a page: the call can be repeated
    is_browser_sale: bool = False  # commissions follow the program's switch for pages
    extra_warnings: tuple[str, ...] = ()  # about the call itself
    occurred_at: datetime | None = None  # when the cookie counted; None: now
    created_at: datetime | None = None  # of a sale of an earlier day; None: now
    is_disputed: bool = False  # the shop has an open dispute about it
    locks_balances: bool = False  # all at once: the transaction goes on with them
    has_amount: bool = True  # else no rate may be a percentage
    email: str = ""  # of the buyer, to compare with the affiliate's; it is not stored


def create_conversion(
    account: Account,
    *,
    data: ConversionData,
    status: str | None = None,
    is_id_free: bool = False,
    at: datetime,
) -> Conversion:
    """Create a conversion with its commissions, or confirm a claim, in one transaction.

    A `status` is set on all commissions: events say that they were created with it,
    then that they were updated. If pages claim one sale twice, the conversion of the
    first claim is returned. `is_id_free` says that the caller has just looked for the
    external id; if another request takes the id, the retry looks again.
    """
    values: dict[str, Any] = {"data": data, "status": status, "at": at}
    if is_id_free:
        with suppress_conflict():
            return _create_conversion(account, is_id_free=True, **values)
    return retry_on_conflict(_create_conversion)(account, is_id_free=False, **values)


def _create_conversion(
    account: Account,
    *,
    data: ConversionData,
    status: str | None,
    is_id_free: bool,
    at: datetime,
) -> Conversion:
    with transaction.atomic():
        claim = None if is_id_free else find_conversion(account, data.external_id)
        if claim is not None and claim.claim_status is None:
            raise DuplicateConversion(external_id=data.external_id)
        created_at = find_sale_time(account, data, claim, at)
        is_fact = data.trust is Trust.FACT
        trusted = find_deciding_claim(claim, at=at) if claim and is_fact else None
        attribution = attribute(
            account,
            parameters=data.parameters,
            order=data.order,
            at=data.occurred_at or created_at or at,
            ignore_cookie_age=data.ignore_cookie_age,
            trust=data.trust,
            claim=trusted,
        )
        attribution.result.ensure_affiliate_eligible(customer_id=data.parameters.customer_id or "")
        currency = data.currency or attribution.program.currency
        line_items = round_line_items(data.line_items, currency)
        amount = calculate_total(line_items, currency)
        rates = list_rates(
            account,
            attribution.program,
            group_id=attribution.group_id,
            affiliate=None if attribution.prospect else attribution.affiliate,
            at=created_at or at,
        )
        extra_warnings = data.extra_warnings
        if data.is_browser_sale:
            sent_items = line_items
            line_items = drop_unknown_types(sent_items, rates)
            if line_items != sent_items:
                extra_warnings = (*extra_warnings, ODD_COMMISSION_TYPE)
        ensure_types_known(line_items, rates)
        ensure_amount_sent(line_items, rates, has_amount=data.has_amount)
        attribution.result.ensure_cookie_valid()
        ensure_click_before_sale(account, attribution, created_at)
        if data.trust is Trust.CLAIM:
            ensure_claim_allowed(account, attribution, amount, currency, items=len(line_items))
        attribution = promote_winning_prospect(
            account, attribution, method=PromotionMethod.CONVERSION, at=at
        )
        if claim is not None and data.trust is Trust.CLAIM:
            contest_claim(claim, attribution, amount, line_items, rates.types, at=at)
            return claim
        conversion, changes = write_conversion(
            account,
            attribution=attribution,
            claim=claim,
            external_id=data.external_id,
            customer_id=data.parameters.customer_id,
            amount=amount,
            currency=currency,
            meta_data=data.meta_data,
            user_agent=data.user_agent,
            ip=data.ip,
            at=at,
            email=data.email,
            extra_warnings=extra_warnings,
            is_signed=data.is_signed,
            disputed_at=at if data.is_disputed else None,
            created_at=created_at,
        )
        if conversion.is_contested and status == CommissionStatus.APPROVED:
            status = None  # the sale is stored; its commissions wait for staff
        review_claim(account, conversion.pk, status=status, at=at)
        commissions = write_commissions(
            conversion,
            line_items,
            rates,
            changes,
            is_browser_sale=data.is_browser_sale or attribution.awaits_fact,
            replaces_claim=claim is not None,
            status=status,
            locks_balances=data.locks_balances,
            created_at=created_at,
            at=at,
        )
        charge_storage_of_claim(account, attribution, data, len(commissions))
    earners = {commission.affiliate_id for commission in commissions}
    if claim is None and earners == {conversion.affiliate_id}:
        conversion.created_commissions = commissions
    return conversion


def charge_storage_of_claim(
    account: Account, attribution: Attribution, data: ConversionData, commissions: int
) -> None:
    """Count what a page has stored, unless it is a fact; raise `TooMuchFromPages` if
    that is too much."""
    if data.trust is Trust.FACT:
        return
    take_storage(
        account,
        CLAIMS,
        owner=name_owner(attribution.affiliate.pk, None),
        program=attribution.program.pk,
        row_bytes=BYTES_OF_CLAIM + commissions * BYTES_OF_CLAIMED_COMMISSION,
        texts=(
            *(item.comment for item in data.line_items),
            *data.meta_data,
            *data.meta_data.values(),
            data.user_agent,
        ),
    )


def write_commissions(
    conversion: Conversion,
    line_items: Sequence[LineItem],
    rates: ProgramRates,
    changes: Sequence[Change] = (),
    *,
    is_browser_sale: bool = False,
    replaces_claim: bool = False,
    is_extra: bool = False,
    status: str | None = None,
    locks_balances: bool = False,
    created_at: datetime | None = None,
    at: datetime,
) -> list[Commission]:
    """Create the commissions of a new conversion, or extra ones, which no cap limits.

    With `replaces_claim` they replace those of the claim that the conversion was.
    `changes` of the conversion are recorded in the same statement. `created_at` is the
    time of a new sale of an earlier day; the ledger has the time of the entry.
    """
    account = conversion.account
    drafts = calculate_commissions(
        build_calculation_input(
            conversion,
            line_items=line_items,
            rates=rates,
            should_apply_cap=not is_extra,
            is_browser_sale=is_browser_sale,
        )
    )
    balance_keys = {(draft.affiliate_id, conversion.currency) for draft in drafts}
    if replaces_claim:
        balance_keys |= {row.balance_key for row in list_claimed_commissions(conversion)}
    with open_ledger_session(account, balance_keys, is_locked=locks_balances, at=at) as ledger:
        if replaces_claim:
            delete_claimed_commissions(conversion, ledger=ledger, at=at)
        commissions = create_commissions(
            conversion, drafts, is_extra=is_extra, ledger=ledger, created_at=created_at, at=at
        )
        changes = [*changes, *(("commission.created", row) for row in commissions)]
        count_past_rows(account, changes, created_at, at=at)
        if status is None:
            record_all_changes(account, changes, at=at)
        for commission in commissions:
            ledger.post_commission_created(commission)
        if status is not None:
            updates = [
                (commission, change_status(commission, status, ledger=ledger, at=at))
                for commission in commissions
                if commission.status != status
            ]
            # Bodies of webhooks show the final status, so the rows have it already.
            record_all_changes(account, changes, at=at)
            for commission, details in updates:
                record_update(commission, details, at=at)
    if conversion.disputed_at is not None:
        suspend_new_commissions(conversion, commissions)
    return commissions


def find_sale_time(
    account: Account, data: ConversionData, claim: Conversion | None, at: datetime
) -> datetime | None:
    """Return the time of a sale of an earlier day, whose month stays open until the end of
    the transaction; None: now, or that of its claim.

    Raises `SaleDayOutOfRange` and `DayInClosedMonth`.
    """
    sold_at = data.created_at if claim is None else None
    if sold_at is not None:
        if sold_at.year < FIRST_YEAR or sold_at > at:
            raise SaleDayOutOfRange
        ensure_month_open(account, sold_at)
    return sold_at


def ensure_click_before_sale(
    account: Account, attribution: Attribution, sold_at: datetime | None
) -> None:
    """Raise `ClickAfterSale` if the sale of an earlier day is attributed to a click of a
    later one; on the same day clocks may differ."""
    if sold_at is None or attribution.winning_parameter != CLICK_ID:
        return
    click = attribution.click
    if click is not None and account.get_day(click.created_at) > account.get_day(sold_at):
        raise ClickAfterSale(day=str(account.get_day(click.created_at)))


def count_past_rows(
    account: Account, changes: Sequence[Change], created_at: datetime | None, *, at: datetime
) -> None:
    """Count the rows of a sale of an earlier day in the lists of that day."""
    if created_at is not None:
        rows = [row for _, row in changes if isinstance(row, DailyCountedRow)]
        record_past_rows(account.pk, rows, at)


def round_line_items(line_items: Sequence[LineItem], currency: str) -> list[LineItem]:
    """Round the sub-amounts to minor units, or raise the errors of all invalid ones."""
    rounded: list[LineItem] = []
    errors: list[InvalidInput] = []
    for item in line_items:
        try:
            amount = round_and_check_amount(item.sub_amount, currency)
        except (AmountTooLarge, NegativeAmount) as error:
            errors.append(type(error)(path=item.amount_path))
        else:
            rounded.append(replace(item, sub_amount=amount))
    if errors:
        raise ErrorList(errors)
    return rounded


def calculate_total(line_items: Sequence[LineItem], currency: str) -> Decimal:
    """Return the sum of the sub-amounts, or raise `AmountTooLarge`."""
    try:
        return round_and_check_amount(sum((item.sub_amount for item in line_items), ZERO), currency)
    except AmountTooLarge:
        raise AmountTooLarge(path="commissions") from None
