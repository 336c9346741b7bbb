"""Who is signed in to the portal, also for pages that are not in it."""

from typing import Any

from django.conf import settings
from django.utils import timezone

from tracking.models.affiliates import Affiliate
from tracking.services.portal_access import find_session
from tracking.services.portal_settings import find_portal

PORTAL_PREFIX = "/partners/"
COOKIE = "__Secure-partner" if settings.SESSION_COOKIE_SECURE else "partner"


def find_affiliate(request: Any) -> Affiliate | None:
    """The affiliate who is signed in, also where no page of the portal is."""
    slug = request.path_info.removeprefix(PORTAL_PREFIX).partition("/")[0]
    token = request.COOKIES.get(COOKIE, "")
    portal = find_portal(slug) if token else None
    session = portal and find_session(portal.account, token, at=timezone.now())
    return session.affiliate if session else None
