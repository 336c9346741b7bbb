"""Visitors: tracking ids that identify browsers, and coupons they report."""

import secrets
from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from accounts.errors import DomainError
from accounts.models.accounts import Account
from tracking.models.clicks import Click
from tracking.services.clicks import Visit, record_click


def generate_tracking_id() -> str:
    """Generate an unguessable tracking id."""
    return secrets.token_hex(16)


def record_visit(
    account: Account, *, visit: Visit, previous_tracking_id: str | None, at: datetime
) -> str:
    """Record the click of a visit and return a new tracking id for it.

    If the link is invalid, the new id refers to the click of the previous tracking id.
    If that is unknown too, nothing is stored.
    """
    tracking_id = generate_tracking_id()
    with transaction.atomic():
        click = _find_or_record_click(account, visit, previous_tracking_id, at)
        if click is not None:
            account.visitors.create(tracking_id=tracking_id, click=click, created_at=at)
    return tracking_id


def find_first_coupon(account: Account, coupons: Sequence[str]) -> str | None:
    """Find the first text that is a coupon of the account."""
    rows = account.coupons.filter(code__in=coupons)
    known = set(rows.values_list("code", flat=True))
    return next((code for code in coupons if code in known), None)


def _find_or_record_click(
    account: Account, visit: Visit, previous_tracking_id: str | None, at: datetime
) -> Click | None:
    try:
        return record_click(account, visit=visit, at=at, deduplicate=True)
    except DomainError:
        visitors = account.visitors.filter(tracking_id=previous_tracking_id)
        visitor = visitors.select_related("click").first()
        return visitor.click if visitor else None
