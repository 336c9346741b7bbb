"""Refusals of payouts, each spelled as the specification or the contract spells it."""

from accounts.errors import Conflict, Missing, Rejected


class CommissionNotFound(Missing):
    """The account has no commission with this number."""

    message = "Commission not found"


class UnknownCommissionType(Rejected):
    """The program has no commission type with this identifier."""

    message = "Unknown commission type"
    property_path = "commission_type"


class CommissionApproved(Conflict):
    """What was approved by an account that pays through the service is final."""

    message = "The commission is approved and cannot be changed."
    code = "commission_approved"


class CommissionUnfunded(Conflict):
    """The payout balance does not cover what is owed already, and this."""

    message = "The payout balance does not cover this commission."
    code = "commission_unfunded"


class BalanceTooLarge(Rejected):
    """No ledger row holds more than this."""

    message = "This value has too many digits."
    property_path = "amount"
