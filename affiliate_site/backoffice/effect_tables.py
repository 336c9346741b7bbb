"""What an operation moves, as rows of texts for pages."""

from typing import Any

from affiliate_site.backoffice.formatters import format_money
from payouts.services.previews import MoneyEffects

# Ledger accounts and types of transfers in the words of the screens.
LEDGER_ACCOUNT_NAMES = {
    "expense": "Not earned",
    "pending": "Pending",
    "payable": "Balance due",
    "paid": "Paid out",
    "funding": "Payout balance",
    "external": "Bank",
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
                "before": format_value(each.before, each.currency, "new"),
                "after": format_value(each.after, each.currency, "removed"),
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
            for each in effects.transfers
        ],
        "balance_rows": [
            {
                "name": BALANCE_NAMES[each.kind],
                "affiliate": each.affiliate,
                "before": format_money(each.before, each.currency),
                "after": format_money(each.after, each.currency),
                "is_negative": each.is_negative,
            }
            for each in effects.balances
        ],
    }


def format_value(value, currency: str, missing: str) -> str:
    """`20.00 EUR, pending`; `missing` for a commission that does not exist."""
    if value is None:
        return missing
    return f"{format_money(value.amount, currency)}, {value.status}"
