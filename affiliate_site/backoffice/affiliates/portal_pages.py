"""The settings of the portal, and invitations of affiliates to it."""

from django import forms

from affiliate_site.backoffice.form_pages import SettingsPage
from affiliate_site.backoffice.forms import MULTI_LINE, FieldSets, ServiceForm
from affiliate_site.links import build_portal_url
from tracking.models.portal import OrderIds
from tracking.services.portal_settings import (
    get_portal_settings,
    update_portal_settings,
)


class PortalSettingsForm(ServiceForm):
    """Who gets in, and what affiliates see."""

    is_on = forms.BooleanField(
        label="Affiliates can sign in",
        required=False,
    )
    is_open = forms.BooleanField(
        label="Accept applications",
        required=False,
        help_text="Anybody can apply to become an affiliate.",
    )
    welcome_text = forms.CharField(
        label="Welcome",
        max_length=2000,
        required=False,
        widget=MULTI_LINE({"rows": 4}),
        help_text="Shown above the form for signing in.",
    )
    order_ids = forms.ChoiceField(
        label="Show order IDs",
        choices=OrderIds.choices,
        help_text="Of sales, to the affiliate who brought them.",
    )

    fieldsets: FieldSets = (
        ("Access", ("is_on", "is_open")),
        ("Pages", ("welcome_text", "order_ids")),
    )

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        url = build_portal_url(self.account)
        self.fields["is_on"].help_text = f"They see what they earned at {url}"


class PortalSettingsPage(SettingsPage):
    """Switch the portal on and off, and say what it shows."""

    title = "Portal settings"
    url_name = "portal_settings"
    permission = "tracking.change_portalsettings"
    form_class = PortalSettingsForm

    def get_unlocked_initial(self, account):
        settings = get_portal_settings(account)
        return {name: getattr(settings, name) for name in self.form_class.base_fields}

    def save(self, form, at):
        return update_portal_settings(self.account, changes=form.cleaned_data, at=at)
