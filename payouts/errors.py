"""Refusals of payouts, each spelled as the specification or the contract spells it."""

from accounts.errors import Conflict, Missing, Rejected


class CommissionNotFound(Missing):
    """The account has no commission with this number."""

    message = "Commission not found"


class PaymentNotFound(Missing):
    """The account has no standing payment with this id."""

    message = "Payment not found"


class PayoutMethodNotFound(Missing):
    """There is no such way to be paid, or the affiliate has not set it."""

    message = "Payout method not found"


class OnlyOfASale(Rejected):
    """Only what somebody earned by a sale has a part of it that can change."""

    message = "The sub-amount of this commission cannot change"
    property_path = "conversion_sub_amount"


class CurrencyIsKept(Rejected):
    """A sale keeps the currency that it was made in."""

    message = "The currency of a conversion cannot change"
    property_path = "currency"


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


class DueMoved(Conflict):
    """What was approved up to a day, and is to be paid, changed meanwhile."""

    message = "{due} {currency} of it is due by now"
    code = "due_moved"


class BalanceMoved(Conflict):
    """What was to be paid is not what is owed at this moment."""

    message = "The balance is {balance} {currency} by now"
    code = "balance_moved"
