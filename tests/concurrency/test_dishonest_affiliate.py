"""A dishonest affiliate with an HTTP client and no key, against a running server.

It claims the orders and customers of a shop before, while and after the shop reports
them with its key: it earns nothing, blocks nothing, and staff see what it did.
"""

import json
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from http.client import HTTPConnection

import pytest

from payouts.services.ledger import get_payable_balances_by_slug
from tests.concurrency.server import make_key

pytestmark = pytest.mark.integration

ORDERS = 12
AMOUNT = 100  # of each order; the commission is 10 %


class Page:
    """Anybody who calls the endpoints of the browser script."""

    def __init__(self, server, account) -> None:
        self.port, self.account = server.port, account.slug

    def call(self, call, **data):
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        body = json.dumps({"account": self.account} | data)
        connection.request("POST", f"/track/{call}/", body)
        response = connection.getresponse()
        content = response.read()
        connection.close()
        assert response.status in (200, 204), (call, response.status, content)
        return json.loads(content) if content else None

    def click(self, affiliate):
        return self.call("click", referral_code=affiliate.code)["vid"]

    def claim(self, vid, number):
        """Claim an order and its customer for the visitor."""
        customer_id = f"acct-{number}"
        self.call("customer", vid=vid, customer_id=customer_id)
        self.call(
            "conversion",
            vid=vid,
            external_id=f"order-{number}",
            amount=99_999,
            customer_id=customer_id,
        )


@pytest.fixture
def affiliates(scenario):
    scenario.program.update_row(auto_approve_commissions=True)
    scenario.mallory = scenario.create_enrolled_affiliate("Mallory", "Thorn")
    return scenario


def test_earns_nothing_and_blocks_nothing(server, affiliates):
    account, mina = affiliates.account, affiliates.mina
    key = make_key(account)
    page = Page(server, account)
    vid = page.click(affiliates.mallory)

    def report(number):
        """The shop's call with a key."""
        body = {
            "external_id": f"order-{number}",
            "customer_id": f"acct-{number}",
            "amount": AMOUNT,
            "coupon": mina.coupon,
        }
        return server.connect(key).post("/conversions/", body)

    for number in range(ORDERS // 2):  # in advance, by guessing
        page.claim(vid, number)
    with ThreadPoolExecutor(4) as pool:  # and at the same time
        attacks = [pool.submit(page.claim, vid, number) for number in range(ORDERS)]
        reports = [pool.submit(report, number) for number in range(ORDERS)]
        answers = [future.result() for future in reports]
        for attack in attacks:
            attack.result()
    renewals = [
        server.connect(key).post(
            "/conversions/", {"customer_id": f"acct-{number}", "amount": AMOUNT}
        )
        for number in range(ORDERS)
    ]

    assert [status for status, _ in (*answers, *renewals)] == [200] * 2 * ORDERS
    for _, body in (*answers, *renewals):
        assert body["affiliate"]["id"] == mina.slug
        assert [row["approved"] for row in body["commissions"]] == [True]
    balances = get_payable_balances_by_slug(account)
    earned = Decimal(AMOUNT) / 10 * 2 * ORDERS
    assert balances.get(mina.slug) == {"EUR": earned}
    assert not any(balances.get(affiliates.mallory.slug, {}).values())
    conversions = account.conversions.not_deleted()
    assert conversions.filter(claim_status=None).count() == 2 * ORDERS
    assert not account.customers.filter(is_confirmed=False).exists()


def test_staff_see_every_contest(server, affiliates):
    account = affiliates.account
    page = Page(server, account)
    attacker, visitor = page.click(affiliates.mallory), page.click(affiliates.mina)

    for number in range(3):
        page.claim(attacker, number)
        page.claim(visitor, number)

    assert account.conversions.count() == 3
    assert all(row.is_contested for row in account.conversions.all())
    claims = account.conversion_claims.order_by("id")
    assert {row.affiliate.slug for row in claims} == {
        affiliates.mallory.slug,
        affiliates.mina.slug,
    }
    commission = account.commissions.earliest("id")
    key = make_key(account)
    path = f"/commissions/{commission.pk}/approved/"
    status, body = server.connect(key).request_json("PUT", path)
    assert (status, body["errors"][0]["code"]) == (409, "contested_claim")
    assert get_payable_balances_by_slug(account) == {}
