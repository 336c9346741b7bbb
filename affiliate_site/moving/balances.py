"""The balances of an imported account, and of its source."""

from decimal import Decimal

from accounts.decimals import parse_decimal
from accounts.exact_json import format_decimal
from accounts.models.accounts import Account
from affiliate_site.moving.source import SourceServer
from payouts.services.ledger import get_payable_balances_by_slug
from tracking.money import ZERO


def compare_balances(account: Account, source: SourceServer) -> list[dict[str, str]]:
    """Return where a payable balance here differs from that of the source."""
    here = get_payable_balances_by_slug(account)
    there: dict[str, dict[str, Decimal | None]] = {}
    for row in source.list_rows("balances/"):
        affiliate = row.get("affiliate") or {}
        slug = str(affiliate.get("id") or row.get("affiliate_id") or row.get("id"))
        amounts = row.get("balances") or row.get("balance") or {}
        if isinstance(amounts, dict):
            there[slug] = {k: read_balance(v) for k, v in amounts.items()}
    found = []
    for slug in sorted(here.keys() | there.keys()):
        own, other = here.get(slug, {}), there.get(slug, {})
        for currency in sorted(own.keys() | other.keys()):
            ours, theirs = own.get(currency, ZERO), other.get(currency, ZERO)
            if ours != theirs:
                found.append(
                    {
                        "affiliate": slug,
                        "currency": currency,
                        "here": format_decimal(ours),
                        "source": "no number" if theirs is None else format_decimal(theirs),
                    }
                )
    return found


def read_balance(value: object) -> Decimal | None:
    """Return a balance of the source; None for what is no number."""
    try:
        return parse_decimal(str(value))
    except ValueError:
        return None
