"""How far an affiliate has come in the portal, for staff."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, Subquery

from tracking.models.affiliates import Affiliate


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
