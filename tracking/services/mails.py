"""The outbox of mail: a row before each mail, which is sent once at most.

A claim ends the time of a mail before the mail is sent. If a worker stops in between,
nobody knows whether the mail arrived, and it is not sent again.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce
from operator import or_
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import translation
from django.utils.functional import Promise

from accounts.email_addresses import fold_email, list_spellings
from accounts.models.accounts import Account
from accounts.services.notifications import can_send_mail
from accounts.services.queues import claim_due_rows, find_retry_time
from accounts.services.retention import delete_in_batches
from tracking.errors import UnknownPlaceholder
from tracking.models.affiliates import Affiliate
from tracking.models.mails import Mail

# Between the attempts of a mail of which the mail server has taken nothing.
RETRY_DELAYS = (
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=8),
)
PORTAL_LINK_MAIL = "portal_link"
APPLICATION_MAIL = "application"
# Rows of this outbox that are no mails yet: somebody asks for a link to an address, and
# the worker looks up whose it is.
SIGN_IN_REQUEST = "sign_in_request"
PASSWORD_REQUEST = "password_request"  # noqa: S105 - no password
LINK_REQUESTS = (SIGN_IN_REQUEST, PASSWORD_REQUEST)
SECRET_MAILS = (PORTAL_LINK_MAIL, APPLICATION_MAIL)  # until their links are used
ERASURE_MAIL = "erasure"  # to an address of which nothing is left when it was sent
MAIL_RETENTION = timedelta(days=90)
MAX_SUBJECT_LENGTH = MAX_ERROR_LENGTH = 255
NO_CONNECTION = "no connection"  # an error before the address is sent, so it names nobody
OUTCOME_UNKNOWN = "it is being sent, or the worker has stopped: it may have arrived"
MAX_PLACEHOLDERS = 50  # filled in a text: each can repeat a long name
PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


@dataclass(frozen=True)
class MailResult:
    """The error of an attempt, else empty; `can_retry` if nothing was accepted."""

    error: str = ""
    can_retry: bool = False


def use_language_of(affiliate: Affiliate, *, default: str = "") -> translation.override:
    """Translate into the language of an affiliate.

    Before they chose one it is `default`, else English.
    """
    language = affiliate.language or default or settings.LANGUAGE_CODE
    return translation.override(language)


def queue_mail(affiliate: Affiliate, **content: Any) -> bool:
    """Store a mail to an affiliate, who has an e-mail address; see `build_mail`.

    Returns False if there is one of this kind about the same thing already, or if mail
    to this address could not be delivered; a link that somebody asked for is tried.
    """
    if affiliate.has_bounced and content["kind"] != PORTAL_LINK_MAIL:
        return False
    mail = build_mail(affiliate, **content)
    unique_fields = ("account", "kind", "about")
    return affiliate.account.mails.insert_or_ignore(mail, unique_fields=unique_fields)


def queue_security_mail(
    affiliate: Affiliate,
    *,
    kind: str,
    subject: Promise,
    text: Promise,
    contact: str,
    at: datetime,
    **facts: Promise,
) -> None:
    """Store a mail about a change that a thief may have made, if it can be sent.

    `subject` and `text` are to be translated; they can have `{name}`, `{account}` and
    `{contact}`, whom to write to, and `facts`. An erasure does not find the mail that
    confirms it.
    """
    if not (affiliate.email and can_send_mail()) or affiliate.has_bounced:
        return
    values = {
        "name": affiliate.firstname,
        "account": affiliate.account.name,
        "contact": contact,
        **facts,
    }
    with use_language_of(affiliate):
        queue_mail_to(
            affiliate.account,
            affiliate.email,
            affiliate=None if kind == ERASURE_MAIL else affiliate,
            kind=kind,
            about=f"{affiliate.log_id}-{at:%Y%m%dT%H%M%S%f}",
            subject=str(subject).format(**values),
            text=str(text).format(**values),
            at=at,
        )


def build_mail(
    affiliate: Affiliate,
    *,
    kind: str,
    about: str,
    subject: str,
    text: str,
    recipient: str | None = None,
    at: datetime,
) -> Mail:
    """Build an unsaved mail to a `recipient`, else to the address of the affiliate."""
    return build_mail_to(
        affiliate.account,
        recipient or affiliate.email or "",
        affiliate=affiliate,
        kind=kind,
        about=about,
        subject=subject,
        text=text,
        at=at,
    )


def queue_mail_to(account: Account, recipient: str, **content: Any) -> bool:
    """Store a mail to an address, which may belong to no affiliate."""
    mail = build_mail_to(account, recipient, **content)
    unique_fields = ("account", "kind", "about")
    return account.mails.insert_or_ignore(mail, unique_fields=unique_fields)


def build_mail_to(
    account: Account,
    recipient: str,
    *,
    affiliate: Affiliate | None,
    kind: str,
    about: str,
    subject: str,
    text: str,
    at: datetime,
) -> Mail:
    """Build an unsaved mail to an address."""
    return Mail(
        account=account,
        affiliate=affiliate,
        kind=kind,
        about=about,
        recipient=recipient,
        subject=write_in_one_line(subject)[:MAX_SUBJECT_LENGTH],
        text=text,
        created_at=at,
        due_at=at,
    )


def withdraw_mail(account: Account, *, kind: str, about: str, reason: str) -> None:
    """Do not send a mail, unless it was sent."""
    mails = account.mails.filter(kind=kind, about=about, sent_at=None)
    mails.update(due_at=None, error=reason)


def claim_mail(account: Account, *, due_before: datetime) -> Mail | None:
    """Start an attempt of the oldest mail due: no other worker will send it."""
    mails = account.mails.exclude(kind__in=LINK_REQUESTS)
    with transaction.atomic():
        claimed = claim_due_rows(mails, limit=1, due_before=due_before, next_attempt=None)
        for mail in claimed:
            mail.account = account
            portal = account.portal_settings.first()
            mail.sender_name = (portal and portal.sender_name) or account.name
            mail.update_row(attempts=mail.attempts + 1, error=OUTCOME_UNKNOWN)
            return mail
    return None


def record_mail_result(mail: Mail, result: MailResult, *, at: datetime) -> None:
    """Record how an attempt ended, and schedule the next one if there may be one."""
    secret: dict[str, Any] = {"text": ""} if mail.kind in SECRET_MAILS else {}
    if mail.kind == ERASURE_MAIL:
        secret = {"text": "", "recipient": ""}
    if not result.error:
        mail.update_row(sent_at=at, error="", **secret)
        return
    retry_at = find_retry_time(RETRY_DELAYS, mail.attempts, at=at) if result.can_retry else None
    mail.update_row(
        expected={"error": OUTCOME_UNKNOWN},  # else it was withdrawn meanwhile
        error=result.error[:MAX_ERROR_LENGTH],
        due_at=retry_at,
        **({} if retry_at else secret),
    )


def find_connection_error() -> str | None:
    """Return why the newest mail that waits could not reach the mail server."""
    waiting = Mail.objects.across_accounts().filter(due_at__isnull=False)
    errors = waiting.filter(error__startswith=NO_CONNECTION).order_by("-pk")
    return errors.values_list("error", flat=True).first()


def delete_expired_mails(account: Account, *, at: datetime, dry_run: bool) -> int:
    """Delete mails that are older than `MAIL_RETENTION`, sent or not."""
    expired = account.mails.filter(created_at__lte=at - MAIL_RETENTION)
    return delete_in_batches(expired, dry_run=dry_run)


def record_bounce(recipient: str) -> None:
    """Mark an address to which mail could not be delivered, in all accounts."""
    folded = fold_email(recipient)
    conditions = (Q(recipient__iexact=each) for each in list_spellings(recipient))
    mails = Mail.objects.across_accounts().filter(reduce(or_, conditions))
    for account in Account.objects.filter(pk__in=mails.values("account")):
        rows = account.affiliates.filter(email_folded=folded, deleted_at=None)
        rows.update(bounced_email=folded)


def validate_placeholders(text: str, *, names: Collection[str], path: str) -> None:
    """Raise `UnknownPlaceholder` at the first `{name}` that is not one of `names`."""
    for name in PLACEHOLDER.findall(text):
        if name not in names:
            known = ", ".join(f"{{{each}}}" for each in names)
            raise UnknownPlaceholder(name=f"{{{name}}}", known=known, path=path)


def fill_placeholders(text: str, values: Mapping[str, str]) -> str:
    """Replace each `{name}` by its value in one line; unknown and surplus ones stay."""
    return PLACEHOLDER.sub(
        lambda match: write_in_one_line(values.get(match[1], match[0])),
        text,
        count=MAX_PLACEHOLDERS,
    )


def write_in_one_line(text: str) -> str:
    """Replace control characters and line ends, which could begin another header."""
    return " ".join(CONTROL_CHARACTERS.sub(" ", text).split())
