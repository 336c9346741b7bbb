"""Models of payouts, imported for Django; code imports them from their modules."""

from payouts.models.alerts import Alert
from payouts.models.bonuses import Bonus
from payouts.models.closed_months import ClosedMonth
from payouts.models.commission_types import CommissionType, GroupRate, Level
from payouts.models.commissions import Commission, PaymentAllocation
from payouts.models.daily_stats import DailyLandingPageClicks, DailyStats, MonthlyStats
from payouts.models.documents import Document, DocumentSequence, TaxData, TaxRule
from payouts.models.exchange_rates import ExchangeRate
from payouts.models.ledger import LedgerAccount, LedgerDigest, Transfer
from payouts.models.payments import Payment, PayoutMethod
from payouts.models.rates import Rate
from payouts.models.refunds import Correction, Refund
from payouts.models.risk import RiskCase, RiskFinding, RiskRule
from payouts.models.runs import (
    PayoutFile,
    PayoutLine,
    PayoutMinimum,
    PayoutRun,
    PayoutSettings,
    WithheldBalance,
)
from payouts.models.scenarios import Scenario

__all__ = [
    "Alert",
    "Bonus",
    "ClosedMonth",
    "Commission",
    "CommissionType",
    "Correction",
    "DailyLandingPageClicks",
    "DailyStats",
    "Document",
    "DocumentSequence",
    "ExchangeRate",
    "GroupRate",
    "LedgerAccount",
    "LedgerDigest",
    "Level",
    "MonthlyStats",
    "Payment",
    "PaymentAllocation",
    "PayoutFile",
    "PayoutLine",
    "PayoutMethod",
    "PayoutMinimum",
    "PayoutRun",
    "PayoutSettings",
    "Rate",
    "Refund",
    "RiskCase",
    "RiskFinding",
    "RiskRule",
    "Scenario",
    "TaxData",
    "TaxRule",
    "Transfer",
    "WithheldBalance",
]
