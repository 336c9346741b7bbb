"""Visitors: what a browser is told of itself, and what it tells later."""

import secrets
from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from accounts.errors import DomainError
from accounts.models.accounts import Account
from tracking.models.clicks import Click
from tracking.services.clicks import Visit, record_click


def new_tracking_id() -> str:
    """Random, so that nobody guesses another one's."""
    return secrets.token_hex(16)


def record_visit(
    account: Account, *, visit: Visit, former: str | None, at: datetime
) -> str:
    """A new tracking id for a visit through a link.

    Where the link points at nobody, it stands for the click of the `former` id; where
    that is unknown as well it stands for nothing, and nothing is stored.
    """
    tracking_id = new_tracking_id()
    with transaction.atomic():
        click = _click_of(account, visit, former, at)
        if click is not None:
            account.visitors.create(tracking_id=tracking_id, click=click, created_at=at)
    return tracking_id


def first_known_coupon(account: Account, coupons: Sequence[str]) -> str | None:
    """The first of these that is a coupon of the account."""
    rows = account.coupons.filter(code__in=coupons)
    known = set(rows.values_list("code", flat=True))
    return next((code for code in coupons if code in known), None)


def _click_of(
    account: Account, visit: Visit, former: str | None, at: datetime
) -> Click | None:
    try:
        return record_click(account, visit=visit, at=at, folds=True)
    except DomainError:
        known = account.visitors.filter(tracking_id=former).select_related("click")
        visitor = known.first()
        return visitor.click if visitor else None
