"""The programs of an account as the public pages show them."""

from typing import Any

from django.urls import resolve

from affiliate_site.portal.access import build_url
from affiliate_site.portal.rates import list_rates
from payouts.services.payout_limits import get_minimums
from tracking.written_amounts import write_amount


def list_offers(account, affiliate=None, **conditions) -> list[dict[str, Any]]:
    """The terms of each program that is not archived, derived from its rules; those of
    an affiliate by its group and minimum."""
    programs = account.programs.filter(archived_at=None, **conditions)
    programs = list(programs.order_by("title"))
    minimums = get_minimums(account, [affiliate.pk] if affiliate else [])
    group = affiliate and affiliate.group
    rates = list_rates(account, programs, group)
    apply_url = build_url(account, "apply")
    return [
        {
            "id": program.pk,
            "slug": program.slug,
            "title": program.title,
            "url": get_program_url(account, program.slug),
            "apply_url": f"{apply_url}?program={program.slug}",
            "rates": rates[program.pk],
            "is_recurring": program.recurring,
            "recurring_cap": program.recurring_cap,
            "recurring_days": program.recurring_period_days,
            "cookie_days": program.cookie_time,
            "hold_days": program.hold_days
            if group is None or group.hold_days is None
            else group.hold_days,
            "minimum": write_amount(minimum, program.currency) if minimum else "",
            "is_automatic": program.auto_approve_affiliates,
        }
        for program in programs
        for minimum in [minimums.find((affiliate.pk if affiliate else 0, program.currency))]
    ]


def list_further_offers(affiliate) -> list[dict[str, Any]]:
    """The programs in which an affiliate does not take part."""
    account = affiliate.account
    own = account.enrollments.filter(affiliate=affiliate).values_list("program_id")
    present = {pk for (pk,) in own}
    offers = list_offers(account, affiliate)
    return [offer for offer in offers if offer["id"] not in present]


def get_program_url(account, slug: str) -> str:
    """The public page of a program; that of applications if a page has its name."""
    url = build_url(account, "program", program=slug)
    if resolve(url).url_name == "program":
        return url
    return f"{build_url(account, 'apply')}?program={slug}"
