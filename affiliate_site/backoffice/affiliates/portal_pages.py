"""The settings of the portal, and invitations of affiliates to it."""

from functools import partial
from typing import cast

from django import forms
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html

from accounts.models.api_keys import Role
from accounts.models.users import User
from accounts.services.notifications import can_send_mail
from affiliate_site.backoffice.affiliates.affiliate_pages import AffiliatePage
from affiliate_site.backoffice.fields import MULTI_LINE
from affiliate_site.backoffice.form_pages import SettingsPage
from affiliate_site.backoffice.formatters import format_datetime, format_day
from affiliate_site.backoffice.forms import FieldSets, ServiceForm
from affiliate_site.backoffice.navigation import MenuEntry
from affiliate_site.backoffice.secret_page import render_secret
from affiliate_site.links import build_password_url, build_view_url
from tracking.errors import InvitationNotMailed
from tracking.models.portal import OrderIds
from tracking.services.portal_links import create_view_link, invite_affiliate
from tracking.services.portal_settings import (
    MAX_PAYOUT_DAY,
    build_portal_url,
    get_portal_settings,
    update_portal_settings,
)
from tracking.services.portal_terms import get_terms, list_acceptances
from tracking.services.second_factor import delete_second_factor, has_second_factor

# The fields of the terms in the languages of the portal.
TRANSLATIONS = {code: f"terms_{code}" for code in ("en", "de", "fr", "es")}


class TermsField(forms.CharField):
    """The terms in one language."""

    def __init__(self, **kwargs):
        widget = MULTI_LINE({"rows": 4})
        super().__init__(max_length=30_000, required=False, widget=widget, **kwargs)


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
            " again. Who reads one of the languages below reads and accepts that text."
        ),
    )
    terms_en = TermsField(label="Terms in English")
    terms_de = TermsField(label="Terms in German")
    terms_fr = TermsField(label="Terms in French")
    terms_es = TermsField(label="Terms in Spanish")
    sender_name = forms.CharField(
        label="Sender of mail",
        max_length=255,
        required=False,
        help_text="Such as Harbor Partner Team. Empty: the name of the account.",
    )
    contact_email = forms.EmailField(
        label="Contact address",
        max_length=254,
        required=False,
        help_text="Affiliates see it on every page of the portal, and in mails.",
    )
    order_ids = forms.ChoiceField(
        label="Show order IDs",
        choices=OrderIds.choices,
        help_text="Of sales, to the affiliate who brought them.",
    )
    shows_comments = forms.BooleanField(
        label="Show why commissions were disapproved",
        required=False,
        help_text="Affiliates read the comment of a commission that was disapproved.",
    )
    shows_recruit_sales = forms.BooleanField(
        label="Show the sales of recruits",
        required=False,
        help_text="Only how many each has; needs a plan with levels.",
    )
    payout_day = forms.IntegerField(
        label="Day of the month of payments",
        required=False,
        min_value=1,
        max_value=MAX_PAYOUT_DAY,
        help_text=f"From 1 to {MAX_PAYOUT_DAY}. Empty: affiliates do not see when payments come.",
    )

    fieldsets: FieldSets = (
        ("Access", ("is_on", "is_open")),
        ("Mail", ("sender_name", "contact_email")),
        ("Pages", ("welcome_text", "payout_day")),
        ("Terms", ("terms", *TRANSLATIONS.values())),
        ("What they see", ("order_ids", "shows_comments", "shows_recruit_sales")),
    )

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        host = get_portal_settings(self.account).host or "none"
        self.fields["is_on"].help_text = (
            f"They see what they earned at {build_portal_url(self.account)} (own host:"
            f" {host}. Your operator sets it: manage.py set_portal_host)."
        )

    def clean_sender_name(self):
        """None without one."""
        return self.cleaned_data["sender_name"].strip() or None

    def clean_contact_email(self):
        """None without one."""
        return self.cleaned_data["contact_email"] or None


NO_MAIL = "No mail can be sent from here: nobody can apply or reset a password."


class PortalSettingsPage(SettingsPage):
    """Switch the portal on and off, and say what it shows."""

    title = "Portal settings"
    url_name = "portal_settings"
    menu = MenuEntry("Affiliates", 110, "door_open", synonyms="settings of the affiliate portal")
    permission = "tracking.change_portalsettings"
    form_class = PortalSettingsForm

    def list_alerts(self):
        return [] if can_send_mail() else [NO_MAIL]

    def get_unlocked_initial(self, account):
        settings = get_portal_settings(account)
        terms = get_terms(account)
        names = set(self.form_class.base_fields) - {"terms", *TRANSLATIONS.values()}
        texts = terms.translations if terms else {}
        return {
            **{name: getattr(settings, name) for name in names},
            **{name: texts.get(code, "") for code, name in TRANSLATIONS.items()},
            "terms": terms.text if terms else "",
        }

    def save(self, form, at):
        changes = dict(form.values)
        texts = {code: changes.pop(name) for code, name in TRANSLATIONS.items()}
        changes["translations"] = texts
        return update_portal_settings(self.account, changes=changes, at=at)


def list_portal_alerts(account) -> list[str]:
    """What stands above pages that lead to the portal."""
    if get_portal_settings(account).is_on:
        return []
    return ["The portal is off: the link works when it is switched on."]


class RemoveSecondFactorPage(AffiliatePage):
    name = "remove_second_factor"
    title = "Remove the second factor"
    button = "Remove second factor"
    explanation = (
        "The password alone is enough from then on. Make sure that it is the affiliate"
        " who asks you, and not somebody who knows the password."
    )
    is_dangerous = True
    done_message = "The second factor was removed."

    def list_alerts(self):
        return [] if has_second_factor(self.row) else ["The second factor is off."]

    def save(self, form, at):
        delete_second_factor(self.account, self.row, at=at)


class ViewPortalPage(AffiliatePage):
    name = "view_portal"
    title = button = "View as affiliate"
    explanation = (
        "You see the portal as the affiliate sees it, for 30 minutes. You cannot change"
        " anything there. The audit log keeps that you looked."
    )
    form_class = ServiceForm

    def list_alerts(self):
        return list_portal_alerts(self.account)

    def save(self, form, at):
        return create_view_link(
            self.account,
            affiliate_id=self.row.slug,
            viewed_by=cast(User, self.request.user),
            at=at,
        )

    def respond(self, form, token):
        return redirect(build_view_url(self.account, token))


class InviteToPortalPage(AffiliatePage):
    """Mail an affiliate a link that sets a password; else owners see it once."""

    name = "invite"
    title = button = "Invite to portal"
    done_message = "The link is mailed to {result.affiliate.email}."

    def get_explanation(self):
        text = "The link sets a password once, within 7 days. It replaces earlier ones."
        if self.can_mail():
            return f"{self.row.email} gets it by mail. {text}"
        return (
            f"You see the link once. {text} Anybody who has it can sign in as the"
            " affiliate: the audit log keeps that you saw it."
        )

    def can_mail(self) -> bool:
        return bool(can_send_mail() and self.row.email)

    def may_see_link(self) -> bool:
        return cast(User, self.request.user).role == Role.OWNER

    def list_alerts(self):
        alerts = list_portal_alerts(self.account)
        if has_second_factor(self.row):
            alerts.append("A code of the second factor is asked for, too.")
        if not self.can_mail() and not self.may_see_link():
            alerts.append(InvitationNotMailed.message)
        return alerts

    def save(self, form, at):
        return invite_affiliate(
            self.account,
            affiliate_id=self.row.slug,
            mail_url=partial(build_password_url, self.account),
            may_show=self.may_see_link(),
            at=at,
        )

    def respond(self, form, invitation):
        if invitation.is_mailed:
            return super().respond(form, invitation)
        return render_secret(
            self.model_admin,
            self.request,
            title=f"Invitation of {self.get_subject()}",
            secret=build_password_url(self.account, invitation.token),
            explanation=(
                f"{self.get_subject()} sets a password for the portal at this address,"
                " once, within 7 days."
            ),
            back_url=self.get_back_url(),
            back_text="Back to the affiliate",
        )


def list_accepted_terms(affiliate, state) -> list[tuple[str, str]]:
    """The version of the portal's terms that the affiliate accepted last."""
    if state.terms_version is None:
        return []
    text = format_html(
        'version {}{} accepted on {}: <a href="{}">texts</a>',
        state.terms_version,
        f" ({state.terms_language})" if state.terms_language else "",
        format_day(state.terms_accepted_at),
        reverse("admin:affiliate_terms", args=[affiliate.pk]),
    )
    return [("Terms of the portal", text)]


def terms_view(model_admin, request, object_id: int):
    """What an affiliate has accepted, word for word, the newest version first."""
    if not model_admin.has_view_permission(request):
        raise PermissionDenied
    affiliate = model_admin.get_object(request, object_id)
    if affiliate is None:
        raise Http404
    texts = [
        f"Version {row.label}, accepted on {format_datetime(row.accepted_at)}\n\n{row.text}\n"
        for row in list_acceptances(affiliate)
    ]
    content = "\n\n".join(texts)
    return HttpResponse(content, content_type="text/plain; charset=utf-8")


def list_portal_facts(affiliate, state) -> list[str]:
    """The language, invitation and sign-in of the affiliate, and the second factor."""
    invited_at, signed_in_at = affiliate.invited_at, affiliate.signed_in_at
    language = dict(settings.LANGUAGES).get(affiliate.language, "not chosen yet")
    return [
        f"Language: {language}",
        f"Invited: {format_datetime(invited_at) if invited_at else 'never'}",
        f"Last sign-in: {format_datetime(signed_in_at) if signed_in_at else 'never'}",
        f"Second factor: {'on' if state.has_second_factor else 'off'}",
    ]
