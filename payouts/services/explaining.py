"""Explaining: one sale told from the clues to the cent, and proved anew."""

import json
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from accounts.models.accounts import Account
from payouts.models.commissions import Commission
from payouts.reckoning import Circumstances, exact_amount
from tracking.attribution import SOURCE_NAMES
from tracking.errors import ConversionNotFound
from tracking.models.conversions import Conversion
from tracking.models.decisions import Decision
from tracking.money import round_to
from tracking.services.attribution import verify


@dataclass(frozen=True)
class Explanation:
    """What became of one sale, as plain data, and what does not agree with itself."""

    conversion: dict[str, Any]
    attribution: dict[str, Any]
    commissions: list[dict[str, Any]]
    differences: list[str] = field(default_factory=list)


def explain(account: Account, *, conversion_id: int) -> Explanation:
    """Tell one sale, a removed one too; `differences` is what deciding again found."""
    rows = account.conversions.select_related("program", "affiliate")
    conversion = rows.filter(pk=conversion_id).first()
    if conversion is None:
        raise ConversionNotFound
    decision = account.decisions.get(conversion=conversion)
    commissions = list(
        account.commissions.select_related("affiliate", "payment")
        .filter(conversion=conversion)
        .order_by("id")
    )
    return Explanation(
        conversion=_sale(conversion),
        attribution=_attribution(decision),
        commissions=[_commission(account, it) for it in commissions],
        differences=[
            *_differing_attribution(account, conversion, decision),
            *(flaw for it in commissions for flaw in _differing(conversion, it)),
        ],
    )


def _sale(conversion: Conversion) -> dict[str, Any]:
    return {
        "id": conversion.pk,
        "external_id": conversion.external_id,
        "amount": conversion.amount,
        "currency": conversion.currency,
        "program": conversion.program.slug,
        "affiliate": conversion.affiliate.slug,
        "tracking_source": conversion.tracking_source,
        "warnings": conversion.warnings,
        "created_at": conversion.created_at,
        "removed_at": conversion.removed_at,
    }


def _attribution(decision: Decision) -> dict[str, Any]:
    inputs, outcome = json.loads(decision.inputs), json.loads(decision.outcome)
    return {
        "engine": decision.engine,
        "order": inputs["order"],
        "ignore_cookie_age": inputs["ignore_cookie_age"],
        "clues": inputs["pointers"],
        "winner": {key: outcome[key] for key in ("clue", "affiliate", "program")},
        "late_by": outcome["late_by"],
        "losers": outcome["losers"],
    }


def _commission(account: Account, commission: Commission) -> dict[str, Any]:
    working = json.loads(commission.working)
    return {
        "id": commission.pk,
        "affiliate": commission.affiliate.slug,
        "kind": commission.kind,
        "commission_type": commission.commission_type,
        "follows": commission.follows_id,
        "sub_amount": commission.sub_amount,
        "rate": working["rate"],
        "exact": Decimal(working["exact"]),
        "amount": commission.amount,
        "currency": commission.currency,
        "set_by_hand": working.get("by_hand", False),
        "born": {"status": working["status"], "reason": working["reason"]},
        "passed_over": working.get("passed_over", []),
        "status": commission.status,
        "finalized_at": commission.finalized_at,
        "payment": commission.payment.public_id if commission.payment else None,
        "transfers": _transfers(account, commission),
    }


def _transfers(account: Account, commission: Commission) -> list[dict[str, Any]]:
    rows = account.transfers.select_related("debit", "credit")
    return [
        {
            "kind": row.kind,
            "from": row.debit.kind,
            "to": row.credit.kind,
            "amount": row.amount,
            "created_at": row.created_at,
        }
        for row in rows.filter(commission=commission).order_by("step")
    ]


def _differing_attribution(
    account: Account, conversion: Conversion, decision: Decision
) -> list[str]:
    found = []
    if not verify(decision):
        found.append("the attribution decides otherwise from what was kept")
    outcome = json.loads(decision.outcome)
    winner = outcome["affiliate"]
    promoted = account.prospects.filter(
        public_id=winner, affiliate=conversion.affiliate
    )
    if promoted.exists():
        winner = conversion.affiliate.slug
    clue = outcome["clue"]
    pairs = [
        ("affiliate", conversion.affiliate.slug, winner),
        ("program", conversion.program.slug, outcome["program"]),
        ("source", conversion.tracking_source, SOURCE_NAMES.get(clue, clue)),
    ]
    return found + [
        f"the sale's {what} is {stored}, decided was {decided}"
        for what, stored, decided in pairs
        if stored != decided
    ]


def _differing(conversion: Conversion, commission: Commission) -> list[str]:
    """Reckon a commission again from what was kept of it."""
    working = json.loads(commission.working)
    part = Decimal(working["sub_amount"])
    rate, value = working["rate"]["kind"], Decimal(working["rate"]["value"])
    exact = exact_amount(part, rate, value)
    amount = Decimal(working["amount"])
    if not working.get("by_hand"):
        amount = round_to(commission.currency, exact)
    pairs: list[tuple[str, object, object]] = [
        ("sub-amount", commission.sub_amount, part),
        ("kind of rate", commission.rate_kind, rate),
        ("rate", commission.rate, value),
        ("exact product", Decimal(working["exact"]), exact),
        ("amount", commission.amount, amount),
        ("kept amount", Decimal(working["amount"]), amount),
    ]
    earner = working.get("affiliate")
    if commission.follows_id is None:
        earner = conversion.affiliate_id
    if earner is not None:  # the oldest levels did not keep it
        pairs.append(("earner", commission.affiliate_id, earner))
    if "circumstances" in working:  # the oldest commissions kept the reason alone
        born = Circumstances(**working["circumstances"]).birth()
        pairs.append(("birth", (working["status"], working["reason"]), born))
    return [
        f"commission {commission.pk}: {what} is {stored}, reckoned {reckoned}"
        for what, stored, reckoned in pairs
        if stored != reckoned
    ]
