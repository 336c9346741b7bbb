"""Warnings about conversions and customers, for review; they reject nothing."""

from tracking.models.affiliates import Affiliate

CUSTOMER_IS_AFFILIATE = "customer_is_affiliate"


def find_warnings(affiliate: Affiliate, *, customer_id: str | None) -> list[str] | None:
    """The warnings of docs/api-contract.md, section 7.11; None if there are none."""
    email = affiliate.email
    if email and customer_id and customer_id.casefold() == email.casefold():
        return [CUSTOMER_IS_AFFILIATE]
    return None
