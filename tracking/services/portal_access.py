"""Who gets into the portal: passwords, sessions, and links that work once.

Tokens have 256 random bits, and only their digests are stored. Passwords are hashed
outside of transactions, because that is slow by design.
"""

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.hashers import check_password, make_password
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.actor import get_actor, use_actor
from accounts.compiled_queries import compiled
from accounts.models.accounts import Account
from accounts.models.users import User
from accounts.services.api_keys import calculate_digest
from accounts.services.changes import log_event
from accounts.services.notifications import can_send_mail
from accounts.services.retention import delete_in_batches
from tracking.errors import (
    CodeRequired,
    LinkExpired,
    SignInRefused,
    WeakPassword,
    WrongPassword,
)
from tracking.models.affiliates import Affiliate
from tracking.models.portal import LinkPurpose, PortalLink, PortalSession
from tracking.services.affiliates import get_affiliate, lock_hierarchy
from tracking.services.mails import (
    APPLICATION_MAIL,
    PORTAL_LINK_MAIL,
    queue_mail,
    use_language_of,
)
from tracking.services.portal_settings import build_portal_url, get_portal_settings
from tracking.services.second_factor import has_second_factor, use_code

SESSION_LIFETIME = timedelta(days=30)
LINK_LIFETIMES = {
    LinkPurpose.SIGN_IN: timedelta(minutes=15),
    LinkPurpose.SET_PASSWORD: timedelta(days=7),
    LinkPurpose.VIEW: timedelta(minutes=1),
    LinkPurpose.SECOND_FACTOR: timedelta(minutes=5),
    LinkPurpose.LEAVE_EMAIL: timedelta(hours=24),
    LinkPurpose.ENTER_EMAIL: timedelta(hours=24),
}
VIEW_LIFETIME = timedelta(minutes=30)
VIEW_PERMISSION = "tracking.change_affiliate"
APPLICATION_LIFETIME = timedelta(hours=24)
# Anybody can ask for mail to an affiliate. The last link works when the window ends.
MAX_MAILS_PER_WINDOW = 3
MAIL_WINDOW = timedelta(minutes=15)
NO_PASSWORD = "!"  # noqa: S105 - no password has this hash
SUBJECTS = {
    LinkPurpose.SIGN_IN: gettext_lazy("Sign in to {account}"),
    LinkPurpose.SET_PASSWORD: gettext_lazy("Set your password for {account}"),
}
TEXTS = {
    LinkPurpose.SIGN_IN: gettext_lazy("Sign in within 15 minutes at this address:"),
    LinkPurpose.SET_PASSWORD: gettext_lazy(
        "Set your password within 7 days at this address:"
    ),
}


@dataclass(frozen=True)
class PortalInvitation:
    """The token of a link to set a password; it works once until `expires_at`."""

    affiliate: Affiliate
    token: str = field(repr=False)
    expires_at: datetime


def sign_in(account: Account, *, email: str, password: str, at: datetime) -> str:
    """Return the token of a new session.

    Raises `SignInRefused` whatever is wrong. One password is hashed in any case: the
    time does not tell whether the affiliate exists. Raises `CodeRequired` as all
    functions that start a session of an affiliate who has a second factor.
    """
    affiliate = find_affiliate_by_email(account, email)
    hashed = _check_password(affiliate, password)
    if affiliate is None or hashed is None:
        raise SignInRefused
    with transaction.atomic():
        locked = _lock(affiliate)
        if locked is None or locked.password != affiliate.password:
            raise SignInRefused
        if hashed != locked.password:
            locked.update_row(password=hashed)
        entry = _enter(locked, at=at)
    return _open(entry)


@compiled
def open_session(
    account: Account, digest: str, at: datetime
) -> QuerySet[PortalSession]:
    """The session with this digest, with its affiliate, unless it is over."""
    sessions = PortalSession.objects.of(account)
    sessions = sessions.select_related("affiliate", "viewed_by")
    return sessions.filter(
        token_hash=digest, expires_at__gt=at, affiliate__deleted_at=None
    )


def find_session(account: Account, token: str, *, at: datetime) -> PortalSession | None:
    """Return the session with this token and its affiliate.

    That of staff ends when they lose their access, or the right to look.
    """
    digest = calculate_digest(token)
    session = open_session.first(account=account, digest=digest, at=at)
    if session is None:
        return None
    if session.viewed_by and not session.viewed_by.has_perm(VIEW_PERMISSION):
        return None
    session.affiliate.account = account
    return session


def sign_out(account: Account, token: str) -> None:
    """End the session with this token."""
    account.portal_sessions.filter(token_hash=calculate_digest(token)).delete()


def sign_out_everywhere(affiliate: Affiliate) -> None:
    """End all sessions of an affiliate."""
    affiliate.account.portal_sessions.filter(affiliate=affiliate).delete()


def invite_affiliate(
    account: Account,
    *,
    affiliate_id: str,
    mail_url: Callable[[str], str] | None = None,
    at: datetime,
) -> PortalInvitation:
    """Create a link to set a password, for staff to hand out; earlier ones end.

    With `mail_url`, which returns the address for a token, it is mailed, too. Raises
    `AffiliateNotFound`.
    """
    purpose = LinkPurpose.SET_PASSWORD
    with transaction.atomic():
        affiliate = get_affiliate(account, affiliate_id, lock=True)
        affiliate.account = account
        earlier = account.portal_links.filter(affiliate=affiliate, used_at=None)
        earlier.filter(purpose=purpose).update(used_at=at)
        link, token = create_link(affiliate, purpose, at=at)
        if mail_url and affiliate.email:
            _queue_link(link, mail_url(token), at=at)
        log_event(account, "affiliate.invited", affiliate, at=at)
    return PortalInvitation(affiliate, token, link.expires_at)


def create_view_link(
    account: Account, *, affiliate_id: str, viewed_by: User, at: datetime
) -> str:
    """Return the token of a link by which staff see the portal as an affiliate does.

    The audit log gets it. Raises `AffiliateNotFound`.
    """
    with transaction.atomic():
        affiliate = get_affiliate(account, affiliate_id, lock=True)
        affiliate.account = account
        _, token = create_link(affiliate, LinkPurpose.VIEW, viewed_by=viewed_by, at=at)
        log_event(account, "affiliate.viewed", affiliate, at=at)
    return token


def start_view(account: Account, token: str, *, at: datetime) -> str:
    """Use a link to see the portal as an affiliate; return the token of a session.

    Raises `LinkExpired`.
    """
    link = get_link(account, token, LinkPurpose.VIEW, at=at)
    with transaction.atomic():
        return _create_session(use_link(link, at=at), link.viewed_by, at=at)


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


def send_portal_link(
    account: Account,
    *,
    email: str,
    purpose: str,
    url_for: Callable[[str], str],
    at: datetime,
) -> None:
    """Mail a link to the affiliate with this address, if there is one.

    `url_for` returns the address for a token. Hashing takes most of the time, so that
    it does not tell whether the affiliate exists.
    """
    make_password(secrets.token_urlsafe())
    affiliate = find_affiliate_by_email(account, email)
    if affiliate is None or not can_send_mail():
        return
    links = account.portal_links.filter(affiliate=affiliate, purpose=purpose)
    with transaction.atomic():
        locked = _lock(affiliate)
        recent = links.filter(created_at__gt=at - MAIL_WINDOW)
        if locked is None or recent.count() >= MAX_MAILS_PER_WINDOW:
            return
        link, token = create_link(locked, LinkPurpose(purpose), at=at)
        _queue_link(link, url_for(token), at=at)


def use_sign_in_link(account: Account, token: str, *, at: datetime) -> str:
    """Use a link to sign in; return the token of a new session.

    Raises `LinkExpired`.
    """
    link = get_link(account, token, LinkPurpose.SIGN_IN, at=at)
    with transaction.atomic():
        entry = _enter(use_link(link, at=at), at=at)
    return _open(entry)


def enter_code(account: Account, token: str, *, code: str, at: datetime) -> str:
    """Finish a sign-in by a code of the second factor; return the token of a session.

    `token` is that of `CodeRequired`. Raises `WrongCode` and `LinkExpired`.
    """
    link = get_link(account, token, LinkPurpose.SECOND_FACTOR, at=at)
    with transaction.atomic(), act_as(link.affiliate):
        use_code(link.affiliate, code=code, at=at)
        return _create_session(use_link(link, at=at), at=at)


def set_portal_password(
    account: Account, token: str, *, password: str, at: datetime
) -> str:
    """Set the password with a link for that; return the token of a new session.

    All other sessions and links of the affiliate end. Raises `LinkExpired` and
    `WeakPassword`.
    """
    link = get_link(account, token, LinkPurpose.SET_PASSWORD, at=at)
    hashed = _hash_new_password(link.affiliate, password)
    with transaction.atomic():
        affiliate = use_link(link, at=at)
        _set_password(affiliate, hashed, at=at)
        entry = _enter(affiliate, at=at)
    return _open(entry)


def change_portal_password(
    affiliate: Affiliate, *, old_password: str, password: str, at: datetime
) -> str:
    """Change the password; return the token of a new session.

    All other sessions and links of the affiliate end. Raises `WrongPassword` and
    `WeakPassword`.
    """
    if _check_password(affiliate, old_password) is None:
        raise WrongPassword
    hashed = _hash_new_password(affiliate, password)
    with transaction.atomic():
        locked = _lock(affiliate)
        if locked is None or locked.password != affiliate.password:
            raise WrongPassword
        _set_password(locked, hashed, at=at)
        return _create_session(locked, at=at)


@contextmanager
def act_as(affiliate: Affiliate) -> Iterator[None]:
    """Make the affiliate the actor of the audit log within the block."""
    with use_actor(f"affiliate {affiliate.pk}", get_actor().trace_id):
        yield


@contextmanager
def confirm_password(
    affiliate: Affiliate, password: str, *, locks_hierarchy: bool = False
) -> Iterator[Affiliate]:
    """Run a block in a transaction, as the affiliate, whom it locks.

    A session alone is not enough for what the block does. Raises `WrongPassword`, also
    if the password changed meanwhile.
    """
    if _check_password(affiliate, password) is None:
        raise WrongPassword
    with transaction.atomic(), act_as(affiliate):
        if locks_hierarchy:  # before the affiliate
            lock_hierarchy(affiliate.account)
        locked = _lock(affiliate)
        if locked is None or locked.password != affiliate.password:
            raise WrongPassword
        yield locked


def delete_expired_portal_rows(account: Account, *, at: datetime, dry_run: bool) -> int:
    """Delete sessions, links and applications that are over, and mail to those who
    did not confirm; return their number."""
    tables: tuple[Any, ...] = (
        account.portal_sessions,
        account.portal_links,
        account.portal_applications,
    )
    strangers = account.mails.filter(kind=APPLICATION_MAIL, affiliate=None)
    deleted = delete_in_batches(
        strangers.filter(created_at__lte=at - APPLICATION_LIFETIME), dry_run=dry_run
    )
    return deleted + sum(
        delete_in_batches(rows.filter(expires_at__lte=at), dry_run=dry_run)
        for rows in tables
    )


def find_affiliate_by_email(account: Account, email: str) -> Affiliate | None:
    """Return the affiliate with this address, of whom there is one at most."""
    rows = account.affiliates.not_deleted().with_email(email.strip())
    return rows.select_related("account").first()


def _check_password(affiliate: Affiliate | None, password: str) -> str | None:
    """Return the hash to keep if the password is right, else None.

    It is another one if passwords are hashed in another way now.
    """
    stored = affiliate.password if affiliate else NO_PASSWORD
    renewed: list[str] = []

    def renew(raw_password: str) -> None:
        renewed.append(make_password(raw_password))

    if not check_password(password, stored, renew):
        return None
    return renewed[0] if renewed else stored


def _hash_new_password(affiliate: Affiliate, password: str) -> str:
    try:
        validate_password(password, affiliate)  # type: ignore[arg-type]  # has `email`
    except ValidationError as error:
        raise WeakPassword(reason=" ".join(error.messages)) from None
    return make_password(password)


def _lock(affiliate: Affiliate) -> Affiliate | None:
    """Lock the affiliate, as it is now; None if it is deleted."""
    rows = affiliate.account.affiliates.not_deleted().filter(pk=affiliate.pk)
    locked: Affiliate | None = rows.select_for_update(no_key=True).first()
    if locked is not None:
        locked.account = affiliate.account
    return locked


def _create_session(
    affiliate: Affiliate, viewed_by: User | None = None, *, at: datetime
) -> str:
    lifetime = VIEW_LIFETIME if viewed_by else SESSION_LIFETIME
    token = secrets.token_urlsafe(32)
    affiliate.account.portal_sessions.create(
        affiliate=affiliate,
        viewed_by=viewed_by,
        token_hash=calculate_digest(token),
        created_at=at,
        expires_at=at + lifetime,
    )
    return token


def _enter(affiliate: Affiliate, *, at: datetime) -> tuple[str, bool]:
    """Return the token of a session, or of a link at which the code is due; which."""
    if not has_second_factor(affiliate):
        return _create_session(affiliate, at=at), True
    return create_link(affiliate, LinkPurpose.SECOND_FACTOR, at=at)[1], False


def _open(entry: tuple[str, bool]) -> str:
    """Return the token of a session, after the transaction; raise `CodeRequired`."""
    token, is_session = entry
    if not is_session:
        raise CodeRequired(token=token)
    return token


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


def _queue_link(link: PortalLink, url: str, *, at: datetime) -> None:
    affiliate, purpose = link.affiliate, LinkPurpose(link.purpose)
    with use_language_of(affiliate):
        hello = _("Hello {name},").format(name=affiliate.firstname)
        once = _("It works once. If you did not expect this mail, ignore it.")
        text = f"{hello}\n\n{TEXTS[purpose]}\n{url}\n\n{once}\n"
        subject = SUBJECTS[purpose].format(account=affiliate.account.name)
    queue_mail(
        affiliate,
        kind=PORTAL_LINK_MAIL,
        about=str(link.pk),
        subject=subject,
        text=text,
        at=at,
    )


def get_link(
    account: Account, token: str, *purposes: LinkPurpose, at: datetime
) -> PortalLink:
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
    affiliate = _lock(link.affiliate)
    if affiliate is None or not link.update_row(expected={"used_at": None}, used_at=at):
        raise LinkExpired
    return affiliate


def _set_password(affiliate: Affiliate, hashed: str, *, at: datetime) -> None:
    """Store a hash, and end what the old password allowed."""
    affiliate.update_row(password=hashed)
    sign_out_everywhere(affiliate)
    links = affiliate.account.portal_links.filter(affiliate=affiliate, used_at=None)
    links.update(used_at=at)
    with act_as(affiliate):
        log_event(affiliate.account, "affiliate.password_set", affiliate, at=at)
