"""The diary: who changed what, and when; it only grows."""

from accounts.models.events import Event
from affiliate_site.backoffice.cells import pairs
from affiliate_site.backoffice.seam import ReadOnlyPage, display, register


@register(Event)
class DiaryPage(ReadOnlyPage):
    """One line for every change."""

    list_display = ("created_at", "kind", "subject", "actor", "told")
    search_fields = ("subject__exact",)
    search_help_text = "A subject like affiliate:adastone, whole"
    ordering = ("-id",)
    exclude = ("facts",)
    readonly_fields = ("told",)

    @display(description="Facts")
    def told(self, event):
        return pairs(event.facts)
