"""Invitations to a program: add one, see who joined, end it."""

from django import forms
from django.utils import timezone

from affiliate_site.backoffice.fields import AffiliateField, RowChoiceField
from affiliate_site.backoffice.formatters import format_affiliate, format_datetime
from affiliate_site.backoffice.forms import ServiceForm
from affiliate_site.backoffice.programs.rate_pages import AddRatePage, RatePage
from tracking.models.applications import ProgramInvitation
from tracking.services.portal_settings import build_portal_url
from tracking.services.program_invitations import create_invitation, end_invitation


def build_invitation_link(invitation: ProgramInvitation) -> str:
    """The address where people apply by an invitation."""
    return build_portal_url(invitation.account, f"apply/?invitation={invitation.public_id}")


def describe_uses(invitation: ProgramInvitation) -> str:
    """`3`, or `3 of 10`."""
    limit = f" of {invitation.max_uses:,}" if invitation.max_uses else ""
    return f"{invitation.uses:,}{limit}"


def describe_invitation(invitation: ProgramInvitation) -> tuple[str, ...]:
    """The title with what it brings, the link, how many joined, and until when."""
    brings = [
        *([invitation.group.title] if invitation.group else []),
        *([f"recruited by {format_affiliate(invitation.parent)}"] if invitation.parent else []),
    ]
    until = format_datetime(invitation.ends_at) if invitation.ends_at else "no end"
    title = f"{invitation.title} ({', '.join(brings)})" if brings else invitation.title
    return title, build_invitation_link(invitation), describe_uses(invitation), until


class AddProgramInvitationPage(AddRatePage):
    name = "add-invitation"
    title = button = "Add invitation"
    explanation = (
        "A link by which people apply for this program, also for a private one. You decide about"
        " each, unless the program approves affiliates automatically."
    )
    service = staticmethod(create_invitation)

    @classmethod
    def is_offered(cls, row):
        return row.archived_at is None

    class Form(ServiceForm):
        title = forms.CharField(help_text="For you: affiliates do not see it.")
        group = RowChoiceField(
            "affiliate_groups",
            required=False,
            help_text="Who joins by the link is in this group, if they are in none.",
        )
        parent = AffiliateField(
            required=False, help_text="Who has recruited them, if they have no parent."
        )
        max_uses = forms.IntegerField(
            label="How many people", required=False, help_text="Empty: no limit."
        )
        last_day = forms.DateField(required=False, help_text="Empty: no end.")


class EndProgramInvitationPage(RatePage):
    model = ProgramInvitation
    name = "end"
    title = button = "End invitation"
    explanation = "Nobody can apply by the link from now on. Who has joined stays."
    service = staticmethod(end_invitation)
    done_message = "{rate} was ended."

    @classmethod
    def is_offered(cls, row):
        return row.ends_at is None or row.ends_at > timezone.now()
