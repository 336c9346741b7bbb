"""The benchmark of growth fills and measures every list of the back office."""

import pytest
from django.contrib import admin

from accounts.services.staff import create_staff_user
from benchmarks.growth_data import create_filled_account
from benchmarks.growth_lists import SHORT_LISTS, fill_lists, list_orders
from tests.conftest import NOW


@pytest.mark.django_db
def test_fills_every_list_but_short_ones():
    account = create_filled_account("filled", conversion_count=8, affiliate_count=2)

    fill_lists(account, 6)

    models = admin.site._registry
    lists = [model for model in models if model._meta.label not in SHORT_LISTS]
    counts = {model._meta.label: model.objects.filter(account=account).count() for model in lists}
    assert {label: n for label, n in counts.items() if n < 6} == {}
    assert set(SHORT_LISTS) <= {model._meta.label for model in models}


@pytest.mark.django_db
def test_measures_every_list_and_the_columns_of_long_ones(account):
    user, _ = create_staff_user(account, email="o@e.example", role="owner", password=None, at=NOW)

    names = dict(list_orders(user))

    assert len([name for name in names if " by " not in name]) == len(admin.site._registry)
    assert names["tracking/click by affiliate"] == "/admin/tracking/click/?o=1"
    assert "tracking/program by title" not in names
