"""Affiliates' own postbacks (docs/api-contract.md, section 4)."""

import pytest

from accounts.models.webhooks import PostbackMethod
from tests.command_line import (
    is_usage_error,
    run_command,
    run_failing_command,
    run_json_command,
)
from tests.program_scenario import CONVERSION_CREATED_AT
from tracking.errors import AffiliateNotFound
from tracking.services.affiliates import delete_affiliate
from tracking.services.postbacks import create_postback

URL = "https://track.example.net/?s=${click_subid}"


def make_postback(account, affiliate_id, **fields):
    fields = {
        "url": URL,
        "method": PostbackMethod.POST,
        "events": ["customer.created"],
    } | fields
    return create_postback(account, affiliate_id=affiliate_id, at=CONVERSION_CREATED_AT, **fields)


def test_creates_a_postback_of_an_affiliate(scenario, account):
    postback = make_postback(account, scenario.mina.slug)

    assert account.webhook_endpoints.get() == postback
    assert (postback.affiliate, postback.method) == ("minakessler", "POST")
    assert postback.events == ["customer.created"]


def test_rejects_an_affiliate_of_another_account(scenario, other_account):
    with pytest.raises(AffiliateNotFound):
        make_postback(other_account, scenario.mina.slug)


def test_deletion_of_the_affiliate_disables_its_postbacks(scenario, account):
    postback = make_postback(account, scenario.mina.slug)
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    other = make_postback(account, odette.slug)

    delete_affiliate(account, affiliate_id="minakessler", at=CONVERSION_CREATED_AT)

    postback.refresh_from_db()
    other.refresh_from_db()
    assert (postback.disabled_at, other.disabled_at) == (CONVERSION_CREATED_AT, None)
    assert postback.disabled_because == "the affiliate was removed"
    with pytest.raises(AffiliateNotFound):
        make_postback(account, scenario.mina.slug)


def test_command_creates_a_postback(scenario, account):
    output = run_command("create_postback", "harbor", "minakessler", URL)
    as_json = run_json_command(
        "create_postback",
        *("harbor", "minakessler", URL, "--method", "POST"),
        *("--event", "conversion.created"),
    )

    first, second = account.webhook_endpoints.order_by("id")
    assert output == f"{first.public_id}\n"
    assert (first.method, first.events) == ("GET", [])
    assert as_json == {
        "webhook": second.public_id,
        "affiliate": "minakessler",
        "url": URL,
        "method": "POST",
        "events": ["conversion.created"],
    }


def test_command_reports_errors(scenario):
    assert run_failing_command("create_postback", "harbor", "nobody", URL) == "Affiliate not found"
    assert run_failing_command(
        "create_postback", "harbor", "minakessler", URL, "--event", "payment.created"
    ) == (
        "Unknown event 'payment.created'; available events: conversion.created,"
        " conversion.updated, customer.created, customer.updated"
    )
    assert is_usage_error("create_postback", "harbor", "minakessler", URL, "--method", "PUT")
