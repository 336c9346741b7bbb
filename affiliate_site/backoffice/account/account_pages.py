"""The form of the account's settings, for its owners."""

from zoneinfo import available_timezones

from django import forms
from django.conf import settings

from accounts.errors import InvalidSetting
from accounts.services.accounts import (
    MAX_CLICK_DAYS,
    MAX_LOGO_BYTES,
    MAX_VISITOR_DATA_DAYS,
    MIN_CLICK_DAYS,
    detect_media_type,
    set_logo,
)
from affiliate_site.backoffice.fields import COLOR
from affiliate_site.backoffice.form_pages import SettingsPage
from affiliate_site.backoffice.forms import FieldSets, ServiceForm
from affiliate_site.backoffice.navigation import MenuEntry
from affiliate_site.creative_images import encode_image
from tracking.money import list_currencies
from tracking.services.account_settings import update_account_settings

LOGO_FIELDS = {"logo", "remove_logo"}  # apart from the columns of the account
NO_CURRENCY = ("", "Choose for each program")


class AccountSettingsForm(ServiceForm):
    name = forms.CharField(help_text="Your company. Invitations to staff name it.")
    time_zone = forms.ChoiceField(
        choices=lambda: [(name, name) for name in sorted(available_timezones())],
        help_text="Of all times and days on these pages.",
    )
    customer_email_keys = forms.CharField(
        label="Metadata keys with the customer's e-mail address",
        required=False,
        help_text=("Separated by commas, such as email. The first one that is set is searched."),
    )
    default_currency = forms.ChoiceField(
        label="Currency",
        required=False,
        choices=lambda: [
            NO_CURRENCY,
            *((code, code) for code in sorted(list_currencies())),
        ],
        help_text="New programs begin with it.",
    )
    default_auto_approve_affiliates = forms.BooleanField(
        label="Approve affiliates automatically", required=False
    )
    default_auto_approve_commissions = forms.BooleanField(
        label="Approve commissions automatically", required=False
    )
    link_color = forms.CharField(
        label="Color of QR codes",
        widget=COLOR,
        help_text="Those of your affiliates' links. It must be dark, for scanners.",
    )
    logo = forms.FileField(
        required=False,
        help_text=(
            f"In the middle of these QR codes: a PNG or JPEG of at most"
            f" {MAX_LOGO_BYTES // 1000} KB."
        ),
    )
    remove_logo = forms.BooleanField(required=False)
    require_signatures = forms.BooleanField(
        label="Accept signed sales and customers only",
        required=False,
        help_text=(
            "Anybody can call the tracking script of a page. A signature proves that"
            " your server vouches for what it reports. First create a secret under"
            " Signing secrets, and sign on your pages."
        ),
    )
    max_browser_amount = forms.IntegerField(
        label="Highest amount of an unsigned sale",
        help_text=(
            "In units of the program's currency. A higher sale is listed under Failed page calls."
        ),
    )
    visitor_data_days = forms.IntegerField(
        label="Days until visitor data is shortened",
        help_text=(
            f"1 to {MAX_VISITOR_DATA_DAYS}. Then the nightly clean-up cuts the IP"
            " addresses of clicks, customers and conversions and deletes their user"
            " agents."
        ),
    )
    click_days = forms.IntegerField(
        label="Days until clicks of pages are removed",
        help_text=(
            f"{MIN_CLICK_DAYS} to {MAX_CLICK_DAYS}. Then the nightly clean-up removes"
            " each click of the tracking"
            " script or a short link that no customer, conversion or claim names."
            " All statistics stay the same; the lists of clicks lose it. Clicks"
            " reported through the API are never removed."
        ),
    )
    require_second_factor = forms.BooleanField(
        label="Require two-factor authentication",
        required=False,
        help_text=("Staff without a device have to set one up before they see anything else."),
    )

    fieldsets: FieldSets = (
        (None, ("name", "time_zone")),
        ("Search", ("customer_email_keys",)),
        (
            "New programs",
            (
                "default_currency",
                "default_auto_approve_affiliates",
                "default_auto_approve_commissions",
            ),
        ),
        ("Links", ("link_color", "logo", "remove_logo")),
        ("What pages may report", ("require_signatures", "max_browser_amount")),
        ("Privacy", ("visitor_data_days", "click_days")),
        ("Sign-in", ("require_second_factor",)),
    )

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        if not self.account.logos.exists():
            self.fields["remove_logo"].widget = forms.HiddenInput()
        if not settings.SECOND_FACTOR_REMOVER:  # two-factor authentication is off
            del self.fields["require_second_factor"]
            self.fieldsets = self.fieldsets[:-1]

    def clean_link_color(self):
        return self.cleaned_data["link_color"].lower()

    def clean_logo(self):
        """The picture, re-encoded without anything else of the file; None without."""
        file = self.cleaned_data["logo"]
        if not file:
            return None
        data = file.read(MAX_LOGO_BYTES + 1)
        try:
            detect_media_type(data)
            image = encode_image(data).content
        except InvalidSetting as error:
            raise forms.ValidationError(error.text) from None
        if len(image) > MAX_LOGO_BYTES:
            raise forms.ValidationError(
                f"The logo must be smaller: re-encoded it has {len(image):,} bytes,"
                f" and {MAX_LOGO_BYTES:,} are the limit"
            )
        return image

    def clean_customer_email_keys(self):
        keys = self.cleaned_data["customer_email_keys"].split(",")
        return [key.strip() for key in keys if key.strip()]


class AccountSettingsPage(SettingsPage):
    title = "Account settings"
    url_name = "account_settings"
    menu = MenuEntry("Account", 10, "settings", synonyms="time zone time zones company")
    permission = "accounts.change_account"
    form_class = AccountSettingsForm

    def get_unlocked_initial(self, account):
        names = set(self.form_class.base_fields) - LOGO_FIELDS
        values = {name: getattr(account, name) for name in names}
        return values | {"customer_email_keys": ", ".join(account.customer_email_keys)}

    def save(self, form, at):
        changes = dict(form.values)
        image, is_removed = changes.pop("logo"), changes.pop("remove_logo")
        if image or is_removed:
            set_logo(self.account, image=image, at=at)
        return update_account_settings(self.account, changes=changes, at=at)
