"""An owner connects a shop, and finds the sale that it reported."""

import hashlib
import hmac
import json
from urllib.parse import urlsplit

import pytest
from django.utils import timezone

from tests.e2e.test_staff_jobs import checked_pages, device, static_files, walk
from tests.program_scenario import ProgramScenario
from tests.stripe_events import SECRET, build_checkout, sign_event

pytestmark = [pytest.mark.integration, pytest.mark.engine_independent]

__all__ = ["checked_pages", "device", "static_files", "walk"]


def test_connects_a_shop_and_finds_its_sale(walk, server):
    scenario = ProgramScenario(walk.account)
    path = ""

    def post_checkout(number):
        body = build_checkout(
            id=f"cs_{number}",
            customer=f"cus_{number}",
            payment_intent=f"pi_{number}",
            metadata={"ref": scenario.mina.code},
        )
        body["id"] = f"evt_{number}"
        raw = json.dumps(body)
        signature = sign_event(raw, timezone.now())
        response = walk.page.context.request.post(
            f"http://127.0.0.1:{server.port}{path}",
            data=raw,
            headers={"content-type": "application/json", "stripe-signature": signature},
        )
        return response.status

    with walk.job("connect a shop", clicks=6):
        walk.go("Shops")
        walk.follow("Connect a shop")
        walk.fill({"Shop": "Stripe"})
        assert "Enter the signing secret" in walk.press("Connect a shop")
        path = urlsplit(walk.copy("Copy the address")).path
        assert post_checkout(1) == 400
        walk.follow("Set signing secret")
        walk.fill({"Signing secret": SECRET})
        assert "Enter the signing secret" not in walk.press("Save")

    assert post_checkout(1) == 200
    assert not walk.account.conversions.exists()
    assert "If live: A sale of 100 EUR was created." in walk.go("Shops") + walk.follow("Stripe")
    with walk.job("switch a shop to live", clicks=2):
        walk.follow("Switch to live")
        assert "Live. Events create sales" in walk.press("Switch to live")

    assert post_checkout(2) == 200
    with walk.job("find the sale of an event", clicks=2):
        assert "A sale of 100 EUR was created." in walk.go("Shop events")
        text = walk.follow("pi_2")
    assert "Stripe, checkout cs_2" in text
    with walk.job("process an event again", clicks=4):
        walk.go("Shop events")
        walk.load(walk.main.locator(".data-row th a").last)
        walk.follow("Process again")
        assert "The event was processed: done." in walk.press("Process again")
    assert walk.account.conversions.count() == 2


def test_maps_any_other_shop_beside_its_first_event(walk, server):
    scenario = ProgramScenario(walk.account)
    secret, path = "a-secret-of-the-shop", ""

    def post_order(number):
        order = {"no": number, "net": "80.00", "cur": "EUR", "ref": scenario.mina.code}
        raw = json.dumps({"id": f"e-{number}", "type": "paid", "order": order})
        digest = hmac.new(secret.encode(), raw.encode(), hashlib.sha256).hexdigest()
        response = walk.page.context.request.post(
            f"http://127.0.0.1:{server.port}{path}",
            data=raw,
            headers={"content-type": "application/json", "x-signature": digest},
        )
        return response.status

    with walk.job("connect any other shop", clicks=9):
        walk.go("Shops")
        walk.follow("Connect a shop")
        walk.fill({"Shop": "Any other shop"})
        walk.press("Connect a shop")
        path = urlsplit(walk.copy("Copy the address")).path
        walk.follow("Set signing secret")
        walk.fill({"Signing secret": secret})
        assert "Enter under “Mapping” how the shop signs" in walk.press("Save")
        walk.follow("Mapping")
        walk.fill({"How the shop signs": "HMAC SHA-256 of the body, in a header"})
        walk.fill({"Header": "X-Signature"})
        assert "Enter under “Mapping” where a sale is" in walk.press("Save")

    assert post_order(1) == 200
    with walk.job("map a sale", clicks=5):
        assert "order.no" in walk.follow("Mapping")
        walk.fill({"Event ID": "id", "Order ID": "order.no", "Amount": "order.nett"})
        walk.fill({"Currency": "order.cur", "Referral": "order.ref"})
        text = walk.press("See what would happen")
        assert "The event has no sale.amount at order.nett" in text
        walk.fill({"Amount": "order.net"})
        assert "A sale of 80 EUR was created." in walk.press("See what would happen")
        assert not walk.account.conversions.exists()
        walk.press("Save")
        walk.follow("Switch to live")
    walk.press("Switch to live")
    assert post_order(2) == 200
    assert "A sale of 80 EUR was created." in walk.go("Shop events")
    assert walk.account.conversions.get().external_id == "2"
