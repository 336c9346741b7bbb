"""Stored addresses get the domain in ASCII, and lose it on the way back."""

from importlib import import_module

import pytest
from django.apps import apps

from accounts.models.users import User
from tests.conftest import NOW
from tests.factories.tracking import AffiliateFactory

migration = import_module("tracking.migrations.0050_domains_in_ascii")

pytestmark = pytest.mark.django_db
TYPED, ENCODED = "a@münchen.example", "a@xn--mnchen-3ya.example"


def add(account, email, **values):
    return AffiliateFactory(account=account, email=email, email_folded=email, **values)


def list_folded(account):
    rows = account.affiliates.order_by("pk")
    return list(rows.values_list("email_folded", "bounced_email"))


def test_folds_domains_both_ways_in_batches(account, other_account, monkeypatch):
    monkeypatch.setattr(migration, "BATCH_SIZE", 2)
    for index in range(3):
        add(account, f"{index}@notes.example")
    add(account, TYPED, bounced_email=TYPED)
    add(other_account, TYPED)
    add(other_account, ENCODED)  # the same mailbox: one of both keeps its spelling
    owner = User.objects.create(account=account, email=TYPED, created_at=NOW)
    plain = [(f"{index}@notes.example", None) for index in range(3)]

    migration.fold_rows(apps, None)

    assert list_folded(account) == [*plain, (ENCODED, ENCODED)]
    assert list_folded(other_account) == [(TYPED, None), (ENCODED, None)]
    found = User.objects.find_for_sign_in(account=account.slug, email=TYPED.upper())
    assert found == owner

    migration.unfold_rows(apps, None)

    assert list_folded(account) == [*plain, (TYPED, TYPED)]
    assert list_folded(other_account) == [(TYPED, None), (ENCODED, None)]
