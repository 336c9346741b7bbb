"""Errors of tracking, with messages as in docs/api-contract.md, section 1.7."""

from accounts.errors import Conflict, InvalidInput, NotFound, gettext_noop


class ProgramNotFound(NotFound):
    """The account has no program with this id."""

    message = "Program not found"


class CreativeNotFound(NotFound):
    """The account has no creative with this id."""

    message = "Creative not found"


class ArchivedProgramReadOnly(Conflict):
    """An archived program cannot be modified."""

    message = "This program is archived."
    code = "program_archived"


class AffiliateNotFound(NotFound):
    """The account has no affiliate with this id, or the program does not."""

    message = "Affiliate not found"


class CustomerNotFound(NotFound):
    """The account has no customer with this id."""

    message = "Customer not found"


class TooManyCustomersForRequest(InvalidInput):
    """Reading all customers again takes too long for a request."""

    message = (
        "With more than {limit:,} customers this takes minutes: ask the operator to run"
        " set_customer_email_keys"
    )
    property_path = "customer_email_keys"


class ClickNotFound(NotFound):
    """The account has no click with this id."""

    message = "Click not found"


class ConversionNotFound(NotFound):
    """The account has no conversion with this id."""

    message = "Conversion not found"


class GroupNotFound(NotFound):
    """The account has no group with this id."""

    message = "Affiliate group not found"


class ProspectNotFound(NotFound):
    """The account has no prospect with this id."""

    message = "Affiliate prospect not found"


class ProspectAlreadyPromoted(Conflict):
    """A prospect becomes an affiliate once."""

    message = "This prospect is an affiliate already."


class NoteNotFound(NotFound):
    """The affiliate has no note with this id."""

    message = "Note not found"


class QuestionNotFound(NotFound):
    """The account has no question with this id."""

    message = "Question not found"


class QuestionNotOpen(Conflict):
    """A question is answered or closed once."""

    message = "This question is {state} already."


class TooManyQuestions(InvalidInput):
    """An affiliate has many questions that nobody answered yet."""

    message = gettext_noop(
        "{limit} of your questions wait for an answer. Ask again once one of them is answered."
    )


class CustomFieldNotFound(NotFound):
    """The account has no such custom field."""

    message = "Custom field not found"


class DuplicateCustomField(InvalidInput):
    """The ids of an account's custom fields are unique."""

    message = "There is a custom field '{slug}' already"
    property_path = "slug"


class TooManyMetaDataKeys(InvalidInput):
    """An object has more meta data keys than allowed."""

    message = "Meta data holds {limit} keys at most."
    message_raw = "Meta data holds {{ limit }} keys at most."
    property_path = "value"


class InvalidMetaDataKey(InvalidInput):
    """A meta data key is not allowed; `text` says why, `template` is its raw form."""

    property_path = "value"

    def __init__(self, text: str, template: str) -> None:
        super().__init__()
        self.text = text
        self.template = template

    @property
    def raw(self) -> str:
        return self.template


class MetaDataKeyNotFound(NotFound):
    """The object has no meta data under this key."""

    message = "Meta data key not found"


# Tracking parameters and conversions: messages of the specification, without a field.


class MissingTrackingParameter(InvalidInput):
    """No tracking parameter was sent, or a mandatory field is missing."""

    message = "Missing mandatory parameter(s)"


class BlankTrackingParameter(InvalidInput):
    """The tracking parameter with the highest precedence was sent empty."""

    message = "Parameter '{name}' takes precedence for tracking, but no value was passed"


class UnknownReferralCode(InvalidInput):
    """No affiliate of the account has this code."""

    message = "Unknown referral code"


class ShopCurrencyChanged(Conflict):
    """An order keeps the currency of its sale."""

    message = "The order was in {old}, and now it is in {new}."


class OrderOfAnotherShop(Conflict):
    """Two shops of an account use the same order IDs."""

    message = (
        "Another connected shop has reported the order {order}: give this connection a"
        " prefix for its IDs, under Settings, and process the event again."
    )


class ConnectionNotFound(NotFound):
    """The account has no such connection."""

    message = "Connection '{connection}' not found"


class UnknownConnectionKind(InvalidInput):
    """The kind of a shop is unknown."""

    message = "Unknown kind '{kind}'; kinds: {kinds}"
    property_path = "kind"


class InvalidConnectionSecret(InvalidInput):
    """A shop signs its events with a secret."""

    message = "Enter the signing secret of the shop, of 8 to 255 characters."
    property_path = "secret"


class SecretOfAnotherKind(InvalidInput):
    """What was entered is no signing secret, but for example an API key."""

    message = "{what}"
    property_path = "secret"


class InvalidSourceKey(InvalidInput):
    """What was missed is read from a shop with a key."""

    message = "Enter the key that reads from the shop, such as {example}."
    property_path = "key"


class InvalidShopAddress(InvalidInput):
    """The shop whose orders are read has an address."""

    message = "{reason}"
    property_path = "shop_url"


class CatchUpFailed(Conflict):
    """What was missed cannot be read from the shop."""

    message = "{what}"


class InvalidMapping(InvalidInput):
    """The events of a shop cannot be read as the mapping says."""

    message = "{what}"  # `path` is that of the field in the mapping


class UnreadableEvent(InvalidInput):
    """The event lacks what its kind always has."""

    message = "{what}"


class UnknownCoupon(InvalidInput):
    """No affiliate of the account has this coupon."""

    message = "Unknown coupon code"


class InvalidClickId(InvalidInput):
    """The account has no click with this id."""

    message = "Invalid click id"


class InvalidAssetOrSource(InvalidInput):
    """The asset or the source is not one of the account's."""

    message = "Invalid asset id or source id"


class InvalidTrackingId(InvalidInput):
    """No visitor of the account has this id."""

    message = "Invalid tracking id"


class UnknownCustomer(InvalidInput):
    """Only a customer id was sent, and no customer has it."""

    message = (
        "Missing tracking parameter value and no customer found for customer id: {customer_id}"
    )


class AffiliateDeleted(InvalidInput):
    """A deleted affiliate earns no commissions."""

    message = "Affiliate is deleted"


class AffiliateNotApproved(InvalidInput):
    """Only approved affiliates earn commissions in a program.

    `params` name the affiliate, the program and the tracking parameter that decided.
    """

    message = "Affiliate is not approved for this program"


class ProgramArchived(InvalidInput):
    """An archived program accepts no conversions; `params` may name the affiliate."""

    message = "Program is archived"


class CookieExpired(InvalidInput):
    """The click is older than the program's cookie time; `params` may name its
    affiliate."""

    message = "Cookie expired"


class DuplicateConversion(InvalidInput):
    """`external_id` is unique among the account's conversions."""

    message = "Duplicate conversion. There is already a conversion for External id '{external_id}'"


class SaleDayOutOfRange(InvalidInput):
    """The time of a sale that staff add lies in the future, or is a slip."""

    message = "The sale lies in the future or before 1990."
    property_path = "created_at"


class ClickAfterSale(InvalidInput):
    """A sale of an earlier day names a click of a later one."""

    message = "This click came on {day}, after the sale: enter another click, or another day."
    property_path = "click_id"


class TooManyConversionAttempts(InvalidInput):
    """A retry within ten seconds of a failure. The specification writes "To many"."""

    message = "To many concurrent attempts to create conversion with id '{external_id}'"


class DuplicateCustomer(InvalidInput):
    """`customer_id` is unique among the account's customers."""

    message = "Duplicate customer. There is already a customer for Customer id '{customer_id}'"


class InvalidInitialCustomerStatus(InvalidInput):
    """A customer cannot be created with this status."""

    message = "Invalid status '{status}'. Valid are 'new', 'trial', 'lead'"


# Claims: docs/tracking-trust.md.


class ContestedClaim(Conflict):
    """Two visitors claim the conversion, and nobody has confirmed one of them."""

    message = "Two visitors claim this conversion: confirm one of the claims first."
    code = "contested_claim"


class ClaimNotFound(NotFound):
    """The account has no contested claim with this ID."""

    message = "Contested claim {claim_id} not found"


class ClaimedCurrencyNotAllowed(InvalidInput):
    """A page reported an amount in another currency than the program's."""

    message = "Pages can report amounts in the program's currency only"


class ClaimedAmountTooLarge(InvalidInput):
    """A page reported an amount above the account's limit."""

    message = "The amount is above the account's limit for pages"


class InvalidSignature(InvalidInput):
    """The signature of a page call does not belong to its values."""

    message = "The signature is wrong"


class MissingSignature(InvalidInput):
    """The account accepts signed page calls only."""

    message = "The signature is missing"


class TooManyOpenClaims(InvalidInput):
    """An affiliate has too many claims that nobody decided about."""

    message = "The affiliate has too many open claims"


class TooMuchFromPages(InvalidInput):
    """Pages have stored as much as they may in a day without a key or signature."""

    message = "Pages have stored too much today for this link, affiliate or account"


# Affiliates, customers, enrollments, programs, amounts: field errors.


class DuplicateEmail(InvalidInput):
    """An e-mail address is unique among the account's affiliates."""

    message = "Email address is already in use"
    property_path = "email"


class SignInRefused(InvalidInput):
    """No affiliate has this address and password; nothing tells which one is wrong."""

    message = gettext_noop("The e-mail address or the password is wrong. Check both and try again.")


class WrongPassword(InvalidInput):
    """The present password of an affiliate is another one."""

    message = gettext_noop("This is not your password.")
    property_path = "old_password"


class WeakPassword(InvalidInput):
    """The new password of an affiliate is easy to guess."""

    message = "{reason}"
    property_path = "password"


class CodeRequired(Conflict):
    """The affiliate has a second factor: the code is due; `token` is that of a link."""

    message = "The code of the second factor is missing."


class WrongCode(InvalidInput):
    """The code of the second factor is wrong, used, or too old."""

    message = gettext_noop(
        "This code is wrong or was used already. Wait for the next one and enter it."
    )
    property_path = "code"


class LinkExpired(Conflict):
    """The link is unknown, used, replaced by a newer one, or too old."""

    message = gettext_noop(
        "This link does not work any more: it was used, replaced by a newer one, or is"
        " too old. Ask for a new one."
    )


class HostTaken(InvalidInput):
    """The portal of another account has this host as its own."""

    message = "Another account uses {host}."
    property_path = "host"


class InvitationNotMailed(Conflict):
    """No mail can be sent to the affiliate, and who invites may not see the link."""

    message = (
        "No mail can be sent to this affiliate. Only owners see the link instead: ask"
        " one to invite."
    )


class ApplicationExpired(Conflict):
    """The link to confirm an application is unknown, used or too old."""

    message = gettext_noop(
        "This link works once, within 24 hours. If you have used it already, sign in."
        " Otherwise apply again."
    )


class AddressTaken(Conflict):
    """An affiliate got the address after somebody had applied with it."""

    message = gettext_noop("An affiliate has this e-mail address by now. Sign in, and apply there.")


class ProgramClosed(Conflict):
    """The program was archived, or the portal takes no applications."""

    message = gettext_noop("This program takes no applications.")


class InvitationEnded(Conflict):
    """An invitation to a program is unknown, over, or was used as often as it may be."""

    message = gettext_noop("This invitation has ended. Ask for another one.")


class TermsChanged(Conflict):
    """The terms are not those that somebody has read and accepted."""

    message = gettext_noop("The terms have changed. Read and accept them.")


class AlreadyApplied(Conflict):
    """The affiliate takes part in the program, or has applied for it."""

    message = gettext_noop("You have applied for this program already.")


class UnknownPlaceholder(InvalidInput):
    """A text of mail names a value that does not exist; `known` lists the others."""

    message = "There is no {name}. You can use {known}."


class UnknownReference(InvalidInput):
    """A request body refers to a `what` that does not exist, in the field `path`.

    Unknown ids in a URL raise the `…NotFound` classes instead.
    """

    message = "Unknown {what}"


class AffiliateHierarchyCycle(InvalidInput):
    """A descendant of an affiliate cannot become its parent."""

    message = "An affiliate cannot be its own ancestor"
    property_path = "affiliate_id"


class MultipleValuesNotAllowed(InvalidInput):
    """A custom field with a single value was sent a list."""

    message = "This value should be of type string."
    message_raw = "This value should be of type {{ type }}."


class InvalidCustomerStatus(InvalidInput):
    """There is no such customer status."""

    message = "Invalid status '{status}'. Valid are 'new', 'trial', 'lead', 'paying', 'canceled'"
    message_raw = "Invalid status '{{ value }}'. Valid are {{ values }}"
    property_path = "status"


class InvalidCustomerStatusTransition(InvalidInput):
    """A customer's status changes only by conversions and by canceling."""

    message = "Customer status cannot change from '{current_status}' to '{status}'"
    message_raw = "Customer status cannot change from '{{ from }}' to '{{ to }}'"
    property_path = "status"


class AlreadyEnrolled(InvalidInput):
    """The affiliate is already enrolled in the program."""

    message = "Affiliate is already in this program"
    property_path = "affiliate.id"


class DuplicateReferralCode(InvalidInput):
    """Referral codes are unique in an account."""

    message = gettext_noop("Referral code is already in use")
    property_path = "referral_code"


class CodeAlreadyChosen(InvalidInput):
    """An affiliate chooses the code of its links once."""

    message = gettext_noop("You have chosen your code already")
    property_path = "code"


class DuplicateAlias(InvalidInput):
    """A further code of an enrollment is a code of another one."""

    message = "Referral code {code} is already in use"
    property_path = "aliases"


class DuplicateCoupon(InvalidInput):
    """Coupons are unique in an account."""

    message = "Coupon is already in use"
    property_path = "coupon"


class DuplicateProgram(InvalidInput):
    """Program slugs are unique in an account."""

    message = "Program '{slug}' already exists"
    property_path = "slug"


class CurrencyInUse(InvalidInput):
    """A program with conversions keeps its currency."""

    message = "The program has conversions in its currency; create another program"
    property_path = "currency"


class UnknownCurrency(InvalidInput):
    """Not an active ISO 4217 currency code."""

    message = "Unknown currency"
    property_path = "currency"


class InvalidNumber(InvalidInput):
    """An amount is not a number."""

    message = "This value should be a number."


class MissingAmount(InvalidInput):
    """A sale has no amount, and its commission is a percentage."""

    message = "This sale needs an amount: its commission is a percentage."


class UnclearCurrency(InvalidInput):
    """The mark beside an amount stands for several currencies, or none."""

    message = "The currency of this amount is not clear."


class AmountTooLarge(InvalidInput):
    """An amount has more digits than can be stored."""

    message = "This value has too many digits."


class NegativeAmount(InvalidInput):
    """An amount is below zero."""

    message = "This value should be 0 or more."


class SameEmail(InvalidInput):
    """The affiliate has this e-mail address already."""

    message = gettext_noop("This is your e-mail address already.")
    property_path = "email"


class EmailNotAvailable(Conflict):
    """Another affiliate has the address. Who reads its mail may know."""

    message = gettext_noop(
        "This e-mail address cannot be used here: it belongs to another affiliate."
        " Nothing was changed."
    )


class TooManyEmailChanges(Conflict):
    """Mail to addresses of strangers is limited."""

    message = gettext_noop("You have asked too often. Try again tomorrow.")


class MailNotSent(Conflict):
    """No mail server is configured."""

    message = gettext_noop("No mail can be sent at the moment, so the address cannot be confirmed.")


class TooManyApplications(Conflict):
    """An account has stored as many applications in an hour as it takes."""

    message = gettext_noop("Too many applications. Try again in an hour.")


class TooManyPostbacks(Conflict):
    """An affiliate has as many postbacks as affiliates can have."""

    message = gettext_noop("You have {limit} postbacks already: remove one first.")
