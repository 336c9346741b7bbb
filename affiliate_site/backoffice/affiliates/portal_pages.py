"""The settings of the portal, and invitations of affiliates to it."""

from functools import partial

from django import forms

from accounts.services.notifications import can_send_mail
from affiliate_site.backoffice.affiliates.affiliate_pages import AffiliatePage
from affiliate_site.backoffice.form_pages import SettingsPage
from affiliate_site.backoffice.forms import MULTI_LINE, FieldSets, ServiceForm
from affiliate_site.backoffice.secret_page import render_secret
from affiliate_site.links import build_password_url
from tracking.models.portal import OrderIds
from tracking.services.portal_access import invite_affiliate
from tracking.services.portal_settings import (
    build_portal_url,
    get_portal_settings,
    update_portal_settings,
)
from tracking.services.portal_terms import get_terms

COLUMNS = ("is_on", "is_open", "welcome_text", "order_ids")


class PortalSettingsForm(ServiceForm):
    """Who gets in, and what affiliates see."""

    is_on = forms.BooleanField(
        label="Affiliates can sign in",
        required=False,
    )
    is_open = forms.BooleanField(
        label="Take applications",
        required=False,
        help_text="The public page names the programs, and everybody can apply.",
    )
    welcome_text = forms.CharField(
        label="Welcome",
        max_length=2000,
        required=False,
        widget=MULTI_LINE({"rows": 4}),
        help_text="On the public page.",
    )
    terms = forms.CharField(
        label="Terms",
        max_length=30_000,
        required=False,
        widget=MULTI_LINE({"rows": 10}),
        help_text=(
            "Affiliates accept them when they apply. After a change they are asked"
            " again."
        ),
    )
    order_ids = forms.ChoiceField(
        label="Show order IDs",
        choices=OrderIds.choices,
        help_text="Of sales, to the affiliate who brought them.",
    )

    fieldsets: FieldSets = (
        ("Access", ("is_on", "is_open")),
        ("Pages", ("welcome_text", "terms", "order_ids")),
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
        terms = get_terms(account)
        present = {name: getattr(settings, name) for name in COLUMNS}
        return present | {"terms": terms.text if terms else ""}

    def save(self, form, at):
        return update_portal_settings(self.account, changes=form.cleaned_data, at=at)


class InvitationForm(ServiceForm):
    """Whether the link is mailed, too."""

    send_mail = forms.BooleanField(label="Send it by e-mail", required=False)

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        if can_send_mail() and self.row.email:
            self.fields["send_mail"].help_text = f"To {self.row.email}."
        else:
            del self.fields["send_mail"]


class InviteToPortalPage(AffiliatePage):
    """Create a link by which an affiliate sets a password, and show it once."""

    name = "invite"
    title = button = "Invite to portal"
    explanation = (
        "You get a link by which the affiliate sets a password. It works once, for 7"
        " days, and replaces an earlier one. Anybody who has it can sign in as the"
        " affiliate."
    )
    form_class = InvitationForm

    def list_alerts(self):
        if get_portal_settings(self.account).is_on:
            return []
        return ["The portal is off: the link works when it is switched on."]

    def save(self, form, at):
        build_url = partial(build_password_url, self.account)
        return invite_affiliate(
            self.account,
            affiliate_id=self.row.slug,
            mail_url=build_url if form.cleaned_data.get("send_mail") else None,
            at=at,
        )

    def respond(self, form, invitation):
        is_mailed = form.cleaned_data.get("send_mail")
        sent = f" It is also mailed to {self.row.email}." if is_mailed else ""
        return render_secret(
            self.model_admin,
            self.request,
            title=f"Invitation of {self.get_subject()}",
            secret=build_password_url(self.account, invitation.token),
            explanation=(
                f"{self.get_subject()} sets a password for the portal at this address,"
                f" once, within 7 days.{sent}"
            ),
            back_url=self.get_back_url(),
            back_text="Back to the affiliate",
        )
