"""The page of a prospect: who it is, and its referral link."""

from affiliate_site.backoffice.affiliates.affiliate_detail import (
    get_full_name,
    list_details,
)
from affiliate_site.backoffice.object_pages import find_neighbors
from affiliate_site.links import build_referral_link


def build_prospect_context(prospect) -> dict:
    """What the page of a prospect shows."""
    account = prospect.account
    code = account.referral_codes.filter(prospect=prospect).first()
    landing_page = prospect.program.landing_page
    previous, following = find_neighbors(prospect, account.prospects.not_deleted())
    return {
        "prospect": prospect,
        "full_name": get_full_name(prospect),
        "title": get_full_name(prospect),
        "badges": list_badges(prospect),
        "referral_link": build_referral_link(landing_page, code.code) if code else "",
        "details": list_details(prospect),
        "previous": previous,
        "next": following,
    }


def list_badges(prospect) -> list[tuple[str, str]]:
    """Texts and colours of the labels beside the name."""
    if prospect.deleted_at:
        return [(f"removed {prospect.deleted_at:%Y-%m-%d}", "danger")]
    if prospect.promoted_at:
        return [(f"affiliate since {prospect.promoted_at:%Y-%m-%d}", "success")]
    return [("no sale yet", "warning")]
