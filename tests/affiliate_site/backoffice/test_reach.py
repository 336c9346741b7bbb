"""What a page says to those who do not see it: landmarks and labels."""

import re

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import reverse

from payouts.models.commissions import Commission

PAGES = admin.site._registry


def list_of(staff, model):
    options = model._meta
    name = f"admin:{options.app_label}_{options.model_name}_changelist"
    return staff().get(reverse(name)).content.decode()


@pytest.mark.parametrize("name", ["index", "password_change", "accounts_apikey_add"])
def test_has_one_main_part_and_a_way_to_it(staff, name):
    page = staff().get(reverse(f"admin:{name}")).content.decode()

    assert page.count('role="main"') == 1
    assert 'id="main" role="main"' in page
    first = re.search(r"<(a|button|input)\b[^>]*>", page[page.index("<body") :])
    assert 'href="#main"' in first[0]


def test_has_one_main_part_where_somebody_signs_in(db):
    page = Client().get(reverse("admin:login")).content.decode()

    assert page.count('role="main"') == 1


@pytest.mark.parametrize("model", PAGES, ids=lambda it: it._meta.label)
def test_names_the_search_field_and_the_filters_of_a_list(staff, model):
    page = list_of(staff, model)

    assert page.count('role="main"') == 1
    searched = bool(PAGES[model].search_fields)
    assert ('<label for="searchbar"' in page) is searched
    named = re.findall(r'aria-labelledby="(filter-[^"]+)"', page)
    assert len(named) == len(set(named)) == len(PAGES[model].list_filter)
    for name in named:
        assert f'id="{name}"' in page


@pytest.mark.parametrize(("sales", "offered"), [(1, False), (50, True)])
def test_counts_no_rows_that_nobody_counted(staff, shop, sales, offered):
    """Lists do not count what other pages hold, and do not make a number up."""
    for _ in range(sales):
        shop.sell("10")

    page = list_of(staff, Commission)

    assert ("Select those of the other pages too" in page) is offered
    assert f"0 of {sales} selected" in page
    assert "9999" not in page
