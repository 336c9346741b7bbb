"""The links and coupons of an affiliate."""

from typing import Any
from urllib.parse import urlsplit

from affiliate_site.links import build_referral_link
from affiliate_site.portal.access import portal_page, show
from affiliate_site.portal.forms import DeepLinkForm
from affiliate_site.portal.programs import list_further_offers


@portal_page()
def links(request):
    """The referral link and coupon of each program, and links to other pages."""
    affiliate = request.affiliate
    enrollments = affiliate.account.enrollments.filter(affiliate=affiliate)
    rows = enrollments.filter(program__archived_at=None).for_links()
    coupons = dict(
        affiliate.account.coupons.filter(enrollment__affiliate=affiliate).values_list(
            "enrollment", "code"
        )
    )
    form = DeepLinkForm(request.GET if "page" in request.GET else None)
    programs = [
        build_program(row, coupons.get(row["pk"], ""))
        for row in rows.order_by("program__title")
    ]
    deep_link = ""
    if form.is_bound and form.is_valid():
        deep_link = build_deep_link(form.cleaned_data["page"], programs)
        if not deep_link:
            hosts = {it["host"] for it in programs if it["host"] and it["approved"]}
            named = " or ".join(sorted(hosts)) or "no shop yet"
            form.add_error("page", f"Your links lead to {named}, to no other host.")
    context = {
        "title": "Links",
        "programs": programs,
        "form": form,
        "deep_link": deep_link,
        "offers": list_further_offers(affiliate) if request.portal.is_open else [],
    }
    return show(request, "links", context)


def build_program(row, coupon: str) -> dict[str, Any]:
    """A program of the affiliate, from a row of `EnrollmentQuerySet.for_links`."""
    landing_page, code = row["program__landing_page"], row["code__code"]
    return {
        "title": row["program__title"],
        "approved": row["approved"],
        "host": get_host(landing_page),
        "link": build_referral_link(landing_page, code),
        "code": code,
        "coupon": coupon,
    }


def get_host(landing_page: str) -> str:
    """Host and port; empty if there is none."""
    try:
        return urlsplit(landing_page).netloc.lower()
    except ValueError:
        return ""


def build_deep_link(page: str, programs) -> str:
    """The link to a page of the shop; empty if no approved program is at its host."""
    parts = urlsplit(page)
    for program in programs:
        is_of_program = parts.netloc.lower() == program["host"] and program["approved"]
        if is_of_program and parts.scheme in {"http", "https"}:
            return build_referral_link(page, program["code"])
    return ""
