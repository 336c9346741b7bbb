"""A new SECRET_KEY ends nothing while the old one is a fallback."""

import re

from django.core import signing
from django.test import Client
from django.urls import reverse

from accounts.models.api_keys import Role
from accounts.services.staff import create_staff_user
from tests.architecture.syntax_trees import PACKAGES
from tests.command_line import ROOT
from tests.conftest import NOW

NEW = "a-new-key-of-fifty-characters-that-nobody-can-guess-4711"
# What reads the key itself, and why that knows fallbacks or needs none.
READERS = {
    "affiliate_site/env.py": "reads the environment",
    "affiliate_site/settings.py": "sets it",
    "affiliate_site/operations/backups.py": "hands it to a check of its own",
    "affiliate_site/operations/doctor.py": "in a text",
    "tracking/services/clicks.py": "compares with the digests by all keys",
}


def rotate(settings):
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = NEW


def test_sessions_go_on_and_are_renewed(account, settings):
    user, _ = create_staff_user(
        account,
        email="owner@example.org",
        role=Role.OWNER,
        password="a long password 4711",
        at=NOW,
    )
    client, other = Client(), Client()
    client.force_login(user)
    other.force_login(user)
    page = reverse("admin:index")
    rotate(settings)

    assert client.get(page).status_code == 200
    settings.SECRET_KEY_FALLBACKS = []
    assert client.get(page).status_code == 200, "its next page has renewed it"
    assert other.get(page).status_code == 302


def test_signed_texts_stay_valid(settings):
    text = signing.dumps(["mina"], salt="portal")
    rotate(settings)

    assert signing.loads(text, salt="portal") == ["mina"]


def test_nothing_else_is_derived_from_the_key():
    """Django's signing and sessions know fallbacks; `salted_hmac` does not."""
    found = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if re.search(r"\bSECRET_KEY\b|salted_hmac", path.read_text())
    }

    assert found == set(READERS)
