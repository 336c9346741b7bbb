"""What a shop only claims, because its address has a secret and no signature.

Such a sale waits for staff (`tracking.claims`). It takes nothing from what was reported
in another way.
"""

from tracking.models.conversions import Conversion
from tracking.models.shops import Connection
from tracking.services.shop_mappings import reports_claims

KNOWN_ALREADY = (
    "This sale was reported in another way before. The address of this shop has a"
    " secret only, so what it reports is a claim, which changes nothing there."
)
CONFIRMED = (
    "The sale is confirmed, and the address of this shop has a secret only: what it"
    " reports is a claim, which changes nothing. If it is right, change the sale by"
    " hand."
)
NEEDS_SIGNATURE = (
    "The account takes no sales without a signature, and the address of this shop has"
    " a secret only."
)


def find_claim_refusal(connection: Connection, reported: Conversion | None) -> str:
    """Return why a claim of a sale is not stored; empty if it is, or is a fact."""
    if not reports_claims(connection.settings):
        return ""
    if reported is not None:
        return KNOWN_ALREADY
    return NEEDS_SIGNATURE if connection.account.require_signatures else ""
