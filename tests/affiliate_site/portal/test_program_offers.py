"""What the pages say of a program is what its rules pay."""

import re
from decimal import Decimal

import pytest
from django.test import Client
from django.utils import timezone

from payouts.models.bonuses import BonusPeriod, GoalType
from payouts.models.commission_types import RateKind
from payouts.services.program_rates import set_rates
from tests.affiliate_site.portal.test_question_pages import read_main
from tracking.services.hierarchy import create_group, set_group
from tracking.services.portal_settings import update_portal_settings

pytestmark = pytest.mark.usefixtures("shared_scenario")


@pytest.fixture
def page(account, portal, scenario):
    """The public page of the program."""
    changes = {"is_open": True}
    update_portal_settings(account, changes=changes, at=timezone.now())
    return f"{portal}{scenario.program.slug}/"


@pytest.fixture
def rich(account, scenario):
    """A second rate, a bonus and a level."""
    program = scenario.program
    row = account.commission_types.create(
        program=program,
        identifier="accessories",
        title="Accessories",
        kind=RateKind.PERCENTAGE,
        value=Decimal("7.5"),
    )
    account.bonuses.create(
        program=program,
        public_id="bo_1",
        title="Ten",
        goal_type=GoalType.CONVERSIONS,
        goal=10,
        period=BonusPeriod.MONTH,
        kind=RateKind.FIXED,
        value=50,
    )
    scenario.create_level(2, "2")
    return row


def test_one_rate_is_that_of_each_sale(page):
    text = read_main(Client().get(page))
    assert "You earn 10 % of each sale." in text
    assert "Bonus" not in text
    assert "Recruits" not in text


def test_names_all_rates_bonuses_and_levels(page, rich):
    text = read_main(Client().get(page))
    assert (
        "You earn 10 % of a sale, except for: “Accessories”: 7.5 % of these sales."
        " Bonus: 50.00 EUR for at least 10 sales in a month."
        " Recruits, level 1: 2 % of each of their sales." in text
    )
    assert "of each sale" not in text


def test_an_ended_bonus_is_not_offered(account, page, rich):
    account.bonuses.update(ended_at=timezone.now())
    assert "Bonus" not in read_main(Client().get(page))


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"recurring": False}, "Only the first sale of a customer earns."),
        ({"recurring_cap": 3}, "Of a customer, the first 3 sales earn."),
        ({"recurring_period_days": 90}, "Sales of a customer earn for 90 days."),
        ({"hold_days": 14}, "Commissions are due 14 days after the sale at the ear"),
    ],
)
def test_says_which_sales_earn_and_when(scenario, page, changes, text):
    assert text not in read_main(Client().get(page))
    scenario.program.update_row(**changes)
    assert text in read_main(Client().get(page))


def test_an_affiliate_sees_the_own_rate_hold_and_minimum(
    account, scenario, page, portal, mina, rich
):
    affiliate, at = scenario.mina.affiliate, timezone.now()
    group = create_group(account, title="Top", at=at)
    group.update_row(hold_days=7)
    set_group(account, affiliate_id=affiliate.slug, group_id=group.public_id, at=at)
    account.group_rates.create(
        commission_type=rich, group=group, kind=RateKind.FIXED, value=Decimal(4)
    )
    account.payout_minimums.create(affiliate=affiliate, currency="EUR", amount=25)
    for url in (page, f"{portal}links/"):
        text = read_main(mina.get(url))
        assert "“Accessories”: 4.00 EUR for each of these sales." in text
        assert "Commissions are due 7 days after the sale" in text
        assert "Payments are made from 25.00 EUR." in text
    stranger = read_main(Client().get(page))
    assert "7.5 %" in stranger
    assert not re.search(r"4\.00|25\.00|due 7 days", stranger)


@pytest.fixture
def special(account, scenario):
    """Rates for some sales: a first order, a type, one affiliate for a while."""
    rates = [
        {"percentage": "10", "type": "standard"},
        {"percentage": "15", "fixed": "3", "type": "standard", "orders": {"from": 1, "to": 1}},
        {"fixed": "4", "type": "lamps"},
        {"percentage": "12", "when": [{"field": "country", "is": ["DE", "AT"]}]},
        {"percentage": "20", "affiliate": scenario.mina.slug, "ends_at": "2099-01-01"},
    ]
    set_rates(account, scenario.program.slug, {"rates": rates}, at=timezone.now())


def test_names_the_rates_for_some_sales(account, page, mina, special):
    shared = (
        "You earn 10 % of a sale, except for: “lamps”: 4.00 EUR for each of these sales."
        " 15 % + 3.00 EUR: “Standard”, first order of a customer."
        " 12 %: customers in DE, AT."
    )
    stranger = read_main(Client().get(page))
    assert shared in stranger
    assert "20 %" not in stranger
    own = read_main(mina.get(page))
    assert f"{shared} 20 %: until 31 December 2098." in own


def test_a_lasting_rate_of_an_affiliate_is_what_it_earns(account, page, mina, scenario):
    rates = [{"percentage": "10"}, {"percentage": "20", "fixed": "1"}]
    rates[1]["affiliate"] = scenario.mina.slug
    set_rates(account, scenario.program.slug, {"rates": rates}, at=timezone.now())

    assert "You earn 10 % of each sale." in read_main(Client().get(page))
    own = read_main(mina.get(page))
    assert "You earn 20 % of each sale. In addition, 1.00 EUR for each of these sales." in own
