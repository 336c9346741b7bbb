"""What the source approves is not payable while the sale is disputed here."""

from datetime import timedelta

import httpx
import pytest

from accounts.models.api_keys import Role
from accounts.services.api_keys import create_api_key
from affiliate_site.moving.importing import AccountImport
from affiliate_site.moving.source import SourceServer
from payouts.services.commissions import reopen_commission
from payouts.services.conversion_updates import add_commissions
from payouts.services.ledger import get_payable_balances_by_slug
from tests.affiliate_site.moving.test_importing import LATER, answer
from tests.factories.accounts import AccountFactory
from tests.ledger_checks import assert_ledger_consistent
from tests.program_scenario import build_line_items
from tests.shop_inbox import deliver
from tests.stripe_events import SECRET, build_checkout, build_dispute
from tracking.models.shops import ConnectionMode
from tracking.services.connections import create_connection

pytestmark = pytest.mark.django_db
OPEN = build_dispute("needs_response", hours=1)
WON = build_dispute("won", hours=2)


@pytest.fixture
def target():
    target = AccountFactory(slug="moved", plan__name="enterprise")
    yield target
    assert_ledger_consistent(target)


@pytest.fixture
def run(scenario, target):
    key = create_api_key(scenario.account, name="", role=Role.VIEWER, at=LATER)[1]

    def run(days):
        transport = httpx.MockTransport(answer)
        source = SourceServer("http://testserver/1.6", key, transport=transport)
        at = LATER + timedelta(days=days)
        moving = AccountImport(target, source, at, is_mirror=True)
        assert moving.run().problems == []

    return run


@pytest.fixture
def commission(scenario, run):
    """The commission of a sale that was imported, at the source."""
    return scenario.get_commission(scenario.create_conversion("100", external_id="pi_1"))


@pytest.fixture
def connection(commission, target, run):
    """A shop of ours that has adopted the sale, with an open dispute."""
    run(0)
    connection = create_connection(
        target,
        kind="stripe",
        program=target.programs.get(),
        secret=SECRET,
        mode=ConnectionMode.LIVE,
        at=LATER,
    )
    deliver(connection, build_checkout())
    deliver(connection, OPEN)
    assert target.conversions.get().disputed_at is not None
    return connection


def get_status(account):
    return account.commissions.get().status


def test_waits_for_the_end_of_the_dispute(scenario, commission, connection, target, run):
    scenario.approve(commission, at=LATER)
    run(1)
    assert get_status(target) == "pending"
    assert get_payable_balances_by_slug(target) == {}
    scenario.change_amount(commission.conversion, "150", at=LATER)
    run(2)
    assert get_status(target) == "pending"
    assert target.shop_orders.get().suspended == [target.commissions.get().pk]
    deliver(connection, WON)
    assert get_status(target) == "approved"


def test_a_decision_that_the_source_takes_back_is_none(
    scenario, commission, connection, target, run
):
    scenario.approve(commission, at=LATER)
    run(1)
    reopen_commission(scenario.account, commission_id=commission.pk, at=LATER)
    run(2)
    deliver(connection, WON)
    assert get_status(target) == "pending"


def test_what_the_source_has_paid_is_paid(scenario, commission, connection, target, run):
    scenario.approve(commission, at=LATER)
    run(1)
    scenario.pay("10", at=LATER)
    run(2)
    paid = target.commissions.get()
    assert (paid.status, paid.payment) == ("approved", target.payments.get())
    assert target.shop_orders.get().suspended == []


def test_a_commission_that_comes_later_waits_too(scenario, commission, connection, target, run):
    add_commissions(
        scenario.account,
        conversion_id=commission.conversion_id,
        line_items=build_line_items("20"),
        at=LATER,
    )
    for row in scenario.account.commissions.filter(conversion=commission.conversion):
        scenario.approve(row, at=LATER)
    run(1)
    statuses = target.commissions.values_list("status", flat=True)
    assert list(statuses) == ["pending", "pending"]
    deliver(connection, WON)
    assert list(statuses.all()) == ["approved", "approved"]
