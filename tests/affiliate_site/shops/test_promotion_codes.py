"""Promotion codes of Stripe are known by their texts, which a key reads once."""

import pytest

from affiliate_site.shops.catching_up import Pace
from affiliate_site.shops.promotion_codes import read_promotion_codes
from affiliate_site.shops.sources import StripeSource
from tests.fake_shops import KEYS, FakeShop
from tests.ledger_checks import assert_ledger_consistent
from tests.program_scenario import CONVERSION_CREATED_AT as AT
from tests.program_scenario import ProgramScenario
from tests.shop_inbox import deliver, list_sales
from tests.stripe_events import build_checkout
from tests.webhook_receiver import respond_with, run_receiver
from tracking.errors import CatchUpFailed
from tracking.models.shops import ConnectionMode
from tracking.services.connections import create_connection, set_source_key

pytestmark = pytest.mark.usefixtures("shared_scenario")
PACE = Pace(delays=())


@pytest.fixture
def shop(settings, monkeypatch):
    with run_receiver() as receiver:
        settings.WEBHOOK_ALLOWED_HOSTS = [receiver.host_and_port]
        monkeypatch.setattr(StripeSource, "url", f"http://{receiver.host_and_port}")
        yield FakeShop(receiver, "stripe")


@pytest.fixture
def connection(scenario):
    scenario.program.update_row(auto_approve_commissions=True)
    connection = create_connection(
        scenario.account,
        kind="stripe",
        program=scenario.program,
        mode=ConnectionMode.LIVE,
        settings={"coupons": {"Summer": scenario.mina.coupon}, "stores_email": True},
        at=AT,
    )
    name = connection.public_id
    yield set_source_key(scenario.account, connection_id=name, key=KEYS["stripe"], at=AT)
    assert_ledger_consistent(scenario.account)


def list_codes(*texts):
    return [
        {"id": f"promo_{number}", "object": "promotion_code", "code": text}
        for number, text in enumerate(texts)
    ]


@pytest.mark.parametrize("page_size", [1, 100])
@pytest.mark.parametrize(("number", "is_known"), [(0, True), (1, False), (2, True)])
def test_a_promotion_code_counts_by_its_text(
    scenario, connection, shop, other_account, page_size, number, is_known
):
    other = ProgramScenario(other_account, prefix="o-")
    own = scenario.mina.coupon.lower()
    other_account.coupons.filter(code=other.mina.coupon).update(code="FOREIGN")
    shop.page_size = page_size
    shop.codes = list_codes(own, "FOREIGN", "SUMMER")
    assert read_promotion_codes(connection, at=AT, pace=PACE) == 2
    connection = connection.reload()
    assert connection.settings["promotion_codes"] == {
        "promo_0": own,
        "promo_2": "SUMMER",
    }
    assert connection.settings["stores_email"] is True
    discounts = [{"coupon": "co_1", "promotion_code": f"promo_{number}"}]
    deliver(connection, build_checkout(discounts=discounts))
    # 10 % of 119 without 19 of tax
    expected = [("pi_1", "100", [("10", "approved")])] if is_known else []
    assert list_sales(connection.account) == expected


def test_nothing_is_stored_if_the_shop_refuses_the_key(connection, shop):
    shop.failures = [respond_with(403)]
    with pytest.raises(CatchUpFailed, match="permission “Read promotion codes”"):
        read_promotion_codes(connection, at=AT, pace=PACE)
    assert "promotion_codes" not in connection.reload().settings


@pytest.mark.parametrize("answer", [b"[", b"{}", b'{"data": [{}], "has_more": false}'])
def test_an_odd_answer_is_an_error(connection, shop, answer):
    shop.failures = [respond_with(200, answer)]
    with pytest.raises(CatchUpFailed):
        read_promotion_codes(connection, at=AT, pace=PACE)


def test_other_shops_have_none(scenario):
    connection = create_connection(scenario.account, kind="paddle", at=AT)
    with pytest.raises(CatchUpFailed):
        read_promotion_codes(connection, at=AT, pace=PACE)
