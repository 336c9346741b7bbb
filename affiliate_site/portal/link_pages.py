"""The links and coupons of an affiliate."""

from collections import defaultdict
from typing import Any
from urllib.parse import urljoin

from django.utils import timezone
from django.utils.translation import gettext as _

from affiliate_site import http_errors, qr_codes
from affiliate_site.downloads import send_file
from affiliate_site.portal.access import build_url, portal_page, show
from affiliate_site.portal.code_pages import can_choose_code
from affiliate_site.portal.forms import DeepLinkForm
from affiliate_site.portal.own_links import build_links, get_host, select_programs
from affiliate_site.portal.programs import list_offers
from affiliate_site.portal.tables import build_query, download_chunks
from tracking.services.clicks import SUB_ID_PATTERN


@portal_page()
def links(request):
    """The links and coupons of each program, and links to other pages."""
    affiliate = request.affiliate
    account, rows = (
        affiliate.account,
        list(select_programs(affiliate, "code_chosen_at")),
    )
    coupons = defaultdict(list)
    own = account.coupons.filter(enrollment__affiliate=affiliate).order_by("code")
    for coupon in own:
        coupons[coupon.enrollment_id].append(coupon.code)
    offers = {offer["slug"]: offer for offer in list_offers(account, affiliate)}
    present = {row["program__slug"] for row in rows}
    programs = [
        {
            "title": row["program__title"],
            "approved": row["approved"],
            "links": build_links(account, row),
            "coupons": coupons[row["pk"]],
            "offer": offers.get(row["program__slug"]),
            "code_url": can_choose_code(row)
            and build_url(account, "choose_code", program=row["program__slug"]),
        }
        for row in rows
    ]
    approved = [row for row in rows if row["approved"] and get_host(row)]
    first_page = approved[0]["program__landing_page"] if approved else ""
    query = request.GET.copy()
    page = query.get("page", "")
    if first_page and page.startswith("/") and not page.startswith("//"):
        query["page"] = urljoin(first_page, page)  # of the first shop
    form = DeepLinkForm(query if "page" in query else None, initial={"page": first_page})
    deep_links = find_deep_links(account, form, approved)
    if "file" in request.GET:
        titles = (_("Program"), _("Kind"), _("Link or coupon"))
        day = account.get_day(timezone.now())
        lines = list_file_lines(programs, deep_links)
        return download_chunks(titles, [lines], f"links-{day}")
    context = {
        "title": _("Links"),
        "programs": programs,
        "file_query": build_query(request.GET, file="links") if approved else "",
        "form": form if approved else None,
        "deep_links": deep_links,
        "offers": [
            offer for slug, offer in offers.items() if offer["is_listed"] and slug not in present
        ]
        if request.portal.is_open
        else [],
    }
    return show(request, "links", context)


def list_file_lines(programs, deep_links) -> list[tuple[str, str, str]]:
    """The links and coupons that the page shows."""
    approved = [program for program in programs if program["approved"]]
    own = [program["links"] for program in approved]
    links = (link for each in own + deep_links for link in each.values())
    coupons = [
        (program["title"], _("Coupon"), code) for program in approved for code in program["coupons"]
    ]
    return [(link.title, link.label, link.url) for link in links] + coupons


def find_deep_links(account, form, rows) -> list[dict[str, Any]]:
    """The links to the page of a form, one set for each program of its shop."""
    if not form.is_bound or not form.is_valid():
        return []
    each = (build_links(account, row, **form.cleaned_data) for row in rows)
    found = [links for links in each if links]
    if not found:
        hosts = ", ".join(sorted({get_host(row) for row in rows}))
        message = _("Your links lead to pages of: {hosts}")
        form.add_error("page", message.format(hosts=hosts or "-"))
    return found


@portal_page()
def qr_code(request):
    """The QR code of an own link as SVG: to show, or with `download` as a file."""
    affiliate, query = request.affiliate, request.GET
    page, sub_id = query.get("page", ""), query.get("sub_id", "")
    is_valid = not sub_id or SUB_ID_PATTERN.fullmatch(sub_id)
    links = {
        row["program__slug"]: build_links(affiliate.account, row, page=page, sub_id=sub_id)
        for row in select_programs(affiliate)
        if row["approved"] and is_valid
    }
    slug = query.get("program", "")
    link = links.get(slug, {}).get(query.get("kind", ""))
    if link is None or not qr_codes.is_encodable(link.url):
        return http_errors.not_found(request)
    style = qr_codes.get_link_style(affiliate.account)
    content = qr_codes.render_svg_file(link.url, style)
    return send_file(content, f"{slug}.svg", as_attachment="download" in query)
