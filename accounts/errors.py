"""Refusals of the domain: three kinds, and nothing about HTTP in them.

A leaf is a fact with its text on the class: `raise DuplicateConversion(external_id=…)`.
A fact may stand in the text as `{name}`. There is no kind for missing rights: every
refusal of that sort is the door's.
"""

from typing import Any, ClassVar


class DomainError(Exception):
    """The domain says no; `text` tells the caller why."""

    message: ClassVar[str] = ""
    message_raw: ClassVar[str | None] = None  # with {{ placeholders }}; None: message
    property_path: ClassVar[str | None] = None  # the field it speaks of, if it does

    def __init__(self, **facts: Any) -> None:
        super().__init__(facts)
        self.facts = facts
        self.text = self.message.format(**facts)
        self.path = facts.get("path", self.property_path)

    @property
    def raw(self) -> str:
        return self.message_raw if self.message_raw is not None else self.text

    def __str__(self) -> str:
        return self.text


class Rejected(DomainError):
    """The request is wrong, and the text says what to change."""


class Missing(DomainError):
    """There is no such thing in this account."""


class Conflict(DomainError):
    """The thing is in a state that does not allow this."""

    code: ClassVar[str] = ""


class AccountLocked(Rejected):
    """Tracking is refused while the account is locked."""

    message = "Advertiser account locked"


class UnknownAccount(Missing):
    """No account has this slug."""

    message = "There is no account '{slug}'"


class UnknownPlan(Missing):
    """No plan has this name."""

    message = "There is no plan '{plan}'; the plans are {plans}"


class AccountExists(Rejected):
    """An account's slug is taken once, for the whole site."""

    message = "There is an account '{slug}' already"


class IdempotencyKeyReused(Conflict):
    """A key names one request."""

    message = "This Idempotency-Key was used for another request."
    code = "idempotency_key_reused"


class IdempotencyInProgress(Conflict):
    """The first request with this key has not ended in time."""

    message = "A request with this Idempotency-Key is still in progress."
    code = "idempotency_in_progress"


class OddSetting(Rejected):
    """Nothing can be run with this setting."""

    message = "{setting} must be {rule}"


class OddSlug(Rejected):
    """A slug goes into addresses and commands, so its letters are few."""

    message = (
        "'{slug}' is not a slug: 1 to 64 lower-case letters, digits and dashes,"
        " beginning with a letter or digit"
    )


class OddUrl(Rejected):
    """A URL that the house does not call."""

    message = "The URL cannot be called: {why}"


class UnknownEventName(Rejected):
    """Nobody is ever told of such an event."""

    message = "There is no event '{name}'; the events are {names}"


class UnknownWebhook(Missing):
    """The account has no endpoint with this id."""

    message = "The account has no webhook '{webhook}'"


class WebhookUnsigned(Conflict):
    """An affiliate's postback has no secret."""

    message = "'{webhook}' is an affiliate's postback, and those are not signed"


class WebhookExists(Rejected):
    """The same URL would be told of the same events twice."""

    message = "'{webhook}' tells this URL of the same events already"


class WebhookForlorn(Conflict):
    """Nobody is left whose sales a postback could tell of."""

    message = "'{webhook}' is the postback of an affiliate who was removed"


class WebhookDisabled(Conflict):
    """Nothing is sent to a disabled endpoint."""

    message = "The webhook '{webhook}' is disabled: enable it first"


class UnknownDelivery(Missing):
    """The account has no delivery with this number."""

    message = "The account has no delivery {number}; they are kept for 30 days"


class StaffExists(Rejected):
    """An e-mail address signs in to one account."""

    message = "There is a sign-in '{email}' already"


class UnknownStaff(Missing):
    """The account has no member of staff with this address."""

    message = "The account has no sign-in '{email}'"


class StaffActive(Conflict):
    """Nobody is let in again who never was kept out."""

    message = "'{email}' is active already"


class LastOwner(Conflict):
    """Somebody has to be left who manages the account."""

    message = (
        "'{email}' is the last owner who can sign in: make somebody else one first"
    )


class OwnerNoMore(Conflict):
    """Two owners act at once, and one of them was quicker."""

    message = "You are no owner of this account any more: ask one"


class OwnSignIn(Conflict):
    """Nobody locks themselves out by mistake."""

    message = "This is your own sign-in: ask another owner"


class UnknownKey(Missing):
    """The account has no key with this prefix."""

    message = "The account has no API key that begins with '{prefix}'"


class Several(Rejected):
    """Several fields are wrong at once."""

    def __init__(self, refusals: list[Rejected]) -> None:
        super().__init__()
        self.refusals = refusals
