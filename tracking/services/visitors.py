"""Visitors: tracking ids that identify browsers, and what their pages report."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models.functions import Lower

from accounts.errors import DomainError
from accounts.models.accounts import Account
from tracking.errors import TooMuchFromPages
from tracking.models.clicks import Click
from tracking.services.clicks import Visit, record_page_click
from tracking.services.concurrency import retry_on_conflict
from tracking.services.page_storage import store_click, take_storage_of_click


def generate_tracking_id(slug: str) -> str:
    """Generate an unguessable tracking id for the account with this slug.

    Its last four digits are a checksum of the slug, by which the browser script knows a
    cookie of another account in test mode. They are the same for unknown accounts.
    """
    checksum = 0
    for letter in slug:
        checksum = (checksum * 31 + ord(letter)) % 65536
    return f"{secrets.token_hex(14)}{checksum:04x}"


@dataclass(frozen=True)
class RecordedVisit:
    """The new tracking id of a visit, and why its link has no click, if so."""

    tracking_id: str
    failure: DomainError | None = None


@retry_on_conflict
def record_visit(
    account: Account, *, visit: Visit, previous_tracking_id: str | None, at: datetime
) -> RecordedVisit:
    """Record the click of a visit and create a new tracking id for it.

    If the link is invalid, the new id refers to the click of the previous tracking id.
    If that is unknown too, or pages have stored enough today, nothing is stored.
    """
    tracking_id = generate_tracking_id(account.slug)

    def store(keeps_texts: bool) -> DomainError | None:  # noqa: FBT001
        failure, click = None, None
        try:
            click = record_page_click(account, visit=visit, at=at, keeps_texts=keeps_texts)
        except DomainError as error:
            failure = error
            click = _find_click(account, previous_tracking_id)
        if click is not None:
            account.visitors.create(tracking_id=tracking_id, click=click, created_at=at)
            take_storage_of_click(click, is_new=click.created_at == at)
        return failure

    try:
        return RecordedVisit(tracking_id, store_click(store))
    except TooMuchFromPages as error:
        return RecordedVisit(tracking_id, error)


def find_first_coupon(account: Account, coupons: Sequence[str]) -> str | None:
    """Find the first text that is a coupon of the account; return the coupon's code.

    Shop systems change the case: where no code matches exactly, one that differs only
    in case counts if the account has just one. SQLite ignores the case of ASCII only.
    """
    lowered = {code.lower() for code in coupons}
    codes = account.coupons.values_list("code", flat=True)
    same = codes.filter(code__in=coupons)
    similar = codes.alias(lowered=Lower("code")).filter(lowered__in=lowered)
    codes_by_lowered: dict[str, list[str]] = {}
    for code in same.union(similar):  # each half has an index
        codes_by_lowered.setdefault(code.lower(), []).append(code)
    for coupon in coupons:
        found = codes_by_lowered.get(coupon.lower(), [])
        if coupon in found or len(found) == 1:
            return coupon if coupon in found else found[0]
    return None


def has_program_group(account: Account, label: str) -> bool:
    """Return whether a program of the account has this group label."""
    return account.programs.filter(program_group=label).exists()


def _find_click(account: Account, tracking_id: str | None) -> Click | None:
    visitors = account.visitors.filter(tracking_id=tracking_id)
    visitor = visitors.select_related("click").first()
    return visitor.click if visitor else None
