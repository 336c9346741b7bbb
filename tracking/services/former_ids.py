"""Former IDs of customers and conversions, by which repeated signed calls are known.

Only their digests are stored, keyed by `ENCRYPTION_KEYS`, one row per ID.
"""

from accounts.encryption import list_blind_indexes
from accounts.models.accounts import Account
from tracking.models.conversions import FormerIdDigest
from tracking.models.customers import Customer

CUSTOMER, CONVERSION = "customer", "conversion"


class FormerCustomerId(Exception):
    """A signed call names a new customer by an ID that another one had before.

    The caller rolls back; the call may be a repetition, so it is worth a claim.
    """


def record_customer_id(customer: Customer) -> None:
    """Record the ID of a customer who is about to lose it; a claim is no use of it."""
    if customer.is_confirmed:
        record_former_id(customer.account, CUSTOMER, customer.customer_id)


def ensure_first_use(account: Account, customer_id: str, *, is_signed: bool) -> None:
    """Raise `FormerCustomerId` if another customer had the ID of a signed call.

    Call it after the insert of the new customer, which waits for a deletion or a change
    of the former one.
    """
    if is_signed and is_former_id(account, CUSTOMER, customer_id):
        raise FormerCustomerId


def record_former_id(account: Account, kind: str, text: str) -> None:
    """Record an ID that a customer or conversion is about to lose."""
    account.former_id_digests.insert_or_ignore(
        FormerIdDigest(account=account, digest=_list_digests(kind, text)[0]),
        unique_fields=("account", "digest"),
    )


def is_former_id(account: Account, kind: str, text: str) -> bool:
    """Was this the ID of a customer, or of a conversion before its erasure?"""
    rows = account.former_id_digests.filter(digest__in=_list_digests(kind, text))
    return rows.exists()


def _list_digests(kind: str, text: str) -> list[str]:
    return list_blind_indexes(f"{kind}\n{text}")
