"""Conversions, commissions and payments of another system, as they stand there.

Nothing is calculated again. The transfers have the dates of the source.
"""

import json
from collections.abc import Iterable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from accounts.db_compat import split_into_batches
from accounts.ids import generate_public_id
from accounts.models.row_counts import keep_counts
from payouts.calculation import (
    InitialStatusReason,
    RateSource,
    RateSourceKind,
    calculate_exact_amount,
)
from payouts.models.bonuses import Bonus
from payouts.models.commission_types import RateKind
from payouts.models.commissions import (
    Commission,
    CommissionKind,
    CommissionStatus,
    PaymentAllocation,
    is_finalized,
    record_pending_change,
)
from payouts.models.payments import Payment
from payouts.services.bonus_rules import get_last_period, get_midnight
from payouts.services.disputes import choose_disputed_status, remember_decision
from payouts.services.imported_people import Body, get_owner, read_amount
from payouts.services.ledger import LedgerSession
from tracking.meta_data import mend_meta_data
from tracking.models.conversions import Conversion
from tracking.money import ROUNDING_CONTEXT, ZERO, round_amount, round_and_check_amount
from tracking.services.attribution import (
    attribute_by_import,
    build_attribution_record,
)
from tracking.services.conversions import insert_conversion
from tracking.services.imports import (
    ImportMap,
    ImportProblem,
    read_map,
    read_text,
)

UNKNOWN_SOURCE = "import"  # of a conversion whose source does not say it
MAX_RATE = Decimal(100)
RATE_DIGITS = 4


def import_payment(imports: ImportMap, body: Body, ledger: LedgerSession) -> Payment:
    """Store a payment, and post it at its time."""
    account, public_id = imports.account, read_text(body, "id", 32)
    person = read_map(body, "affiliate")
    affiliate = imports.get("affiliate", person.get("id"), "affiliate.id")
    currency = read_text(body, "currency", 3)
    at = imports.read_entry_time(body)
    is_free = public_id and not account.payments.filter(public_id=public_id).exists()
    payment = account.payments.create(
        public_id=public_id if is_free else generate_public_id("pa"),
        affiliate_id=affiliate,
        amount=round_and_check_amount(read_amount(body, "amount"), currency),
        currency=currency,
        created_at=at,
        payout_kind=None,
    )
    imports.log("payment.created", payment)
    imports.past_rows.append(payment)
    ledger.add_balance_key((affiliate, currency), at=at)
    ledger.post_payment(payment)
    return payment


def import_payment_of(
    imports: ImportMap, body: Body, commission_ids: list[int], ledger: LedgerSession
) -> Payment:
    """Store the payment of commissions that the same import has stored."""
    account = imports.account
    payment = import_payment(imports, body, ledger)
    account.payment_allocations.bulk_create(
        PaymentAllocation(account=account, payment=payment, commission_id=pk)
        for pk in commission_ids
    )
    for batch in split_into_batches(commission_ids):
        commissions = list(account.commissions.filter(pk__in=batch))
        with keep_counts(commissions, at=imports.at):
            account.commissions.filter(pk__in=batch).update(payment=payment)
            for commission in commissions:
                commission.payment = payment
    return payment


def import_conversion(imports: ImportMap, body: Body, _: Any = None) -> Conversion:
    """Store a conversion; its commissions are objects of their own."""
    account = imports.account
    program, affiliate = get_owner(imports, body)
    commissions = body.get("commissions") or []
    currency = read_text(commissions[0], "currency", 3) if commissions else ""
    currency = currency or program.currency
    customer = read_map(body, "customer")
    external_id = read_text(body, "external_id") or None
    at = imports.read_entry_time(body)
    conversion = Conversion(
        account=account,
        external_id=external_id,
        program=program,
        affiliate=affiliate,
        customer_id=imports.find_or_wait("customer", customer.get("id")),
        amount=round_and_check_amount(read_amount(body, "amount"), currency),
        currency=currency,
        tracking_source=read_text(body, "tracking_source", 16) or UNKNOWN_SOURCE,
        meta_data=mend_meta_data(read_map(body, "meta_data"))[0],
        warnings=body.get("warnings") or None,
        created_at=at,
    )
    if not insert_conversion(conversion):
        raise ImportProblem("duplicate_external_id", "external_id", external_id)
    attribution = attribute_by_import(program, affiliate, at)
    imports.attributions.append(build_attribution_record(account, attribution, subject=conversion))
    imports.log("conversion.created", conversion)
    imports.past_rows.append(conversion)
    return conversion


def import_commission(imports: ImportMap, body: Body, ledger: LedgerSession) -> Commission:
    """Store a commission with its status and payment, and post it at its time."""
    account = imports.account
    conversion, bonus = find_subject(imports, body)
    currency = conversion.currency if conversion else read_text(body, "currency", 3)
    person = read_map(body, "affiliate")
    affiliate = imports.get("affiliate", person.get("id"), "affiliate.id")
    at = imports.read_entry_time(body)
    amount = round_and_check_amount(read_amount(body, "amount"), currency)
    kind = read_commission_kind(body, bonus)
    decided = read_status(body)
    payment = read_map(body, "payout")
    payment_id = imports.find_or_wait("payment", payment.get("id"))
    is_settled = payment_id is not None
    status = choose_disputed_status(conversion, decided, is_settled=is_settled)
    if status != CommissionStatus.APPROVED:
        payment_id = None
    sub_amount, rate_kind, rate = choose_rate(body, amount, currency, bonus)
    if conversion is not None and sub_amount is None:
        sub_amount = ZERO
    commission = account.commissions.create(  # type: ignore[misc]  # stubs: never null
        conversion=conversion,
        affiliate_id=affiliate,
        kind=kind,
        base_commission=find_base(conversion, sub_amount, kind),
        commission_type=read_text(body, "commission_type", 64) or "standard",
        name=read_text(body, "commission_name") or "Commission",
        currency=currency,
        sub_amount=sub_amount,
        amount=amount,
        rate_kind=rate_kind,
        rate=rate,
        calculation=describe_calculation(
            affiliate, sub_amount, rate_kind, rate, amount, currency, status, bonus
        ),
        status=status,
        comment=read_text(body, "comment", 1000) or None,
        created_at=at,
        finalized_at=at if is_finalized(status, account) else None,
        payment_id=payment_id,
        bonus=bonus,
        period_start=choose_period_start(bonus, affiliate, status, at) if bonus else None,
    )
    remember_decision(commission, decided)
    if payment_id is not None:
        account.payment_allocations.create(payment_id=payment_id, commission=commission)
    imports.log("commission.created", commission)
    imports.past_rows.append(commission)
    if conversion is not None:
        imports.late_sales.append(conversion.created_at)
        if commission.is_pending:
            record_pending_change(conversion, 1, [commission], imports.at)
    ledger.add_balance_key(commission.balance_key, at=at)
    ledger.post_commission_created(commission)
    return commission


def load_conversions(imports: ImportMap, bodies: Iterable[Body]) -> None:
    """Read and lock the conversions of the commissions of a page at once."""
    ids = [read_map(body, "conversion").get("id") for body in bodies]
    found = (imports.find("conversion", each) for each in ids)
    pks = {pk for pk in found if pk is not None}
    rows = imports.account.conversions.select_related("program").filter(pk__in=pks)
    locked = rows.order_by("pk").select_for_update(no_key=True, of=("self",))
    imports.conversions |= {row.pk: row for row in locked}


def find_subject(imports: ImportMap, body: Body) -> tuple[Conversion | None, Bonus | None]:
    """Return the conversion of a commission, or the bonus."""
    reference = read_map(body, "conversion")
    if reference.get("id") is None:
        return None, find_bonus(imports, body)
    pk = imports.get("conversion", reference["id"], "conversion.id")
    if pk not in imports.conversions:
        load_conversions(imports, [body])
    conversion = imports.conversions[pk]
    if conversion.deleted_at is not None:
        raise ImportProblem("removed_here", "conversion.id", reference["id"])
    return conversion, None


def read_commission_kind(body: Body, bonus: Bonus | None) -> str:
    """Return the kind; an unknown one is a regular commission."""
    if bonus is not None:
        return CommissionKind.BONUS
    is_level = read_text(body, "kind") == CommissionKind.LEVEL
    return CommissionKind.LEVEL if is_level else CommissionKind.REGULAR


def read_status(body: Body) -> str:
    """Return the status; servers without one say whether it is approved."""
    status = read_text(body, "status")
    if status in CommissionStatus.values:
        return status
    approved = body.get("approved")
    if approved is None:
        return CommissionStatus.PENDING
    return CommissionStatus.APPROVED if approved else CommissionStatus.DISAPPROVED


def choose_rate(
    body: Body, amount: Decimal, currency: str, bonus: Bonus | None
) -> tuple[Decimal | None, str, Decimal]:
    """Return sub-amount, kind and value of the rate that gives the amount.

    The source does not say the rate of that time. A percentage with four decimals that
    gives the amount counts, else a fixed amount.
    """
    if bonus is not None:
        return None, RateKind.FIXED, amount
    sent = body.get("conversion_sub_amount")
    if sent is None:
        return None, RateKind.FIXED, amount
    sub_amount = round_and_check_amount(read_amount(body, "conversion_sub_amount"), currency)
    if sub_amount:
        rate = ROUNDING_CONTEXT.divide(amount * 100, sub_amount)
        for digits in range(RATE_DIGITS + 1):
            unit = Decimal(1).scaleb(-digits)
            value = rate.quantize(unit, context=ROUNDING_CONTEXT)
            exact = calculate_exact_amount(sub_amount, RateKind.PERCENTAGE, value)
            if round_amount(exact, currency) == amount and value <= MAX_RATE:
                return sub_amount, RateKind.PERCENTAGE, value
    return sub_amount, RateKind.FIXED, amount


def describe_calculation(
    affiliate: int,
    sub_amount: Decimal | None,
    rate_kind: str,
    rate: Decimal,
    amount: Decimal,
    currency: str,
    status: str,
    bonus: Bonus | None,
) -> str:
    """Return the calculation of an imported commission, which can be verified."""
    base = sub_amount if sub_amount is not None else ZERO
    exact = calculate_exact_amount(base, rate_kind, rate)
    data: dict[str, Any] = {
        "engine": "1",
        "affiliate_id": affiliate,
        "sub_amount": str(base),
        "rate": {
            "kind": rate_kind,
            "value": str(rate),
            "source": RateSource(RateSourceKind.IMPORT).serialize(),
        },
        "exact_amount": str(exact),
        "amount": str(amount),
        "status": status,
        "reason": InitialStatusReason.IMPORTED,
        "approval_context": {"is_auto_approved": False},
    }
    if round_amount(exact, currency) != amount:
        data["is_overridden"] = True
    if bonus is not None:
        data["reached"] = {"amount": str(base)}
    return json.dumps(data, sort_keys=True)


def find_base(
    conversion: Conversion | None, sub_amount: Decimal | None, kind: str
) -> Commission | None:
    """Return the regular commission that a level commission belongs to."""
    if conversion is None or kind != CommissionKind.LEVEL:
        return None
    rows = conversion.account.commissions.filter(
        conversion=conversion, kind=CommissionKind.REGULAR
    ).order_by("id")
    found: Commission | None = rows.filter(sub_amount=sub_amount).first()
    return found or rows.first()


def choose_period_start(bonus: Bonus, affiliate: int, status: str, at: datetime) -> date:
    """Return the first day of the period that the source granted a bonus for.

    The source does not say it: it is the last one that was over and is not taken.
    Raises `ImportProblem` if a bonus of that period was granted here.
    """
    rows = bonus.account.commissions.filter(affiliate=affiliate)
    period = get_last_period(bonus.period, at)
    is_all_time = period.end is None  # a higher goal may be reached after a grant
    present = rows.filter(
        bonus__program=bonus.program_id,
        bonus__goal_type=bonus.goal_type,
        bonus__period=bonus.period,
        period_start=period.start,
    ).exclude(status=CommissionStatus.DISAPPROVED)
    for row in present if status != CommissionStatus.DISAPPROVED else ():
        reason = json.loads(row.calculation)["reason"]
        is_other = is_all_time and row.bonus_id != bonus.pk
        if reason != InitialStatusReason.IMPORTED and not is_other:
            raise ImportProblem("granted_here", "commission_name", bonus.title)
    taken = set(rows.filter(bonus=bonus).values_list("period_start", flat=True))
    while period.end is not None and period.start in taken:
        period = get_last_period(bonus.period, get_midnight(period.start))
    return period.start


def find_bonus(imports: ImportMap, body: Body) -> Bonus:
    """Return the bonus of a commission, which names it by its title only."""
    title = read_text(body, "commission_name")
    bonus = imports.account.bonuses.filter(title=title).order_by("id").first()
    if bonus is None:
        raise ImportProblem("unknown_bonus", "commission_name", title)
    return bonus
