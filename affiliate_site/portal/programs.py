"""The programs of an account as the public page shows them."""

from typing import Any

from django.utils.translation import gettext as _

from affiliate_site.portal.formats import format_money, format_number
from payouts.models.commission_types import RateKind
from payouts.services.payout_minimums import get_minimums
from payouts.services.programs import STANDARD_COMMISSION_TYPE


def list_offers(account) -> list[dict[str, Any]]:
    """The terms of each program, derived from its rules."""
    programs = account.programs.filter(archived_at=None).order_by("title")
    minimums = get_minimums(account, []).of_account
    rates = {
        row.program_id: row
        for row in account.commission_types.filter(identifier=STANDARD_COMMISSION_TYPE)
    }
    return [
        {
            "title": program.title,
            "rate": describe_rate(rates.get(program.pk), program.currency),
            "cookie_days": program.cookie_time,
            "hold_days": program.hold_days,
            "minimum": program.currency in minimums
            and format_money(minimums[program.currency], program.currency),
        }
        for program in programs
    ]


def describe_rate(rate, currency: str) -> str:
    """`You earn 10 % of each sale.`, or a fixed amount."""
    if rate is None:
        return ""
    if rate.kind == RateKind.FIXED:
        return _("You earn {amount} for each sale.").format(
            amount=format_money(rate.value, currency)
        )
    return _("You earn {percent} % of each sale.").format(
        percent=format_number(rate.value)
    )
