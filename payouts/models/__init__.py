"""Names handed on, so that Django finds them; code imports from their own modules."""

from payouts.models.bonuses import Bonus
from payouts.models.commission_types import CommissionType, GroupRate, Level
from payouts.models.commissions import Commission
from payouts.models.ledger import LedgerAccount, Transfer
from payouts.models.payments import Payment, PayoutMethod

__all__ = [
    "Bonus",
    "Commission",
    "CommissionType",
    "GroupRate",
    "LedgerAccount",
    "Level",
    "Payment",
    "PayoutMethod",
    "Transfer",
]
