"""The result of a what-if as JSON data."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from operator import itemgetter
from typing import Any

from payouts.services.what_if import Sums, SumsByKey, WhatIf
from payouts.what_if import UNKNOWN_TEXTS, Decision, Earned
from tracking.money import round_amount

MAX_AFFILIATES = 1000  # of a stored result; those that change most


def serialize_what_if(result: WhatIf, *, limit: int | None = None) -> dict[str, Any]:
    """Return the result; `json_help` of the command names its keys.

    With a `limit`, of the affiliates only so many of those that change, most first.
    """
    affiliates = list_sums(result.affiliates, "affiliate")
    if limit is not None:
        changed = [row for row in affiliates if row["before"] != row["after"]]
        affiliates = sorted(changed, key=lambda row: -abs(row["after"] - row["before"]))[:limit]
    return {
        "from": result.period.first,
        "to": result.period.last,
        "sales": result.sales,
        "sales_changed": result.changed,
        "conversions_moved": result.moved,
        "conversions_refused": result.refused,
        "affiliates_changed": result.changed_affiliates,
        "totals": list_sums(result.totals),
        "affiliates": affiliates,
        "programs": list_sums(result.programs, "program"),
        "months": list_sums(result.months, "month"),
        "due_months": list_sums(result.due_months, "month"),
        "explained": [
            {
                "conversion": pk,
                "currency": currency,
                "before": explain(outcome.before, outcome.earned_before),
                "after": explain(outcome.after, outcome.earned_after),
            }
            for pk, currency, outcome in result.explained
        ],
        "unknown": [
            {"reason": kind, "text": UNKNOWN_TEXTS[kind], "count": number}
            for kind, number in result.unknown.items()
        ],
    }


def list_sums(sums: SumsByKey, name: str = "") -> list[dict[str, Any]]:
    """Return sums as rows by what they are of and currency, in this order."""
    ordered: Sequence[tuple[tuple[str, str], Sums]] = sorted(sums.items(), key=lambda it: it[0])
    return [
        ({name: key} if name else {})
        | {"currency": currency, "before": it.before, "after": it.after}
        for (key, currency), it in ordered
    ]


def explain(decision: Decision, earned: Sequence[Earned]) -> Mapping[str, Any]:
    """Return to whom a sale goes and what it earns, with reasons."""
    return {
        "program": decision.program,
        "affiliate": None if decision.refusal else decision.affiliate,
        "tracking_source": decision.parameter,
        "refusal": decision.refusal or None,
        "commissions": [
            {
                "affiliate": each.affiliate,
                "kind": each.kind,
                "commission_type": each.commission_type,
                "sub_amount": each.sub_amount,
                "rate": {
                    "kind": each.rate.kind,
                    "value": each.rate.value,
                    "from": each.rate.source,
                },
                "amount": each.amount,
                "is_earned": each.is_earned,
                "due_at": each.due_at,
            }
            for each in earned
        ],
    }


def describe_difference(result: WhatIf) -> str:
    """Return `+1,204.50 EUR, -3.00 USD`; empty if nothing differs."""
    return ", ".join(
        f"{round_amount(it.after - it.before, currency):+,} {currency}"
        for (_, currency), it in sorted(result.totals.items(), key=itemgetter(0))
        if it.after != it.before
    )


def get_difference(row: Mapping[str, Any]) -> Decimal:
    """Return by how much a row of sums, as it is stored, would be more or less."""
    return Decimal(row["after"]) - Decimal(row["before"])
