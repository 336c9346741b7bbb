"""Names handed on, so that Django finds them; code imports from their own modules."""

from payouts.models.commission_types import CommissionType
from payouts.models.commissions import Commission
from payouts.models.ledger import LedgerAccount, Transfer

__all__ = ["Commission", "CommissionType", "LedgerAccount", "Transfer"]
