"""Explanation of conversions and its verification."""

import json
from datetime import timedelta
from decimal import Decimal

import pytest

from payouts.calculation import LineItem
from payouts.models.commission_types import RateKind
from payouts.services.commissions import approve_commission
from payouts.services.conversion_updates import (
    add_commissions,
    update_commission,
)
from payouts.services.explanation import explain_conversion
from tests.ledger_checks import assert_ledger_consistent
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario, mark_deleted
from tracking.attribution import POSTBACK_CONVERSION_ORDER, TrackingParameters
from tracking.errors import ConversionNotFound
from tracking.services import customers
from tracking.services.affiliates import PersonData
from tracking.services.hierarchy import create_group, set_group
from tracking.services.prospects import ProspectData, create_prospect

pytestmark = pytest.mark.usefixtures("shared_scenario")

LATER = CONVERSION_CREATED_AT + timedelta(days=1)


@pytest.fixture
def scenario(scenario):
    scenario.odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    yield scenario
    assert_ledger_consistent(scenario.account)


def get_conversion_explanation(conversion):
    return explain_conversion(conversion.account, conversion_id=conversion.pk)


def list_discrepancies(conversion):
    return get_conversion_explanation(conversion).differences


def set_commission(scenario, conversion, **changes):
    number = scenario.account.commissions.filter(conversion=conversion).order_by("id")[0].pk
    changes = {name: Decimal(value) for name, value in changes.items()}
    update_commission(scenario.account, commission_id=number, changes=changes, at=LATER)


# Explanation.


def test_explains_a_conversion_with_all_tracking_parameters(scenario, account):
    click = scenario.create_click(scenario.odette, at=CONVERSION_CREATED_AT - timedelta(days=60))
    parameters = TrackingParameters(
        customer_id="acct-1",
        coupon=scenario.mina.coupon,
        click_id=str(click.public_id),
        tracking_id="0" * 32,
    )
    conversion = scenario.create_conversion(
        ("33.33", None), parameters=parameters, external_id="order-1"
    )
    number = scenario.get_commission(conversion).pk
    approve_commission(account, commission_id=number, at=LATER)
    payment = scenario.pay(5, at=LATER)

    explanation = get_conversion_explanation(conversion)

    assert explanation.conversion == {
        "id": conversion.pk,
        "external_id": "order-1",
        "amount": Decimal("33.33"),
        "currency": "EUR",
        "program": "harbor-lamp-partners",
        "affiliate": "minakessler",
        "tracking_source": "coupon",
        "warnings": None,
        "disputed_at": None,
        "created_at": CONVERSION_CREATED_AT,
        "deleted_at": None,
    }
    attribution = dict(explanation.attribution)
    assert [row["parameter"] for row in attribution.pop("candidates")]
    assert attribution == {
        "engine": "2",
        "trust": "fact",
        "order": [
            *("customer", "coupon", "referral_code", "click_id"),
            *("asset_id", "tracking_id"),
        ],
        "ignore_cookie_age": False,
        "winner": {
            "parameter": "coupon",
            "affiliate": "minakessler",
            "program": "harbor-lamp-partners",
        },
        "expired_by": None,
        "rejected_candidates": [
            {
                "parameter": "click_id",
                "value": str(click.public_id),
                "affiliate": "odettevarga",
                "reason": "cookie_expired",
                "expired_by_hours": 360,
            },
            {
                "parameter": "tracking_id",
                "value": "0" * 32,
                "affiliate": None,
                "reason": "unknown",
                "expired_by_hours": None,
            },
        ],
    }
    assert explanation.commissions == [
        {
            "id": number,
            "affiliate": "minakessler",
            "kind": "regular",
            "commission_type": "standard",
            "base_commission": None,
            "sub_amount": Decimal("33.33"),
            "rate": {
                "kind": "percentage",
                "value": "10.0000",
                "from": "commission type standard",
            },
            "exact_amount": Decimal("3.333"),
            "amount": Decimal("3.33"),
            "currency": "EUR",
            "is_overridden": False,
            "initial_status": {
                "status": "pending",
                "reason": "program_requires_approval",
                "warnings": [],
            },
            "skipped": [],
            "status": "approved",
            "finalized_at": None,
            "due_at": CONVERSION_CREATED_AT,
            "under_review_since": None,
            "hold": None,
            "is_released": False,
            "payment": payment.public_id,
            "transfers": [
                {
                    "kind": kind,
                    "from": source,
                    "to": goal,
                    "amount": Decimal("3.33"),
                    "created_at": at,
                }
                for kind, source, goal, at in [
                    (*list_transfers(account, number, 0), CONVERSION_CREATED_AT),
                    (*list_transfers(account, number, 1), LATER),
                ]
            ],
        }
    ]
    assert explanation.differences == []


def list_transfers(account, commission, place):
    """Type and both sides of a commission's transfer."""
    rows = account.transfers.filter(commission=commission).order_by("sequence_number")
    return rows.values_list("kind", "debit__kind", "credit__kind")[place]


def test_explains_skipped_levels(scenario, account):
    scenario.add_child(scenario.mina, scenario.odette)
    scenario.create_level(2, "3")
    mark_deleted(scenario.odette.affiliate)
    conversion = scenario.create_conversion("200")

    [commission] = get_conversion_explanation(conversion).commissions

    assert commission["skipped"] == [
        {"level": 2, "affiliate": "odettevarga", "reason": "affiliate_deleted"}
    ]
    assert list_discrepancies(conversion) == []


def test_explains_a_deleted_conversion(scenario, account):
    conversion = scenario.create_conversion("200")
    scenario.delete(conversion, at=LATER)

    explanation = get_conversion_explanation(conversion)

    assert explanation.conversion["deleted_at"] == LATER
    assert [commission["amount"] for commission in explanation.commissions] == [20]
    assert explanation.differences == []


def test_does_not_explain_conversions_of_other_accounts(scenario, other_account):
    theirs = ProgramScenario(other_account, prefix="zz-marker-").create_conversion("200")

    with pytest.raises(ConversionNotFound):
        explain_conversion(scenario.account, conversion_id=theirs.pk)


def test_reads_only(scenario, account, capture_queries):
    conversion = scenario.create_conversion("200")

    with capture_queries() as queries:
        get_conversion_explanation(conversion)

    assert {query["sql"].split()[0] for query in queries.captured_queries} == {"SELECT"}


# Verification without differences.


def sell(scenario, parameters, **conversion):
    return scenario.create_conversion(
        "200", parameters=TrackingParameters(**parameters), **conversion
    )


def by_customer(scenario):
    scenario.create_customer("acct-1")
    return sell(scenario, {"customer_id": "acct-1", "coupon": " "})


def by_code(scenario):
    return sell(scenario, {"referral_code": scenario.mina.code})


def by_click(scenario):
    click = scenario.create_click(meta_data={"subid1": "a\u0301b"})
    return sell(scenario, {"click_id": str(click)})


def by_old_click(scenario):
    age = timedelta(days=60, microseconds=1)
    click = scenario.create_click(at=CONVERSION_CREATED_AT - age)
    return sell(scenario, {"click_id": str(click)}, ignore_cookie_age=True)


def by_pair(scenario):
    mina = scenario.mina
    return sell(scenario, {"asset_id": mina.asset_id, "source_id": mina.source_id})


def by_postback(scenario):
    parameters = {"referral_code": scenario.odette.code}
    parameters["click_id"] = str(scenario.create_click())
    return sell(scenario, parameters, order=POSTBACK_CONVERSION_ORDER)


def by_prospect(scenario):
    person = ProspectData(PersonData("Nora", "Falk", email="n@example.org"))
    prospect = create_prospect(scenario.account, data=person, at=CONVERSION_CREATED_AT)
    code = scenario.account.referral_codes.get(prospect=prospect).code
    return sell(scenario, {"referral_code": code})


def by_levels(scenario):
    scenario.add_child(scenario.mina, scenario.odette)
    scenario.create_level(2, "0.0333")
    return scenario.create_conversion("33.33", "0.15", customer_id="acct-1")


def by_group(scenario):
    group = create_group(scenario.account, title="Circle", at=CONVERSION_CREATED_AT)
    set_group(
        scenario.account,
        affiliate_id="minakessler",
        group_id=group.public_id,
        at=CONVERSION_CREATED_AT,
    )
    scenario.create_group_rate(group, "12.3456")
    conversion = scenario.create_conversion("33.33")
    scenario.account.group_rates.update(value=Decimal(1))
    return conversion


def by_fixed_rate(scenario):
    scenario.create_commission_type("flat", "2.5", kind=RateKind.FIXED)
    conversion = scenario.create_conversion(("0", "flat"), ("19.99", "flat"), currency="JPY")
    scenario.change_amount(conversion, "77", at=LATER)
    return conversion


def with_override(scenario):
    conversion = scenario.create_conversion("200")
    set_commission(scenario, conversion, amount="7")
    return conversion


def with_override_and_sub_amount(scenario):
    conversion = scenario.create_conversion("200")
    set_commission(scenario, conversion, amount="7", sub_amount="50")
    return conversion


def with_override_twice(scenario):
    conversion = with_override(scenario)
    scenario.change_amount(conversion, "66.66", at=LATER)
    return conversion


def with_update(scenario):
    conversion = by_levels(scenario)
    for amount in ("100.01", "0", "9.99"):
        scenario.change_amount(conversion, amount, at=LATER)
    return conversion


def added_to(scenario):
    conversion = by_levels(scenario)
    items = [LineItem(Decimal("0.05")), LineItem(Decimal(9))]
    add_commissions(scenario.account, conversion_id=conversion.pk, line_items=items, at=LATER)
    return conversion


def without_funds(scenario):
    scenario.enable_payouts(20)
    scenario.program.update_row(auto_approve_commissions=True)
    scenario.add_child(scenario.mina, scenario.odette)
    scenario.create_level(2, "3")
    return scenario.create_conversion("200", "100")


def warned(scenario):
    scenario.program.update_row(auto_approve_commissions=True)
    return scenario.create_conversion("200", customer_id="Mina@notes.example.org")


def past_the_cap(scenario):
    scenario.program.update_row(recurring=False)
    scenario.create_conversion("200", customer_id="acct-1")
    return scenario.create_conversion("200", customer_id="acct-1")


def with_status_changes(scenario):
    conversion = scenario.create_conversion("200")
    commission = scenario.get_commission(conversion)
    scenario.approve(commission, at=LATER)
    scenario.disapprove(commission, at=LATER)
    return conversion


def with_anonymized_customer(scenario):
    conversion = scenario.create_conversion("200", customer_id="acct-1")
    customers.delete_customer(scenario.account, public_id=conversion.customer.public_id, at=LATER)
    return conversion


def immense(scenario):
    return scenario.create_conversion("9999999999999.99")


AGREEING = [
    *(by_customer, by_code, by_click, by_old_click, by_pair, by_postback, by_prospect),
    *(by_levels, by_group, by_fixed_rate, with_override, with_override_twice),
    *(with_override_and_sub_amount, with_update, added_to, without_funds, warned),
    *(past_the_cap, with_status_changes, with_anonymized_customer, immense),
]


@pytest.mark.parametrize("create", AGREEING, ids=[row.__name__ for row in AGREEING])
def test_verifies_without_differences(scenario, create):
    assert list_discrepancies(create(scenario)) == []


@pytest.mark.parametrize("create", [by_prospect, with_override, with_update])
def test_verifies_a_deleted_conversion_without_differences(scenario, create):
    conversion = create(scenario)

    scenario.delete(conversion, at=LATER)

    assert list_discrepancies(conversion) == []


def test_shows_the_winner_as_recorded(scenario):
    explanation = get_conversion_explanation(by_prospect(scenario))

    assert explanation.conversion["affiliate"] == "norafalk"
    assert explanation.attribution["winner"]["affiliate"].startswith("ap_")


# Verification with differences.


def corrupt_rows(rows, **values):
    """Write to the database directly."""
    assert rows.update(**values)


CORRUPTIONS = {
    "amount": {"amount": Decimal("20.01")},
    "sub-amount": {"sub_amount": Decimal("200.01")},
    "rate": {"rate": Decimal("10.0001")},
    "kind of rate": {"rate_kind": RateKind.FIXED},
}


@pytest.mark.parametrize("name", CORRUPTIONS)
@pytest.mark.parametrize(
    "make",
    [ProgramScenario.create_conversion, with_override],
    ids=["calculated", "overridden"],
)
def test_finds_a_corrupted_commission(scenario_copy, account, name, make):
    conversion = make(scenario_copy)
    corrupt_rows(account.commissions.filter(conversion=conversion), **CORRUPTIONS[name])

    found = list_discrepancies(conversion)

    assert found
    assert all(f": {name} is " in row for row in found)


CALCULATIONS = {
    "sub_amount": "200.01",
    "exact_amount": "20.001",
    "amount": "20.01",
    "status": "approved",
    "reason": "another reason",
    "rate": {
        "kind": "percentage",
        "value": "11",
        "source": {"kind": "commission_type", "commission_type": "standard"},
    },
}


@pytest.mark.parametrize("name", CALCULATIONS)
def test_finds_a_corrupted_calculation(scenario_copy, account, name):
    conversion = scenario_copy.create_conversion("200")
    row = account.commissions.filter(conversion=conversion)
    calculation = json.loads(row.get().calculation) | {name: CALCULATIONS[name]}
    corrupt_rows(row, calculation=json.dumps(calculation))

    assert list_discrepancies(conversion)


@pytest.mark.parametrize("kind", ["regular", "level"])
def test_finds_a_commission_with_another_affiliate(scenario, account, kind):
    conversion = by_levels(scenario)
    jana = scenario.create_enrolled_affiliate("Jana", "Lind")
    row = account.commissions.filter(conversion=conversion, kind=kind)[:1].get()
    was = row.affiliate_id
    corrupt_rows(account.commissions.filter(pk=row.pk), affiliate=jana.affiliate)

    found = list_discrepancies(conversion)

    corrupt_rows(account.commissions.filter(pk=row.pk), affiliate=was)
    assert found


@pytest.mark.parametrize("name", ["affiliate", "program", "tracking_source"])
def test_finds_a_conversion_that_differs_from_its_attribution(scenario, account, name):
    other = ProgramScenario(account, "another-program", email="m2@example.org")
    conversion = scenario.create_conversion("200")
    values = {
        "affiliate": scenario.odette.affiliate,
        "program": other.program,
        "tracking_source": "click",
    }
    row = account.conversions.filter(pk=conversion.pk)
    was = row.values(name).get()
    corrupt_rows(row, **{name: values[name]})

    found = list_discrepancies(conversion)

    corrupt_rows(row, **was)
    assert found


@pytest.mark.parametrize("name", ["inputs", "outcome", "both"])
def test_finds_a_corrupted_attribution_record(scenario, account, name):
    conversion = scenario.create_conversion("200")
    row = account.attribution_records.filter(conversion=conversion)
    stored = row.values("inputs", "outcome").get()
    corrupted = {
        key: text.replace("minakessler", "odettevarga")
        for key, text in stored.items()
        if name in (key, "both")
    }
    corrupt_rows(row, **corrupted)

    assert list_discrepancies(conversion)
