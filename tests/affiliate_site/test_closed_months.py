"""A closed month refuses nothing that the API, shops and removals do."""

from datetime import date, timedelta

import pytest

from affiliate_site.closing_files import render_closing_csv
from affiliate_site.moving.tables.undo import undo_table_import
from payouts.services.bookkeeping import get_period_closings
from tests.affiliate_site.moving.tables.building import store
from tests.closed_months import CLOSED_AT, close
from tests.ledger_checks import assert_ledger_consistent
from tests.shop_inbox import deliver, list_sales
from tests.stripe_events import SECRET, build_charge, build_checkout
from tracking.models.shops import ConnectionMode, ShopEventState
from tracking.services.connections import create_connection

pytestmark = pytest.mark.usefixtures("shared_scenario")


@pytest.fixture
def scenario(scenario):
    scenario.program.update_row(auto_approve_commissions=True)
    yield scenario
    assert_ledger_consistent(scenario.account)


def render_march(account):
    days = {"start": date(2026, 3, 1), "end": date(2026, 3, 31)}
    return render_closing_csv(get_period_closings(account, **days))


def get_movements(account):
    found = get_period_closings(account, start=date(2026, 4, 1), end=date(2026, 4, 30))["EUR"]
    return {kind.value: each.total for kind, each in found.movements.items()}


def test_calls_of_the_api_count_in_the_open_month(scenario, api, time_machine):
    account = scenario.account
    changed, removed, paid = (scenario.create_conversion(it) for it in ("100", "200", "300"))
    payment = scenario.pay("30")
    kept = close(account)
    time_machine.move_to(CLOSED_AT)
    commission = scenario.get_commission(paid)

    answers = [
        api.patch(f"/conversions/{changed.pk}/?recalculate_commissions=true", {"amount": 150}),
        api.delete(f"/conversions/{removed.pk}/"),
        api.post(f"/conversions/{paid.pk}/commissions/", [{"conversion_sub_amount": 50}]),
        api.delete(f"/commissions/{commission.pk}/approved/"),
        api.put(f"/commissions/{commission.pk}/approved/"),
        api.delete(f"/payments/{payment.public_id}/"),
        api.post("/conversions/", {"coupon": scenario.mina.coupon, "amount": 400}),
    ]

    assert {answer.status_code for answer in answers} <= {200, 204}
    assert render_march(account) == kept.csv
    assert get_movements(account) == {
        "earned": 45,
        "increased": 35,
        "withdrawn": -50,
        "approved": 0,
        "reopened": 0,
        "payment_canceled": 30,
    }


def test_events_of_shops_count_in_the_open_month(scenario):
    account = scenario.account
    connection = create_connection(
        account,
        kind="stripe",
        program=scenario.program,
        secret=SECRET,
        mode=ConnectionMode.LIVE,
        at=CLOSED_AT,
    )
    click = str(scenario.create_click().public_id)
    kept = close(account)

    late = deliver(connection, build_checkout(client_reference_id=click), at=CLOSED_AT)
    refund = deliver(connection, build_charge(2380, hours=1), at=CLOSED_AT)

    assert (late.state, refund.state) == (ShopEventState.DONE, ShopEventState.DONE)
    assert list_sales(account) == [("pi_1", "80", [("8", "approved")])]
    assert render_march(account) == kept.csv
    assert get_movements(account)["earned"] == 10


def test_an_import_with_dates_of_a_closed_month_is_undone(scenario):
    account = scenario.account
    text = f"""Order ID,Affiliate,Amount,Currency,Commission,Status,Created
a-1,{scenario.mina.slug},10,EUR,1,paid,2026-03-06
"""
    program = {"program": scenario.program.slug}
    report = store(account, "conversions", text, at=CLOSED_AT, defaults=program)
    at = CLOSED_AT + timedelta(hours=1)
    kept = close(account, at=at)

    undo_table_import(account, public_id=report.table_import.public_id, at=at)

    assert '"Paid",0,-1,-1,"EUR"' in kept.csv
    assert render_march(account) == kept.csv
