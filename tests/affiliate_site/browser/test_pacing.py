"""Page calls that store nothing are as slow as those that do."""

import time

import pytest
from django.test import Client

from affiliate_site.browser import pacing, views
from affiliate_site.browser.pacing import MAX_DELAY_SECONDS, MAX_WAITING, Pacer
from affiliate_site.env import WEB_THREADS


def test_waits_until_the_median_of_recent_stored_calls(monkeypatch):
    monkeypatch.setattr(pacing, "WINDOW", 3)
    pacer = Pacer()
    assert pacer.get_delay("click", 0.001) == 0

    for seconds in (0.04, 0.02, 0.02, 30):  # the first has left the window
        pacer.record("click", seconds)

    assert pacer.get_delay("click", 0.001) == pytest.approx(0.019)
    assert pacer.get_delay("click", 0.1) == 0
    assert pacer.get_delay("customer", 0.001) == 0


def test_bounds_the_delay():
    pacer = Pacer()
    pacer.record("click", 30)

    assert pacer.get_delay("click", 0) == MAX_DELAY_SECONDS == 0.05


def test_answers_at_once_while_a_quarter_of_the_threads_waits(monkeypatch):
    pacer, waiting = Pacer(), []
    pacer.record("click", 0.02)

    def wait_too(seconds):
        """While one thread waits, another call ends."""
        waiting.append(seconds)
        if len(waiting) <= MAX_WAITING:
            pacer.wait("click", 0.01)

    monkeypatch.setattr(time, "sleep", wait_too)
    pacer.wait("click", 0.01)
    assert len(waiting) == MAX_WAITING == max(1, WEB_THREADS // 4)

    pacer.wait("click", 0.01)
    assert len(waiting) > MAX_WAITING  # the slots are free again


@pytest.fixture
def recorded(monkeypatch):
    """The calls that set the median, and those that waited for it."""
    calls = {"record": [], "wait": []}
    for name, names in calls.items():
        monkeypatch.setattr(
            views.RESPONSE_PACER, name, lambda name, _, names=names: names.append(name)
        )
    return calls


def send(call, **body):
    return Client().post(f"/track/{call}/", body, content_type="application/json")


def test_only_stored_calls_set_the_median_and_all_wait(scenario, recorded):
    known = {"account": scenario.account.slug, "coupons": scenario.mina.coupon}
    send("click", account=known["account"], referral_code=scenario.mina.code)
    send("customer", **known, customer_id="acct-1")
    send("conversion", **known, amount=10, external_id="order-1")
    stored = ["click", "customer", "conversion"]
    assert recorded == {"record": stored, "wait": stored}

    send("conversion", **known, amount=10, external_id="order-1", vid="0" * 32)
    send("conversion", **known | {"coupons": "unknown"}, amount=10)
    send("customer", **known, customer_id="acct-1")
    send("click", account="unknown", referral_code=scenario.mina.code)

    assert len(recorded["record"]) == len(stored) + 1  # the same visitor's claim again
    assert len(recorded["wait"]) == len(stored) + 4
