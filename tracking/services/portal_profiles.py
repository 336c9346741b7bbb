"""What affiliates choose in the portal: profile, language, mails; and their state there."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Exists, Subquery

from tracking.models.affiliates import ADDRESS_COLUMNS, Affiliate
from tracking.models.portal import Notice
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


OFF_AT_FIRST = {Notice.NEW_SALES}


def wants_notice(affiliate: Affiliate, kind: str) -> bool:
    """Return whether an affiliate wants mail of this kind, one of `Notice`."""
    chosen = affiliate.notices or {}
    return bool(chosen.get(kind, kind not in OFF_AT_FIRST))


def set_notices(affiliate: Affiliate, wanted: Mapping[str, bool]) -> None:
    """Choose which mails an affiliate wants."""
    chosen = {kind: bool(wanted[kind]) for kind in Notice.values if kind in wanted}
    affiliate.update_row(notices=(affiliate.notices or {}) | chosen)


@dataclass(frozen=True)
class PortalState:
    """Whether a second factor is on, and which terms were accepted last."""

    has_second_factor: bool
    terms_version: int | None
    terms_language: str | None
    terms_accepted_at: datetime | None


def get_portal_state(affiliate: Affiliate) -> PortalState:
    """Return the state of an affiliate, by one statement."""
    account = affiliate.account
    accepted = account.terms_acceptances.filter(affiliate=affiliate).order_by("-terms__version")
    factors = account.portal_second_factors.filter(affiliate=affiliate, confirmed_at__isnull=False)
    row = account.affiliates.filter(pk=affiliate.pk).values_list(
        Exists(factors),
        Subquery(accepted.values("terms__version")[:1]),
        Subquery(accepted.values("language")[:1]),
        Subquery(accepted.values("accepted_at")[:1]),
    )
    return PortalState(*row.get())
