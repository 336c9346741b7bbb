"""Who came in with an account that moved here, or with a mirror, is erased as well.

The source is rolled back before, as if it were another installation.
"""

from datetime import timedelta

import httpx
import pytest
from django.utils import timezone

from accounts.models.api_keys import Role
from accounts.services.api_keys import create_api_key
from affiliate_site.moving.importing import AccountImport
from affiliate_site.moving.source import SourceServer
from tests.affiliate_site.moving.conftest import read, write
from tests.affiliate_site.moving.test_importing import answer
from tests.affiliate_site.privacy.test_erased_people import (
    BUYER,
    EMAIL,
    FOLDED,
    KEPT,
    Doors,
    erase,
)
from tests.conftest import ApiClient, create_account
from tests.factories.accounts import AccountFactory
from tests.ledger_checks import assert_ledger_consistent
from tests.moving_account import rolled_back
from tests.stored_texts import find_marked_columns

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def creatives(settings, tmp_path):
    settings.CREATIVES_DIR = tmp_path / "creatives"


def fill(settings):
    """Let both come in by every door; return the account and an API key."""
    account = create_account()
    now = timezone.now()
    key = create_api_key(account, name="shop", role=Role.OWNER, at=now)[1]
    doors = Doors(account, ApiClient(key), settings)
    slug = doors.apply()
    doors.use_portal()
    doors.use_api(slug)
    doors.call_page()
    doors.report_by_shop()
    doors.import_tables()
    doors.search()
    return account, key


def erase_both(account):
    """Erase the affiliates and customers with the mark, under all their IDs."""
    for person in (EMAIL, f"t.{EMAIL}", BUYER, f"b.{BUYER}"):
        erase(account, person)


def list_left():
    return sorted(find_marked_columns(FOLDED) - set(KEPT))


def test_who_came_with_an_account_is_in_no_table(settings, tmp_path):
    with rolled_back():
        write(fill(settings)[0], tmp_path / "file")
    assert list_left() == []
    account = read(tmp_path / "file")
    assert len(find_marked_columns(FOLDED)) > 40

    erase_both(account)

    assert list_left() == []
    assert_ledger_consistent(account)


@pytest.fixture
def mirror():
    """Mirror the source, which answers as it did for the first time."""
    answers = {}

    def ask(request):
        url = str(request.url)
        if url not in answers:
            response = answer(request)
            answers[url] = response.status_code, response.content, response.headers
        status, content, headers = answers[url]
        return httpx.Response(status, content=content, headers=headers)

    def run(account, key, *, days=0):
        transport = httpx.MockTransport(ask)
        source = SourceServer("http://testserver/1.6", key, transport=transport)
        at = timezone.now() + timedelta(days=days)
        moving = AccountImport(account, source, at, is_mirror=True)
        moving.run()
        assert moving.report.problems == []
        return moving.report

    return run


def test_who_came_with_a_mirror_is_in_no_table(settings, mirror):
    with rolled_back():
        key = fill(settings)[1]
        mirror(AccountFactory(slug="moved", plan__name="enterprise"), key)
    assert list_left() == []
    account = AccountFactory(slug="moved", plan__name="enterprise")
    mirror(account, key)
    assert len(find_marked_columns(FOLDED)) > 20

    erase_both(account)
    assert list_left() == []
    people = account.affiliates.count(), account.customers.count()
    sales = account.conversions.count()

    for day in (1, 2):
        assert mirror(account, key, days=day).created == {}
    assert list_left() == []
    assert (account.affiliates.count(), account.customers.count()) == people
    assert account.conversions.count() == sales
    assert_ledger_consistent(account)
