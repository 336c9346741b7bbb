"""Bookkeeping: the ledger by kind of ledger account."""

from collections import defaultdict
from datetime import date
from decimal import Decimal

from accounts.db_compat import use_snapshot
from accounts.models.accounts import Account
from payouts.models.ledger import LedgerAccountType
from payouts.services.statements import FIRST_DAY, get_interval
from tracking.amounts import ExactSum


def get_trial_balance(account: Account, *, end: date) -> dict[str, dict[str, Decimal]]:
    """Return credits minus debits up to the end of a day, by currency and type.

    Those of a currency add up to zero. Raises `InvalidPeriod`.
    """
    before = get_interval(account, FIRST_DAY, end).before
    rows = account.transfers.filter(created_at__lt=before).order_by()
    sums: dict[str, dict[str, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
    with use_snapshot():
        for side, sign in (("debit", -1), ("credit", 1)):
            totals = rows.values_list("currency", f"{side}__kind")
            for currency, kind, total in totals.annotate(ExactSum("amount")):
                sums[currency][kind] += sign * total
    return {
        currency: {kind: found[kind] for kind in LedgerAccountType if kind in found}
        for currency, found in sorted(sums.items())
    }
