"""Clicks: record visits, optionally deduplicated."""

import re
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils.crypto import salted_hmac

from accounts.models.accounts import Account
from accounts.url_safety import split_url
from tracking.attribution import ASSET_AND_SOURCE, REFERRAL_CODE, TrackingParameters
from tracking.errors import MissingTrackingParameter, UnknownReferralCode
from tracking.models.clicks import Click, parse_client_ip
from tracking.models.programs import Program
from tracking.models.prospects import Prospect
from tracking.services.attribution import attribute
from tracking.services.concurrency import ConcurrentUpdate, retry_on_conflict
from tracking.services.referral_codes import find_meant_code

MAX_VISIT_URL_LENGTH = 2048
SUB_ID = "[A-Za-z0-9._-]{1,64}"
SUB_ID_PATTERN = re.compile(rf"\A{SUB_ID}\Z")
SUB_ID_PARAMETER = re.compile(f"(?:^|&)sub_id=({SUB_ID})(?=&|$)")
DEDUP_WINDOW = timedelta(minutes=1)


@dataclass(frozen=True)
class Visit:
    """A visit through a link, as reported by the caller."""

    parameters: TrackingParameters
    referrer: str | None = None
    landing_page: str | None = None
    user_agent: str | None = None
    ip: str | None = None
    meta_data: dict[str, str] = field(default_factory=dict)
    link_parameter: str | None = None  # of another system's link; None: `ref`


def find_link(account: Account, code: str, *, at: datetime) -> tuple[Program, str]:
    """The program to which the code of a short link leads, and the code as it is.

    The code of a mangled link counts as the one that it means. Raises the `DomainError`
    with which `record_click` would refuse a visit.
    """
    try:
        return _get_link_program(account, code, at=at), code
    except UnknownReferralCode:
        meant = find_meant_code(account, code)
        if meant is None:
            raise
        return _get_link_program(account, meant, at=at), meant


def record_page_click(
    account: Account, *, visit: Visit, at: datetime, keeps_texts: bool = True
) -> Click:
    """Record the visit that a page reports as `record_click` does, deduplicated.

    The code of a mangled link counts as the one that it means.
    """
    record = partial(record_click, account, at=at, deduplicate=True, keeps_texts=keeps_texts)
    try:
        return record(visit=visit)
    except UnknownReferralCode:
        code = visit.parameters.referral_code
        meant = find_meant_code(account, code) if code else None
        if meant in (None, code):
            raise
        parameters = replace(visit.parameters, referral_code=meant)
        return record(visit=replace(visit, parameters=parameters))


def _get_link_program(account: Account, code: str, *, at: datetime) -> Program:
    attribution = attribute(
        account,
        parameters=TrackingParameters(referral_code=code),
        order=(REFERRAL_CODE,),
        at=at,
        ignore_cookie_age=True,
    )
    attribution.result.ensure_affiliate_eligible()
    return attribution.program


@retry_on_conflict
def record_click(
    account: Account,
    *,
    visit: Visit,
    at: datetime,
    deduplicate: bool = False,
    keeps_texts: bool = True,
) -> Click:
    """Record a visit as a click.

    With `deduplicate`, visits through the same link from the same address and user
    agent within `DEDUP_WINDOW` are one click. Without `keeps_texts` its texts are not
    stored: pages, user agent, sub-ID and meta data.
    """
    attribution = attribute(
        account,
        parameters=visit.parameters,
        order=(REFERRAL_CODE, ASSET_AND_SOURCE),
        at=at,
        ignore_cookie_age=True,
    )
    winner = attribution.result.winner
    if winner is None or winner.blank_parameter:
        raise MissingTrackingParameter
    attribution.result.ensure_affiliate_eligible()
    if visit.link_parameter and visit.link_parameter not in (
        attribution.program.link_parameters or ()
    ):
        raise UnknownReferralCode
    prospect, landing_page = attribution.prospect, normalize_url(visit.landing_page)
    values: dict[str, Any] = {
        "enrollment": attribution.enrollment,
        "prospect": prospect,
        "program": attribution.program,
        "affiliate": None if prospect else attribution.affiliate,
        "referrer": normalize_url(visit.referrer),
        "landing_page": landing_page,
        "user_agent": visit.user_agent,
        "ip": parse_client_ip(visit.ip),
        "sub_id": find_sub_id(landing_page),
        "meta_data": visit.meta_data,
        "created_at": at,
    }
    if not keeps_texts:
        texts = ("referrer", "landing_page", "user_agent", "sub_id")
        values |= dict.fromkeys(texts) | {"meta_data": {}}
    if prospect is None and not deduplicate:
        return account.clicks.create(**values)
    with transaction.atomic():
        if prospect is not None:
            _ensure_not_promoted(account, prospect)
        if deduplicate:
            link = f"{winner.parameter} {winner.value}"
            return _get_or_create_click(account, link, visit, values, at)
        return account.clicks.create(**values)


def _get_or_create_click(
    account: Account, link: str, visit: Visit, values: dict[str, Any], at: datetime
) -> Click:
    """Get the click of the same visit within the window, else create one."""
    window = int(at.timestamp() // DEDUP_WINDOW.total_seconds())
    visitor = (values["ip"] or "", visit.user_agent or "")
    keys = [
        _calculate_dedup_key(secret, link, *visitor, str(number))
        for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
        for number in (window, window - 1)
    ]
    key = keys[0]
    duplicates = account.clicks.filter(dedup_key__in=keys, created_at__gt=at - DEDUP_WINDOW)
    click = Click(account=account, dedup_key=key, **values)
    return (
        duplicates.first()
        or (
            account.clicks.insert_or_ignore(
                click,
                unique_fields=("account", "dedup_key"),
                condition_sql="dedup_key IS NOT NULL",
            )
            and click
        )
        or account.clicks.get(dedup_key=key)
    )


def _calculate_dedup_key(secret: str, *parts: str) -> str:
    """A keyed hash of link, address, user agent and number of the window."""
    salt, text = "tracking.clicks.dedup_key", "\n".join(parts)
    return salted_hmac(salt, text, secret, algorithm="sha256").hexdigest()


def _ensure_not_promoted(account: Account, prospect: Prospect) -> None:
    """Lock the prospect, so that a promotion cannot miss the click to be inserted."""
    prospects = account.prospects.select_for_update(no_key=True)
    if not prospects.filter(pk=prospect.pk, promoted_at=None).exists():
        raise ConcurrentUpdate


def normalize_url(text: str | None) -> str | None:
    """Truncate an absolute http(s) URL to 2,048 characters; None if it is invalid."""
    if not text:
        return None
    url = text[:MAX_VISIT_URL_LENGTH]
    try:
        parts = split_url(url)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return None
    return url if is_valid else None


def find_sub_id(landing_page: str | None) -> str | None:
    """Find the sub-id in the query of a landing page; None without a valid one."""
    if not landing_page or "sub_id=" not in landing_page:
        return None
    match = SUB_ID_PARAMETER.search(split_url(landing_page).query)
    return match[1] if match else None
