"""Set the key that reads from a shop, and read what was missed."""

from datetime import datetime, time

from django import forms
from django.contrib import messages
from django.shortcuts import redirect

from accounts.errors import DomainError
from affiliate_site.backoffice.fields import PASSWORD
from affiliate_site.backoffice.form_pages import FormPage
from affiliate_site.backoffice.formatters import format_datetime
from affiliate_site.backoffice.forms import ServiceForm
from affiliate_site.shops.catching_up import Pace, catch_up
from affiliate_site.shops.promotion_codes import read_promotion_codes
from affiliate_site.shops.sources import SOURCES
from tracking.models.shops import ConnectionKind, ConnectionMode
from tracking.services.connections import (
    MAX_ADDRESS_LENGTH,
    SECRET_LENGTHS,
    set_source_key,
)

PERMISSION = "tracking.change_connection"
MAX_SECONDS = 10.0  # the page waits for them, and for one more request
FIRST_YEAR = 2000
KEY_HELP = {
    ConnectionKind.STRIPE: "A restricted key (rk_live_…) that may read all of what"
    " events show. In Stripe: Developers, API keys, “Create restricted key”.",
    ConnectionKind.WOOCOMMERCE: "Consumer key and consumer secret, joined by a colon:"
    " ck_…:cs_…. In WordPress: WooCommerce, Settings, Advanced, REST API, “Add key”"
    " with the permission Read.",
    ConnectionKind.SHOPIFY: "The access token (shpat_…) of an app of your own with the"
    " permission read_orders. Orders older than 60 days need read_all_orders, too.",
}
ADDRESS_HELP = {
    ConnectionKind.WOOCOMMERCE: "Of its first page, such as https://shop.example.com.",
    ConnectionKind.SHOPIFY: "The one that ends with .myshopify.com.",
}


class SourceKeyPage(FormPage):
    """Set the key that reads what was missed."""

    name = "key"
    title = "Set key for catching up"
    permission = PERMISSION
    row_argument = ("connection_id", "public_id")
    explanation = (
        "With this key, what was missed is read from the shop, when you choose “Catch"
        " up”, and codes of Stripe by “Read promotion codes”. It is used for nothing"
        " else, and not shown again."
    )
    service = staticmethod(set_source_key)
    done_message = "The key was set. Choose “Catch up” to read what was missed."

    class Form(ServiceForm):
        def build_fields(self):
            kind = self.row.kind
            fields = {
                "key": forms.CharField(
                    label="Key for reading",
                    max_length=SECRET_LENGTHS[1],
                    required=not self.row.source_key,
                    widget=PASSWORD({"autocomplete": "off", "data-secret": ""}),
                    help_text=KEY_HELP[kind],
                )
            }
            fields["key"].widget.input_type = "text"  # browsers would store a password
            if kind in ADDRESS_HELP:
                fields["shop_url"] = forms.CharField(
                    label="Address of the shop",
                    max_length=MAX_ADDRESS_LENGTH,
                    help_text=ADDRESS_HELP[kind],
                )
            return fields

    @classmethod
    def is_offered(cls, connection):
        return connection.kind in SOURCES

    def get_unlocked_initial(self, connection):
        return {"shop_url": connection.settings.get("shop_url", "")}


class CatchUpPage(FormPage):
    """Read what was missed from the shop itself."""

    name = "catch-up"
    title = button = "Catch up"
    permission = PERMISSION

    class Form(ServiceForm):
        since = forms.DateField(
            label="Since",
            required=False,
            help_text="Leave it empty to go on where the last time ended, at first when the"
            " shop was connected.",
        )

        def clean_since(self):
            """The day, in a year in which shops had events."""
            day = self.cleaned_data["since"]
            if day and day.year < FIRST_YEAR:
                raise forms.ValidationError(f"Enter a day after the year {FIRST_YEAR}.")
            return day

    @classmethod
    def is_offered(cls, connection):
        has_key = bool(connection.source_key)
        is_on = connection.mode != ConnectionMode.OFF
        return connection.kind in SOURCES and has_key and is_on

    def get_explanation(self):
        until = self.row.caught_up_until
        text = (
            "What was missed is read from the shop, and processed as if it had just"
            " arrived. Nothing counts twice. This takes up to half a minute; if the"
            " shop has more, you can go on afterwards."
        )
        source = SOURCES[self.row.kind]
        if source.max_age:
            text += f" The shop keeps events for {source.max_age.days} days."
        if until:
            text += f" Nothing is missing until {format_datetime(until)}."
        return text

    def perform(self, form, at):
        """Do nothing yet: no transaction should wait for the shop."""
        return at

    def respond(self, form, at):
        day = form.cleaned_data["since"]
        since = day and datetime.combine(day, time(), self.account.zone)
        try:
            pace = Pace(delays=(), seconds=MAX_SECONDS)
            result = catch_up(self.row, at=at, since=since, pace=pace)
        except DomainError as error:
            form.add_domain_error(error)
            return self.form_invalid(form)
        text = f"Read {result.read:,}, of which {result.new:,} are new."
        if result.is_complete:
            messages.success(self.request, f"{text} Nothing is missing any more.")
            return redirect(self.get_back_url())
        until = format_datetime(result.until)
        text += f" Nothing is missing until {until}, but the shop has more: go on."
        messages.warning(self.request, text)
        return redirect(self.request.path)


class PromotionCodesPage(FormPage):
    """Read the texts of promotion codes, of which events of Stripe have only the ID."""

    name = "promotion-codes"
    title = button = "Read promotion codes"
    permission = PERMISSION
    explanation = (
        "Events of Stripe name a promotion code by its ID only. Those whose text is the"
        " coupon of an affiliate, or a code of the shop in the settings, are found by"
        " this. Do it again after you added one. The key must be allowed to read"
        " promotion codes."
    )

    @classmethod
    def is_offered(cls, connection):
        return connection.kind == ConnectionKind.STRIPE and CatchUpPage.is_offered(connection)

    def perform(self, form, at):
        """Do nothing yet: no transaction should wait for the shop."""
        return at

    def respond(self, form, at):
        try:
            count = read_promotion_codes(self.row, at=at, pace=Pace(delays=()))
        except DomainError as error:
            form.add_domain_error(error)
            return self.form_invalid(form)
        text = "1 promotion code is" if count == 1 else f"{count:,} promotion codes are"
        messages.success(self.request, f"{text} known as a code of an affiliate.")
        return redirect(self.get_back_url())
