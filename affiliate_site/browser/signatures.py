"""Signatures of page calls: a signed claim is a fact (docs/tracking-trust.md)."""

from accounts.models.accounts import Account
from accounts.services.api_keys import has_valid_signature
from tracking.claims import Trust
from tracking.errors import InvalidSignature, MissingSignature

SIGNED_FIELDS = {
    "conversion": ("external_id", "amount", "currency", "customer_id"),
    "customer": ("customer_id", "status"),
}


def determine_trust(account: Account, name: str, body: dict) -> Trust:
    """Return what a call is worth; `body` is the JSON object as sent.

    The amount counts as it was written. Raises `InvalidSignature` and, if the account
    requires signatures, `MissingSignature`.
    """
    if name not in SIGNED_FIELDS:
        return Trust.CLAIM
    signature = body.get("signature")
    if signature in (None, ""):
        if account.require_signatures:
            raise MissingSignature
        return Trust.CLAIM
    lines = [name, *(_format_value(body.get(it)) for it in SIGNED_FIELDS[name])]
    if not isinstance(signature, str):
        raise InvalidSignature
    # A value with a line feed could be read as two.
    if any("\n" in line for line in lines):
        raise InvalidSignature
    if not has_valid_signature(account, lines, signature):
        raise InvalidSignature
    return Trust.FACT


def do_items_match_amount(data: dict) -> bool:
    """Is the amount of a signed conversion the signed one, not that of its items?"""
    items = data.get("commissions")
    return not items or sum(it["sub_amount"] for it in items) == data.get("amount")


def is_currency_signed(account: Account, name: str, data: dict) -> bool:
    """Is it clear what a signed conversion counts, whatever program its visitor chose?

    Without a currency it is that of the program.
    """
    if name != "conversion" or data.get("currency"):
        return True
    currencies = account.programs.order_by().values_list("currency").distinct()
    return len(currencies[:2]) < 2


def has_unsigned_rates(body: dict) -> bool:
    """Does a signed conversion choose rates or parts that the signature leaves out?"""
    return bool(body.get("commissions") or body.get("commission_type"))


def _format_value(value: object) -> str:
    return "" if value is None else str(value)
