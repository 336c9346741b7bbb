"""The rows that staff may see, by the model."""

import pytest
from django.contrib.sessions.models import Session

from accounts.models.accounts import Account, Plan
from accounts.models.users import User
from accounts.tenant_admin import filter_for_user
from tests.factories.tracking import AffiliateFactory
from tracking.models.affiliates import Affiliate

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(account, other_account):
    return User(account=account)


def test_shows_staff_their_account_and_its_rows(staff, account, other_account):
    own = AffiliateFactory(account=account)
    AffiliateFactory(account=other_account)

    assert list(filter_for_user(Account.objects.all(), staff)) == [account]
    assert list(filter_for_user(Affiliate.objects.all(), staff)) == [own]


def test_shows_staff_the_plans(staff):
    assert set(filter_for_user(Plan.objects.all(), staff)) == set(Plan.objects.all())


def test_refuses_a_model_without_an_account(staff):
    with pytest.raises(TypeError, match=r"sessions\.Session belongs to no account"):
        filter_for_user(Session.objects.all(), staff)


def test_shows_operators_all_rows(staff, account, other_account):
    staff.is_superuser = True

    rows = filter_for_user(Account.objects.all(), staff)

    assert {account, other_account} <= set(rows)
