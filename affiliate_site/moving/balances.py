"""The balances of an imported account and of its source, and why they differ.

After the switch they may differ, because both sides go on.
"""

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django.db.models import Q

from accounts.decimals import parse_decimal
from accounts.exact_json import format_decimal
from accounts.models.accounts import Account
from affiliate_site.moving.source import SourceServer
from payouts.services.ledger import get_payable_balances_by_slug
from tracking.money import ZERO

if TYPE_CHECKING:
    from affiliate_site.moving.importing import AccountImport

KEPT_OURS, WORKED_HERE = "kept_ours", "worked_here"


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


def explain_differences(
    moving: "AccountImport", differences: list[dict[str, str]]
) -> list[dict[str, Any]]:
    """Return the differences of `compare_balances` with the reasons for each.

    In `reasons`: `kept_ours`: the source has changed or removed money of the affiliate
    that is ours; `worked_here`: money of the affiliate was posted here since. A
    difference without a reason is an error.
    """
    account, since = moving.account, moving.switched_at
    if since is None:
        return [each | {"reasons": []} for each in differences]
    pks = dict(
        account.affiliates.filter(slug__in=[each["affiliate"] for each in differences]).values_list(
            "slug", "pk"
        )
    )
    posted = account.transfers.filter(
        Q(debit__affiliate__in=pks.values()) | Q(credit__affiliate__in=pks.values()),
        created_at__gt=since,
    ).exclude(actor=moving.actor)
    columns = ("debit__affiliate", "credit__affiliate")
    worked = {pk for pair in posted.values_list(*columns).distinct() for pk in pair}
    explained = []
    for each in differences:
        pk = pks.get(each["affiliate"])
        reasons = [KEPT_OURS] if pk in moving.kept_money else []
        if pk is not None and pk in worked:
            reasons.append(WORKED_HERE)
        explained.append(each | {"reasons": reasons})
    return explained
