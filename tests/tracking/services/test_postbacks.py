"""Contract 4, its end: affiliates' own postbacks, made and ended."""

import pytest

from accounts.models.webhooks import Method
from tests.command_line import is_refused_as_wrong, refusal, run, run_json
from tests.shop import SOLD
from tracking.errors import AffiliateNotFound
from tracking.services.affiliates import remove_affiliate
from tracking.services.postbacks import call_for

URL = "https://track.example.net/?s=${click_subid}"


def wanted(account, affiliate_id, **told):
    told = {"url": URL, "method": Method.POST, "events": ["customer.created"]} | told
    return call_for(account, affiliate_id=affiliate_id, at=SOLD, **told)


def test_calls_for_one_affiliate(shop, account):
    postback = wanted(account, shop.mina.slug)

    assert account.webhook_endpoints.get() == postback
    assert (postback.affiliate, postback.method) == ("minakessler", "POST")
    assert postback.events == ["customer.created"]


def test_calls_for_nobody_of_another_account(shop, other_account):
    with pytest.raises(AffiliateNotFound):
        wanted(other_account, shop.mina.slug)


def test_calls_for_nobody_who_was_removed(shop, account):
    postback = wanted(account, shop.mina.slug)
    odette = shop.join("Odette", "Varga")
    other = wanted(account, odette.slug)

    remove_affiliate(account, affiliate_id="minakessler", at=SOLD)

    postback.refresh_from_db()
    other.refresh_from_db()
    assert (postback.disabled_at, other.disabled_at) == (SOLD, None)
    assert postback.disabled_because == "the affiliate was removed"
    with pytest.raises(AffiliateNotFound):
        wanted(account, shop.mina.slug)


def test_makes_a_postback_by_command(shop, account):
    told = run("create_postback", "harbor", "minakessler", URL)
    as_json = run_json(
        "create_postback",
        *("harbor", "minakessler", URL, "--method", "POST"),
        *("--event", "conversion.created"),
    )

    first, second = account.webhook_endpoints.order_by("id")
    assert told == f"{first.public_id}\n"
    assert (first.method, first.events) == ("GET", [])
    assert as_json == {
        "webhook": second.public_id,
        "affiliate": "minakessler",
        "url": URL,
        "method": "POST",
        "events": ["conversion.created"],
    }


def test_says_why_there_is_no_postback(shop):
    assert refusal("create_postback", "harbor", "nobody", URL) == "Affiliate not found"
    assert refusal(
        "create_postback", "harbor", "minakessler", URL, "--event", "payment.created"
    ) == (
        "There is no event 'payment.created'; the events are conversion.created,"
        " conversion.updated, customer.created, customer.updated"
    )
    assert is_refused_as_wrong(
        "create_postback", "harbor", "minakessler", URL, "--method", "PUT"
    )
