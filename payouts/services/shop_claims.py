"""What a shop only claims, because its address has a secret and no signature.

Such a sale waits for staff (`tracking.claims`). It takes nothing from what was reported
in another way.
"""

from payouts.services.shop_refunds import get_conversion_of
from payouts.shop_facts import Sale, is_claimed
from tracking.models.conversions import Conversion
from tracking.models.shops import Connection, ShopOrder, ShopOrderReason

CONFIRMED = (
    "The sale is confirmed, and the address of this shop has a secret only: what it"
    " reports is a claim, which changes nothing. If it is right, change the sale by"
    " hand."
)


def forget_claimed_sale(order: ShopOrder) -> None:
    """Let a sale that the shop has signed now be created, which confirms the claim."""
    if order.conversion_id is None or is_claimed(order.facts["sale"]):
        return
    conversion = get_conversion_of(order)
    if conversion.claim_status is not None and conversion.deleted_at is None:
        order.update_row(conversion=None, is_adopted=False, lines=[], suspended=[], reason="")


def find_claim_refusal(
    connection: Connection, sale: Sale, reported: Conversion | None
) -> ShopOrderReason | None:
    """Return why a claim of a sale is not stored; None if it is, or is a fact."""
    if not is_claimed(sale):
        return None
    if reported is not None:
        return ShopOrderReason.KNOWN_ALREADY
    return ShopOrderReason.NEEDS_SIGNATURE if connection.account.require_signatures else None
