"""Warnings about conversions and customers, for review; they reject nothing."""

from tracking.models.affiliates import Affiliate

CUSTOMER_IS_AFFILIATE = "customer_is_affiliate"


def find_warnings(affiliate: Affiliate, *, customer_id: str | None) -> list[str] | None:
    """The warnings of docs/api-contract.md, section 7.11; None if there are none."""
    email, customer = affiliate.email or "", customer_id or ""
    if email and normalize_address(customer) == normalize_address(email):
        return [CUSTOMER_IS_AFFILIATE]
    return None


def normalize_address(text: str) -> str:
    """An e-mail address in lower case, without outer white space and `+tag`.

    Mail to `odette+1@example.org` reaches `odette@example.org`. Other text has no tag.
    """
    local, at, domain = text.strip().casefold().rpartition("@")
    return f"{local.partition('+')[0]}{at}{domain}"
