"""A partner manager asks what a higher rate would have cost, in Chromium."""

from decimal import Decimal

import pytest
from django.utils import timezone

from accounts.days import A_DAY, start_of_day
from payouts.services.programs import set_group_rate
from payouts.statistics import NAMED_PERIODS
from tests.e2e.test_staff_jobs import checked_pages, device, static_files, walk
from tests.program_scenario import ProgramScenario
from tracking.services.hierarchy import add_to_group, create_group

pytestmark = [pytest.mark.integration, pytest.mark.engine_independent]

__all__ = ["checked_pages", "device", "static_files", "walk"]


def test_answers_what_a_group_would_have_cost_last_quarter(walk):
    """And who would have earned it, in four clicks; then makes it the rule."""
    account, now = walk.account, timezone.now()
    scenario = ProgramScenario(account)
    group = create_group(account, title="Gold", at=now)
    add_to_group(account, group_id=group.public_id, affiliate_ids=[scenario.mina.slug], at=now)
    rate = {"kind": "percentage", "value": Decimal(10)}
    set_group_rate(
        account, commission_type=account.commission_types.get(), group=group, **rate, at=now
    )
    first = NAMED_PERIODS["last_quarter"](account.get_day(now)).first
    scenario.create_conversion("100", at=start_of_day(first + 40 * A_DAY, account.zone))

    with walk.job("what would a rate have cost", clicks=4):
        walk.go("What if")
        walk.follow("New calculation")
        walk.fill({"Only for group": "Gold", "New rate": "12"})
        text = walk.press("Calculate")

    assert "+2.00 EUR: 1 affiliate would earn more or less" in text
    assert "Mina Kessler" in text.partition("By affiliate")[2]
    with walk.job("make it the rule", clicks=2):
        walk.follow("Make this the rule")
        text = walk.press("Make this the rule")
    assert "This is the rule from now on" in text
    assert account.group_rates.get().value == 12


def test_a_form_of_a_rate_says_what_the_last_days_would_have_cost(walk):
    """It appears beside the form, before anything is saved."""
    account, now = walk.account, timezone.now()
    ProgramScenario(account).create_conversion("100", at=now - 2 * A_DAY)
    kind = account.commission_types.get()
    effect = walk.page.locator("[data-rate-effect]")

    walk.open(f"payouts/commissiontype/{kind.pk}/edit/")
    walk.fill({"Rate": str(kind.value + 2)})
    effect.get_by_text("In the last 30 days: +2.00 EUR, for 1 affiliate.").wait_for()

    assert account.commission_types.get().value == kind.value
