"""The migrations that store codes instead of sentences as reasons."""

import json
from datetime import timedelta
from importlib import import_module

from django.apps import apps

from payouts.services.explanation import explain_conversion
from tests.program_scenario import CONVERSION_CREATED_AT, mark_deleted
from tracking.attribution import TrackingParameters
from tracking.services.hierarchy import set_parent

MIGRATIONS = [
    import_module("tracking.migrations.0016_reason_codes"),
    import_module("payouts.migrations.0014_reason_codes"),
]


def migrate(name):
    for migration in MIGRATIONS:
        getattr(migration, name)(apps, None)


def list_stored(account):
    records = account.attribution_records.order_by("id")
    commissions = account.commissions.order_by("id")
    return (
        list(records.values_list("inputs", "outcome")),
        list(commissions.values_list("calculation", flat=True)),
    )


def test_restores_sentences_and_replaces_them_by_codes_again(account, scenario):
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    parent = {"affiliate_id": "minakessler", "parent_id": "odettevarga"}
    set_parent(account, **parent, at=CONVERSION_CREATED_AT)
    scenario.create_level(2, "3")
    mark_deleted(odette.affiliate)
    clicked_at = CONVERSION_CREATED_AT - timedelta(days=60, hours=5)
    click = scenario.create_click(scenario.mina, at=clicked_at)
    parameters = TrackingParameters(
        coupon=scenario.mina.coupon,
        referral_code=scenario.mina.code,
        click_id=str(click.public_id),
        tracking_id="0" * 32,
    )
    conversion = scenario.create_conversion("200", parameters=parameters)
    scenario.create_conversion("200", customer_id="mina+x@notes.example.org")
    scenario.program.update_row(auto_approve_commissions=True)
    scenario.create_conversion("200")
    codes = list_stored(account)

    migrate("restore_texts")

    records, calculations = list_stored(account)
    rejected = json.loads(records[0][1])["rejected_candidates"]
    assert [each["reason"] for each in rejected] == [
        "coupon comes first",
        "expired by 15 d 5 h",
        "points at nobody",
    ]
    calculations = [json.loads(each) for each in calculations]
    assert [each["reason"] for each in calculations] == [
        "the program lets somebody decide",
        "waits for a look: customer_is_affiliate",
        "the program approves by itself",
    ]
    [skipped] = calculations[0]["skipped"]
    assert skipped["reason"] == "the affiliate is deleted"

    migrate("replace_by_codes")

    assert list_stored(account) == codes
    explanation = explain_conversion(account, conversion_id=conversion.pk)
    assert explanation.differences == []


def test_rewrites_contested_claims(account, scenario):
    record = {
        "inputs": '{"candidates":[{"enrollment_status":"waiting"}]}',
        "outcome": (
            '{"parameter":null,"rejected_candidates":[],"rejection_reason":"the cookie expired"}'
        ),
    }
    claim = account.conversion_claims.create(
        conversion=scenario.create_conversion("1"),
        program=scenario.program,
        affiliate=scenario.mina.affiliate,
        amount=1,
        currency="EUR",
        attribution=record | {"engine": "2"},
    )

    migrate("replace_by_codes")

    claim.refresh_from_db()
    assert claim.attribution == {
        "engine": "2",
        "inputs": '{"candidates":[{"enrollment_status":"pending"}]}',
        "outcome": (
            '{"parameter":null,"rejected_candidates":[],"rejection_reason":"cookie_expired"}'
        ),
    }
