"""Where money goes: the primary payout methods of affiliates as texts."""

from collections.abc import Iterable, Mapping
from typing import Any

from payouts.models.payments import PayoutMethod

NO_PAYOUT_METHOD = "no payout method"


def get_payout_text(row) -> str:
    """The text of the affiliate of a balance or payment; empty without a method."""
    return find_payout_texts([row]).get(row.affiliate_id, "")


def find_payout_texts(rows: Iterable[Any]) -> Mapping[int, str]:
    """The texts by primary key of the affiliate, of rows with `affiliate`.

    They are those of today: a payment does not store its method.
    """
    pairs = {(row.account_id, row.affiliate_id) for row in rows}
    methods = PayoutMethod.objects.filter(
        account__in={account_id for account_id, _ in pairs},
        affiliate__in={affiliate_id for _, affiliate_id in pairs},
        is_primary=True,
    )
    return {method.affiliate_id: format_payout_method(method) for method in methods}


def format_payout_method(method: PayoutMethod) -> str:
    """`Bank account (iban: SI56 1910 0000 0123 438)`."""
    details = ", ".join(f"{name}: {text}" for name, text in method.details.items())
    kind = method.get_kind_display()
    return f"{kind} ({details})" if details else kind


def add_payout_texts(rows: Iterable[Any]) -> None:
    """Set `payout_text` of each row."""
    rows = list(rows)
    texts = find_payout_texts(rows)
    for row in rows:
        row.payout_text = texts.get(row.affiliate_id, NO_PAYOUT_METHOD)
