"""The form that ends a dispute of a shop which never said that it ended."""

from affiliate_site.backoffice.conversions.conversion_pages import ConversionPage
from affiliate_site.backoffice.forms import ServiceForm
from payouts.services.shop_disputes import end_dispute


class EndDisputePage(ConversionPage):
    """End the dispute about a sale; the buyer got nothing back."""

    name = "end_dispute"
    title = "End dispute"
    form_class = ServiceForm
    explanation = (
        "For a dispute that was decided for you, and the shop did not report it: the"
        " commissions are what they were before. If the buyer got the money back, use"
        " Refund. What the shop reports later still counts."
    )
    service = staticmethod(end_dispute)
    done_message = "{sale} is no longer disputed."

    @classmethod
    def is_offered(cls, conversion):
        return super().is_offered(conversion) and conversion.disputed_at is not None
