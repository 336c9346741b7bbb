"""E-mail: notifications to the owners of an account, and invitations."""

import logging
from functools import partial
from smtplib import SMTPException

from django.conf import settings
from django.core.mail import send_mail
from django.db import transaction

from accounts.models.accounts import Account
from accounts.models.api_keys import Role
from accounts.models.users import Invitation, User

NO_MAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"

logger = logging.getLogger(__name__)


def send_to_owners(account: Account, *, subject: str, text: str) -> None:
    """Send an e-mail to the active owners of an account after the commit.

    A failure to send is only logged; the back office shows the same information.
    """
    owners = account.staff.filter(role=Role.OWNER, is_active=True)
    recipients = list(owners.order_by("email").values_list("email", flat=True))
    if recipients:
        transaction.on_commit(partial(_send_mail, subject, text, recipients))


def warn_about_codes(user: User) -> None:
    """Tell a member of staff that somebody with the password tries codes."""
    text = (
        "Somebody who knows your password entered wrong authentication codes several"
        " times.\n\nIf it was not you, sign in with a code of your device or, while it"
        " is locked, a recovery code, and change your password: that ends it. Without"
        " recovery codes ask an owner of the account to reset your password.\n"
    )
    subject = "Somebody tries codes of your second factor"
    _send_mail(subject, text, [user.email])


def can_send_mail() -> bool:
    """Return whether a mail server is configured."""
    return bool(settings.EMAIL_BACKEND != NO_MAIL_BACKEND)


def send_invitation(invitation: Invitation, *, url: str) -> bool:
    """Send the link of an invitation; return whether the mail server accepted it.

    The log has neither the address nor the link.
    """
    account, by = invitation.account, invitation.invited_by
    text = (
        f"{by} invites you to the affiliate program of {account.name}.\n\n"
        f"Set your password within 48 hours; the link works once:\n{url}\n\n"
        f"Then sign in with the account {account.slug} and this e-mail address.\n\n"
        "If you do not expect this invitation, ignore it.\n"
    )
    subject = f"[Affiliate Site] Invitation to {account.name}"
    try:
        send_mail(" ".join(subject.split()), text, None, [invitation.email])
    except (OSError, SMTPException) as error:
        logger.error("An invitation could not be sent: %s", type(error).__name__)
        return False
    return True


def _send_mail(subject: str, text: str, recipients: list[str]) -> None:
    try:
        send_mail(f"[Affiliate Site] {subject}", text, None, recipients)
    except (OSError, SMTPException):
        logger.exception("A notification e-mail could not be sent")
