"""A client that is signed in as staff."""

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models.api_keys import Role
from accounts.services.staff import create_staff_user
from tests.affiliate_site.backoffice.credentials import PASSWORD


@pytest.fixture
def staff_client(account):
    """A function that returns a signed-in client: `staff_client(role="viewer")`."""

    def create_client(role=Role.OWNER):
        user, _ = create_staff_user(
            account,
            email=f"{role}@{account.slug}.example.org",
            role=role,
            password=PASSWORD,
            at=timezone.now(),
        )
        client = Client()
        client.force_login(user)
        return client

    return create_client


@pytest.fixture
def at_noon(time_machine):
    """Move to noon: after midnight, the day before is not closed yet, and pages take
    more statements."""
    time_machine.move_to(timezone.now().replace(hour=12))
