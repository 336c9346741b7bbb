"""What an operation moves, as rows of texts for pages."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

from affiliate_site.backoffice.formatters import format_money
from payouts.services.previews import MoneyEffects, TransferEffect
from tracking.money import ZERO

# Ledger accounts and types of transfers in the words of the screens.
LEDGER_ACCOUNT_NAMES = {
    "expense": "Not earned",
    "pending": "Pending",
    "payable": "Balance due",
    "paid": "Paid out",
    "funding": "Payout balance",
    "external": "Bank",
    "withholding_tax": "Withholding tax",
}
BALANCE_NAMES = {
    "pending": "Pending",
    "payable": "Balance due",
    "funding": "Payout balance",
}


def build_effect_tables(effects: MoneyEffects) -> dict[str, Any]:
    """The effects as rows of texts for the tables of a page."""
    return {
        "commission_rows": [
            {
                "commission_id": each.commission_id,
                "affiliate": each.affiliate,
                "commission_type": each.commission_type,
                "before": format_value(each.before, each.currency, "New"),
                "after": format_value(each.after, each.currency, "Removed"),
            }
            for each in effects.commissions
        ],
        "transfer_rows": [
            {
                "amount": format_money(each.amount, each.currency),
                "debit": LEDGER_ACCOUNT_NAMES[each.debit],
                "credit": LEDGER_ACCOUNT_NAMES[each.credit],
                "affiliate": each.affiliate,
            }
            for each in net_transfers(effects.transfers)
        ],
        "balance_rows": [
            {
                "name": BALANCE_NAMES[each.kind],
                "affiliate": each.affiliate,
                "before": format_money(each.before, each.currency),
                "after": format_money(each.after, each.currency),
                "is_negative": each.is_negative,
                "was_negative": each.was_negative,
            }
            for each in effects.balances
        ],
    }


def net_transfers(transfers: Iterable[TransferEffect]) -> Iterator[TransferEffect]:
    """What moves in the end, per affiliate: without the stops on the way.

    A correction of an approved commission takes the old amount from the balance due to
    pending and from there to not earned, and the new one all the way back.
    """
    groups: dict[tuple[str, str], list[TransferEffect]] = defaultdict(list)
    for each in transfers:
        groups[each.affiliate, each.currency].append(each)
    for group in groups.values():
        outflows: dict[str, Decimal] = defaultdict(Decimal)
        for each in group:
            outflows[each.debit] += each.amount
            outflows[each.credit] -= each.amount
        for debit, credit, amount in match_flows(outflows):
            yield replace(group[0], debit=debit, credit=credit, amount=amount)


def match_flows(outflows: dict[str, Decimal]) -> Iterator[tuple[str, str, Decimal]]:
    """From which account how much goes to which one; `outflows` add up to zero."""
    rest = dict(outflows)
    for debit in outflows:
        for credit in outflows:
            amount = min(rest[debit], -rest[credit])
            if amount > ZERO:
                rest[debit] -= amount
                rest[credit] += amount
                yield debit, credit, amount


def format_value(value, currency: str, missing: str) -> str:
    """`20.00 EUR, pending`; `missing` for a commission that does not exist."""
    if value is None:
        return missing
    return f"{format_money(value.amount, currency)}, {value.status}"
