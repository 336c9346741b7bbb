"""Explanation of a conversion: attribution, commission calculation and history.

The keys of an explanation are those of `explain --json`: the names of the columns, of
the attribution record and of the stored calculation that they are read from. Reasons
are codes; `payouts/explanation.py` translates them. The history of a commission is read
from ledger transfers and payment allocations.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import groupby
from typing import Any

from django.db.models import QuerySet

from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from payouts.calculation import (
    ApprovalContext,
    InitialStatusReason,
    RateSource,
    calculate_exact_amount,
)
from payouts.models.commissions import Commission, CommissionStatus, PaymentAllocation
from payouts.models.ledger import (
    TRANSFER_SIDES,
    LedgerAccountType,
    Transfer,
    TransferType,
)
from payouts.rates import find_winner
from tracking.attribution import CLAIM, IMPORT, TRACKING_SOURCE_NAMES
from tracking.claims import Trust
from tracking.errors import ConversionNotFound
from tracking.models.conversions import AttributionRecord, Conversion
from tracking.money import ZERO, round_amount
from tracking.services.attribution import verify_attribution_record
from tracking.services.search import list_exact_orders

Difference = tuple[str, object, object]  # what, stored, calculated


def list_calculation_differences(commission: Commission) -> list[Difference]:
    """Calculate a commission again from its stored inputs; list what differs.

    A calculation that cannot be read is one difference.
    """
    try:
        calculation = json.loads(commission.calculation)
        return [
            (what, stored, calculated)
            for what, stored, calculated in _compare(commission, calculation)
            if stored != calculated
        ]
    except (ArithmeticError, KeyError, TypeError, ValueError):
        return [("calculation", commission.calculation, "a calculation")]


def _compare(commission: Commission, calculation: dict[str, Any]) -> Iterator[Difference]:
    if commission.conversion_id is None:  # a bonus
        base_amount = Decimal(calculation["reached"]["amount"])
    else:
        base_amount = Decimal(calculation["sub_amount"])
        yield "sub-amount", commission.sub_amount, base_amount
        yield "affiliate", commission.affiliate_id, calculation["affiliate_id"]
    rate_kind = calculation["rate"]["kind"]
    rate = Decimal(calculation["rate"]["value"])
    fixed = Decimal(calculation["rate"].get("fixed", 0))
    exact_amount = calculate_exact_amount(base_amount, rate_kind, rate, fixed)
    amount = Decimal(calculation["amount"])
    if not calculation.get("is_overridden"):
        amount = round_amount(exact_amount, commission.currency)
    yield "kind of rate", commission.rate_kind, rate_kind
    yield "rate", commission.rate, rate
    yield "fixed part", commission.rate_fixed or ZERO, fixed
    yield "exact amount", Decimal(calculation["exact_amount"]), exact_amount
    yield "amount", commission.amount, amount
    yield "stored amount", Decimal(calculation["amount"]), amount
    choice = calculation.get("choice")
    if choice is not None:
        rates = choice["rates"]
        won = [number for number, each in enumerate(rates) if each["lost"] is None]
        winner = find_winner(rates)
        yield "rate that wins", won, [] if winner is None else [winner]


@dataclass(frozen=True)
class Explanation:
    """A conversion as plain data, and the differences that its verification found."""

    conversion: dict[str, Any]
    attribution: dict[str, Any]
    commissions: list[dict[str, Any]]
    earlier_attributions: list[dict[str, Any]] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)


def explain_conversion(account: Account, *, conversion_id: int) -> Explanation:
    """Explain and verify a conversion, a deleted one too.

    `differences` lists what repeating attribution and calculation from their stored
    inputs gives another result for.
    """
    rows = account.conversions.select_related("program", "affiliate")
    conversion = get_or_raise(rows, ConversionNotFound, pk=conversion_id)
    records = account.attribution_records.filter(conversion=conversion)
    record, *earlier_records = records.order_by("-id")
    commissions = list(
        account.commissions.select_related("affiliate", "payment", "conversion")
        .filter(conversion=conversion)
        .order_by("id")
    )
    return Explanation(
        conversion=_serialize_conversion(conversion),
        attribution=_serialize_attribution(record),
        earlier_attributions=[_serialize_attribution(each) for each in earlier_records],
        commissions=[_serialize_commission(account, commission) for commission in commissions],
        differences=[
            *_list_attribution_differences(account, conversion, record),
            *(
                difference
                for commission in commissions
                for difference in _list_commission_differences(conversion, commission)
            ),
        ],
    )


def explain_commission(commission: Commission) -> dict[str, Any]:
    """Return one commission as in `Explanation.commissions`; a bonus, too."""
    return _serialize_commission(commission.account, commission)


def _serialize_conversion(conversion: Conversion) -> dict[str, Any]:
    return {
        "id": conversion.pk,
        "external_id": conversion.external_id,
        "amount": conversion.amount,
        "currency": conversion.currency,
        "program": conversion.program.slug,
        "affiliate": conversion.affiliate.slug,
        "tracking_source": conversion.tracking_source,
        "warnings": conversion.warnings,
        "disputed_at": conversion.disputed_at,
        "created_at": conversion.created_at,
        "deleted_at": conversion.deleted_at,
    }


def _serialize_attribution(record: AttributionRecord) -> dict[str, Any]:
    inputs, outcome = json.loads(record.inputs), json.loads(record.outcome)
    return {
        "engine": record.engine,
        "trust": inputs.get("trust", Trust.FACT),
        "order": inputs["order"],
        "ignore_cookie_age": inputs["ignore_cookie_age"],
        "candidates": inputs["candidates"],
        "winner": {key: outcome[key] for key in ("parameter", "affiliate", "program")},
        "expired_by": outcome["expired_by"],
        "rejected_candidates": outcome["rejected_candidates"],
    }


def _serialize_commission(account: Account, commission: Commission) -> dict[str, Any]:
    calculation = json.loads(commission.calculation)
    hold, rate = calculation.get("hold"), calculation["rate"]
    return {
        "id": commission.pk,
        "affiliate": commission.affiliate.slug,
        "kind": commission.kind,
        "commission_type": commission.commission_type,
        "base_commission": commission.base_commission_id,
        "sub_amount": commission.sub_amount,
        "rate": {
            "kind": rate["kind"],
            "value": rate["value"],
            "from": RateSource(**rate["source"]).describe(),
        }
        | _serialize_choice(calculation),
        "exact_amount": Decimal(calculation["exact_amount"]),
        "amount": commission.amount,
        "currency": commission.currency,
        "is_overridden": calculation.get("is_overridden", False),
        "initial_status": {
            "status": calculation["status"],
            "reason": calculation["reason"],
            "warnings": list_initial_warnings(calculation),
        },
        "skipped": calculation.get("skipped", []),
        "status": commission.status,
        "finalized_at": commission.finalized_at,
        "due_at": commission.due_at,
        "under_review_since": commission.under_review_since,
        "hold": hold,
        "is_released": _is_released(commission, hold),
        "payment": commission.payment.public_id if commission.payment else None,
        "transfers": _serialize_transfers(account, commission),
    }


def _serialize_choice(calculation: dict[str, Any]) -> dict[str, Any]:
    """Return the fixed part of a rate, and the rates that lost with the reason; if any."""
    choice, fixed = calculation.get("choice"), calculation["rate"].get("fixed")
    data: dict[str, Any] = {} if fixed is None else {"fixed": fixed}
    if choice is None:
        return data
    lost = [
        {"rate": each["words"], "reason": each["lost"]} for each in choice["rates"] if each["lost"]
    ]
    return data | {"order_number": choice["order_number"], "lost": lost}


def _is_released(commission: Commission, hold: dict[str, Any] | None) -> bool:
    """Whether staff ended the hold before its time."""
    conversion, due_at = commission.conversion, commission.due_at
    if hold is None or conversion is None or due_at is None:
        return False
    return due_at < conversion.created_at + timedelta(days=hold["days"])


def list_initial_warnings(calculation: dict[str, Any]) -> list[str]:
    """The warnings that a commission was created with; a bonus has none."""
    warnings: list[str] = calculation.get("approval_context", {}).get("warnings", [])
    return warnings


def _serialize_transfers(account: Account, commission: Commission) -> list[dict[str, Any]]:
    rows = account.transfers.select_related("debit", "credit")
    return [
        {
            "kind": row.kind,
            "from": row.debit.kind,
            "to": row.credit.kind,
            "amount": row.amount,
            "created_at": row.created_at,
        }
        for row in rows.filter(commission=commission).order_by("sequence_number")
    ]


def _list_attribution_differences(
    account: Account, conversion: Conversion, record: AttributionRecord
) -> list[str]:
    found = []
    if not verify_attribution_record(record):
        found.append("attribution from the stored inputs gives another result")
    outcome = json.loads(record.outcome)
    winner = outcome["affiliate"]
    promoted = account.prospects.filter(public_id=winner, affiliate=conversion.affiliate)
    if promoted.exists():
        winner = conversion.affiliate.slug
    parameter = outcome["parameter"]
    source = TRACKING_SOURCE_NAMES.get(parameter, parameter)
    if parameter in (CLAIM, IMPORT):  # the source of the claim, or of the import, stays
        source = conversion.tracking_source
    pairs = [
        ("affiliate", conversion.affiliate.slug, winner),
        ("program", conversion.program.slug, outcome["program"]),
        ("source", conversion.tracking_source, source),
    ]
    return found + [
        f"the conversion's {what} is {stored}, attributed was {decided}"
        for what, stored, decided in pairs
        if stored != decided
    ]


def _list_commission_differences(conversion: Conversion, commission: Commission) -> list[str]:
    """Calculate a commission and its initial status again from their stored inputs."""
    calculation = json.loads(commission.calculation)
    pairs: list[tuple[str, object, object]] = list_calculation_differences(commission)
    initial = (calculation["status"], calculation["reason"])
    if calculation["reason"] != InitialStatusReason.IMPORTED:
        context = ApprovalContext(**calculation["approval_context"])
        pairs.append(("initial status", initial, context.initial_status()))
    if commission.base_commission_id is None and commission.deleted_at is None:
        pairs.append(
            ("affiliate", commission.affiliate_id, conversion.affiliate_id),
        )
    return [
        f"commission {commission.pk}: {what} is {stored}, calculated {calculated}"
        for what, stored, calculated in dict.fromkeys(pairs)
        if stored != calculated
    ]


@dataclass(frozen=True)
class CommissionState:
    """The status and the amount of a commission from a moment on."""

    at: datetime
    status: str
    amount: Decimal


def list_histories(
    account: Account, commissions: Sequence[Commission]
) -> dict[int, list[CommissionState]]:
    """Return the states of each commission since its creation, oldest first."""
    commission_ids = [commission.pk for commission in commissions]
    transfers: dict[int, list[Transfer]] = defaultdict(list)
    rows = account.transfers.filter(commission__in=commission_ids).order_by("sequence_number")
    for transfer in rows:
        transfers[transfer.commission_id or 0].append(transfer)
    return {
        commission.pk: _build_history(commission, transfers[commission.pk])
        for commission in commissions
    }


def list_transfers(account: Account, commissions: Sequence[Commission]) -> QuerySet[Transfer]:
    """Return the transfers of these commissions, in the order of both."""
    rows = account.transfers.select_related("debit", "credit", "commission")
    return rows.filter(commission__in=[commission.pk for commission in commissions]).order_by(
        "commission", "sequence_number"
    )


def list_payment_transfers(commission: Commission) -> QuerySet[Transfer]:
    """Return the transfers of the payments, canceled ones too, that paid this."""
    account = commission.account
    payments = account.payment_allocations.filter(commission=commission)
    rows = account.transfers.filter(kind=TransferType.PAID, payment__in=payments.values("payment"))
    return rows.select_related("payment").order_by("id")


def list_paid_amounts(
    account: Account, commissions: Sequence[Commission], at: datetime
) -> dict[int, Decimal]:
    """Return the amount of each commission when it was paid, by primary key.

    One that was created later by another host's clock has its first amount. Only
    approved ones are paid: what reads as disapproved then had an amount of zero.
    """
    states = {
        pk: next((it for it in reversed(history) if it.at <= at), history[0])
        for pk, history in list_histories(account, commissions).items()
    }
    return {
        pk: ZERO if state.status == CommissionStatus.DISAPPROVED else state.amount
        for pk, state in states.items()
    }


def list_allocations(
    account: Account, commissions: Sequence[Commission]
) -> dict[int, list[PaymentAllocation]]:
    """Return the allocations of each commission, those of canceled payments too."""
    commission_ids = [commission.pk for commission in commissions]
    allocations: dict[int, list[PaymentAllocation]] = defaultdict(list)
    rows = account.payment_allocations.filter(commission__in=commission_ids)
    for allocation in rows.select_related("payment").order_by("id"):
        allocations[allocation.commission_id].append(allocation)
    return allocations


def list_payments_of_order(account: Account, order_id: str) -> list[int]:
    """Return the payments, canceled ones too, that paid commissions of an order."""
    conversions = list_exact_orders(account, order_id)
    commissions = account.commissions.filter(conversion__in=conversions)
    rows = account.payment_allocations.filter(
        commission__in=list(commissions.values_list("pk", flat=True))
    )
    return list(rows.order_by().values_list("payment", flat=True).distinct())


def _build_history(commission: Commission, transfers: Iterable[Transfer]) -> list[CommissionState]:
    """Read each group of simultaneous transfers as one change.

    A commission of zero has no transfers: only its present state is known.
    """
    states: list[CommissionState] = []
    balances = dict.fromkeys(LedgerAccountType, Decimal(0))
    for at, group in groupby(transfers, key=lambda transfer: transfer.created_at):
        changes = list(group)
        for transfer in changes:
            debit, credit = TRANSFER_SIDES[TransferType(transfer.kind)]
            balances[debit] -= transfer.amount
            balances[credit] += transfer.amount
        amount = balances[LedgerAccountType.PENDING] + balances[LedgerAccountType.PAYABLE]
        if not amount:  # disapproved: the commission keeps its amount
            amount = states[-1].amount if states else changes[0].amount
        states.append(CommissionState(at, _get_status(balances), amount))
    if not states:
        return [CommissionState(commission.created_at, commission.status, commission.amount)]
    if states[0].at > commission.created_at:
        since, amount = commission.created_at, states[0].amount
        states.insert(0, CommissionState(since, CommissionStatus.DISAPPROVED, amount))
    first, *later = states
    return [first, *(state for state in later if state.at != commission.deleted_at)]


def _get_status(balances: dict[LedgerAccountType, Decimal]) -> str:
    """Return the status of a commission whose amount is in these balances."""
    if balances[LedgerAccountType.PAYABLE]:
        return CommissionStatus.APPROVED
    return (
        CommissionStatus.PENDING
        if balances[LedgerAccountType.PENDING]
        else CommissionStatus.DISAPPROVED
    )
