"""Notices: what the owners of an account should know although nobody asked."""

import logging
from functools import partial
from smtplib import SMTPException

from django.core.mail import send_mail
from django.db import transaction

from accounts.models.accounts import Account
from accounts.models.keys import Role

logger = logging.getLogger(__name__)


def tell_owners(account: Account, *, subject: str, text: str) -> None:
    """Write to the account's owners once the change stands; a mail that cannot be
    sent stops nothing, and the back office shows the same."""
    owners = account.staff.filter(role=Role.OWNER, is_active=True)
    addresses = list(owners.order_by("email").values_list("email", flat=True))
    if addresses:
        transaction.on_commit(partial(_send, subject, text, addresses))


def _send(subject: str, text: str, addresses: list[str]) -> None:
    try:
        send_mail(f"[Affiliate Site] {subject}", text, None, addresses)
    except (OSError, SMTPException):
        logger.exception("A notice could not be sent")
