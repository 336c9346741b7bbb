"""Payout methods: how an affiliate wants to be paid."""

from collections.abc import Mapping
from datetime import datetime

from django.db import transaction

from accounts.models.accounts import Account
from accounts.services.events import note
from payouts.errors import PayoutMethodNotFound
from payouts.models.payments import PayoutMethod, Way
from tracking.services.affiliates import affiliate_named


def refuse_unknown_way(kind: str) -> None:
    """Stop here if nobody can be paid that way."""
    if kind not in Way.values:
        raise PayoutMethodNotFound


def set_payout_method(
    account: Account,
    *,
    affiliate_id: str,
    kind: str,
    details: Mapping[str, str] | None,
    primary: bool,
    at: datetime,
) -> PayoutMethod:
    """Set a way to be paid, or replace its details; None leaves them as they are.

    The first one set is the primary one, until another is made so.
    """
    refuse_unknown_way(kind)
    with transaction.atomic():
        affiliate = affiliate_named(account, affiliate_id, lock=True)
        methods = account.payout_methods.filter(affiliate=affiliate)
        first = not methods.exists()
        method = methods.filter(kind=kind).first()
        if method is None:
            method = account.payout_methods.create(
                affiliate=affiliate, kind=kind, details=dict(details or {})
            )
        elif details is not None:
            method.change(details=dict(details))
        if first or primary:
            methods.exclude(pk=method.pk).update(is_primary=False)
            method.change(is_primary=True)
        note(account, "payout_method.set", affiliate, at=at, method=kind)
    return method
