"""The programs of an account as the public pages show them."""

from typing import Any

from django.urls import resolve
from django.utils.translation import gettext as _

from affiliate_site.portal.access import build_url
from affiliate_site.portal.formats import format_money, format_number
from payouts.models.commission_types import RateKind
from payouts.services.payout_minimums import get_minimums
from payouts.services.programs import STANDARD_COMMISSION_TYPE


def list_offers(account, **conditions) -> list[dict[str, Any]]:
    """The terms of each program that is not archived, derived from its rules."""
    programs = account.programs.filter(archived_at=None, **conditions).order_by("title")
    minimums = get_minimums(account, []).of_account
    rates = {
        row.program_id: row
        for row in account.commission_types.filter(identifier=STANDARD_COMMISSION_TYPE)
    }
    apply_url = build_url(account, "apply")
    return [
        {
            "id": program.pk,
            "slug": program.slug,
            "title": program.title,
            "url": get_program_url(account, program.slug),
            "apply_url": f"{apply_url}?program={program.slug}",
            "rate": describe_rate(rates.get(program.pk), program.currency),
            "cookie_days": program.cookie_time,
            "hold_days": program.hold_days,
            "minimum": program.currency in minimums
            and format_money(minimums[program.currency], program.currency),
            "is_automatic": program.auto_approve_affiliates,
        }
        for program in programs
    ]


def list_further_offers(affiliate) -> list[dict[str, Any]]:
    """The programs in which an affiliate does not take part."""
    account = affiliate.account
    own = account.enrollments.filter(affiliate=affiliate).values_list("program_id")
    present = {pk for (pk,) in own}
    return [offer for offer in list_offers(account) if offer["id"] not in present]


def get_program_url(account, slug: str) -> str:
    """The public page of a program; that of applications if a page has its name."""
    url = build_url(account, "program", program=slug)
    if resolve(url).url_name == "program":
        return url
    return f"{build_url(account, 'apply')}?program={slug}"


def describe_rate(rate, currency: str) -> str:
    """`You earn 10 % of each sale.`, or a fixed amount."""
    if rate is None:
        return ""
    if rate.kind == RateKind.FIXED:
        amount = format_money(rate.value, currency)
        return _("You earn {amount} for each sale.").format(amount=amount)
    share = format_number(rate.value.normalize())
    return _("You earn {share} % of each sale.").format(share=share)
