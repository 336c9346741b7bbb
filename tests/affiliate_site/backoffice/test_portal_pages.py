"""The settings of the portal, and invitations of affiliates to it."""

import pytest
from django.urls import reverse

from tests.affiliate_site.backoffice.forms import get_form
from tests.affiliate_site.backoffice.money_forms import list_messages
from tracking.services.portal_settings import get_portal_settings

pytestmark = pytest.mark.usefixtures("shared_scenario")


@pytest.fixture
def url():
    return reverse("admin:portal_settings")


@pytest.mark.parametrize("role", ["owner", "manager"])
def test_switches_the_portal_on(staff_client, account, url, role):
    client = staff_client(role)
    page = client.get(url)
    assert f"/partners/{account.slug}/" in page.content.decode()
    entries = {"is_on": "on", "welcome_text": "Hello\nyou", "order_ids": "none"}
    response = client.post(url, get_form(client, url) | entries, follow=True)
    assert list_messages(response) == ["The settings were saved."]
    settings = get_portal_settings(account)
    assert (settings.is_on, settings.is_open, settings.order_ids) == (
        True,
        False,
        "none",
    )
    assert settings.welcome_text.splitlines() == ["Hello", "you"]


@pytest.mark.parametrize("role", ["viewer", "finance"])
def test_other_roles_have_no_settings(staff_client, url, role):
    client = staff_client(role)
    assert client.get(url).status_code == 403
    assert url not in client.get(reverse("admin:index")).content.decode()
