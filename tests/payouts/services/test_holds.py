"""Holds: when commissions are due."""

import json
from datetime import timedelta
from decimal import Decimal

import pytest

from accounts.errors import InvalidSetting
from payouts.calculation import LineItem
from payouts.services.bonuses import grant_bonuses
from payouts.services.conversion_creation import ConversionData, create_conversion
from payouts.services.conversion_updates import add_commissions, update_conversion
from payouts.services.corrections import reattribute_conversion
from payouts.services.explanation import explain_conversion
from payouts.services.programs import ProgramSettings, create_program, delete_group
from tests.ledger_checks import assert_unchanged
from tests.program_scenario import CONVERSION_CREATED_AT, build_line_items
from tracking.attribution import TrackingParameters
from tracking.claims import Trust
from tracking.errors import GroupNotFound
from tracking.services.hierarchy import create_group, set_group, update_group
from tracking.services.programs import update_program

pytestmark = pytest.mark.usefixtures("shared_scenario", "consistent_ledger")

SOLD_AT = CONVERSION_CREATED_AT
LATER = SOLD_AT + timedelta(days=10)


def hold(scenario, days):
    changes = {"hold_days": days}
    return update_program(scenario.account, slug=scenario.program.slug, changes=changes, at=SOLD_AT)


def hold_group(scenario, days, *affiliates):
    """Put affiliates into a new group with a hold of its own."""
    account = scenario.account
    group = create_group(account, title="Top", at=SOLD_AT).public_id
    update_group(account, group_id=group, changes={"hold_days": days}, at=SOLD_AT)
    for affiliate in affiliates:
        set_group(account, affiliate_id=affiliate.slug, group_id=group, at=SOLD_AT)
    return group


def list_holds(account):
    """The days from the sale until each commission is due, removed ones left out."""
    rows = account.commissions.not_deleted().select_related("conversion")
    return [(row.due_at - row.conversion.created_at).days for row in rows.order_by("id")]


def test_without_a_hold_commissions_are_due_when_sold(account, scenario):
    commission = scenario.get_commission(scenario.create_conversion("200"))

    commission.refresh_from_db()
    assert commission.due_at == SOLD_AT
    assert "hold" not in json.loads(commission.calculation)


def test_every_commission_of_a_sale_waits_for_the_hold_of_its_program(account, scenario):
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    scenario.add_child(scenario.mina, odette)
    scenario.create_level(2, "3")
    hold(scenario, 30)

    conversion = scenario.create_conversion("200")
    add_commissions(
        account,
        conversion_id=conversion.pk,
        line_items=build_line_items("5"),
        at=LATER,
    )

    assert list_holds(account) == [30, 30, 30, 30]


@pytest.mark.parametrize("days", [0, 7])
def test_the_hold_of_a_group_replaces_that_of_the_program(account, scenario, days):
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    hold(scenario, 30)
    hold_group(scenario, days, scenario.mina)

    scenario.create_conversion("200")
    scenario.create_conversion("200", affiliate=odette)

    assert list_holds(account) == [days, 30]


def test_a_group_without_a_hold_has_that_of_the_program(account, scenario):
    hold(scenario, 30)
    hold_group(scenario, None, scenario.mina)

    scenario.create_conversion("200")

    assert list_holds(account) == [30]


def test_parents_wait_as_long_as_the_affiliate_of_the_sale(account, scenario):
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    scenario.add_child(scenario.mina, odette)
    scenario.create_level(2, "3")
    hold(scenario, 30)
    hold_group(scenario, 0, odette)

    scenario.create_conversion("200")

    assert list_holds(account) == [30, 30]


def test_new_settings_leave_commissions_as_they_are(account, scenario):
    hold(scenario, 30)
    conversion = scenario.create_conversion("200")
    group = hold_group(scenario, 90, scenario.mina)
    scenario.create_conversion("200")

    hold(scenario, 0)
    delete_group(account, group_id=group, at=LATER)
    update_conversion(
        account,
        conversion_id=conversion.pk,
        changes={"amount": Decimal(100)},
        should_recalculate=True,
        at=LATER,
    )

    assert list_holds(account) == [30, 90]
    explained = explain_conversion(account, conversion_id=conversion.pk)
    assert explained.commissions[0]["hold"] == {"days": 30, "from": "program"}
    assert explained.differences == []


def test_another_affiliate_has_the_hold_of_its_group_since_the_sale(account, scenario):
    otto = scenario.create_enrolled_affiliate("Otto", "Brandt")
    hold(scenario, 30)
    hold_group(scenario, 14, otto)
    conversion = scenario.create_conversion("200")

    reattribute_conversion(
        account,
        conversion_id=conversion.pk,
        affiliate_id=otto.slug,
        reason="Otto sent the newsletter.",
        at=LATER,
    )

    assert list_holds(account) == [14]


def test_a_fact_waits_since_the_claim_that_it_confirms(account, scenario):
    claim = ConversionData(
        parameters=TrackingParameters(coupon=scenario.mina.coupon),
        line_items=[LineItem(Decimal(100))],
        external_id="order-1",
        trust=Trust.CLAIM,
        is_browser_sale=True,
    )
    create_conversion(account, data=claim, at=SOLD_AT)
    hold(scenario, 30)

    scenario.create_conversion("100", external_id="order-1", at=LATER)

    assert list_holds(account) == [30]
    assert account.commissions.not_deleted().get().due_at == SOLD_AT + timedelta(30)


def test_a_bonus_is_due_when_it_is_granted(account, scenario):
    granted_at = SOLD_AT + timedelta(days=60)
    hold(scenario, 180)
    scenario.create_bonus(goal=1, value="10")
    scenario.approve(scenario.get_commission(scenario.create_conversion("200")))

    grant_bonuses(account, at=granted_at)

    assert account.commissions.get(kind="bonus").due_at == granted_at


def test_the_audit_log_says_what_was_set(account, scenario):
    hold(scenario, 30)
    group = hold_group(scenario, 14)
    update_group(account, group_id=group, changes={"hold_days": None}, at=LATER)

    entries = account.audit_log.filter(kind__endswith=".updated").order_by("id")
    assert [(entry.kind, entry.details) for entry in entries] == [
        ("program.updated", {"hold_days": [0, 30]}),
        ("affiliate_group.updated", {"hold_days": [None, 14]}),
        ("affiliate_group.updated", {"hold_days": [14, None]}),
    ]


@pytest.mark.parametrize("days", [-1, 181])
def test_refuses_a_hold_that_is_too_long(account, scenario, days):
    group = create_group(account, title="Top", at=SOLD_AT).public_id
    settings = ProgramSettings(title="Two", currency="EUR", hold_days=days)

    for set_hold in (
        lambda: hold(scenario, days),
        lambda: create_program(account, slug="two", settings=settings, at=SOLD_AT),
        lambda: update_group(account, group_id=group, changes={"hold_days": days}, at=SOLD_AT),
    ):
        with (
            assert_unchanged(account),
            pytest.raises(InvalidSetting, match="The days on hold must be 0 to 180"),
        ):
            set_hold()


def test_groups_of_other_accounts_are_unknown(account, other_account, scenario):
    group = create_group(account, title="Top", at=SOLD_AT).public_id

    with assert_unchanged(account), pytest.raises(GroupNotFound):
        update_group(other_account, group_id=group, changes={"hold_days": 5}, at=SOLD_AT)
