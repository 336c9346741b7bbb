"""Signatures of page calls: a signed claim is a fact (docs/tracking-trust.md)."""

from decimal import Decimal

from accounts.models.accounts import Account
from accounts.services.signing_secrets import has_valid_signature
from tracking.claims import Trust

SIGNED_FIELDS = {
    "conversion": ("external_id", "amount", "currency", "customer_id"),
    "customer": ("customer_id", "status"),
}


def determine_trust(account: Account, name: str, body: dict) -> Trust | None:
    """Return what a call is worth; None if its signature is wrong or missing.

    `body` is the JSON object as sent. The amount counts as it was written, so a shop
    best sends it as a string.
    """
    signature = body.get("signature")
    if signature in (None, ""):
        return None if account.require_signatures else Trust.CLAIM
    lines = [name, *(_format_value(body.get(it)) for it in SIGNED_FIELDS[name])]
    is_valid = isinstance(signature, str) and has_valid_signature(
        account, lines, signature
    )
    return Trust.FACT if is_valid else None


def has_unsigned_rates(body: dict) -> bool:
    """Does a signed conversion choose rates or parts that the signature leaves out?"""
    return bool(body.get("commissions")) or bool(body.get("commission_type"))


def _format_value(value: object) -> str:
    if isinstance(value, Decimal):
        return str(value)
    return "" if value is None else str(value)
