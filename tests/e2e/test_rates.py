"""A partner manager sets up what marketing has promised, in Chromium."""

import pytest
from django.utils import timezone

from payouts.services.program_rates import list_program_rates
from tests.e2e.test_staff_jobs import checked_pages, device, static_files, walk
from tests.program_scenario import ProgramScenario

pytestmark = [pytest.mark.integration, pytest.mark.engine_independent]

__all__ = ["checked_pages", "device", "static_files", "walk"]


def test_sets_up_the_rates_that_marketing_has_promised(walk):
    """10 % on first orders, 5 % on renewals, 3 EUR on top for lamps, 20 % for one affiliate
    until New Year: twelve clicks in all."""
    scenario = ProgramScenario(walk.account)
    scenario.create_commission_type("lamps", "10", title="Lamps")
    program = scenario.program

    with walk.job("set up what was promised", clicks=12):
        walk.go("Programs")
        walk.follow(program.title)
        renewals = {"Commission type": "Standard", "Percentage": "5", "From order number": "2"}
        lamps = {"Commission type": "Lamps", "Percentage": "10", "Fixed amount": "3"}
        for values in (renewals, lamps, {"Percentage": "20", "Last day": "2099-12-31"}):
            walk.follow("Add rate")
            walk.fill(values)
            if "Last day" in values:
                walk.choose("Kessler")
            text = walk.press("Add rate")

    assert "5 %" in text
    assert "type Standard, orders from 2 of a customer" in text
    assert "10 % + 3.00 EUR" in text
    rates = list_program_rates(walk.account, program, at=timezone.now())
    assert rates == [
        {"percentage": "10", "type": "standard"},
        {"percentage": "10", "type": "lamps"},
        {"percentage": "5", "type": "standard", "orders": {"from": 2}},
        {"percentage": "10", "fixed": "3", "type": "lamps"},
        {"percentage": "20", "type": "standard"}
        | {"affiliate": scenario.mina.slug, "ends_at": "2100-01-01"},
    ]
