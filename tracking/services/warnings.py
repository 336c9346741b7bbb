"""What looks odd about a sale: it refuses nothing, it makes somebody look."""

from tracking.models.affiliates import Affiliate

CUSTOMER_IS_AFFILIATE = "customer_is_affiliate"


def warnings_about(
    affiliate: Affiliate, *, customer_id: str | None
) -> list[str] | None:
    """The warnings, or None; contract 7.11."""
    email = affiliate.email
    if email and customer_id and customer_id.casefold() == email.casefold():
        return [CUSTOMER_IS_AFFILIATE]
    return None
