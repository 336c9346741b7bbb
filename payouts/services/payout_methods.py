"""Payout methods: how an affiliate is paid."""

from collections.abc import Mapping
from datetime import datetime

from django.db import transaction

from accounts.models.accounts import Account
from accounts.services.changes import log_event
from payouts.errors import PayoutMethodNotFound
from payouts.models.payments import PayoutMethod, PayoutMethodKind
from tracking.services.affiliates import get_affiliate

# Names of details that the audit log has: nobody can erase it, and other names, which
# anybody chooses, may say something of a person.
LOGGED_DETAILS = {
    *("account_holder", "account_number", "address", "bank", "bank_name", "bic"),
    *("email", "iban", "name", "paypal_address", "routing_number", "swift"),
}


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

    The first payout method of an affiliate becomes the primary one. The audit log gets
    the names of what changed, never values: bank details are personal data.
    """
    validate_payout_method_kind(kind)
    with transaction.atomic():
        affiliate = get_affiliate(account, affiliate_id, lock=True)
        methods = account.payout_methods.filter(affiliate=affiliate)
        is_first = not methods.exists()
        method = methods.filter(kind=kind).first()
        before = dict(method.details) if method else {}
        was_primary = method is not None and method.is_primary
        if method is None:
            method = account.payout_methods.create(
                affiliate=affiliate, kind=kind, details=dict(details or {})
            )
        elif details is not None:
            method.update_row(details=dict(details))
        if is_first or is_primary:
            methods.exclude(pk=method.pk).update(is_primary=False)
            method.update_row(is_primary=True)
        fields = _list_changed_fields(before, method.details)
        if method.is_primary and not was_primary:
            fields.append("primary")
        log_event(
            account, "payout_method.set", affiliate, at=at, method=kind, fields=fields
        )
    return method


def _list_changed_fields(
    before: Mapping[str, str], after: Mapping[str, str]
) -> list[str]:
    """The names of the details that were set, changed or removed."""
    changed = {
        name.lower() if name.lower() in LOGGED_DETAILS else "others"
        for name in {*before, *after}
        if before.get(name) != after.get(name)
    }
    return sorted(changed)
