"""What each sub-id of an affiliate's links has brought."""

from datetime import date
from decimal import Decimal

from payouts.services.sub_ids import SubIdCounts, count_by_sub_id
from tests.program_scenario import (
    CLICK_CREATED_AT,
    CONVERSION_CREATED_AT,
    ProgramScenario,
)
from tracking.attribution import TrackingParameters

FIRST, LAST = CLICK_CREATED_AT.date(), CONVERSION_CREATED_AT.date()


def click_on(scenario, sub_id, affiliate=None):
    page = f"https://shop.example.net/{sub_id and f'?sub_id={sub_id}'}"
    return scenario.create_click(affiliate, landing_page=page)


def sell(scenario, click, amount="200", **parameters):
    parameters = TrackingParameters(click_id=str(click), **parameters)
    return scenario.create_conversion(amount, parameters=parameters)


def test_counts_clicks_sales_and_commissions(account):
    scenario = ProgramScenario(account)
    nils = scenario.create_enrolled_affiliate("Nils", "Berg")
    for sub_id in ("mail", "mail", "blog", ""):
        click = click_on(scenario, sub_id)
        sell(scenario, click)
    sell(scenario, click, "30")
    scenario.delete(sell(scenario, click))
    scenario.disapprove(
        scenario.get_commission(sell(scenario, click_on(scenario, "b")))
    )
    scenario.create_conversion("500")  # by the coupon alone
    theirs = click_on(scenario, "theirs", nils)
    sell(scenario, theirs)
    sell(scenario, theirs, coupon=scenario.mina.coupon)

    assert count_by_sub_id(scenario.mina.affiliate, FIRST, LAST) == [
        SubIdCounts("mail", 2, 2, {"EUR": Decimal(40)}),
        SubIdCounts("", 1, 2, {"EUR": Decimal(23)}),
        SubIdCounts("b", 1, 1, {}),
        SubIdCounts("blog", 1, 1, {"EUR": Decimal(20)}),
    ]


def test_counts_a_period_of_whole_days(account, capture_queries):
    scenario = ProgramScenario(account)
    mina = scenario.mina.affiliate
    sell(scenario, click_on(scenario, "mail"))

    assert count_by_sub_id(mina, FIRST, FIRST) == [SubIdCounts("mail", 1)]
    with capture_queries() as captured:
        sales = count_by_sub_id(mina, LAST, LAST)
    assert sales == [SubIdCounts("mail", 0, 1, {"EUR": Decimal(20)})]
    assert len(captured) == 3
    assert count_by_sub_id(mina, date(2026, 3, 5), date(2026, 4, 1)) == []
