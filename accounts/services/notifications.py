"""E-mail notifications to the owners of an account."""

import logging
from functools import partial
from smtplib import SMTPException

from django.core.mail import send_mail
from django.db import transaction

from accounts.models.accounts import Account
from accounts.models.api_keys import Role

logger = logging.getLogger(__name__)


def send_to_owners(account: Account, *, subject: str, text: str) -> None:
    """Send an e-mail to the active owners of an account after the commit.

    A failure to send is only logged; the back office shows the same information.
    """
    owners = account.staff.filter(role=Role.OWNER, is_active=True)
    recipients = list(owners.order_by("email").values_list("email", flat=True))
    if recipients:
        transaction.on_commit(partial(_send_mail, subject, text, recipients))


def _send_mail(subject: str, text: str, recipients: list[str]) -> None:
    try:
        send_mail(f"[Affiliate Site] {subject}", text, None, recipients)
    except (OSError, SMTPException):
        logger.exception("A notification e-mail could not be sent")
