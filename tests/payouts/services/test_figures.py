"""What the dashboard counts: exact, per currency, of one account."""

from datetime import timedelta
from decimal import Decimal

import pytest

from accounts.services.webhooks import add_webhook, disable
from payouts.services.commissions import approve, disapprove
from payouts.services.figures import (
    Figures,
    Period,
    best_affiliates,
    best_pages,
    days_of,
    figures_of,
    owed_now,
    worklist_of,
)
from payouts.services.payments import Order, pay
from payouts.services.revising import remove_conversion
from tests.shop import SOLD, Shop

DAY = timedelta(days=1)
WEEK = Period(SOLD - 3 * DAY, SOLD + 4 * DAY)


@pytest.fixture
def busy(shop):
    """Two sales of Mina's in EUR, one in USD, one of Odette's; one taken back."""
    odette = shop.join("Odette", "Varga")
    shop.click()
    shop.click(odette)
    sales = [
        shop.sell("200", customer_id="c-1"),
        shop.sell("50.5", at=SOLD + DAY),
        shop.sell("30", currency="USD"),
        shop.sell("10", member=odette),
        shop.sell("999"),
    ]
    remove_conversion(shop.account, conversion_id=sales[-1].pk, at=SOLD)
    first, second = (shop.commission_of(sale) for sale in sales[:2])
    approve(shop.account, commission_id=first.pk, at=SOLD)
    disapprove(shop.account, commission_id=second.pk, at=SOLD)
    order = Order(shop.mina.slug, Decimal("12.5"), "EUR")
    pay(shop.account, orders=[order], at=SOLD)
    return shop


def amounts(**by_currency):
    return {currency: Decimal(amount) for currency, amount in by_currency.items()}


def test_counts_what_happened_in_a_period(busy, account):
    assert figures_of(account, WEEK) == Figures(
        clicks=2,
        customers=1,
        conversions=4,
        active=2,
        revenue=amounts(EUR="260.5", USD="30"),
        commissions={
            "pending": amounts(EUR="1", USD="3"),
            "approved": amounts(EUR="20"),
            "disapproved": amounts(EUR="5.05"),
        },
        paid=amounts(EUR="12.5"),
    )
    assert figures_of(account, WEEK).rate == Decimal("200.0")


def test_counts_nothing_outside_the_period(busy, account):
    before = figures_of(account, WEEK.before)

    assert WEEK.before == Period(SOLD - 10 * DAY, SOLD - 3 * DAY)
    assert (before.clicks, before.conversions, before.revenue) == (0, 0, {})
    assert before.rate is None
    on_the_edge = Period(SOLD - DAY, SOLD)
    assert figures_of(account, on_the_edge).conversions == 0
    assert figures_of(account, Period(SOLD, SOLD + DAY)).conversions == 3


def test_counts_nothing_of_another_account(busy, other_account):
    Shop(other_account, mark="zz-marker-", email=None).sell("77")

    theirs = figures_of(other_account, WEEK)

    assert (theirs.conversions, theirs.revenue) == (1, amounts(EUR="77"))
    assert best_affiliates(other_account, WEEK) == [
        ("zzmarkerminakessler", 1, amounts(EUR="77"))
    ]


def test_tells_what_is_owed_now(busy, account):
    assert owed_now(account) == amounts(EUR="7.5")


def test_tells_what_waits(busy, account):
    busy.join("Zoe", "Lund", approved=None)
    for number in range(3):
        webhook = add_webhook(account, url=f"https://h.example/{number}", at=SOLD)
        if number == 0:
            webhook.change(failing_since=SOLD)
        if number == 1:
            disable(webhook, at=SOLD)

    waits = worklist_of(account)

    assert (waits.applications, waits.commissions, waits.webhooks) == (1, 2, 1)
    assert waits.sums == amounts(EUR="1", USD="3")
    assert waits.oldest == SOLD


def test_counts_each_day(busy, account):
    assert days_of(account, WEEK) == {
        (SOLD - DAY).date(): (2, 0),
        SOLD.date(): (0, 3),
        (SOLD + DAY).date(): (0, 1),
    }


def test_tells_who_sells_best(busy, account):
    assert best_affiliates(account, WEEK) == [
        ("minakessler", 3, amounts(EUR="250.5", USD="30")),
        ("odettevarga", 1, amounts(EUR="10")),
    ]


def test_tells_which_pages_are_seen_most(shop, account):
    for page, times in (("lamps", 2), ("desk", 1)):
        for _ in range(times):
            shop.click(landing_page=f"https://shop.example.net/{page}")
    shop.click()

    assert best_pages(account, WEEK) == [
        ("https://shop.example.net/lamps", 2),
        ("https://shop.example.net/desk", 1),
    ]
