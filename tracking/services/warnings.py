"""Warnings about conversions and customers, for review; they reject nothing."""

from collections.abc import Iterable, Sequence

from accounts.email_addresses import fold_email
from tracking.models.affiliates import Affiliate

CUSTOMER_IS_AFFILIATE = "customer_is_affiliate"
ODD_COMMISSION_TYPE = "odd_commission_type"


def find_warnings(
    affiliate: Affiliate,
    *,
    buyer: Iterable[str | None],
    extra_warnings: Sequence[str] = (),
) -> list[str] | None:
    """The warnings of docs/api-contract.md, section 7.11; None if there are none.

    `buyer` are the ID of the customer and addresses of the buyer. `extra_warnings` are
    those about the call itself.
    """
    warnings = []
    own = normalize_address(affiliate.email or "")
    if own and own in {normalize_address(name or "") for name in buyer}:
        warnings.append(CUSTOMER_IS_AFFILIATE)
    return list(dict.fromkeys([*warnings, *extra_warnings])) or None


def normalize_address(text: str) -> str:
    """An e-mail address in lower case, without outer white space and `+tag`.

    Mail to `odette+1@example.org` reaches `odette@example.org`. Other text has no tag.
    """
    local, at, domain = fold_email(text.strip()).rpartition("@")
    return f"{local.partition('+')[0]}{at}{domain}"
