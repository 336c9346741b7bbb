"""Refusals of tracking, each spelled as the specification or the contract spells it."""

from accounts.errors import Conflict, Missing, Rejected


class ProgramNotFound(Missing):
    """The account has no program with this id."""

    message = "Program not found"


class ProgramIsLocked(Conflict):
    """An archived program cannot be modified."""

    message = "This program is archived."
    code = "program_archived"


class AffiliateNotFound(Missing):
    """The account has no affiliate with this id, or the program does not."""

    message = "Affiliate not found"


class CustomerNotFound(Missing):
    """The account has no customer with this id."""

    message = "Customer not found"


class ClickNotFound(Missing):
    """The account has no click with this id."""

    message = "Click not found"


class ConversionNotFound(Missing):
    """The account has no conversion with this number."""

    message = "Conversion not found"


class GroupNotFound(Missing):
    """The account has no group with this id."""

    message = "Affiliate group not found"


class ProspectNotFound(Missing):
    """The account has no prospect with this id."""

    message = "Affiliate prospect not found"


class NoteNotFound(Missing):
    """The affiliate has no note with this id."""

    message = "Note not found"


class TooManyKeys(Rejected):
    """An eleventh key."""

    message = "Meta data holds {limit} keys at most."
    message_raw = "Meta data holds {{ limit }} keys at most."
    property_path = "value"


class OddKey(Rejected):
    """A key that no meta data may have; the flaw says why."""

    property_path = "value"

    def __init__(self, text: str, raw: str) -> None:
        super().__init__()
        self.text = text
        self.template = raw

    @property
    def raw(self) -> str:
        return self.template


class MetaDataKeyNotFound(Missing):
    """The object has no meta data under this key."""

    message = "Meta data key not found"


# Tracking: the spec's own messages stand alone, without a field.


class NoClue(Rejected):
    """No attribution field was sent, or a field that the call cannot do without."""

    message = "Missing mandatory parameter(s)"


class BlankClue(Rejected):
    """The highest attribution field was sent empty."""

    message = (
        "Parameter '{name}' takes precedence for tracking, but no value was passed"
    )


class UnknownReferralCode(Rejected):
    """No affiliate of the account has this code."""

    message = "Unknown referral code"


class UnknownCoupon(Rejected):
    """No affiliate of the account has this coupon."""

    message = "Unknown coupon code"


class InvalidClickId(Rejected):
    """The account has no such click."""

    message = "Invalid click id"


class InvalidAssetOrSource(Rejected):
    """The pair names no program or no affiliate of the account."""

    message = "Invalid asset id or source id"


class InvalidTrackingId(Rejected):
    """No visitor of the account has this id."""

    message = "Invalid tracking id"


class UnknownCustomer(Rejected):
    """Only a customer was sent, and there is none with this id."""

    message = (
        "Missing tracking parameter value and no customer found for customer id:"
        " {customer_id}"
    )


class AffiliateDeleted(Rejected):
    """Who was removed earns no more."""

    message = "Affiliate is deleted"


class AffiliateNotApproved(Rejected):
    """Only approved affiliates earn in a program."""

    message = "Affiliate is not approved for this program"


class ProgramArchived(Rejected):
    """An archived program takes no conversions."""

    message = "Program is archived"


class CookieExpired(Rejected):
    """The click is older than the program's cookie time."""

    message = "Cookie expired"


class DuplicateConversion(Rejected):
    """An `external_id` names one conversion of the account."""

    message = (
        "Duplicate conversion. There is already a conversion for External id"
        " '{external_id}'"
    )


class TooManyAttempts(Rejected):
    """A retry came within ten seconds of a failure. The spelling is the spec's."""

    message = "To many concurrent attempts to create conversion with id '{external_id}'"


class DuplicateCustomer(Rejected):
    """A `customer_id` names one customer of the account."""

    message = (
        "Duplicate customer. There is already a customer for Customer id"
        " '{customer_id}'"
    )


class InvalidStatus(Rejected):
    """Not a status that a customer begins with."""

    message = "Invalid status '{status}'. Valid are 'new', 'trial', 'lead'"


# Affiliates and enrolments: field errors.


class EmailTaken(Rejected):
    """An e-mail address names one affiliate of the account."""

    message = "Email address is already in use"
    property_path = "email"


class UnknownAffiliate(Rejected):
    """A body names an affiliate that the account does not have."""

    message = "Unknown affiliate"
    property_path = "affiliate.id"


class UnknownGroup(Rejected):
    """A body names a group that the account does not have."""

    message = "Unknown affiliate group"
    property_path = "group_id"


class UnknownProgram(Rejected):
    """A body names a program that the account does not have."""

    message = "Unknown program"
    property_path = "program_id"


class OwnAncestor(Rejected):
    """Whoever is below an affiliate cannot be above it."""

    message = "An affiliate cannot be its own ancestor"
    property_path = "affiliate_id"


class NoSeveralValues(Rejected):
    """A custom field that takes one value was given a list."""

    message = "This value should be of type string."
    message_raw = "This value should be of type {{ type }}."


class InvalidCustomerStatus(Rejected):
    """Not a status of customers."""

    message = (
        "Invalid status '{status}'. Valid are 'new', 'trial', 'lead', 'paying',"
        " 'canceled'"
    )
    message_raw = "Invalid status '{{ value }}'. Valid are {{ values }}"
    property_path = "status"


class StatusIsKept(Rejected):
    """A customer's status moves by its sales, or by canceling."""

    message = "Customer status cannot change from '{was}' to '{status}'"
    message_raw = "Customer status cannot change from '{{ from }}' to '{{ to }}'"
    property_path = "status"


class AlreadyEnrolled(Rejected):
    """An affiliate is in a program once."""

    message = "Affiliate is already in this program"
    property_path = "affiliate.id"


class ReferralCodeTaken(Rejected):
    """A referral code names one affiliate in one program."""

    message = "Referral code is already in use"
    property_path = "referral_code"


class CouponTaken(Rejected):
    """A coupon names one affiliate in one program."""

    message = "Coupon is already in use"
    property_path = "coupon"


class ProgramExists(Rejected):
    """A program's slug is taken once in its account."""

    message = "The account has a program '{slug}' already"


class UnknownCurrency(Rejected):
    """Not a currency of ISO 4217 that anybody pays in."""

    message = "Unknown currency"
    property_path = "currency"


class NotANumber(Rejected):
    """An amount that is none."""

    message = "This value should be a number."


class TooManyDigits(Rejected):
    """An amount that no ledger row could hold."""

    message = "This value has too many digits."


class BelowNought(Rejected):
    """An amount that should not be negative."""

    message = "This value should be 0 or more."
