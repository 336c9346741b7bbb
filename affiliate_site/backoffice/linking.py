"""Links ready to copy: of one membership, or of all that an affiliate has."""

from dataclasses import dataclass

from django.http import Http404, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.http import content_disposition_header

from affiliate_site.backoffice import qr
from affiliate_site.links import asset_link, referral_link

PICTURED = 3  # memberships of one page whose links have a QR code


@dataclass(frozen=True)
class Link:
    """One address that somebody passes on."""

    kind: str
    title: str
    url: str
    membership: int

    @property
    def mark(self) -> str:
        """Its name on the page, and that of its file."""
        return f"{self.kind}-{self.membership}"

    @property
    def file(self) -> str:
        """Where its QR code is had as a file."""
        name = "admin:tracking_enrolment_qr"
        return reverse(name, args=[self.membership, self.kind])

    @property
    def picture(self):
        """Its QR code, where it fits into one."""
        return qr.inline(self.url) if qr.has_room(self.url) else ""


def links_of(row) -> list[Link]:
    """Both links of a row of `EnrolmentQuerySet.as_linked`."""
    page, number = row["program__landing_page"], row["pk"]
    asset = f"{row['asset__id']}-{row['asset__hex']}"
    source = f"{row['source__id']}-{row['source__hex']}"
    refers = referral_link(page, row["code__code"])
    return [
        Link("referral", "Referral link", refers, number),
        Link("asset", "Asset link", asset_link(page, asset, source), number),
    ]


def told(rows) -> str:
    """The links of these memberships, with a button to copy each."""
    programs = [
        {
            "title": row["program__title"],
            "approved": row["approved"],
            "page": reverse("admin:tracking_enrolment_change", args=[row["pk"]]),
            "links": links_of(row),
            "pictured": number < PICTURED,
        }
        for number, row in enumerate(rows)
    ]
    return render_to_string("admin/links.html", {"programs": programs})


def file_of(row, kind: str) -> HttpResponse:
    """The QR code of one link, to be kept and printed."""
    for link in links_of(row):
        if link.kind == kind and qr.has_room(link.url):
            name = f"{row['program__slug']}-{row['affiliate__slug']}-{kind}.svg"
            answer = HttpResponse(qr.as_file(link.url), content_type="image/svg+xml")
            answer["Content-Disposition"] = content_disposition_header(
                as_attachment=True, filename=name
            )
            return answer
    raise Http404
