"""The links that an affiliate publishes: to a shop, or to one page of it."""

from dataclasses import dataclass
from urllib.parse import quote, urlencode

from django.utils.translation import gettext_lazy as _

from accounts.models.accounts import Account
from accounts.url_safety import split_url
from affiliate_site.links import (
    build_asset_link,
    build_short_link,
    find_shop_page,
)
from affiliate_site.portal.access import build_url
from tracking.models.enrollments import LINK_COLUMNS
from tracking.referral_links import build_referral_link

LABELS = {
    "link": _("Your link"),
    "short": _("Short link"),
    "asset": _("Link without your code"),
}


@dataclass(frozen=True)
class OwnLink:
    """A link with its QR code; `kind` is a key of `LABELS`."""

    kind: str
    url: str
    title: str  # of the program
    qr_url: str

    @property
    def label(self) -> str:
        return str(LABELS[self.kind])

    @property
    def mail_url(self) -> str:
        """Opens a new mail with the link."""
        return f"mailto:?subject={quote(self.title)}&body={quote(self.url, safe='')}"


def select_programs(affiliate, *columns: str):
    """Rows of `EnrollmentQuerySet.for_links`, with further columns: the programs of an
    affiliate by title."""
    rows = affiliate.account.enrollments.filter(affiliate=affiliate)
    return (
        rows.filter(program__archived_at=None)
        .for_links()
        .values(*LINK_COLUMNS, *columns)
        .order_by("program__title")
    )


def get_host(row) -> str:
    """The host of a program's shop, with its port; empty if the program has none."""
    return split_url(row["program__landing_page"]).netloc.lower()


def build_links(account: Account, row, *, page: str = "", sub_id: str = "") -> dict[str, OwnLink]:
    """The links of one program by kind, to its landing page or another of its shop.

    There are none to a page that is not of the shop. Sub-ids have no asset link.
    """
    landing_page, code = row["program__landing_page"], row["code__code"]
    further = row["program__shop_hosts"]
    target = find_shop_page(page or landing_page, landing_page, further)
    if not target:
        return {}
    urls = {
        "link": build_referral_link(target, code, sub_id=sub_id),
        "short": build_short_link(account, code, page=page and target, sub_id=sub_id),
    }
    if row["source__id"] and row["asset__id"] and not sub_id:
        asset = f"{row['asset__id']}-{row['asset__hex']}"
        source = f"{row['source__id']}-{row['source__hex']}"
        urls["asset"] = build_asset_link(target, asset, source)
    values = {"program": row["program__slug"], "page": page, "sub_id": sub_id}
    chosen = {name: value for name, value in values.items() if value}
    qr_page = build_url(account, "qr_code")
    return {
        kind: OwnLink(
            kind,
            url,
            row["program__title"],
            f"{qr_page}?{urlencode({'kind': kind} | chosen)}",
        )
        for kind, url in urls.items()
    }
