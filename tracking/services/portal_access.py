"""Who gets into the portal: passwords, sessions, and links that work once.

Tokens have 256 random bits, and only their digests are stored. Passwords are hashed
outside of transactions, because that is slow by design.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.hashers import check_password, make_password
from django.contrib.auth.password_validation import validate_password
from django.core import signing
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet

from accounts.actor import ActorKind, build_actor, get_actor, use_actor
from accounts.compiled_queries import compiled
from accounts.models.accounts import Account
from accounts.models.users import User
from accounts.services.api_keys import calculate_digest
from accounts.services.changes import log_event
from accounts.services.retention import delete_in_batches
from tracking.errors import (
    CodeRequired,
    LinkExpired,
    SignInRefused,
    WeakPassword,
    WrongPassword,
)
from tracking.models.affiliates import Affiliate
from tracking.models.portal import LinkPurpose, PortalSession
from tracking.services.affiliates import lock_hierarchy
from tracking.services.mails import (
    APPLICATION_MAIL,
    ERASURE_MAIL,
    LINK_REQUESTS,
)
from tracking.services.portal_addresses import ADDRESS_RETENTION
from tracking.services.portal_links import (
    create_link,
    find_affiliate_by_email,
    get_link,
    lock_affiliate,
    use_link,
)
from tracking.services.second_factor import (
    confirm_second_factor,
    has_second_factor,
    use_code,
)

SESSION_LIFETIME = timedelta(days=30)
VIEW_LIFETIME = timedelta(minutes=30)
VIEW_PERMISSION = "tracking.change_affiliate"
APPLICATION_LIFETIME = timedelta(hours=24)
PROOF_LIFETIME = timedelta(minutes=15)
PROOF_SALT = "tracking.portal-proof"
NO_PASSWORD = "!"  # noqa: S105 - no password has this hash


def sign_in(account: Account, *, email: str, password: str, at: datetime) -> str:
    """Return the token of a new session.

    Raises `SignInRefused` whatever is wrong. One password is hashed in any case: the
    time does not depend on whether the affiliate exists. Raises `CodeRequired` as all
    functions that start a session of an affiliate who has a second factor.
    """
    affiliate = find_affiliate_by_email(account, email)
    hashed = _check_password(affiliate, password)
    if affiliate is None or hashed is None:
        raise SignInRefused
    with transaction.atomic():
        locked = lock_affiliate(affiliate)
        if locked is None or _get_sign_in(locked) != _get_sign_in(affiliate):
            raise SignInRefused
        if hashed != locked.password:
            locked.update_row(password=hashed)
        entry = _enter(locked, at=at)
    return _open(entry)


@compiled
def open_session(account: Account, digest: str, at: datetime) -> QuerySet[PortalSession]:
    """The session with this digest, with its affiliate, unless it is over."""
    sessions = PortalSession.objects.of(account)
    sessions = sessions.select_related("affiliate", "viewed_by")
    return sessions.filter(token_hash=digest, expires_at__gt=at, affiliate__deleted_at=None)


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


def sign_out_everywhere(affiliate: Affiliate, *, except_token: str = "") -> None:
    """End all sessions of an affiliate but that with this token, if there is one."""
    sessions = affiliate.account.portal_sessions.filter(affiliate=affiliate)
    sessions.exclude(token_hash=calculate_digest(except_token)).delete()


def start_view(account: Account, token: str, *, at: datetime) -> str:
    """Use a link to see the portal as an affiliate; return the token of a session.

    Raises `LinkExpired`, also if the staff lost the right to look meanwhile.
    """
    link = get_link(account, token, LinkPurpose.VIEW, at=at)
    if link.viewed_by is None or not link.viewed_by.has_perm(VIEW_PERMISSION):
        raise LinkExpired
    with transaction.atomic():
        return _create_session(use_link(link, at=at), link.viewed_by, at=at)


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


def set_portal_password(account: Account, token: str, *, password: str, at: datetime) -> str:
    """Set the password with a link for that; return the token of a new session.

    All other sessions and links of the affiliate end. Raises `LinkExpired` and
    `WeakPassword`.
    """
    link = get_link(account, token, LinkPurpose.SET_PASSWORD, at=at)
    hashed = _hash_new_password(link.affiliate, password)
    with transaction.atomic(), act_as(link.affiliate):
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
        locked = lock_affiliate(affiliate)
        if locked is None or locked.password != affiliate.password:
            raise WrongPassword
        _set_password(locked, hashed, at=at)
        return _create_session(locked, at=at)


@contextmanager
def act_as(affiliate: Affiliate) -> Iterator[None]:
    """Make the affiliate the actor of the audit log within the block.

    The caller is who finds the affiliate: the page by a session, a service by a link.
    """
    with use_actor(build_actor(ActorKind.AFFILIATE, affiliate.log_id), get_actor().trace_id):
        yield


def create_proof(affiliate: Affiliate) -> str:
    """Return a text for a form that is shown again after the password was right.

    It stands for the password for `PROOF_LIFETIME`, and ends with it.
    """
    return signing.dumps(_describe_proof(affiliate), salt=PROOF_SALT)


def is_proof(affiliate: Affiliate, text: str) -> bool:
    """Return whether a text is a proof of this affiliate that still counts."""
    try:
        found = signing.loads(text, salt=PROOF_SALT, max_age=PROOF_LIFETIME)
    except signing.BadSignature:
        return False
    return bool(found == _describe_proof(affiliate))


def is_own_password(affiliate: Affiliate, password: str) -> bool:
    """Return whether this is the password of the affiliate."""
    return _check_password(affiliate, password) is not None


def _describe_proof(affiliate: Affiliate) -> list[int | str]:
    return [affiliate.pk, calculate_digest(affiliate.password)]


@contextmanager
def confirm_password(
    affiliate: Affiliate, password: str, *, locks_hierarchy: bool = False
) -> Iterator[Affiliate]:
    """Run a block in a transaction with the affiliate, whom it locks.

    A session alone is not enough for what the block does: `password` may also be what
    `create_proof` returned. Raises `WrongPassword`, also if the password changed
    meanwhile.
    """
    if not (is_proof(affiliate, password) or is_own_password(affiliate, password)):
        raise WrongPassword
    with transaction.atomic():
        if locks_hierarchy:  # before the affiliate
            lock_hierarchy(affiliate.account)
        locked = lock_affiliate(affiliate)
        if locked is None or locked.password != affiliate.password:
            raise WrongPassword
        yield locked


def add_second_factor(
    affiliate: Affiliate,
    *,
    password: str,
    secret: str,
    code: str,
    token: str,
    at: datetime,
) -> list[str]:
    """Switch the second factor on by its first code; return its recovery codes.

    A session alone could lock the affiliate out. All sessions but that with this token
    end: they were started without a code. Raises `WrongPassword` and `WrongCode`.
    """
    with confirm_password(affiliate, password) as locked:
        codes = confirm_second_factor(locked, secret=secret, code=code, at=at)
        sign_out_everywhere(locked, except_token=token)
    return codes


def delete_expired_portal_rows(account: Account, *, at: datetime, dry_run: bool) -> int:
    """Delete sessions, links and applications that are over, addresses that were not
    used for `ADDRESS_RETENTION`, mail to those who did not confirm or were erased, and
    requests for links that no worker processed; return their number."""
    tables: tuple[Any, ...] = (
        account.portal_sessions.filter(expires_at__lte=at),
        account.portal_links.filter(expires_at__lte=at),
        account.portal_applications.filter(expires_at__lte=at),
        account.portal_addresses.filter(last_used_at__lte=at - ADDRESS_RETENTION),
    )
    kinds = (APPLICATION_MAIL, ERASURE_MAIL, *LINK_REQUESTS)
    unconfirmed = account.mails.filter(kind__in=kinds, affiliate=None)
    deleted = delete_in_batches(
        unconfirmed.filter(created_at__lte=at - APPLICATION_LIFETIME), dry_run=dry_run
    )
    return deleted + sum(delete_in_batches(rows, dry_run=dry_run) for rows in tables)


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


def _get_sign_in(affiliate: Affiliate) -> tuple[str | None, str]:
    return affiliate.email_folded, affiliate.password


def _hash_new_password(affiliate: Affiliate, password: str) -> str:
    try:
        validate_password(password, affiliate)  # type: ignore[arg-type]  # has `email`
    except ValidationError as error:
        raise WeakPassword(reason=" ".join(error.messages)) from None
    return make_password(password)


def _create_session(affiliate: Affiliate, viewed_by: User | None = None, *, at: datetime) -> str:
    lifetime = VIEW_LIFETIME if viewed_by else SESSION_LIFETIME
    if viewed_by is None:
        affiliate.update_row(signed_in_at=at)
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


def _set_password(affiliate: Affiliate, hashed: str, *, at: datetime) -> None:
    """Store a hash, and end what the old password allowed."""
    affiliate.update_row(password=hashed)
    sign_out_everywhere(affiliate)
    links = affiliate.account.portal_links.filter(affiliate=affiliate, used_at=None)
    links.update(used_at=at)
    log_event(affiliate.account, "affiliate.password_set", affiliate, at=at)
