"""What the page of an affiliate says about the portal."""

from django.conf import settings

from affiliate_site.backoffice.formatters import format_datetime, format_day


def list_accepted_terms(state) -> list[tuple[str, str]]:
    """The version of the portal's terms that the affiliate accepted last."""
    if state.terms_version is None:
        return []
    version, day = state.terms_version, format_day(state.terms_accepted_at)
    return [("Terms of the portal", f"version {version} accepted on {day}")]


def list_portal_facts(affiliate, state) -> list[str]:
    """The language, invitation and sign-in of the affiliate, and the second factor."""
    invited_at, signed_in_at = affiliate.invited_at, affiliate.signed_in_at
    language = dict(settings.LANGUAGES).get(affiliate.language, "not chosen yet")
    return [
        f"Language: {language}",
        f"Invited: {format_datetime(invited_at) if invited_at else 'never'}",
        f"Last sign-in: {format_datetime(signed_in_at) if signed_in_at else 'never'}",
        f"Second factor: {'on' if state.has_second_factor else 'off'}",
    ]
