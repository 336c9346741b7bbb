"""A list without rows says where its rows come from; one that found none, how to see
them all again."""

import re
from html import escape

import pytest
from django.contrib import admin
from django.core.management import get_commands
from django.urls import reverse
from django.utils import timezone

from accounts.models.keys import Role
from accounts.models.webhooks import WebhookEndpoint
from accounts.services.webhooks import add_webhook
from affiliate_site.backoffice.nothing_yet import NOTHING_YET
from tests.world import World

PAGES = admin.site._registry
CLEAR = '<a class="text-primary-600 dark:text-primary-500" href="?">Clear the filters'


def label(model):
    return model._meta.label


def list_of(client, model, **asked):
    options = model._meta
    name = f"admin:{options.app_label}_{options.model_name}_changelist"
    answer = client.get(reverse(name), asked)
    assert answer.status_code == 200
    return answer.content.decode()


@pytest.mark.parametrize("model", PAGES, ids=label)
def test_has_words_for_every_page(model):
    assert len(PAGES[model].empty.split()) > 5


def test_has_words_for_no_page_that_is_gone():
    assert set(NOTHING_YET) <= set(map(label, PAGES))


def test_names_commands_that_there_are():
    told = " ".join(page.empty for page in PAGES.values())
    named = re.findall(r"manage\.py (\w+)", told)

    assert named
    assert set(named) <= set(get_commands())


@pytest.mark.parametrize("model", PAGES, ids=label)
def test_says_what_to_do_next(staff, monkeypatch, model):
    """Whoever looks is staff, and signed in before: their own lists have rows."""
    nothing = model._base_manager.none()
    monkeypatch.setattr(type(PAGES[model]), "get_queryset", lambda *asked: nothing)

    page = list_of(staff(), model)

    assert escape(PAGES[model].empty) in page
    assert CLEAR not in page


@pytest.mark.parametrize("model", PAGES, ids=label)
def test_leads_back_from_what_found_nothing(staff, model):
    client = staff()
    asked = []
    if PAGES[model].search_fields:
        asked.append({"q": "nobody"})
    if "created_at" in {field.name for field in model._meta.fields}:
        asked.append({"created_at__gte": "2999-01-01T00:00:00Z"})

    for narrowed in asked:
        page = list_of(client, model, **narrowed)
        assert CLEAR in page
        assert escape(PAGES[model].empty) not in page


@pytest.mark.parametrize("model", PAGES, ids=label)
def test_says_nothing_of_the_kind_beside_rows(staff, account, api, model):
    world = World(api, account.slug, "harbor")
    add_webhook(account, url="https://harbor.example/", at=timezone.now())
    for thing in ("balance", "payment", "note", "prospect", "payout_details", "group"):
        assert getattr(world, thing)
    account.field_definitions.create(slug="size", title="Size", type="text")
    client = staff()

    shown = list_of(client, model)
    assert 'id="result_list"' in shown
    for page in (shown, list_of(client, model, p="9")):
        assert escape(PAGES[model].empty) not in page
        assert CLEAR not in page


@pytest.mark.parametrize(("role", "adds"), [(Role.OWNER, True), (Role.VIEWER, False)])
def test_leads_on_whoever_may_add(staff, role, adds):
    page = list_of(staff(role=role), WebhookEndpoint)

    way = f'href="{reverse("admin:accounts_webhookendpoint_add")}">Add webhook'
    assert (way in page) is adds
