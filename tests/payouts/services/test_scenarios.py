"""Scenarios: stored what-ifs. Killed calculations: tests/concurrency/test_scenarios.py."""

import json
from datetime import timedelta

import pytest

from accounts.actor import use_actor
from accounts.days import A_DAY
from payouts.errors import InvalidChange, NothingChanges, PeriodTooLong
from payouts.services import scenarios
from payouts.services.erasure import erase_person
from payouts.services.scenarios import (
    KILLED,
    LEASE,
    MAX_ATTEMPTS,
    SCENARIO_RETENTION,
    calculate_now,
    claim_scenario,
    create_scenario,
    delete_expired_scenarios,
    read_result,
    read_rules,
)
from payouts.statistics import Period
from payouts.what_if import RuleChange
from tests.program_scenario import CONVERSION_CREATED_AT as AT
from tracking.services.hierarchy import create_group

pytestmark = pytest.mark.usefixtures("shared_scenario")

PERIOD = Period(AT.date(), AT.date() + A_DAY * 30)


@pytest.fixture
def create(scenario):
    """Create a scenario: `create(hold_days=3)`, or `create(everything={…})`."""

    def create(*, period=PERIOD, everything=None, at=AT, **changes):
        changed = everything or {"programs": {scenario.program.slug: changes}}
        with use_actor("staff 7"):
            return create_scenario(
                scenario.account, period=period, changes=changed, describe=describe, at=at
            )

    return create


def describe(changes):
    return ", ".join(f"{it.rule} {it.before} to {it.after}" for it in changes)


def rate(value):
    return {"rates": {"standard": {"kind": "percentage", "value": value}}}


def test_stores_what_changes_and_what_it_costs(scenario, create):
    sale = scenario.create_conversion("100")

    row = create(**rate(12))
    calculate_now(row, at=AT)

    row = row.reload()
    before, after = ({"kind": "percentage", "value": value} for value in ("10", "12"))
    assert row.title == f"rate {before} to {after}"
    assert (row.outcome, row.error, row.due_at) == ("+2.00 EUR", "", None)
    assert row.created_by == "staff 7"
    result = read_result(row)
    assert (result["from"], result["to"]) == ("2026-03-04", "2026-04-03")
    assert read_rules(result) == [
        RuleChange(scenario.program.slug, "rate", ("standard",), before, after)
    ]
    [explained] = result["explained"]
    assert explained["conversion"] == sale.pk
    assert explained["after"]["commissions"][0]["amount"] == "12.00"


def test_lists_all_kinds_of_rules(scenario, create):
    group = create_group(scenario.account, title="Gold", at=AT).public_id
    fixed = {"kind": "fixed", "value": "1.50"}
    program = {
        "rates": {"standard": {"groups": {group: fixed}}},
        "levels": {"2": fixed},
        "cookie_time": 3,
        "hold_days": 4,
        "recurring": False,
        "recurring_cap": 2,
    }
    everything = {
        "programs": {scenario.program.slug: program},
        "groups": {scenario.mina.slug: group},
        "order": ["click_id"],
    }
    stored = {"kind": "fixed", "value": "1.5"}

    row = create(everything=everything)
    calculate_now(row, at=AT)

    rules = read_rules(read_result(row))
    assert [(it.rule, it.of, it.before, it.after) for it in rules] == [
        ("group_rate", ("standard", group), None, stored),
        ("level", ("2",), None, stored),
        ("cookie_time", (), 45, 3),
        ("hold_days", (), 0, 4),
        ("recurring", (), True, False),
        ("recurring_cap", (), None, 2),
        ("group", (scenario.mina.slug,), "", group),
        ("order", (), [], ["click_id"]),
    ]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (rate(10), NothingChanges),
        ({"hold_days": -1}, InvalidChange),
        ({"period": Period(AT.date(), AT.date() - A_DAY), **rate(12)}, PeriodTooLong),
    ],
)
def test_refuses_what_cannot_be_calculated(scenario, create, options, error):
    with pytest.raises(error):
        create(**options)

    assert not scenario.account.scenarios.exists()


def test_keeps_only_the_affiliates_that_change_most(scenario, create, monkeypatch):
    monkeypatch.setattr(scenarios, "MAX_AFFILIATES", 1)
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    for person, amount in ((scenario.mina, "10"), (odette, "100")):
        scenario.create_conversion(amount, affiliate=person)

    row = create(**rate(12))
    calculate_now(row, at=AT)

    result = read_result(row)
    assert result["affiliates_changed"] == 2
    assert [it["affiliate"] for it in result["affiliates"]] == [odette.slug]


def test_leaves_many_sales_to_the_worker(scenario, create, monkeypatch):
    monkeypatch.setattr(scenarios, "MAX_SALES_AT_ONCE", 1)
    for _ in range(2):
        scenario.create_conversion("100")
    row = create(**rate(12))
    account = scenario.account
    assert claim_scenario(account, due_before=AT, at=AT) is None  # the page has it

    calculate_now(row, at=AT)

    assert (row.reload().result, row.reload().due_at) == ("", AT)
    claimed = claim_scenario(account, due_before=AT, at=AT)
    assert (claimed.pk, claimed.attempts, claimed.due_at) == (row.pk, 1, AT + LEASE)
    assert claim_scenario(account, due_before=AT, at=AT) is None


def test_stores_why_it_cannot_be_calculated_any_more(scenario, create):
    row = create(**rate(12))
    row.update_row(changes=json.dumps({"programs": {"gone": {}}}))

    calculate_now(row, at=AT)

    row = row.reload()
    assert row.error.startswith("programs.gone: does not exist here")
    assert (row.result, row.due_at) == ("", None)


def test_gives_up_after_several_kills(scenario, create):
    row, at = create(**rate(12)), AT
    for _ in range(MAX_ATTEMPTS):
        at += LEASE
        assert claim_scenario(scenario.account, due_before=at, at=at).pk == row.pk
    at += LEASE

    assert claim_scenario(scenario.account, due_before=at, at=at) is None
    assert (row.reload().error, row.reload().due_at) == (KILLED, None)


def test_stores_nothing_that_another_worker_has_begun(scenario, create):
    row = create(**rate(12))
    late = AT + LEASE
    claim_scenario(scenario.account, due_before=late, at=late)

    calculate_now(row, at=AT)

    assert (row.reload().result, row.reload().due_at) == ("", late + LEASE)


def test_deletes_old_ones(scenario, create):
    old, new = create(**rate(12)), create(at=AT + timedelta(seconds=1), **rate(13))
    at = AT + SCENARIO_RETENTION

    assert delete_expired_scenarios(scenario.account, at=at, dry_run=True) == 1
    assert delete_expired_scenarios(scenario.account, at=at, dry_run=False) == 1
    assert scenario.account.scenarios.get() == new != old


def test_an_erased_person_is_in_no_result(scenario, create):
    """A calculation in progress, which read the person before, begins again."""
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    scenario.create_conversion("100", affiliate=odette)
    naming, running = create(**rate(12)), create(hold_days=3)
    calculate_now(naming, at=AT)
    later = AT + timedelta(hours=1)

    erase_person(scenario.account, identifier=odette.slug, at=later)
    calculate_now(running, at=later)

    assert scenario.account.scenarios.get() == running
    assert (running.reload().result, running.reload().due_at) == ("", later)
