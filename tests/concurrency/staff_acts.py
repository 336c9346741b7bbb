"""What owners do with each other, by name; imported once Django is set up."""

from datetime import UTC, datetime

from accounts.errors import DomainError
from accounts.services.staff import change_role, deactivate

AT = datetime(2026, 3, 4, 9, 15, 27, tzinfo=UTC)


def demote(account, *, by, email):
    """An owner makes another one a viewer."""
    return dismissed(change_role, account, by=by, email=email, role="viewer")


def dismiss(account, *, by, email):
    """An owner ends another one's sign-in."""
    return dismissed(deactivate, account, by=by, email=email)


def dismissed(story, account, *, by, **told):
    """`done`, or the refusal."""
    try:
        story(account, by=account.staff.get(email=by), **told, at=AT)
    except DomainError as refusal:
        return type(refusal).__name__
    return "done"


STAFF_ACTS = {"demote": demote, "dismiss": dismiss}
