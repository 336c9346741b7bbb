"""The programs of an account as the public pages show them."""

from typing import Any

from django.urls import resolve

from accounts.ids import SLUG_PATTERN
from affiliate_site.portal.access import build_url
from affiliate_site.portal.rates import list_rates
from payouts.services.payout_limits import get_minimums
from payouts.services.program_rates import with_further_rates
from tracking.models.programs import Visibility
from tracking.written_amounts import write_amount

WITHOUT_INVITATION = (Visibility.PUBLIC, Visibility.UNLISTED)


def list_offers(account, affiliate=None, **conditions) -> list[dict[str, Any]]:
    """The terms of each program that is not archived, derived from its rules; those of
    an affiliate by its group and minimum. `conditions` say which."""
    programs = with_further_rates(account).filter(archived_at=None, **conditions)
    programs = list(programs.order_by("title"))
    minimums = get_minimums(account, [affiliate.pk] if affiliate else [])
    group = affiliate and affiliate.group
    rates = list_rates(account, programs, affiliate)
    apply_url = build_url(account, "apply")
    return [
        {
            "id": program.pk,
            "slug": program.slug,
            "title": program.title,
            "url": get_program_url(account, program.slug),
            "apply_url": f"{apply_url}?program={program.slug}",
            "rates": rates[program.pk],
            "is_listed": program.visibility == Visibility.PUBLIC,
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


def list_open_offers(account, affiliate, slug: str = "", invitation=None) -> list[dict[str, Any]]:
    """The programs for which somebody can apply: those that are listed, that of a link with
    its ID, or of an invitation; without those in which the affiliate takes part."""
    conditions: dict[str, Any] = {"visibility": Visibility.PUBLIC}
    if invitation is not None:
        conditions = {"pk": invitation.program_id}
    elif slug and not SLUG_PATTERN.fullmatch(slug):
        return []
    elif slug:
        conditions = {"slug": slug, "visibility__in": WITHOUT_INVITATION}
    own = account.enrollments.filter(affiliate=affiliate).values_list("program_id", flat=True)
    present = set(own) if affiliate else set()
    offers = list_offers(account, affiliate, **conditions)
    return [offer for offer in offers if offer["id"] not in present]


def get_program_url(account, slug: str) -> str:
    """The public page of a program; that of applications if a page has its name."""
    url = build_url(account, "program", program=slug)
    if resolve(url).url_name == "program":
        return url
    return f"{build_url(account, 'apply')}?program={slug}"
