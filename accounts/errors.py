"""Business errors of three kinds: invalid input, not found and conflict.

Each error class has its message: `raise DuplicateConversion(external_id=…)`. Keyword
arguments fill the placeholders of the message, e.g. `{external_id}`. HTTP statuses and
missing permissions are the concern of the API layer.
"""

import re
from collections.abc import Callable
from typing import Any, ClassVar


def gettext_noop(message: str) -> str:
    """Mark a message that affiliates see for translation; errors know no Django."""
    return message


class DomainError(Exception):
    """A business error; `text` is the message for the caller."""

    message: ClassVar[str] = ""
    message_raw: ClassVar[str | None] = None  # with {{ placeholders }}; None: message
    property_path: ClassVar[str | None] = None  # the field in question, if any

    def __init__(self, **params: Any) -> None:
        super().__init__(params)
        self.params = params
        self.text = self.message.format(**params)
        self.path = params.get("path", self.property_path)

    @property
    def raw(self) -> str:
        return self.message_raw if self.message_raw is not None else self.text

    def __str__(self) -> str:
        return self.text


class InvalidInput(DomainError):
    """The request is invalid."""


class NotFound(DomainError):
    """The account has no such object."""


class Conflict(DomainError):
    """The state of the object does not allow the operation."""

    code: ClassVar[str] = ""


class AccountLocked(InvalidInput):
    """A locked account accepts no tracking requests."""

    message = "Advertiser account locked"


class AccountNotFound(NotFound):
    """No account has this slug."""

    message = "Account '{slug}' not found"


class PlanNotFound(NotFound):
    """No plan has this name."""

    message = "Plan '{plan}' not found; available plans: {plans}"


class DuplicateAccount(InvalidInput):
    """Another account has this slug."""

    message = "Account '{slug}' already exists"


class IdempotencyKeyReused(Conflict):
    """The key was used for a different request."""

    message = "This Idempotency-Key was used for another request."
    code = "idempotency_key_reused"


class IdempotencyInProgress(Conflict):
    """The first request with this key did not finish in time."""

    message = "A request with this Idempotency-Key is still in progress."
    code = "idempotency_in_progress"


class InvalidSetting(InvalidInput):
    """The value of a setting is invalid."""

    message = "{setting} must be {rule}"


class AmbiguousSignIn(InvalidInput):
    """An e-mail address signs in to several accounts and none was named."""

    message = "{email} signs in to several accounts: name one with --account {accounts}"


class UnknownTimeZone(InvalidInput):
    """No time zone has this name."""

    message = "'{time_zone}' is not a time zone; enter a name like Europe/Berlin"
    property_path = "time_zone"


class InvalidSlug(InvalidInput):
    """The text is not a valid slug."""

    message = (
        "'{slug}' is not a slug: 1 to 64 lower-case letters, digits and dashes,"
        " beginning with a letter or digit"
    )


class InvalidUrl(InvalidInput):
    """The URL of a webhook is malformed or not allowed."""

    message = "Invalid URL: {reason}"
    property_path = "url"


class UnknownEventName(InvalidInput):
    """No webhook event has this name."""

    message = "Unknown event '{name}'; available events: {names}"


class UnknownMacro(InvalidInput):
    """No macro of a postback has this name."""

    message = gettext_noop("Unknown macro '${{{name}}}'; available macros: {names}")
    property_path = "url"


class TooManyMacros(InvalidInput):
    """The values of a postback's macros could make its address too long."""

    message = gettext_noop(
        "The address has too many placeholders: at most {limit} are possible, and"
        " ${{conversion.commissions}} only once"
    )
    property_path = "url"


class WebhookNotFound(NotFound):
    """The account has no endpoint with this ID."""

    message = "Webhook '{webhook}' not found"


class PostbackNotSigned(Conflict):
    """An affiliate postback has no secret."""

    message = "'{webhook}' is an affiliate postback; postbacks are not signed"


class PostbackNotEditable(Conflict):
    """An affiliate postback is replaced instead of changed."""

    message = "'{webhook}' is an affiliate postback; disable it and create another one"


class PostbackNotTestable(Conflict):
    """The macros of an affiliate postback need an event of the affiliate."""

    message = "'{webhook}' is an affiliate postback; only events of the affiliate fit"


class DuplicateWebhook(InvalidInput):
    """An enabled webhook has the same URL and events."""

    message = gettext_noop("Webhook '{webhook}' already has this URL and these events")
    property_path = "url"


class WebhookOwnerDeleted(Conflict):
    """The affiliate of the postback was deleted."""

    message = "The affiliate of postback '{webhook}' was deleted"


class WebhookDisabled(Conflict):
    """A disabled endpoint receives no deliveries."""

    message = "The webhook '{webhook}' is disabled: enable it first"


class DeliveryNotFound(NotFound):
    """The account has no delivery with this ID."""

    message = "Delivery {delivery_id} not found; deliveries are kept for 30 days"


class DuplicateStaffUser(InvalidInput):
    """Another user of the account has this e-mail address."""

    message = "A user with e-mail '{email}' already exists"
    property_path = "email"


class StaffUserNotFound(NotFound):
    """The account has no staff user with this e-mail address."""

    message = "User '{email}' not found"


class PasswordNotChanged(Conflict):
    """The user was deactivated, or got another password, in the same moment."""

    message = (
        "The password of '{email}' was not changed: the user is deactivated, or the"
        " password was changed in the meantime"
    )


class StaffUserAlreadyActive(Conflict):
    """The user is not deactivated."""

    message = "'{email}' is already active"


class LastOwnerRequired(Conflict):
    """An account must keep at least one active owner."""

    message = "'{email}' is the last active owner; give another user the owner role first"


class NotAccountOwner(Conflict):
    """The acting user lost the owner role in the meantime."""

    message = "You are no longer an owner of this account"


class OwnUserNotModifiable(Conflict):
    """Owners cannot change their own role or deactivate themselves."""

    message = "You cannot change your own user; ask another owner"


class InvitationNotFound(NotFound):
    """The account has no such invitation."""

    message = "Invitation not found"


class InvitationNotValid(Conflict):
    """The link is unknown, used, revoked or expired, or the inviter is no owner."""

    message = (
        "This invitation does not work any more: its link is used, revoked or older"
        " than 48 hours. Ask for a new one"
    )


class TooManyInvitations(Conflict):
    """The account has sent many invitations within an hour."""

    message = "Your account has sent many invitations. Try again in an hour"


class ApiKeyNotFound(NotFound):
    """The account has no key with this prefix."""

    message = "API key with prefix '{prefix}' not found"


class SigningSecretNotFound(NotFound):
    """The account has no signing secret with this prefix."""

    message = "Signing secret with prefix '{prefix}' not found"


class TooManySigningSecrets(Conflict):
    """Two secrets are valid already."""

    message = "Two signing secrets are valid: revoke the old one, {prefix}…, first"


class SavedViewNotFound(NotFound):
    """The user has no view with this ID."""

    message = "This saved view does not exist any more"


class DuplicateSavedView(InvalidInput):
    """The user has a view of this list with the same name."""

    message = "You already have a view “{name}” of this list; enter another name"


class TooManySavedViews(Conflict):
    """The user has as many views of the list as fit above it."""

    message = "A list has at most {limit} saved views: remove one first"


class SigningSecretRequired(Conflict):
    """Without a valid signing secret, no page could report anything."""

    message = "Create a signing secret first: without one, every page is refused"
    property_path = "require_signatures"


class ErrorList(InvalidInput):
    """Several errors of one request."""

    def __init__(self, errors: list[InvalidInput]) -> None:
        super().__init__()
        self.errors = errors
        self.text = "; ".join(error.text for error in errors)


def get_error_code(error: Exception) -> str:
    """Return `cookie_expired` for `CookieExpired`; of several errors, that of the first."""
    if isinstance(error, ErrorList):
        error = error.errors[0]
    return name_error(type(error))


def name_error(kind: type[Exception]) -> str:
    """Return the code of a class of errors."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()


def raise_errors(errors: list[InvalidInput]) -> None:
    """Raise the only error, or an `ErrorList` of several; do nothing without any."""
    if errors:
        raise errors[0] if len(errors) == 1 else ErrorList(errors)


def run_checks(*checks: Callable[[], object]) -> None:
    """Run all checks, then raise all errors together (see `raise_errors`)."""
    errors: list[InvalidInput] = []
    for check in checks:
        try:
            check()
        except ErrorList as error:
            errors += error.errors
        except InvalidInput as error:
            errors.append(error)
    raise_errors(errors)
