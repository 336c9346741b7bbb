"""Stored addresses lose the quotes around the name of the mailbox."""

from importlib import import_module

import pytest
from django.apps import apps

from accounts.email_addresses import fold_email
from accounts.models.users import User
from tests.conftest import NOW
from tests.factories.tracking import AffiliateFactory, CustomerFactory

migration = import_module("tracking.migrations.0062_addresses_without_quotes")

pytestmark = pytest.mark.django_db
QUOTED = '"a.\\"b"@x.test'


def test_unquotes_names_and_leaves_who_would_be_a_second_one(account, other_account):
    AffiliateFactory(account=account, email_folded=QUOTED, bounced_email=QUOTED)
    AffiliateFactory(account=other_account, email_folded='"c"@x.test')
    AffiliateFactory(account=other_account, email_folded="c@x.test")
    AffiliateFactory(account=other_account, email_folded='"d"@x.test', deleted_at=NOW)
    CustomerFactory(account=account, email_folded='"c"@x.test')
    for email in (QUOTED, '"', '""@x.test', "=?utf-8?q?b=6fmb?=@x.test"):
        User.objects.create(account=account, email=email, created_at=NOW)

    migration.unquote_rows(apps, None)

    affiliate = account.affiliates.get(email_folded='a."b@x.test')
    assert affiliate.email_folded == affiliate.bounced_email == fold_email(QUOTED)
    assert set(other_account.affiliates.values_list("email_folded", flat=True)) == {
        *('"c"@x.test', "c@x.test", "d@x.test")
    }
    assert account.customers.get().email_folded == "c@x.test"
    users = User.objects.filter(account=account).values_list("email", flat=True)
    assert set(users) == {
        *('a."b@x.test', '"', "@x.test", "=?utf-8?q?b=6fmb?=@x.test"),
    }
    assert all(fold_email(text) == text for text in users)
    found = User.objects.find_for_sign_in(account=account.slug, email=QUOTED.upper())
    assert found is not None
