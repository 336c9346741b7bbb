"""Clicks: recorded, one insert each."""

import ipaddress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from django.db import transaction
from django.utils.crypto import salted_hmac

from accounts.models.accounts import Account
from tracking.attribution import ASSET_ID, REFERRAL_CODE, Clues
from tracking.errors import NoClue
from tracking.models.clicks import Click
from tracking.models.prospects import Prospect
from tracking.services.attribution import weigh
from tracking.services.looking import LookAgain, looking_again

LONGEST_ADDRESS = 2048
FOLD = 60  # seconds


@dataclass(frozen=True)
class Visit:
    """A visit through a link, as the caller tells it."""

    clues: Clues
    referrer: str | None = None
    landing_page: str | None = None
    user_agent: str | None = None
    ip: str | None = None
    meta_data: dict[str, str] = field(default_factory=dict)


@looking_again
def record_click(
    account: Account, *, visit: Visit, at: datetime, folds: bool = False
) -> Click:
    """Record a visit. Every call makes a new click, unless it `folds`: the same link
    from the same address and user agent within a minute is one."""
    finding = weigh(
        account,
        clues=visit.clues,
        order=(REFERRAL_CODE, ASSET_ID),
        at=at,
        ignore_cookie_age=True,
    )
    if finding.verdict.deciding is None or finding.verdict.deciding.blank:
        raise NoClue
    finding.verdict.require_earner()
    prospect = finding.prospect
    values: dict[str, Any] = {
        "enrolment": finding.enrolment,
        "prospect": prospect,
        "program": finding.program,
        "affiliate": None if prospect else finding.affiliate,
        "referrer": web_address(visit.referrer),
        "landing_page": web_address(visit.landing_page),
        "user_agent": visit.user_agent,
        "ip": first_address(visit.ip),
        "meta_data": visit.meta_data,
        "created_at": at,
    }
    if prospect is None and not folds:
        return account.clicks.create(**values)
    with transaction.atomic():
        if prospect is not None:
            _refuse_promoted(account, prospect)
        if folds:
            link = finding.verdict.deciding
            return _folded(account, f"{link.clue} {link.value}", visit, values, at)
        return account.clicks.create(**values)


def _folded(
    account: Account, link: str, visit: Visit, values: dict[str, Any], at: datetime
) -> Click:
    """The click of this visit a moment ago, else a new one."""
    minute = int(at.timestamp()) // FOLD
    visitor = (values["ip"] or "", visit.user_agent or "")
    now, before = (
        _fold(link, *visitor, str(number)) for number in (minute, minute - 1)
    )
    same = account.clicks.filter(
        fold__in=(now, before), created_at__gt=at - timedelta(seconds=FOLD)
    )
    click = Click(account=account, fold=now, **values)
    return (
        same.first()
        or (
            account.clicks.insert_unless_taken(
                click, on=("account", "fold"), among="fold IS NOT NULL"
            )
            and click
        )
        or account.clicks.get(fold=now)
    )


def _fold(*told: str) -> str:
    """One word for: this link, this address, this user agent, this minute."""
    salt, text = "tracking.clicks.fold", "\n".join(told)
    return salted_hmac(salt, text, algorithm="sha256").hexdigest()


def _refuse_promoted(account: Account, prospect: Prospect) -> None:
    """Until the click is there, nobody promotes the prospect, which takes it along."""
    waiting = account.prospects.select_for_update(no_key=True)
    if not waiting.filter(pk=prospect.pk, promoted_at=None).exists():
        raise LookAgain


def web_address(text: str | None) -> str | None:
    """An absolute http(s) address, cut at 2,048 characters; an odd one is nothing."""
    if not text:
        return None
    cut = text[:LONGEST_ADDRESS]
    try:
        parts = urlsplit(cut)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return None
    return cut if usable else None


def first_address(text: str | None) -> str | None:
    """The first valid IP address of a forwarded-for list."""
    for part in (text or "").split(","):
        try:
            return str(ipaddress.ip_address(part.strip()))
        except ValueError:
            continue
    return None
