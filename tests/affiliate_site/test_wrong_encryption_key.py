"""What the API and the back office answer without the key of what is stored."""

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse

from accounts.services.staff import create_staff_user
from payouts.services.payout_methods import set_payout_method
from tests.conftest import NOW, ApiClient
from tests.program_scenario import ProgramScenario


@pytest.fixture
def affiliate(account, settings):
    affiliate = ProgramScenario(account).mina.affiliate
    set_payout_method(
        account,
        affiliate_id=affiliate.slug,
        kind="bank",
        details={"iban": "SI56191000000123438"},
        is_primary=True,
        at=NOW,
    )
    settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    return affiliate


def test_the_api_answers_503(api, affiliate):
    client = ApiClient(api.key, Client(raise_request_exception=False))

    response = client.get(f"/affiliates/{affiliate.slug}/payout-methods/")

    assert response.status_code == 503
    assert response.json()["message"] == "Service Unavailable"


def test_the_page_says_whom_to_ask(account, affiliate):
    create_staff_user(account, email="o@a.example", role="owner", password=None, at=NOW)
    client = Client(raise_request_exception=False)
    client.force_login(get_user_model().objects.get(email="o@a.example"))
    url = reverse("admin:tracking_affiliate_change", args=[affiliate.pk])

    response = client.get(url, headers={"Accept": "text/html"})

    assert response.status_code == 503
    text = response.content.decode()
    assert "tell your operator" in text
    assert "Traceback" not in text
    assert "gAAAA" not in text
