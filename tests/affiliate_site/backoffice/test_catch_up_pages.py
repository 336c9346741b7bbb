"""The pages that set the key of a shop, and read what was missed with it."""

import json
import re

import pytest
from django.urls import reverse

from affiliate_site.safe_http import FetchedResponse
from affiliate_site.shops import catching_up
from tests.affiliate_site.backoffice.forms import get_form
from tests.program_scenario import CONVERSION_CREATED_AT
from tests.stripe_events import build_checkout
from tracking.models.shops import ConnectionMode
from tracking.services.connections import create_connection, set_source_key

KEY = "rk_live_1234"
EMPTY = {"data": [], "has_more": False}


def url_of(shop, page="change"):
    return reverse(f"admin:tracking_connection_{page}", args=[shop.pk])


@pytest.fixture
def shop(account):
    shop = create_connection(account, kind="stripe", at=CONVERSION_CREATED_AT)
    return set_source_key(account, connection_id=shop.public_id, key=KEY, at=CONVERSION_CREATED_AT)


@pytest.fixture
def answers(monkeypatch):
    """What the shop answers: these first, then nothing new."""
    found = []

    def fetch(url, **options):
        status, body = found.pop(0) if found else (200, EMPTY)
        return FetchedResponse(status, {}, json.dumps(body).encode())

    monkeypatch.setattr(catching_up, "fetch", fetch)
    return found


def read(response):
    text = re.sub(r"<[^>]*>", " ", response.content.decode())
    return " ".join(text.split())


def post(client, shop, page, **entries):
    url = url_of(shop, page)
    return client.post(url, get_form(client, url) | entries, follow=True)


def test_sets_the_key_and_shows_it_nowhere(staff_client, account):
    client = staff_client()
    shop = create_connection(account, kind="shopify", at=CONVERSION_CREATED_AT)
    entries = {"key": "shpat_1234", "shop_url": "lamps.myshopify.com"}
    response = post(client, shop, "key", **entries)
    assert "Choose “Catch up” to read what was missed." in read(response)
    assert "https://lamps.myshopify.com" in read(response)
    assert "key for catching up of this shop" in read(response)  # its history
    shop.refresh_from_db()
    assert shop.source_key == "shpat_1234"
    pages = (url_of(shop), url_of(shop, "key"), url_of(shop, "catch-up"))
    assert all(b"shpat_1234" not in client.get(url).content for url in pages)


def test_another_address_needs_the_key_again(staff_client, account):
    client = staff_client()
    shop = create_connection(account, kind="shopify", at=CONVERSION_CREATED_AT)
    entries = {"key": "shpat_1234", "shop_url": "lamps.myshopify.com"}
    post(client, shop, "key", **entries)
    form = post(client, shop, "key", shop_url="chairs.myshopify.com").context["form"]
    text = "Enter the key that reads from the shop, such as shpat_…."
    assert form.errors == {"key": [text]}
    shop.refresh_from_db()
    assert shop.settings["shop_url"] == "https://lamps.myshopify.com"


def test_refuses_the_address_of_another_host_beside_its_field(staff_client, account):
    shop = create_connection(account, kind="shopify", at=CONVERSION_CREATED_AT)
    entries = {"key": "shpat_1234", "shop_url": "https://lamps.example"}
    form = post(staff_client(), shop, "key", **entries).context["form"]
    assert form.errors == {"shop_url": ["Enter the address that ends with .myshopify.com."]}


@pytest.mark.parametrize("kind", ["paddle", "other"])
def test_does_not_offer_what_a_kind_cannot_do(staff_client, account, kind):
    shop = create_connection(account, kind=kind, at=CONVERSION_CREATED_AT)
    names = set(staff_client().get(url_of(shop)).context["page_urls"])
    assert not names & {"key", "catch-up"}


def test_offers_to_catch_up_with_a_key_and_switched_on(staff_client, shop):
    client = staff_client()
    assert "catch-up" in client.get(url_of(shop)).context["page_urls"]
    shop.update_row(mode=ConnectionMode.OFF)
    assert "catch-up" not in client.get(url_of(shop)).context["page_urls"]
    shop.update_row(mode=ConnectionMode.LIVE, source_key="")
    assert "catch-up" not in client.get(url_of(shop)).context["page_urls"]


def test_catches_up_since_a_day(staff_client, shop, answers):
    answers.append((200, {"data": [build_checkout()], "has_more": False}))
    response = post(staff_client(), shop, "catch-up", since="2026-03-01")
    assert "Read 1, of which 1 are new. Nothing is missing any more." in read(response)
    assert shop.account.shop_events.count() == 1
    assert "Caught up until" in read(response)


def test_says_to_go_on_if_there_is_more(staff_client, shop, answers, monkeypatch):
    seconds = iter([0, 1, 11])
    monkeypatch.setattr(catching_up, "monotonic", lambda: next(seconds))
    response = post(staff_client(), shop, "catch-up")
    assert "but the shop has more: go on." in read(response)
    assert response.request["PATH_INFO"] == url_of(shop, "catch-up")


def test_a_refusal_of_the_shop_is_shown_in_the_form(staff_client, shop, answers):
    answers.append((401, {}))
    form = post(staff_client(), shop, "catch-up").context["form"]
    assert form.non_field_errors() == [
        "The shop refuses the key (401): set one of this shop with the permission"
        " “Read events, and all that they show”."
    ]


def test_does_not_wait_for_a_busy_shop(staff_client, shop, answers, monkeypatch):
    monkeypatch.setattr(catching_up, "sleep", None)
    answers.append((503, {}))
    form = post(staff_client(), shop, "catch-up").context["form"]
    assert "The shop is busy, it answered 503" in form.non_field_errors()[0]


@pytest.mark.parametrize("since", ["0001-01-01", "yesterday"])
def test_wants_a_day(staff_client, shop, answers, since):
    form = post(staff_client(), shop, "catch-up", since=since).context["form"]
    assert "since" in form.errors
