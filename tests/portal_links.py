"""Links of the portal, for tests."""

from secrets import token_urlsafe

from accounts.services.api_keys import calculate_digest
from tracking.models.portal import LinkPurpose
from tracking.services.portal_links import LINK_LIFETIMES, invite_affiliate


def create_portal_link(affiliate, *, purpose, at):
    """Create a link without mail; returns its token."""
    account = affiliate.account
    if purpose == LinkPurpose.SET_PASSWORD:
        return invite_affiliate(account, affiliate_id=affiliate.slug, at=at).token
    token = token_urlsafe(32)
    account.portal_links.create(
        affiliate=affiliate,
        purpose=purpose,
        token_hash=calculate_digest(token),
        created_at=at,
        expires_at=at + LINK_LIFETIMES[purpose],
    )
    return token
