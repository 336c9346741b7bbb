"""Payout methods: how an affiliate is paid."""

from collections.abc import Mapping
from datetime import datetime

from django.db import transaction

from accounts.models.accounts import Account
from accounts.services.changes import log_event
from payouts.errors import PayoutMethodNotFound
from payouts.models.payments import PayoutMethod, PayoutMethodKind
from tracking.services.affiliates import get_affiliate


def validate_payout_method_kind(kind: str) -> None:
    """Raise `PayoutMethodNotFound` for an unknown kind."""
    if kind not in PayoutMethodKind.values:
        raise PayoutMethodNotFound


def set_payout_method(
    account: Account,
    *,
    affiliate_id: str,
    kind: str,
    details: Mapping[str, str] | None,
    is_primary: bool,
    at: datetime,
) -> PayoutMethod:
    """Create a payout method or replace its details; None leaves the details.

    The first payout method of an affiliate becomes the primary one.
    """
    validate_payout_method_kind(kind)
    with transaction.atomic():
        affiliate = get_affiliate(account, affiliate_id, lock=True)
        methods = account.payout_methods.filter(affiliate=affiliate)
        is_first = not methods.exists()
        method = methods.filter(kind=kind).first()
        if method is None:
            method = account.payout_methods.create(
                affiliate=affiliate, kind=kind, details=dict(details or {})
            )
        elif details is not None:
            method.update_row(details=dict(details))
        if is_first or is_primary:
            methods.exclude(pk=method.pk).update(is_primary=False)
            method.update_row(is_primary=True)
        log_event(account, "payout_method.set", affiliate, at=at, method=kind)
    return method
