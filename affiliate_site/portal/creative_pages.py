"""Banners and texts for affiliates to copy, with their links in them."""

from dataclasses import dataclass
from functools import partial

from django.conf import settings
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from affiliate_site.columns import Column
from affiliate_site.creative_images import build_image_url
from affiliate_site.portal.access import portal_page, show
from affiliate_site.portal.own_links import build_links, select_programs
from affiliate_site.portal.tables import download_all, take_page
from tracking.models.creatives import Creative

PAGE_SIZE = 24
# Search engines ask for this mark of links that somebody pays for.
SPONSORED_LINK = '<a href="{}" rel="sponsored">{}</a>'
FILE_COLUMNS = (
    Column(gettext_lazy("Program"), lambda own: own.creative.program.title),
    Column(gettext_lazy("Title"), lambda own: own.creative.title),
    Column(gettext_lazy("Text"), lambda own: own.creative.text),
    Column(gettext_lazy("Width"), lambda own: own.creative.width),
    Column(gettext_lazy("Height"), lambda own: own.creative.height),
    Column(gettext_lazy("Your link"), lambda own: own.url),
    Column(
        gettext_lazy("Code for your page, with your link in it"),
        lambda own: own.code + "",  # a plain text: cells drop tags of HTML
    ),
)


@dataclass(frozen=True)
class OwnCreative:
    """A creative with the affiliate's link in it."""

    creative: Creative
    url: str  # the link
    image_url: str  # empty for a text

    @property
    def code(self) -> str:
        """The HTML to copy."""
        row = self.creative
        if not self.image_url:
            return format_html(SPONSORED_LINK, self.url, row.text)
        image = format_html(
            '<img src="{}{}" width="{}" height="{}" alt="{}">',
            settings.PUBLIC_URL,
            self.image_url,
            row.width,
            row.height,
            row.title,
        )
        return format_html(SPONSORED_LINK, self.url, image)


@portal_page()
def creatives(request):
    """The creatives of the programs that the affiliate is approved in, newest first."""
    affiliate, account = request.affiliate, request.account
    links = {
        row["program"]: build_links(account, row)
        for row in select_programs(affiliate, "program")
        if row["approved"]
    }
    rows = account.creatives.filter(program__in=links, archived_at=None)
    rows = rows.select_related("program")
    if "file" in request.GET:
        load = partial(add_links, account, links=links)
        return download_all(request, "creatives", FILE_COLUMNS, rows, load)
    shown, older = take_page(rows.order_by("-id"), PAGE_SIZE, request.GET.get("before", ""))
    context = {
        "title": _("Banners and texts"),
        "creatives": add_links(account, shown, links),
        "before": older,
    }
    return show(request, "creatives", context)


def add_links(account, rows, links) -> list[OwnCreative]:
    """The creatives with the links, which come by program; not those without one."""
    return [
        OwnCreative(
            row,
            links[row.program_id]["link"].url,
            build_image_url(account, row.file_name) if row.file_name else "",
        )
        for row in rows
        if links[row.program_id]
    ]
