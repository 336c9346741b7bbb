"""Refusals of tracking, each spelled as the specification or the contract spells it."""

from accounts.errors import Conflict, Missing, Rejected


class ProgramNotFound(Missing):
    """The account has no program with this id."""

    message = "Program not found"


class ProgramIsLocked(Conflict):
    """An archived program cannot be modified."""

    message = "This program is archived."
    code = "program_archived"


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


class OddSetting(Rejected):
    """A program cannot be run with this setting."""

    message = "{setting} must be {rule}"
