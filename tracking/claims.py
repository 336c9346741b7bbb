"""Claims and facts: what a page may cause, and what needs a key, staff or a signature.

Anybody can call the endpoints of the browser script, so what they report is a claim. A
claim is stored and shown to staff, but it takes nothing from a fact: every rule that
treats the two differently is a function or a limit of this module. See
docs/tracking-trust.md.
"""

from decimal import Decimal
from enum import StrEnum

# Values of the API's `warnings`.
UNCONFIRMED_CUSTOMER = "unconfirmed_customer"
CONTESTED_CLAIM = "contested_claim"
CONTESTED_CUSTOMER = "contested_customer"
FORMER_CUSTOMER_ID = "former_customer_id"

MAX_OPEN_CLAIMS = 10_000  # conversions, and unconfirmed customers, of one affiliate
# Of the open conversions of one affiliate, if a page sends more than `FEW_ITEMS`.
MAX_CLAIMED_COMMISSIONS = 50_000
FEW_ITEMS = 10
MAX_COMPETING_CLAIMS = 10  # of one conversion; then one per affiliate without any


class Trust(StrEnum):
    """What a call is worth. The values are stored in attribution records."""

    CLAIM = "claim"  # by the browser script, without a valid signature
    FACT = "fact"  # with an API key or a valid signature, by staff or by a command


class ClaimStatus(StrEnum):
    """The state of a conversion that is not a fact; a fact has none."""

    OPEN = "open"  # nobody has decided about it
    REVIEWED = "reviewed"  # a commission was approved or disapproved, by key or staff


def is_customer_confirmed(trust: Trust, *, trusts_browser_customers: bool) -> bool:
    """Is a new customer a fact, or unconfirmed until a fact names it?"""
    return trust is Trust.FACT or trusts_browser_customers


def get_promotion_approval(trust: Trust, *, auto_approves_affiliates: bool) -> bool | None:
    """The approval of a promoted prospect in its program; None: it waits for staff."""
    return True if trust is Trust.FACT or auto_approves_affiliates else None


def can_mark_customer_paying(trust: Trust, *, is_canceled: bool) -> bool:
    """May a conversion set its customer to paying? A claim does not un-cancel."""
    return trust is Trust.FACT or not is_canceled


def is_other_visitor(
    first: tuple[str | None, int, Decimal], second: tuple[str | None, int, Decimal]
) -> bool:
    """Do two claims, as (tracking id, affiliate id, amount), come from two visitors?

    Without both tracking ids, as for a coupon, they do if affiliate or amount differ.
    """
    if first[0] and second[0]:
        return first[0] != second[0]
    return first[1:] != second[1:]
