"""The API shows and pays balances as if nothing were on hold (section 7.6)."""

from datetime import timedelta

import pytest

from tests.program_scenario import CONVERSION_CREATED_AT

pytestmark = pytest.mark.usefixtures("consistent_ledger")

PATHS = (
    "/balances/",
    "/affiliates/minakessler/balances/",
    "/commissions/",
    "/conversions/",
    "/payments/",
    "/affiliates/minakessler/payments/",
    "/programs/harbor-lamp-partners/",
)


@pytest.fixture
def sales(scenario):
    for amount in ("100", "200", "300"):
        sale = scenario.create_conversion(amount)
        scenario.approve(scenario.get_commission(sale))
    scenario.create_conversion("400")
    scenario.pay("10")


def read_all(api):
    answers = {path: api.get(path) for path in PATHS}
    assert {answer.status_code for answer in answers.values()} == {200}
    return {path: answer.content for path, answer in answers.items()}


def test_answers_are_the_same_to_the_byte(api, account, scenario, sales):
    before = read_all(api)

    scenario.program.update_row(hold_days=30)
    due_at = CONVERSION_CREATED_AT + timedelta(days=10_000)
    assert account.commissions.update(due_at=due_at) == 4

    assert read_all(api) == before
    assert b'"balances":{"EUR":50}' in before["/balances/"]


@pytest.mark.parametrize("days", [0, 180])
def test_a_sale_is_answered_and_paid_as_without_a_hold(api, scenario, days):
    """A payment covers approved commissions, on hold or not."""
    scenario.program.update_row(hold_days=days, auto_approve_commissions=True)

    sale = api.post("/conversions/", {"coupon": scenario.mina.coupon, "amount": 200})
    payment = api.post(
        "/payments/",
        {"affiliate_id": "minakessler", "amount": 20, "currency": "EUR"},
    )

    assert (sale.status_code, payment.status_code) == (200, 200)
    (commission,) = sale.json()["commissions"]
    assert b"due" not in sale.content
    assert b"hold" not in sale.content
    assert api.get("/balances/").json() == []
    path = f"/commissions/{commission['id']}/"
    assert api.get(path).json()["payout"]["id"] == payment.json()[0]["id"]
