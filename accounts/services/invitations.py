"""Invite people to the staff of an account by e-mail.

The link of an invitation has a token of 256 random bits, of which only the digest is
stored. It works once, for 48 hours, and only while the inviting user is an owner.
"""

from datetime import datetime, timedelta

from django.db import IntegrityError, transaction

from accounts.email_addresses import fold_email
from accounts.errors import (
    DuplicateStaffUser,
    InvitationNotFound,
    InvitationNotValid,
    NotAccountOwner,
    TooManyInvitations,
)
from accounts.ids import generate_random_text
from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from accounts.models.users import Invitation, User
from accounts.services.api_keys import calculate_digest
from accounts.services.changes import log_event
from accounts.services.staff import (
    is_active_owner,
    lock_all_staff,
    validate_email_address,
    validate_password_strength,
)

VALIDITY = timedelta(hours=48)
TOKEN_LENGTH = 43
MAX_INVITATIONS_PER_HOUR = 20  # per account: each one sends an e-mail to any address


def create_invitation(
    account: Account, *, email: str, role: str, by: User, at: datetime
) -> tuple[Invitation, str]:
    """Create an invitation and return it with its token, which is not stored.

    An earlier one to the same address is revoked.
    """
    email = fold_email(email.strip())
    validate_email_address(email)
    token = generate_random_text(TOKEN_LENGTH)
    with transaction.atomic():
        lock_all_staff(account, by=by)
        if account.staff.filter(email=email).exists():
            raise DuplicateStaffUser(email=email)
        an_hour_ago = at - timedelta(hours=1)
        recent = account.invitations.filter(created_at__gt=an_hour_ago)
        if recent.count() >= MAX_INVITATIONS_PER_HOUR:
            raise TooManyInvitations
        earlier = account.invitations.filter(email=email)
        earlier.filter(accepted_at=None, revoked_at=None).update(revoked_at=at)
        invitation = account.invitations.create(
            digest=calculate_digest(token),
            email=email,
            role=role,
            invited_by=by,
            created_at=at,
            expires_at=at + VALIDITY,
        )
        log_event(account, "invitation.created", invitation, at=at, role=role)
    return invitation, token


def find_open_invitation(token: str, *, at: datetime) -> Invitation | None:
    """Return the invitation of a link, or None if the link does not work."""
    invitations = Invitation.objects.across_accounts().select_related("account", "invited_by")
    invitation = invitations.filter(digest=calculate_digest(token)).first()
    if invitation is None or invitation.get_state(at=at) != "open":
        return None
    return invitation if is_active_owner(invitation.invited_by) else None


def accept_invitation(token: str, *, password: str, at: datetime) -> User:
    """Create the invited user with this password.

    Raises `InvitationNotValid` for a link that does not work, whatever the reason.
    """
    invitation = find_open_invitation(token, at=at)
    if invitation is None:
        raise InvitationNotValid
    account, email, role = invitation.account, invitation.email, invitation.role
    user = User(account=account, email=email, role=role, created_at=at)
    validate_password_strength(password, user)
    user.set_password(password)
    try:
        with transaction.atomic():
            lock_all_staff(account, by=invitation.invited_by)
            if not invitation.update_row(
                expected={"accepted_at": None, "revoked_at": None}, accepted_at=at
            ):
                raise InvitationNotValid
            user.save(force_insert=True)
            details = {"user_id": user.log_id, "role": role}
            log_event(account, "invitation.accepted", invitation, at=at, **details)
            log_event(account, "staff.created", account, at=at, **details)
    except NotAccountOwner:
        raise InvitationNotValid from None
    except IntegrityError:
        if account.staff.filter(email=email).exists():
            raise DuplicateStaffUser(email=email) from None
        raise
    return user


def revoke_invitation(account: Account, *, invitation_id: int, at: datetime) -> Invitation:
    """Revoke an invitation, whose link then does not work any more; idempotent."""
    invitation = get_or_raise(account.invitations, InvitationNotFound, pk=invitation_id)
    with transaction.atomic():
        if invitation.update_row(expected={"accepted_at": None, "revoked_at": None}, revoked_at=at):
            log_event(account, "invitation.revoked", invitation, at=at)
    return invitation
