"""Creatives: add them, archive them, and announce them to affiliates."""

import secrets
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.errors import InvalidSetting
from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from accounts.services.accounts import validate_length, validate_name
from accounts.services.changes import log_event
from tracking.errors import CreativeNotFound
from tracking.models.creatives import Creative, CreativeKind
from tracking.models.portal import Notice
from tracking.models.programs import Program
from tracking.services.mails import build_mail, use_language_of
from tracking.services.portal_profiles import wants_notice
from tracking.services.programs import ensure_not_archived, get_program

CREATIVE_MAIL = "creative"
MAX_TEXT_LENGTH = 2000


@dataclass(frozen=True)
class StoredImage:
    """An image that has been stored as a file."""

    file_name: str
    media_type: str
    width: int
    height: int


def create_creative(
    account: Account,
    *,
    program_id: str,
    title: str,
    at: datetime,
    text: str = "",
    image: StoredImage | None = None,
    announced_url: str = "",
) -> Creative:
    """Add a banner, if there is an `image`, or a text to a program.

    With `announced_url`, the address of the page with it, the approved affiliates of
    the program get a mail.
    """
    validate_name("The title", title, path="title")
    validate_length("The text", text, MAX_TEXT_LENGTH, path="text")
    if bool(text.strip()) == bool(image):
        rule = "an image or a text, not both"
        raise InvalidSetting(setting="The creative", rule=rule, path="text")
    program = get_program(account, program_id)
    ensure_not_archived(program)
    with transaction.atomic():
        creative = account.creatives.create(
            program=program,
            title=title,
            kind=CreativeKind.IMAGE if image else CreativeKind.TEXT,
            text=text.strip(),
            created_at=at,
            file_name=image.file_name if image else "",
            media_type=image.media_type if image else "",
            width=image.width if image else None,
            height=image.height if image else None,
        )
        log_event(account, "creative.created", creative, at=at, program=program.slug)
        if announced_url:
            _queue_mails(creative, program, url=announced_url, at=at)
    return creative


def archive_creative(account: Account, *, creative_id: int, at: datetime) -> Creative:
    """Hide a creative from affiliates; idempotent. Banners in use stay."""
    creative = get_or_raise(account.creatives, CreativeNotFound, pk=creative_id)
    with transaction.atomic():
        if creative.update_row(expected={"archived_at": None}, archived_at=at):
            log_event(account, "creative.archived", creative, at=at)
    return creative


def unarchive_creative(account: Account, *, creative_id: int, at: datetime) -> Creative:
    """Show a creative to affiliates again; idempotent."""
    creative = get_or_raise(account.creatives, CreativeNotFound, pk=creative_id)
    with transaction.atomic():
        is_archived = {"archived_at__isnull": False}
        if creative.update_row(expected=is_archived, archived_at=None):
            log_event(account, "creative.unarchived", creative, at=at)
    return creative


def _queue_mails(creative: Creative, program: Program, *, url: str, at: datetime) -> None:
    """Store a mail to each approved affiliate of the program who has an address."""
    account = creative.account
    approved = account.enrollments.not_deleted().filter(
        program=program, approved=True, affiliate__email__gt=""
    )
    mails = []
    for enrollment in approved.select_related("affiliate").order_by("affiliate"):
        affiliate = enrollment.affiliate
        if affiliate.has_bounced or not wants_notice(affiliate, Notice.NEW_CREATIVE):
            continue
        affiliate.account = account
        names = {
            "affiliate": affiliate.firstname,
            "account": account.name,
            "program": program.title,
            "title": creative.title,
            "url": url,
        }
        with use_language_of(affiliate):
            subject = _("New from {account}: {title}").format(**names)
            text = _(
                "Hello {affiliate},\n\n{account} has something new for {program}:"
                " {title}\n\nYou find it here, with your link in it:\n{url}\n"
            ).format(**names)
        mails.append(
            build_mail(
                affiliate,
                kind=CREATIVE_MAIL,
                about=secrets.token_urlsafe(),
                subject=subject,
                text=text,
                at=at,
            )
        )
    account.mails.bulk_create(mails)
