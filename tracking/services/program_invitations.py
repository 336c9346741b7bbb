"""Invitations to programs: links by which people join, with a group and a parent."""

import re
from datetime import date, datetime

from django.db import transaction
from django.db.models import F, Q

from accounts.days import A_DAY, start_of_day
from accounts.errors import InvalidSetting
from accounts.ids import generate_public_id
from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from accounts.services.accounts import validate_name
from accounts.services.changes import log_event
from tracking.errors import InvitationEnded
from tracking.models.affiliates import Affiliate, AffiliateGroup
from tracking.models.applications import ProgramInvitation
from tracking.models.programs import Program
from tracking.services.programs import ensure_not_archived

INVITATION_ID = re.compile(r"pi_[A-Za-z0-9]{16}", re.ASCII)
MAX_USES = 100_000
HAS_ROOM = Q(max_uses=None) | Q(uses__lt=F("max_uses"))


def create_invitation(
    account: Account,
    *,
    program: Program,
    title: str,
    group: AffiliateGroup | None = None,
    parent: Affiliate | None = None,
    max_uses: int | None = None,
    last_day: date | None = None,
    at: datetime,
) -> ProgramInvitation:
    """Create a link for at most `max_uses` people, until the end of `last_day`.

    Raises `InvalidSetting` and `ArchivedProgramReadOnly`.
    """
    validate_name("The title", title, path="title")
    if max_uses is not None and not 1 <= max_uses <= MAX_USES:
        rule = f"1 to {MAX_USES:,}"
        raise InvalidSetting(setting="The number of people", rule=rule, path="max_uses")
    if last_day is not None and last_day < account.get_day(at):
        raise InvalidSetting(setting="The last day", rule="today or later", path="last_day")
    ensure_not_archived(program)
    with transaction.atomic():
        invitation: ProgramInvitation = account.program_invitations.create(
            program=program,
            public_id=generate_public_id("pi"),
            title=title,
            group=group,
            parent=parent,
            max_uses=max_uses,
            ends_at=last_day and start_of_day(last_day + A_DAY, account.zone),
            created_at=at,
        )
        log_event(account, "program_invitation.created", invitation, at=at, program=program.slug)
    return invitation


def end_invitation(account: Account, *, pk: int, at: datetime) -> ProgramInvitation:
    """End a link: nobody can apply by it from now on."""
    with transaction.atomic():
        rows = account.program_invitations.all()
        invitation = get_or_raise(rows, InvitationEnded, pk=pk)
        invitation.update_row(ends_at=at)
        log_event(account, "program_invitation.ended", invitation, at=at)
    return invitation


def get_invitation(account: Account, public_id: str, *, at: datetime) -> ProgramInvitation:
    """Get an invitation by which people can apply; raise `InvitationEnded`."""
    if not INVITATION_ID.fullmatch(public_id):
        raise InvitationEnded
    rows = account.program_invitations.select_related("program")
    rows = rows.filter(Q(ends_at=None) | Q(ends_at__gt=at), HAS_ROOM)
    return get_or_raise(rows, InvitationEnded, public_id=public_id)


def use_invitation(account: Account, invitation: ProgramInvitation) -> None:
    """Count who joins; raise `InvitationEnded` if others were faster."""
    rows = account.program_invitations.filter(HAS_ROOM, pk=invitation.pk)
    if not rows.update(uses=F("uses") + 1):
        raise InvitationEnded
