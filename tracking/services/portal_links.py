"""Links of the portal: each is for one affiliate and one purpose, and works once.

Tokens have 256 random bits, and only their digests are stored.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import transaction
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models.accounts import Account
from accounts.models.users import User
from accounts.services.api_keys import calculate_digest
from accounts.services.changes import log_event
from accounts.services.notifications import can_send_mail
from tracking.errors import InvitationNotMailed, LinkExpired
from tracking.models.affiliates import Affiliate
from tracking.models.mails import Mail
from tracking.models.portal import LinkPurpose, PortalLink
from tracking.services.affiliates import get_affiliate
from tracking.services.mails import (
    LINK_REQUESTS,
    PASSWORD_REQUEST,
    PORTAL_LINK_MAIL,
    SIGN_IN_REQUEST,
    queue_mail,
    queue_mail_to,
    use_language_of,
)
from tracking.services.portal_settings import build_portal_url, get_portal_settings

LINK_LIFETIMES = {
    LinkPurpose.SIGN_IN: timedelta(minutes=15),
    LinkPurpose.SET_PASSWORD: timedelta(days=7),
    LinkPurpose.VIEW: timedelta(minutes=1),
    LinkPurpose.SECOND_FACTOR: timedelta(minutes=5),
    LinkPurpose.LEAVE_EMAIL: timedelta(hours=24),
    LinkPurpose.ENTER_EMAIL: timedelta(hours=24),
}
# Anybody can ask for mail to an affiliate. The last link works when the window ends.
MAX_MAILS_PER_WINDOW = 3
MAIL_WINDOW = timedelta(minutes=15)
MAX_REQUESTS = 100  # looked up at once
REQUESTS = {
    LinkPurpose.SIGN_IN: SIGN_IN_REQUEST,
    LinkPurpose.SET_PASSWORD: PASSWORD_REQUEST,
}
PURPOSES = {kind: purpose for purpose, kind in REQUESTS.items()}
PATHS = {LinkPurpose.SIGN_IN: "sign-in", LinkPurpose.SET_PASSWORD: "password"}
SUBJECTS = {
    LinkPurpose.SIGN_IN: gettext_lazy("Sign in to {account}"),
    LinkPurpose.SET_PASSWORD: gettext_lazy("Set your password for {account}"),
}
TEXTS = {
    LinkPurpose.SIGN_IN: gettext_lazy("Sign in within 15 minutes at this address:"),
    LinkPurpose.SET_PASSWORD: gettext_lazy("Set your password within 7 days at this address:"),
}


@dataclass(frozen=True)
class PortalInvitation:
    """The token of a link to set a password; it works once until `expires_at`."""

    affiliate: Affiliate
    token: str = field(repr=False)
    expires_at: datetime
    is_mailed: bool


def invite_affiliate(
    account: Account,
    *,
    affiliate_id: str,
    mail_url: Callable[[str], str] | None = None,
    may_show: bool = True,
    reason: Promise | None = None,
    language: str = "",
    at: datetime,
) -> PortalInvitation:
    """Create a link to set a password; earlier ones end.

    With `mail_url`, which returns the address for a token, it is mailed where it can
    be, with `reason` and in `language` as `write_link_mail` says. Else the caller shows
    it to somebody who could sign in as the affiliate: the audit log names them. Raises
    `AffiliateNotFound`, and `InvitationNotMailed` if the caller may not show it.
    """
    purpose = LinkPurpose.SET_PASSWORD
    with transaction.atomic():
        affiliate = get_affiliate(account, affiliate_id, lock=True)
        affiliate.account = account
        earlier = account.portal_links.filter(affiliate=affiliate, used_at=None)
        earlier.filter(purpose=purpose).update(used_at=at)
        link, token = create_link(affiliate, purpose, at=at)
        affiliate.update_row(invited_at=at)
        log_event(account, "affiliate.invited", affiliate, at=at)
        is_mailed = bool(mail_url and affiliate.email and can_send_mail())
        if mail_url and is_mailed:
            url = mail_url(token)
            _queue_link(link, url, reason=reason, language=language, at=at)
        elif may_show:
            log_event(account, "affiliate.invitation_shown", affiliate, at=at)
        else:
            raise InvitationNotMailed
    return PortalInvitation(affiliate, token, link.expires_at, is_mailed)


def create_view_link(account: Account, *, affiliate_id: str, viewed_by: User, at: datetime) -> str:
    """Return the token of a link by which staff see the portal as an affiliate does.

    The audit log gets it. Raises `AffiliateNotFound`.
    """
    with transaction.atomic():
        affiliate = get_affiliate(account, affiliate_id, lock=True)
        affiliate.account = account
        _, token = create_link(affiliate, LinkPurpose.VIEW, viewed_by=viewed_by, at=at)
        log_event(account, "affiliate.viewed", affiliate, at=at)
    return token


def send_welcome_mail(account: Account, affiliate: Affiliate, *, at: datetime) -> None:
    """Invite a new affiliate by mail, if the portal is on and mail can be sent."""
    can_invite = affiliate.email and can_send_mail()
    if can_invite and get_portal_settings(account).is_on:
        invite_affiliate(
            account,
            affiliate_id=affiliate.slug,
            mail_url=lambda token: build_portal_url(account, f"password/{token}/"),
            at=at,
        )


def request_portal_link(
    account: Account, *, email: str, purpose: LinkPurpose, at: datetime
) -> None:
    """Ask for a mail with a link to the affiliate with this address, if there is one.

    The request is stored without looking the address up, so neither the answer nor its
    time depends on whether an affiliate has it.
    """
    if can_send_mail():
        queue_mail_to(
            account,
            email.strip(),
            affiliate=None,
            kind=REQUESTS[purpose],
            about=secrets.token_urlsafe(),
            subject="",
            text="",
            at=at,
        )


def queue_requested_links(account: Account, *, at: datetime) -> None:
    """Queue the mails that were asked for, and delete the requests."""
    requests = account.mails.filter(kind__in=LINK_REQUESTS, due_at__lte=at)
    for pk in list(requests.order_by("id").values_list("pk", flat=True)[:MAX_REQUESTS]):
        with transaction.atomic():
            rows = requests.select_for_update(skip_locked=True, of=("self",))
            asked = rows.filter(pk=pk).first()
            if asked is not None:
                _queue_requested_link(account, asked, at=at)
                requests.filter(pk=pk).delete()


def _queue_requested_link(account: Account, asked: Mail, *, at: datetime) -> None:
    purpose = PURPOSES[asked.kind]
    affiliate = find_affiliate_by_email(account, asked.recipient)
    locked = affiliate and lock_affiliate(affiliate)
    if locked is None or locked.email != (affiliate and affiliate.email):
        return  # the address is another one since
    links = account.portal_links.filter(affiliate=locked, purpose=purpose)
    recent = links.filter(created_at__gt=at - MAIL_WINDOW)
    if recent.count() >= MAX_MAILS_PER_WINDOW:
        return
    link, token = create_link(locked, purpose, at=at)
    url = build_portal_url(account, f"{PATHS[purpose]}/{token}/")
    _queue_link(link, url, at=at)


def find_affiliate_by_email(account: Account, email: str) -> Affiliate | None:
    """Return the affiliate with this address, of whom there is one at most."""
    rows = account.affiliates.not_deleted().with_email(email.strip())
    return rows.select_related("account").first()


def lock_affiliate(affiliate: Affiliate) -> Affiliate | None:
    """Lock the affiliate, as it is now; None if it is deleted."""
    rows = affiliate.account.affiliates.not_deleted().filter(pk=affiliate.pk)
    locked: Affiliate | None = rows.select_for_update(no_key=True).first()
    if locked is not None:
        locked.account = affiliate.account
    return locked


def create_link(
    affiliate: Affiliate,
    purpose: LinkPurpose,
    *,
    viewed_by: User | None = None,
    new_email: str | None = None,
    at: datetime,
) -> tuple[PortalLink, str]:
    """Create a link of an affiliate that is locked; return it with its token."""
    links = affiliate.account.portal_links
    token = secrets.token_urlsafe(32)
    link = links.create(
        affiliate=affiliate,
        viewed_by=viewed_by,
        purpose=purpose,
        token_hash=calculate_digest(token),
        created_at=at,
        expires_at=at + LINK_LIFETIMES[purpose],
        new_email=new_email,
    )
    return link, token


def write_link_mail(
    affiliate: Affiliate,
    purpose: LinkPurpose,
    url: str,
    *,
    reason: Promise | None = None,
    language: str = "",
) -> tuple[str, str]:
    """Return subject and text of the mail with a link.

    `reason` says why it comes, before the link; it can have `{account}`. `language` is
    for affiliates who have chosen none.
    """
    account = affiliate.account.name
    with use_language_of(affiliate, default=language):
        parts = [
            _("Hello {name},").format(name=affiliate.firstname),
            *([str(reason).format(account=account)] if reason else []),
            f"{TEXTS[purpose]}\n{url}",
            _("It works once. If you did not expect this mail, ignore it."),
        ]
        subject = str(SUBJECTS[purpose]).format(account=account)
    return subject, "\n\n".join(parts) + "\n"


def _queue_link(
    link: PortalLink,
    url: str,
    *,
    reason: Promise | None = None,
    language: str = "",
    at: datetime,
) -> None:
    subject, text = write_link_mail(
        link.affiliate,
        LinkPurpose(link.purpose),
        url,
        reason=reason,
        language=language,
    )
    queue_mail(
        link.affiliate,
        kind=PORTAL_LINK_MAIL,
        about=str(link.pk),
        subject=subject,
        text=text,
        at=at,
    )


def get_link(account: Account, token: str, *purposes: LinkPurpose, at: datetime) -> PortalLink:
    """Return a link for one of these purposes; raise `LinkExpired`."""
    links = account.portal_links.select_related("affiliate", "account", "viewed_by")
    link: PortalLink | None = links.filter(
        token_hash=calculate_digest(token),
        purpose__in=purposes,
        used_at=None,
        expires_at__gt=at,
        affiliate__deleted_at=None,
    ).first()
    if link is None:
        raise LinkExpired
    link.affiliate.account = account
    return link


def use_link(link: PortalLink, *, at: datetime) -> Affiliate:
    """Lock the affiliate of a link and use the link up."""
    affiliate = lock_affiliate(link.affiliate)
    if affiliate is None or not link.update_row(expected={"used_at": None}, used_at=at):
        raise LinkExpired
    return affiliate
