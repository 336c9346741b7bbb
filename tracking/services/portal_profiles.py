"""What affiliates change of themselves in the portal."""

from tracking.models.affiliates import Affiliate


def set_language(affiliate: Affiliate, language: str) -> None:
    """Write to the affiliate in this language, which is one of `LANGUAGES`."""
    affiliate.update_row(language=language)
