"""Warnings about conversions and customers, for review; they reject nothing."""

from collections.abc import Sequence

from tracking.models.affiliates import Affiliate

CUSTOMER_IS_AFFILIATE = "customer_is_affiliate"
ODD_COMMISSION_TYPE = "odd_commission_type"


def find_warnings(
    affiliate: Affiliate, *, customer_id: str | None, extra_warnings: Sequence[str] = ()
) -> list[str] | None:
    """The warnings of docs/api-contract.md, section 7.11; None if there are none.

    `extra_warnings` are those about the call itself.
    """
    warnings = []
    email = affiliate.email
    if email and customer_id and customer_id.casefold() == email.casefold():
        warnings.append(CUSTOMER_IS_AFFILIATE)
    return list(dict.fromkeys([*warnings, *extra_warnings])) or None
