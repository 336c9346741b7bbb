"""Traffic: clicks, the newest first; there is no free search on millions of them."""

from affiliate_site.agents import seen_with
from affiliate_site.backoffice.cells import NOTHING, pairs
from affiliate_site.backoffice.seam import ReadOnlyPage, display, register
from tracking.models.clicks import Click


@register(Click)
class ClickPage(ReadOnlyPage):
    """Who came by whose link, from where, with what."""

    list_display = (
        "created_at",
        "affiliate",
        "program",
        "referrer",
        "landing_page",
        "browser",
    )
    list_select_related = ("affiliate", "program")
    search_fields = ("public_id__exact",)
    search_help_text = "A click's id, whole"
    ordering = ("-created_at", "-id")
    exclude = ("fold", "meta_data")
    readonly_fields = ("browser", "meta")

    def browser(self, click):
        return seen_with(click.user_agent or "")["browser"] or NOTHING

    @display(description="Meta data")
    def meta(self, click):
        return pairs(click.meta_data)
