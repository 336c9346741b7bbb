"""Who is signed in to the portal."""

from tracking.services.portal_access import find_session


def find_signed_in(account, token, *, at):
    """The affiliate of a session, or None."""
    session = find_session(account, token, at=at)
    return session and session.affiliate
