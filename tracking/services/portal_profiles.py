"""What affiliates change of themselves in the portal."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tracking.models.affiliates import ADDRESS_COLUMNS, Affiliate
from tracking.services.affiliates import update_affiliate

OWN_COLUMNS = {
    *("firstname", "lastname", "company_name", "company_description"),
    *ADDRESS_COLUMNS,
}


def set_language(affiliate: Affiliate, language: str) -> None:
    """Write to the affiliate in this language, which is one of `LANGUAGES`."""
    affiliate.update_row(language=language)


def update_own_profile(affiliate: Affiliate, *, changes: Mapping[str, Any], at: datetime) -> None:
    """Change name, company and address, and no other columns."""
    values = {name: changes[name] for name in OWN_COLUMNS & changes.keys()}
    update_affiliate(affiliate.account, affiliate_id=affiliate.slug, changes=values, at=at)
