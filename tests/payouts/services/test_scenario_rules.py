"""The changes of a scenario become the rules, all of them or none."""

from decimal import Decimal

import pytest

from accounts.days import A_DAY
from payouts.errors import ChangedSince, InnerLevel, NotARule
from payouts.services.programs import (
    create_level,
    set_group_rate,
    update_commission_type,
)
from payouts.services.scenario_rules import apply_scenario
from payouts.services.scenarios import calculate_now, create_scenario
from payouts.statistics import Period
from tests.ledger_checks import assert_unchanged
from tests.program_scenario import CONVERSION_CREATED_AT as AT
from tracking.services.hierarchy import create_group
from tracking.services.programs import update_program

pytestmark = pytest.mark.usefixtures("shared_scenario")

TWELVE = {"kind": "percentage", "value": "12"}
FIXED = {"kind": "fixed", "value": "1.5"}


@pytest.fixture
def calculate(scenario):
    """Create and calculate a scenario: `calculate(hold_days=3)`."""

    def calculate(everything=None, **changes):
        row = create_scenario(
            scenario.account,
            period=Period(AT.date(), AT.date() + A_DAY),
            changes=everything or {"programs": {scenario.program.slug: changes}},
            describe=str,
            at=AT,
        )
        calculate_now(row, at=AT)
        return row.reload()

    return calculate


@pytest.fixture
def apply(scenario):
    return lambda row: apply_scenario(scenario.account, pk=row.pk, at=AT)


def test_sets_rules_of_all_kinds_by_their_services(scenario, calculate, apply):
    account = scenario.account
    group = create_group(account, title="Gold", at=AT).public_id
    program = {
        "rates": {"standard": {**TWELVE, "groups": {group: FIXED}}},
        "levels": {"3": FIXED, "2": TWELVE},
        "cookie_time": 7,
        "recurring_cap": 2,
    }
    slug = scenario.program.slug
    before = account.audit_log.latest("id").pk

    apply(calculate({"programs": {slug: program}, "groups": {scenario.mina.slug: group}}))

    assert account.commission_types.get().value == 12
    assert account.group_rates.values_list("kind", "value").get() == ("fixed", Decimal("1.5"))
    levels = account.levels.order_by("level").values_list("level", "kind", "value")
    assert list(levels) == [(2, "percentage", 12), (3, "fixed", Decimal("1.5"))]
    stored = scenario.program.reload()
    assert (stored.cookie_time, stored.recurring_cap, stored.hold_days) == (7, 2, 0)
    assert account.affiliates.get().group.public_id == group
    kinds = account.audit_log.filter(pk__gt=before).order_by("id").values_list("kind", flat=True)
    assert list(kinds) == [
        *("commission_type.updated", "group_rate.created", "affiliate.added_to_group"),
        *("level.created", "level.created", "program.updated"),
    ]


def test_removes_and_changes_what_exists(scenario, calculate, apply):
    account, program = scenario.account, scenario.program
    group = create_group(account, title="Gold", at=AT)
    kind = account.commission_types.get()
    rate = {"kind": "percentage", "value": Decimal(5)}
    set_group_rate(account, commission_type=kind, group=group, **rate, at=AT)
    for _ in range(3):
        create_level(account, program=program, title="Parent", **rate, at=AT)

    apply(
        calculate(
            rates={"standard": {"groups": {group.public_id: None}}},
            levels={"2": TWELVE, "3": None, "4": None},
        )
    )

    assert not account.group_rates.exists()
    assert list(account.levels.values_list("level", "value")) == [(2, 12)]


def test_refuses_rules_that_have_changed_since(scenario, calculate, apply):
    account = scenario.account
    row = calculate(rates={"standard": TWELVE}, hold_days=3)
    kind = account.commission_types.get()
    update_commission_type(account, pk=kind.pk, changes={"value": Decimal(11)}, at=AT)

    with assert_unchanged(account), pytest.raises(ChangedSince):
        apply(row)


def test_does_not_mind_other_rules_that_have_changed(scenario, calculate, apply):
    account, program = scenario.account, scenario.program
    row = calculate(rates={"standard": TWELVE})
    update_program(account, slug=program.slug, changes={"cookie_time": 7}, at=AT)

    apply(row)

    assert account.commission_types.get().value == 12


def test_applies_once(calculate, apply):
    row = calculate(rates={"standard": TWELVE})
    apply(row)

    with pytest.raises(ChangedSince):
        apply(row)


def test_refuses_one_without_a_result(scenario, calculate, apply):
    row = calculate(rates={"standard": TWELVE})
    row.update_row(result="")

    with pytest.raises(ChangedSince):
        apply(row)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"everything": {"order": ["click_id"]}}, NotARule),
        ({"hold_days": 3, "levels": {"3": TWELVE}}, NotARule),
        ({"hold_days": 3, "levels": {str(number): TWELVE for number in (2, 4)}}, NotARule),
    ],
)
def test_refuses_what_is_no_setting(scenario, calculate, apply, changes, error):
    row = calculate(**changes)

    with assert_unchanged(scenario.account), pytest.raises(error):
        apply(row)


def test_refuses_what_a_service_refuses_and_keeps_the_rest(scenario, calculate, apply):
    rate = {"kind": "percentage", "value": Decimal(5)}
    for _ in range(2):
        create_level(scenario.account, program=scenario.program, title="Parent", **rate, at=AT)
    row = calculate(rates={"standard": TWELVE}, levels={"2": None})

    with assert_unchanged(scenario.account), pytest.raises(InnerLevel):
        apply(row)
