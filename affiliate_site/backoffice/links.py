"""Affiliate links with copy buttons and QR codes."""

from dataclasses import dataclass

from django.http import Http404, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse

from affiliate_site import qr_codes
from affiliate_site.downloads import send_file
from affiliate_site.links import build_asset_link
from affiliate_site.qr_codes import QrStyle
from tracking.referral_links import build_referral_link

MAX_QR_CODES = 3  # programs per page whose links have QR codes


@dataclass(frozen=True)
class AffiliateLink:
    """A link that an affiliate publishes."""

    kind: str
    title: str
    url: str
    enrollment_id: int
    style: QrStyle

    @property
    def element_id(self) -> str:
        """The ID of its element on the page."""
        return f"{self.kind}-{self.enrollment_id}"

    @property
    def qr_code_url(self) -> str:
        name = "admin:tracking_enrollment_qr"
        return reverse(name, args=[self.enrollment_id, self.kind])

    @property
    def qr_code_svg(self):
        """Its QR code; empty if the link is too long for one."""
        return (
            qr_codes.render_inline_svg(self.url, self.style)
            if qr_codes.is_encodable(self.url)
            else ""
        )


def build_links(row, style: QrStyle) -> list[AffiliateLink]:
    """The links of a row of `EnrollmentQuerySet.for_links`, their QR codes in this
    style."""
    landing_page, enrollment_id = row["program__landing_page"], row["pk"]
    asset = f"{row['asset__id']}-{row['asset__hex']}"
    source = f"{row['source__id']}-{row['source__hex']}"
    referral_url = build_referral_link(landing_page, row["code__code"])
    asset_url = build_asset_link(landing_page, asset, source)
    return [
        AffiliateLink("referral", "Referral link", referral_url, enrollment_id, style),
        AffiliateLink("asset", "Asset link", asset_url, enrollment_id, style),
    ]


def render_links(row, style: QrStyle) -> str:
    """The links of a row of `EnrollmentQuerySet.for_links` as HTML."""
    context = {
        "program": row["program__title"],
        "approved": row["approved"],
        "links": build_links(row, style),
    }
    return render_to_string("admin/affiliate_links.html", context)


def get_qr_code_response(row, kind: str, style: QrStyle) -> HttpResponse:
    """The QR code of one link as an SVG download; raises Http404 if there is none."""
    for link in build_links(row, style):
        if link.kind == kind and qr_codes.is_encodable(link.url):
            name = f"{row['program__slug']}-{row['affiliate__slug']}-{kind}.svg"
            return send_file(qr_codes.render_svg_file(link.url, style), name)
    raise Http404
