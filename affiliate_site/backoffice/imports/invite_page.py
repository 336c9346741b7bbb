"""Invite the affiliates whom an import made to the portal."""

from functools import cached_property, partial
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.urls import reverse
from django.utils.html import format_html, format_html_join

from affiliate_site.api.fields import parse_integer_id
from affiliate_site.backoffice.form_pages import FormPage
from affiliate_site.backoffice.formatters import format_person
from affiliate_site.backoffice.forms import ServiceForm
from affiliate_site.backoffice.object_pages import RowPage, Section
from affiliate_site.links import build_password_url
from affiliate_site.moving.tables.invitations import (
    MAX_INVITED,
    MOVED,
    PortalOff,
    invite_imported_affiliates,
    list_made_affiliates,
    list_not_invited,
    list_obstacles,
)
from tracking.models.portal import LinkPurpose
from tracking.services.portal_links import write_link_mail

MAIL_TEMPLATE = (
    '<details class="mt-2"{}><summary>{}</summary>'
    '<p class="mail-text font-semibold mt-2">{}</p>'
    '<div class="mail-text mt-2">{}</div></details>'
)
SETTINGS_LINK = '{}. <a class="underline" href="{}">Portal settings</a>'


class InvitationsForm(ServiceForm):
    language = forms.ChoiceField(
        label="Language of the mail",
        choices=settings.LANGUAGES,
        initial=settings.LANGUAGE_CODE,
        help_text="For those who have not chosen one in the portal.",
    )

    def __init__(self, *args, listed=(), **kwargs):
        self.listed = listed
        super().__init__(*args, **kwargs)

    def build_fields(self):
        """Those on the page, and those who were when it was sent."""
        shown = {it.pk: it for it in self.listed}
        if self.is_bound:
            widget = forms.CheckboxSelectMultiple()
            entries = widget.value_from_datadict(self.data, self.files, "affiliates") or ()
            sent = list(map(parse_integer_id, entries))
            made = list_made_affiliates(self.row)
            shown |= made.in_bulk([it for it in sent[:MAX_INVITED] if it])
        enrolled = self.account.enrollments.filter(affiliate__in=shown, approved=True)
        approved = set(enrolled.values_list("affiliate", flat=True))
        return {
            "affiliates": forms.MultipleChoiceField(
                label="Affiliates",
                choices=[
                    (str(pk), describe(it, is_approved=pk in approved)) for pk, it in shown.items()
                ],
                initial=[str(it.pk) for it in self.listed],  # all are ticked
            )
        }


def describe(affiliate, *, is_approved: bool) -> str:
    """Name and address of an affiliate, and what staff should know."""
    text = f"{format_person(affiliate)}, {affiliate.email}"
    return text if is_approved else f"{text} (approved in no program)"


class InviteImportedPage(FormPage):
    """Mail affiliates whom an import made why their account is here, with a link."""

    template_name = "admin/imports/invite.html"
    name = "invite"
    title = "Invite affiliates"
    button = "Send the mails"
    permission = "tracking.change_affiliate"
    form_class = InvitationsForm
    explanation = (
        "These affiliates came with this import, have an e-mail address, and were not"
        " invited yet. Each gets one mail with a link that sets a password within 7"
        " days.\nTick the parameters of old links in the settings of the programs"
        " before. An import whose affiliates were invited cannot be undone."
    )

    @classmethod
    def is_offered(cls, table_import):
        is_undone = table_import.undone_at is not None
        return not is_undone and list_not_invited(table_import).exists()

    def report_not_offered(self):
        """A second click, or a colleague: nobody gets a second mail."""
        text = "Nobody of this import is left to be invited; nobody was invited again."
        messages.info(self.request, text)

    @cached_property
    def obstacles(self):
        return list_obstacles(self.account)

    @cached_property
    def row_page(self) -> RowPage:
        return RowPage(self.request, list_not_invited(self.row), size=MAX_INVITED)

    def list_alerts(self):
        url = reverse("admin:portal_settings")
        return [
            format_html(SETTINGS_LINK, it.text, url) if isinstance(it, PortalOff) else f"{it.text}."
            for it in self.obstacles
        ]

    def list_sections(self):
        """The mail in each language, to the first affiliate of the list."""
        if not self.row_page.rows:
            return []
        affiliate = self.row_page.rows[0]
        affiliate.account, affiliate.language = self.account, None
        url = build_password_url(self.account, "…")
        mails = [
            write_link_mail(
                affiliate,
                LinkPurpose.SET_PASSWORD,
                url,
                reason=MOVED,
                language=code,
            )
            for code, _ in settings.LANGUAGES
        ]
        lines = (
            ("" if number else " open", name, *mail)
            for number, ((_, name), mail) in enumerate(zip(settings.LANGUAGES, mails, strict=True))
        )
        return [Section("The mail", lines=format_html_join("", MAIL_TEMPLATE, lines))]

    def get_form_kwargs(self):
        return super().get_form_kwargs() | {"listed": self.row_page.rows}

    def save(self, form, at):
        pks = set(map(int, form.values["affiliates"]))
        count = invite_imported_affiliates(
            self.account,
            public_id=self.row.public_id,
            affiliate_pks=pks,
            mail_url=partial(build_password_url, self.account),
            language=form.values["language"],
            at=at,
        )
        return count, len(pks) - count

    def get_done_message(self, result):
        count, _ = result
        return f"Affiliates invited by mail: {count:,}."

    def list_warnings(self, result):
        _, left_out = result
        if not left_out:
            return []
        return [f"Left out, because they were invited meanwhile: {left_out:,}."]

    def get_context_data(self, **kwargs) -> dict[str, Any]:
        """Add the links to further pages of the list."""
        return super().get_context_data(**kwargs) | {"row_page": self.row_page}
