"""Each bonus of an account that moves is granted once: by the source, then here."""

from datetime import UTC, date, datetime

import httpx
import pytest

from accounts.models.api_keys import Role
from accounts.services.api_keys import create_api_key
from affiliate_site.moving.balances import compare_balances
from affiliate_site.moving.importing import AccountImport
from affiliate_site.moving.source import SourceServer
from payouts.services.bonus_rules import ALL_TIME_START
from payouts.services.bonuses import grant_bonuses
from payouts.services.commissions import disapprove_commission
from tests.affiliate_site.moving.test_importing import LATER, answer
from tests.factories.accounts import AccountFactory
from tests.ledger_checks import assert_ledger_consistent
from tracking.models.imports import ImportedObject

pytestmark = pytest.mark.django_db


def on(month, day):
    return datetime(2026, month, day, 12, tzinfo=UTC)


@pytest.fixture
def target():
    target = AccountFactory(slug="moved", plan__name="enterprise")
    yield target
    assert_ledger_consistent(target)


@pytest.fixture
def run(scenario, target):
    """Run an import on a day; return it."""
    key = create_api_key(scenario.account, name="", role=Role.VIEWER, at=LATER)[1]

    def run(at, **options):
        transport = httpx.MockTransport(answer)
        source = SourceServer("http://testserver/1.6", key, transport=transport)
        moving = AccountImport(target, source, at, **options)
        moving.run()
        return moving

    return run


def sell(scenario, at):
    conversion = scenario.create_conversion("100", at=at)
    scenario.approve(scenario.get_commission(conversion), at=at)


def list_periods(account):
    rows = account.commissions.filter(kind="bonus").order_by("period_start")
    return list(rows.values_list("period_start", flat=True))


def test_a_mirror_leaves_bonuses_to_the_source_until_the_switch(scenario, target, run):
    scenario.create_bonus(goal=1, value=5)
    sell(scenario, on(3, 10))
    run(on(3, 20), is_mirror=True)
    grant_bonuses(scenario.account, at=on(4, 2))
    assert grant_bonuses(target, at=on(4, 2)).granted == []

    sell(scenario, on(4, 3))
    moving = run(on(4, 3), is_mirror=True, is_final=True)
    assert moving.report.problems == []
    assert list_periods(target) == [date(2026, 3, 1)]
    assert compare_balances(target, moving.source) == []

    (granted,) = grant_bonuses(target, at=on(5, 2)).granted
    assert granted.period_start == date(2026, 4, 1)
    assert grant_bonuses(target, at=on(6, 2)).granted == []


def test_the_switch_counts_the_first_time(scenario, target, run):
    scenario.create_bonus(goal=1, value=5)
    run(on(3, 20), is_mirror=True, is_final=True)
    run(on(4, 20), is_mirror=True, is_final=True)
    assert target.bonuses.get().created_at == on(3, 20)


def test_a_dry_run_holds_nothing(scenario, target, run):
    run(on(3, 20), is_mirror=True, is_dry_run=True)
    assert not ImportedObject.objects.filter(account=target).exists()


def test_bonuses_of_an_account_that_was_imported_once_are_granted_here(scenario, target, run):
    scenario.create_bonus(goal=1, value=5)
    sell(scenario, on(3, 10))
    run(on(3, 20))
    (granted,) = grant_bonuses(target, at=on(4, 2)).granted
    assert granted.period_start == date(2026, 3, 1)


def test_a_bonus_that_was_granted_here_is_not_taken_over_too(scenario, target, run):
    scenario.create_bonus(goal=1, value=5)
    sell(scenario, on(3, 10))
    run(on(3, 20))
    for account in (scenario.account, target):
        grant_bonuses(account, at=on(4, 2))
    (problem,) = run(on(4, 3), is_mirror=True).report.problems
    assert (problem["kind"], problem["code"]) == ("commission", "granted_here")
    assert list_periods(target) == [date(2026, 3, 1)]

    ours = target.commissions.get(kind="bonus")
    disapprove_commission(target, commission_id=ours.pk, at=on(4, 3))
    assert run(on(4, 4), is_mirror=True).report.problems == []
    assert list_periods(target) == [date(2026, 2, 1), date(2026, 3, 1)]


def test_bonuses_granted_late_have_periods_of_their_own(scenario, target, run):
    scenario.create_bonus(goal=1, value=5, at=on(2, 1))
    sell(scenario, on(2, 10))
    sell(scenario, on(3, 10))
    assert len(grant_bonuses(scenario.account, at=on(4, 2)).granted) == 2
    assert run(on(4, 3)).report.problems == []
    assert list_periods(target) == [date(2026, 2, 1), date(2026, 3, 1)]


def test_bonuses_for_all_time_come_over_and_are_not_granted_again(scenario, target, run):
    scenario.create_bonus(goal=1, value=5, period="all_time", title="First sale")
    scenario.create_bonus(goal=2, value=9, period="all_time", title="Second sale")
    sell(scenario, on(3, 10))
    grant_bonuses(scenario.account, at=on(3, 11))
    assert run(on(3, 20)).report.problems == []
    assert list_periods(target) == [ALL_TIME_START]
    assert grant_bonuses(target, at=on(3, 21)).granted == []

    sell(scenario, on(3, 22))
    run(on(3, 23))
    (second,) = grant_bonuses(target, at=on(3, 24)).granted
    assert second.name == "Second sale"
