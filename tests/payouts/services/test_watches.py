"""Watches: what each finds, compared with a plain count of the rows."""

import random
from collections import defaultdict
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest

from payouts.services import watches
from payouts.services.refunds import refund_conversion
from payouts.services.watches import WATCHES, get_watch_settings
from tests.payout_scenario import Paid, create_run
from tests.program_scenario import ProgramScenario
from tracking.models.shops import ShopEventState
from tracking.services.connections import create_connection
from tracking.services.inbox import Envelope, store_event

AT = datetime(2026, 4, 20, 12, tzinfo=UTC)
TODAY = date(2026, 4, 20)
A_DAY = timedelta(days=1)


def find(account, name, threshold, *, at=AT):
    return list(WATCHES[name].find(account, threshold, at))


def days_ago(number, hours=0):
    return AT - A_DAY * number + timedelta(hours=hours)


@pytest.fixture
def low_minimums(monkeypatch):
    for name, value in {
        "MIN_CLICKS": 5,
        "MIN_SALES": 2,
        "MIN_REFUNDS": 2,
        "MIN_SELLERS": 2,
    }.items():
        monkeypatch.setattr(watches, name, value)


class Rows:
    """Random clicks, sales and refunds of some weeks, as plain tuples."""

    def __init__(self, scenario, seed):
        picks = random.Random(seed)  # noqa: S311 - not secret
        people = [scenario.mina, scenario.create_enrolled_affiliate("Ada", "Lund")]
        self.clicks, self.sales, self.refunds = [], [], []
        quiet = picks.choice((0, 2, 4))  # the last days have no clicks
        for _ in range(40):
            at = days_ago(picks.randrange(quiet, 38), picks.randrange(-11, 11))
            if at <= days_ago(quiet, -12):
                scenario.create_click(picks.choice(people), at=at)
                self.clicks.append(at)
        for _ in range(25):
            at = days_ago(picks.randrange(38), picks.randrange(-11, 0))
            person, amount = picks.choice(people), picks.randrange(10, 300)
            sale = scenario.create_conversion(str(amount), affiliate=person, at=at)
            self.sales.append((at, person.affiliate.pk, Decimal(amount)))
            if picks.random() < 0.5:
                refunded_at = days_ago(picks.randrange(36), -picks.randrange(1, 12))
                refund_conversion(
                    scenario.account,
                    conversion_id=sale.pk,
                    amount=Decimal(5),
                    reason="Came back",
                    at=refunded_at,
                )
                self.sales[-1] = (at, person.affiliate.pk, Decimal(amount - 5))
                self.refunds.append((refunded_at, Decimal(5)))

    @staticmethod
    def count(moments, first, last):
        """How many are from `first` to `last` days ago."""
        return sum(TODAY - A_DAY * first <= at.date() <= TODAY - A_DAY * last for at in moments)

    def has_no_clicks(self, threshold):
        return not self.count(self.clicks, threshold, -1) and bool(
            self.count(self.clicks, threshold + 28, threshold + 1)
        )

    def has_low_rate(self, threshold):
        sold = [at for at, *_ in self.sales]
        now = self.count(sold, 7, 1), self.count(self.clicks, 7, 1)
        before = self.count(sold, 35, 8), self.count(self.clicks, 35, 8)
        if min(now[1], before[1]) < 5 or before[0] < 2:
            return False
        return now[0] / now[1] * 100 < before[0] / before[1] * threshold

    def has_many_refunds(self, threshold):
        recent = [amount for at, amount in self.refunds if at >= days_ago(7)]
        before = sum(amount for at, amount in self.refunds if days_ago(35) <= at < days_ago(7))
        usual = (before / 4).quantize(Decimal("0.01"), "ROUND_HALF_UP") if before else 0
        return len(recent) >= 2 and usual > 0 and sum(recent) * 100 > usual * threshold

    def list_large_shares(self, threshold):
        sums = defaultdict(Decimal)
        for at, affiliate, amount in self.sales:
            if self.count([at], 30, 1):
                sums[affiliate] += amount
        whole = sum(sums.values())
        return sorted(
            pk for pk, it in sums.items() if len(sums) > 1 and it * 100 > whole * threshold
        )


@pytest.mark.parametrize("seed", range(12))
def test_a_watch_finds_what_a_plain_count_finds(seed, scenario, low_minimums):
    rows, account = Rows(scenario, seed), scenario.account
    for days in (1, 3, 5):
        assert bool(find(account, "no_clicks", days)) == rows.has_no_clicks(days), days
    for percent in (50, 100, 150, 300):
        assert bool(find(account, "low_rate", percent)) == rows.has_low_rate(percent), percent
        found = bool(find(account, "many_refunds", percent))
        assert found == rows.has_many_refunds(percent), percent
    for percent in (30, 50, 70):
        shares = [it.affiliate_id for it in find(account, "large_share", percent)]
        assert shares == rows.list_large_shares(percent), percent


def test_sentences_have_the_figures(scenario, low_minimums):
    """Clicks until ten days ago, and each sale of the last days refunded."""
    account = scenario.account
    other = scenario.create_enrolled_affiliate("Ada", "Lund")
    for number in (10, 11, 12):
        scenario.create_click(at=days_ago(number))
    for days, affiliate in ((20, other), (3, None), (2, None)):
        sale = scenario.create_conversion("200", affiliate=affiliate, at=days_ago(days))
        amount = Decimal(40) if days < 7 else Decimal(20)
        refund_conversion(
            account, conversion_id=sale.pk, amount=amount, reason="Back", at=days_ago(days - 1)
        )

    texts = {
        name: [it.text for it in find(account, name, threshold)]
        for name, threshold in (("no_clicks", 3), ("many_refunds", 200), ("large_share", 60))
    }
    assert texts == {
        "no_clicks": [
            "No click in Harbor Lamp Partners on 2026-04-17 or later; 3 in the 28 days before."
        ],
        "many_refunds": [
            "80.00 EUR in 2 refunds of the last 7 days; 5.00 EUR a week in the 28 days before."
        ],
        "large_share": [
            "64 % of the revenue of the last 30 days: 320.00 EUR of 500.00 EUR.",
        ],
    }


def test_names_the_program_without_clicks(scenario):
    """One is quiet while others are not; one is archived, one never had a click."""
    account = scenario.account
    others = {
        slug: ProgramScenario(account, slug=slug, email=None)
        for slug in ("lamps", "archived", "new")
    }
    for slug in ("lamps", "archived"):
        others[slug].create_click(others[slug].enroll(scenario.mina.affiliate), at=days_ago(10))
    others["archived"].program.update_row(archived_at=AT)
    for number in (1, 10):
        scenario.create_click(at=days_ago(number))

    (found,) = find(account, "no_clicks", 3)

    quiet = others["lamps"].program
    assert (found.subject, found.object_id) == (str(quiet.pk), quiet.pk)
    assert found.text.startswith(f"No click in {quiet.title} on 2026-04-17 or later; 1 in")


def test_what_concerns_money_has_the_figures(scenario):
    account = scenario.account
    method = account.payout_methods.create(
        affiliate=scenario.mina.affiliate, kind="paypal", on_hold_reason="pa_1: closed"
    )
    account.payout_methods.create(affiliate=scenario.mina.affiliate, kind="wise")
    run = create_run(account, Paid(slug=scenario.mina.slug))
    run.update_row(state="partly_failed", confirmed_at=days_ago(29))
    account.payout_lines.update(state="returned")
    shop = create_connection(account, kind="stripe", name="Lamps", at=AT)
    for number in range(3):
        store_event(shop, envelope=Envelope(f"e{number}", "x", AT, "{}"), at=AT)
    account.shop_events.update(state=ShopEventState.FAILED)

    (returned,) = find(account, "returned_account", 0)
    assert (returned.object_id, returned.affiliate_id) == (method.pk, scenario.mina.affiliate.pk)
    (failed,) = find(account, "failed_run", 0)
    assert failed.object_id == run.pk
    assert failed.text == (f"Payments of {run.public_id} that failed or came back: 1 of 12.50 EUR.")
    (events,) = find(account, "failed_events", 3)
    assert events.object_id == shop.pk
    assert events.text == "3 failed events of Lamps, the newest of 2026-04-20."
    assert find(account, "failed_events", 4) == []
    assert find(account, "failed_run", 0, at=AT + A_DAY) == []


def test_only_what_concerns_money_is_on(account):
    settings = get_watch_settings(account)
    assert {name for name, it in settings.items() if it["is_on"]} == {
        *("returned_account", "failed_run", "failed_events")
    }


@pytest.mark.parametrize("name", WATCHES)
def test_a_watch_takes_a_fixed_number_of_statements(name, scenario, low_minimums, capture_queries):
    account, watch = scenario.account, WATCHES[name]
    numbers = []
    for seed in (1, 2):
        Rows(scenario, seed)
        find(account, name, watch.default)  # stores the days
        with capture_queries() as queries:
            find(account, name, watch.default)
        numbers.append(len(queries))
    assert numbers[0] == numbers[1] <= 8
