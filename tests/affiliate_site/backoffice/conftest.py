"""Staff of Harbor, who are signed in."""

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models.keys import Role
from accounts.services.staff import invite_staff
from tests.affiliate_site.backoffice.people import PASSWORD


@pytest.fixture
def staff(account):
    """A signed-in browser: `staff(role="viewer")`."""

    def sign_in(role=Role.OWNER):
        user, _ = invite_staff(
            account,
            email=f"{role}@{account.slug}.example.org",
            role=role,
            password=PASSWORD,
            at=timezone.now(),
        )
        client = Client()
        client.force_login(user)
        return client

    return sign_in
