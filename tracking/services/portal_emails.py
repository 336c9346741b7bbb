"""Another e-mail address of an affiliate: both addresses confirm it.

A stolen session or password is not enough to take the mail away, and nobody
learns whether an address belongs to an affiliate before they confirm that it is theirs.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from accounts.email_addresses import fold_email
from accounts.models.accounts import Account
from accounts.services.changes import log_event
from accounts.services.notifications import can_send_mail
from tracking.errors import (
    DuplicateEmail,
    EmailNotAvailable,
    MailNotSent,
    SameEmail,
    TooManyEmailChanges,
)
from tracking.models.affiliates import Affiliate
from tracking.models.portal import LinkPurpose, PortalLink
from tracking.services.affiliates import update_affiliate
from tracking.services.mails import PORTAL_LINK_MAIL, queue_mail, use_language_of
from tracking.services.portal_access import act_as, confirm_password
from tracking.services.portal_links import create_link, get_link, use_link
from tracking.services.portal_settings import get_contact

PURPOSES = (LinkPurpose.LEAVE_EMAIL, LinkPurpose.ENTER_EMAIL)
# Each sends a mail to an address that may belong to another person.
MAX_CHANGES_PER_WINDOW = 5
WINDOW = timedelta(days=1)


def ask_for_email_change(
    affiliate: Affiliate,
    *,
    email: str,
    password: str,
    url_for: Callable[[str], str],
    at: datetime,
) -> None:
    """Mail a link to the new address and one to the present address, if there is one.

    An earlier change that waits ends. Raises `WrongPassword`, `SameEmail`,
    `MailNotSent` and `TooManyEmailChanges`.
    """
    if fold_email(email) == affiliate.email_folded:
        raise SameEmail
    if not can_send_mail():
        raise MailNotSent
    with confirm_password(affiliate, password) as locked:
        account = locked.account
        asked = _list_links(locked).filter(purpose=LinkPurpose.ENTER_EMAIL)
        if asked.filter(created_at__gt=at - WINDOW).count() >= MAX_CHANGES_PER_WINDOW:
            raise TooManyEmailChanges
        _list_waiting(locked, at=at).update(used_at=at, expires_at=at)
        for purpose in PURPOSES if locked.email else (LinkPurpose.ENTER_EMAIL,):
            link, token = create_link(locked, purpose, new_email=email, at=at)
            _queue_mail(link, url_for(token), at=at)
        log_event(account, "affiliate.email_change_asked", locked, at=at)


def get_email_link(account: Account, token: str, *, at: datetime) -> PortalLink:
    """Return a link of a change that waits; raise `LinkExpired`."""
    return get_link(account, token, *PURPOSES, at=at)


def find_email_change(affiliate: Affiliate, *, at: datetime) -> str:
    """Return the new address that waits to be confirmed; empty without one."""
    link: PortalLink | None = _list_waiting(affiliate, at=at).first()
    return (link and link.new_email) or ""


def confirm_email_change(account: Account, token: str, *, at: datetime) -> bool:
    """Use a link; return whether that changed the address: the last link does.

    All sessions and links of the affiliate end then. Raises `LinkExpired` and
    `EmailNotAvailable`.
    """
    link = get_email_link(account, token, at=at)
    with transaction.atomic(), act_as(link.affiliate):
        affiliate = use_link(link, at=at)
        if _list_waiting(affiliate, at=at).exists():
            return False
        try:
            update_affiliate(
                account,
                affiliate_id=affiliate.slug,
                changes={"email": link.new_email},
                at=at,
            )
        except DuplicateEmail:
            raise EmailNotAvailable from None
    return True


def cancel_email_change(account: Account, token: str, *, at: datetime) -> None:
    """End a change that waits. Raises `LinkExpired`."""
    link = get_email_link(account, token, at=at)
    with transaction.atomic(), act_as(link.affiliate):
        affiliate = use_link(link, at=at)
        _list_waiting(affiliate, at=at).update(used_at=at, expires_at=at)
        log_event(account, "affiliate.email_change_canceled", affiliate, at=at)


def _list_links(affiliate: Affiliate) -> QuerySet[PortalLink]:
    links: QuerySet[PortalLink] = affiliate.account.portal_links.all()
    return links.filter(affiliate=affiliate, purpose__in=PURPOSES)


def _list_waiting(affiliate: Affiliate, *, at: datetime) -> QuerySet[PortalLink]:
    """The links of the present change that were not used: a new one ends the others."""
    return _list_links(affiliate).filter(used_at=None, expires_at__gt=at)


def _queue_mail(link: PortalLink, url: str, *, at: datetime) -> None:
    affiliate = link.affiliate
    values = {
        "name": affiliate.firstname,
        "account": affiliate.account.name,
        "contact": get_contact(affiliate.account),
        "email": link.new_email,
        "url": url,
    }
    with use_language_of(affiliate):
        subject = _("Confirm your new e-mail address for {account}")
        if link.purpose == LinkPurpose.LEAVE_EMAIL:
            text = _(
                "Hello {name},\n\nsomebody asked to change your e-mail address at"
                " {account} to {email}.\n\nIf it was you, confirm it within 24 hours at"
                " this address:\n{url}\n\nIf it was not you, cancel it there, set a new"
                " password, and write to {contact}.\n"
            )
        else:
            text = _(
                "Hello,\n\nsomebody asked to use this e-mail address as an affiliate of"
                " {account}.\n\nIf it was you, confirm it within 24 hours at this"
                " address:\n{url}\n\nYour present address has to confirm it, too. If"
                " you did not expect this mail, ignore it.\n"
            )
        subject, text = subject.format(**values), text.format(**values)
    queue_mail(
        affiliate,
        kind=PORTAL_LINK_MAIL,
        about=str(link.pk),
        subject=subject,
        text=text,
        recipient=link.new_email if link.purpose == LinkPurpose.ENTER_EMAIL else affiliate.email,
        at=at,
    )
