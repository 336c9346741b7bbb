"""The second factor of affiliates: an app that shows codes, and recovery codes."""

from datetime import datetime, timedelta

import pyotp
from django.db import transaction
from django.utils.translation import gettext_lazy as _

from accounts.models.accounts import Account
from accounts.services.changes import log_event
from accounts.services.rate_limits import open_window
from accounts.services.recovery_codes import (
    generate_codes,
    is_recovery_code,
    remove_recovery_code,
)
from tracking.errors import WrongCode
from tracking.models.affiliates import Affiliate
from tracking.models.portal import PortalSecondFactor
from tracking.services.mails import queue_security_mail
from tracking.services.portal_settings import get_contact

STEP = timedelta(seconds=30)
DRIFTS = (0, -1, 1)  # steps by which a clock may differ
SECOND_FACTOR_ON_MAIL = "second_factor_on"
SECOND_FACTOR_OFF_MAIL = "second_factor_off"
CODE_GUESSES_MAIL = "code_guesses"
WARNING_INTERVAL = timedelta(days=1)
GUESS_SUBJECT = _("Somebody tries codes of your second factor at {account}")
GUESS_TEXT = _(
    "Hello {name},\n\nsomebody who knows your password for {account} entered many wrong"
    " codes of your app. If it was not you, sign in with a recovery code and change"
    " your password: that ends it.\n\nIf you need help, write to {contact}.\n"
)
ON_SUBJECT = _("The second factor at {account} was switched on")
OFF_SUBJECT = _("The second factor at {account} was switched off")
ON_TEXT = _(
    "Hello {name},\n\nfrom now on, signing in to {account} asks for a code of your app,"
    " too. You were signed out on all other devices.\n\nIf you did not do this, write"
    " to {contact} at once.\n"
)
OFF_TEXT = _(
    "Hello {name},\n\nfrom now on, signing in to {account} asks for no code of your"
    " app.\n\nIf you did not ask for this, write to {contact} at once and set a new"
    " password.\n"
)


def start_second_factor(affiliate: Affiliate) -> PortalSecondFactor:
    """Return the app to confirm, with a new secret; one that is on stays.

    A thief of a session, who started before, knows another one.
    """
    account, secret = affiliate.account, pyotp.random_base32()
    row = PortalSecondFactor(account=account, affiliate=affiliate, secret=secret)
    if not account.portal_second_factors.insert_or_ignore(
        row, unique_fields=("account", "affiliate")
    ):
        row = get_second_factor(affiliate) or row
        if row.update_row(expected={"confirmed_at": None}, secret=secret):
            row.secret = secret
    return row


def get_second_factor(affiliate: Affiliate) -> PortalSecondFactor | None:
    """Return the app of an affiliate, confirmed or not."""
    rows = affiliate.account.portal_second_factors.filter(affiliate=affiliate)
    row: PortalSecondFactor | None = rows.first()
    return row


def has_second_factor(affiliate: Affiliate) -> bool:
    """Whether a code is asked for."""
    rows = affiliate.account.portal_second_factors.filter(affiliate=affiliate)
    return bool(rows.filter(confirmed_at__isnull=False).exists())


def confirm_second_factor(
    affiliate: Affiliate, *, secret: str, code: str, at: datetime
) -> list[str]:
    """Switch the second factor on; return its recovery codes.

    `secret` is the one that the affiliate was shown. Raises `WrongCode`, also if it was
    replaced meanwhile.
    """
    codes, digests = generate_codes()
    with transaction.atomic():
        row = _lock(affiliate)
        step = find_step(row.secret, code, at=at) if row else None
        is_own = row is not None and row.secret == secret
        if row is None or row.confirmed_at or step is None or not is_own:
            raise WrongCode
        row.update_row(confirmed_at=at, last_step=step, recovery_codes=digests)
        log_event(affiliate.account, "affiliate.second_factor_added", affiliate, at=at)
        _queue_mail(affiliate, is_on=True, at=at)
    return codes


def use_code(affiliate: Affiliate, *, code: str, at: datetime) -> None:
    """Use up a code of the app, or a recovery code. Raises `WrongCode`."""
    with transaction.atomic():
        row = _lock(affiliate)
        if row is None or row.confirmed_at is None:
            return
        if is_recovery_code(code):
            others = remove_recovery_code(row.recovery_codes, code)
            if others is None:
                raise WrongCode
            row.update_row(recovery_codes=others)
            log_event(affiliate.account, "affiliate.second_factor_code_used", affiliate, at=at)
            return
        step = find_step(row.secret, code, at=at)
        if step is None or step <= row.last_step:
            raise WrongCode
        row.update_row(last_step=step)


def remove_second_factor(affiliate: Affiliate, *, code: str, at: datetime) -> None:
    """Switch the second factor off. Raises `WrongCode`."""
    with transaction.atomic():
        use_code(affiliate, code=code, at=at)
        delete_second_factor(affiliate.account, affiliate, at=at)


def delete_second_factor(account: Account, affiliate: Affiliate, *, at: datetime) -> None:
    """Remove the second factor of an affiliate who lost it; the caller is trusted."""
    was_on = has_second_factor(affiliate)
    rows = account.portal_second_factors.filter(affiliate=affiliate)
    if rows.delete()[0]:
        log_event(account, "affiliate.second_factor_removed", affiliate, at=at)
        if was_on:
            _queue_mail(affiliate, is_on=False, at=at)


def queue_guess_warning(affiliate: Affiliate, *, at: datetime) -> None:
    """Store a mail that somebody tries codes, once a day."""
    subject = f"code-guesses {affiliate.account_id} {affiliate.pk}"
    if open_window(subject, hits=1, window=WARNING_INTERVAL):
        queue_security_mail(
            affiliate,
            kind=CODE_GUESSES_MAIL,
            subject=GUESS_SUBJECT,
            text=GUESS_TEXT,
            contact=get_contact(affiliate.account),
            at=at,
        )


def find_step(secret: str, code: str, *, at: datetime) -> int | None:
    """Return the step of 30 seconds to which a code belongs, None for a wrong code."""
    app = pyotp.TOTP(secret, interval=int(STEP.total_seconds()))
    digits = "".join(code.split())
    for drift in DRIFTS:
        moment = at + drift * STEP
        if pyotp.utils.strings_equal(digits, app.at(moment)):
            return app.timecode(moment)
    return None


def _queue_mail(affiliate: Affiliate, *, is_on: bool, at: datetime) -> None:
    queue_security_mail(
        affiliate,
        kind=SECOND_FACTOR_ON_MAIL if is_on else SECOND_FACTOR_OFF_MAIL,
        subject=ON_SUBJECT if is_on else OFF_SUBJECT,
        text=ON_TEXT if is_on else OFF_TEXT,
        contact=get_contact(affiliate.account),
        at=at,
    )


def _lock(affiliate: Affiliate) -> PortalSecondFactor | None:
    rows = affiliate.account.portal_second_factors.filter(affiliate=affiliate)
    row: PortalSecondFactor | None = rows.select_for_update(no_key=True).first()
    return row
