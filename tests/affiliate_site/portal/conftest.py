"""Affiliates at the portal, as browsers send requests."""

import pytest
from django.test import Client
from django.utils import timezone

from affiliate_site.portal_sessions import COOKIE
from tracking.services.portal_access import set_portal_password
from tracking.services.portal_links import invite_affiliate
from tracking.services.portal_settings import update_portal_settings

PASSWORD = "harbor-lamps-12"


@pytest.fixture
def portal(account):
    """The path of the portal of the account, which is on."""
    update_portal_settings(account, changes={"is_on": True}, at=timezone.now())
    return f"/partners/{account.slug}/"


@pytest.fixture
def set_up_password(db):
    """Give an affiliate the password, which starts a session."""

    def set_up(affiliate):
        account, at = affiliate.account, timezone.now()
        invitation = invite_affiliate(account, affiliate_id=affiliate.slug, at=at)
        token = invitation.token
        return set_portal_password(account, token, password=PASSWORD, at=at)

    return set_up


@pytest.fixture
def mina(scenario, portal, set_up_password):
    """The browser of Mina, who is signed in."""
    client = Client()
    client.cookies[COOKIE] = set_up_password(scenario.mina.affiliate)
    return client
