"""Accessibility of the back office: landmarks and labels."""

import re

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import reverse

from payouts.models.commissions import Commission

ADMINS = admin.site._registry


def get_changelist(staff_client, model):
    options = model._meta
    name = f"admin:{options.app_label}_{options.model_name}_changelist"
    return staff_client().get(reverse(name)).content.decode()


@pytest.mark.parametrize("name", ["index", "password_change", "accounts_apikey_add"])
def test_has_one_main_landmark_and_a_skip_link(staff_client, name):
    page = staff_client().get(reverse(f"admin:{name}")).content.decode()

    assert page.count('role="main"') == 1
    assert 'id="main" role="main"' in page
    first_element = re.search(r"<(a|button|input)\b[^>]*>", page[page.index("<body") :])
    assert 'href="#main"' in first_element[0]


def test_login_page_has_one_main_landmark(db):
    page = Client().get(reverse("admin:login")).content.decode()

    assert page.count('role="main"') == 1


@pytest.mark.engine_independent
@pytest.mark.parametrize("model", ADMINS, ids=lambda model: model._meta.label)
def test_labels_the_search_field_and_the_filters_of_a_list(staff_client, model):
    page = get_changelist(staff_client, model)

    assert page.count('role="main"') == 1
    is_searchable = bool(ADMINS[model].search_fields)
    assert ('<label for="searchbar"' in page) is is_searchable
    fields = re.findall(r'class="backoffice-filter-field"', page)
    labels = re.findall(r'<label for="(filter-[^"]+)"', page)
    filters = ADMINS[model].list_filter
    assert len(labels) == len(set(labels)) == len(fields) >= len(filters)


@pytest.mark.parametrize(("count", "is_offered"), [(1, False), (50, True)])
def test_shows_only_known_row_counts(staff_client, scenario, count, is_offered):
    """Lists do not count the rows of other pages, and show no invented number."""
    for _ in range(count):
        scenario.create_conversion("10")

    page = get_changelist(staff_client, Commission)

    assert ("Select all pages" in page) is is_offered
    assert f"0 of {count} selected" in page
    assert "9999" not in page
