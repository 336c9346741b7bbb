"""Contract 7.10: what a period earned that is over, granted once."""

import json
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest

from payouts.models.commission_types import RateKind
from payouts.services import bonuses
from payouts.services.bonuses import grant_bonuses, spans
from payouts.services.commissions import approve, disapprove
from payouts.services.funding import top_up
from payouts.services.ledger import balances_of, hold
from payouts.services.revising import (
    add_commissions,
    change_conversion,
    remove_conversion,
)
from tests.factories.accounts import PlanFactory
from tests.proof import Broken, books_agree, everything, failing_at
from tests.shop import OPENED, SOLD, Shop, items_of
from tracking.services.affiliates import remove_affiliate
from tracking.services.placement import put_below

MARCH = date(2026, 3, 1)
APRIL = datetime(2026, 4, 1, tzinfo=UTC)
MAY = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.fixture
def shop(account):
    shop = Shop(account)
    shop.program.change(auto_approve_commissions=True)
    yield shop
    books_agree(account)


def granted(account, *, at=APRIL):
    """Whose bonus of which title, and how much, in the order of granting."""
    return [
        (it.affiliate.slug, it.name, it.amount) for it in grant_bonuses(account, at=at)
    ]


MINA_50 = ("minakessler", "Goal", Decimal(50))


# What is made.


def test_makes_a_commission_of_no_sale(shop, account):
    bonus = shop.bonus(goal="2", value="5", kind=RateKind.PERCENTAGE, title="Two")
    shop.sell("200")
    shop.sell("49.90", at=SOLD + timedelta(days=1))
    written = account.events.count()

    (made,) = grant_bonuses(account, at=APRIL)

    kept = account.commissions.get(kind="bonus")
    assert kept.pk == made.pk
    assert (kept.commission_type, kept.name, kept.conversion) == ("bonus", "Two", None)
    assert (kept.affiliate, kept.currency) == (shop.mina.affiliate, "EUR")
    assert (kept.sub_amount, kept.amount) == (None, Decimal("12.50"))  # 12.495
    assert (kept.rate_kind, kept.rate) == ("percentage", 5)
    assert (kept.bonus, kept.period_start) == (bonus, MARCH)
    assert (kept.status, kept.created_at, kept.finalized_at) == (
        "approved",
        APRIL,
        None,
    )
    working = json.loads(kept.working)
    assert working["period"] == {"from": "2026-03-01", "to": "2026-04-01"}
    assert working["reached"]["conversions"] == 2
    assert Decimal(working["reached"]["amount"]) == Decimal("249.90")
    assert balances_of(account) == {"minakessler": {"EUR": Decimal("37.49")}}
    (told,) = account.events.order_by("id")[written:]
    assert (told.kind, told.subject) == ("commission.created", f"commission:{made.pk}")


def test_bears_a_bonus_pending_where_somebody_decides(shop, account):
    shop.bonus(goal="1", value="50")
    shop.sell("200")
    shop.program.change(auto_approve_commissions=False)

    (made,) = grant_bonuses(account, at=APRIL)

    assert made.status == "pending"
    assert balances_of(account) == {"minakessler": {"EUR": Decimal(20)}}
    approve(account, commission_id=made.pk, at=APRIL)
    assert balances_of(account) == {"minakessler": {"EUR": Decimal(70)}}


@pytest.mark.parametrize(
    ("funds", "states"),
    [
        pytest.param("139.99", ["approved", "pending"], id="one"),
        pytest.param("140", ["approved", "approved"], id="both"),
    ],
)
def test_lets_a_bonus_wait_that_lacks_cover(shop, account, funds, states):
    shop.bonus(goal="1", value="50")
    shop.sell("200")
    shop.sell("200", member=shop.join("Odette", "Varga"))
    account.uses_payouts = True
    account.save()
    top_up(account, amount=Decimal(funds), currency="EUR", at=SOLD)

    made = grant_bonuses(account, at=APRIL)

    assert sorted(it.status for it in made) == states
    assert {(it.status, it.finalized_at) for it in made} <= {
        ("approved", APRIL),
        ("pending", None),
    }


@pytest.mark.parametrize(
    ("kind", "value", "currency", "amount"),
    [
        pytest.param(RateKind.PERCENTAGE, "5", "JPY", "10", id="of-195-JPY"),
        pytest.param(RateKind.FIXED, "7", "JPY", "7", id="fixed-JPY"),
        pytest.param(RateKind.PERCENTAGE, "0.0005", "KWD", "0.001", id="of-195-KWD"),
    ],
)
def test_rounds_in_the_currency_of_the_program(account, kind, value, currency, amount):
    shop = Shop(account, currency=currency)
    shop.program.change(auto_approve_commissions=True)
    shop.bonus(goal="1", value=value, kind=kind)
    shop.sell("195")

    assert granted(account) == [("minakessler", "Goal", Decimal(amount))]
    books_agree(account)


# When the goal is reached.


@pytest.mark.parametrize(
    ("goal_type", "goal", "reached"),
    [
        pytest.param("conversions", "2", True, id="two-sales"),
        pytest.param("conversions", "3", False, id="not-three"),
        pytest.param("conversion_amount", "249.90", True, id="exactly"),
        pytest.param("conversion_amount", "249.91", False, id="a-cent-short"),
        pytest.param("conversion_amount", "0", True, id="nought"),
    ],
)
def test_asks_for_the_goal(shop, account, goal_type, goal, reached):
    shop.bonus(goal=goal, goal_type=goal_type, value="50")
    shop.sell("200")
    shop.sell("49.90")

    assert granted(account) == ([MINA_50] if reached else [])


def test_counts_the_present_amount_of_a_sale_once(shop, account):
    shop.bonus(goal="250", goal_type="conversion_amount", value="50")
    sale = shop.sell("100", "100")
    add_commissions(account, conversion_id=sale.pk, items=items_of("100"), at=SOLD)

    assert granted(account) == []

    change_conversion(
        account,
        conversion_id=sale.pk,
        changes={"amount": Decimal(250)},
        recalculate=False,
        at=APRIL,
    )
    assert granted(account) == [MINA_50]


def test_counts_each_affiliate_apart(shop, account):
    shop.bonus(goal="2", value="50")
    rival = shop.join("Odette", "Varga")
    shop.sell("200")
    shop.sell("200", member=rival)
    shop.sell("200", member=rival)

    assert granted(account) == [("odettevarga", "Goal", Decimal(50))]


def test_does_not_count_what_others_below_sold(shop, account):
    odette = shop.join("Odette", "Varga")
    put_below(account, affiliate_id="minakessler", parent=odette.slug, at=SOLD)
    shop.level(2, "3")
    shop.bonus(goal="1", value="50")
    shop.sell("200")

    assert granted(account) == [MINA_50]


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(
            lambda shop, sale: remove_conversion(
                shop.account, conversion_id=sale.pk, at=SOLD
            ),
            id="removed",
        ),
        pytest.param(
            lambda shop, sale: disapprove(
                shop.account, commission_id=shop.commission_of(sale).pk, at=SOLD
            ),
            id="disapproved",
        ),
    ],
)
def test_does_not_count_a_sale_without_approved_commission(shop, account, spoil):
    shop.bonus(goal="2", value="50")
    shop.sell("200")
    spoil(shop, shop.sell("200"))

    assert granted(account) == []


def test_does_not_count_sales_in_other_currencies_or_programs(shop, account):
    other = Shop(account, "other-lamps", mark="o-", email="o@notes.example.org")
    other.program.change(auto_approve_commissions=True)
    twice = other.take_in(shop.mina.affiliate)
    shop.bonus(goal="2", value="50")
    shop.sell("200")
    shop.sell("200", currency="USD")
    other.sell("200", member=twice)

    assert granted(account) == []


def test_grants_nothing_of_another_account(shop, account, other_account):
    theirs = Shop(other_account, mark="zz-marker-")
    theirs.program.change(auto_approve_commissions=True)
    theirs.bonus(goal="1", value="50")
    theirs.sell("200")
    before = everything(other_account)

    assert granted(account) == []
    assert everything(other_account) == before


def test_grants_nothing_without_the_feature(shop, account):
    shop.bonus(goal="1", value="50")
    shop.sell("200")
    account.plan = PlanFactory(name="pro")
    account.save()

    assert granted(account) == []


@pytest.mark.parametrize("approved", [False, None])
def test_grants_nothing_to_whom_the_program_does_not_approve(shop, account, approved):
    shop.bonus(goal="1", value="50")
    shop.sell("200")
    shop.mina.enrolment.change(approved=approved)

    assert granted(account) == []


def test_grants_nothing_to_whoever_left(shop, account):
    shop.bonus(goal="1", value="50")
    shop.sell("200")
    remove_affiliate(account, affiliate_id="minakessler", at=SOLD)

    assert granted(account) == []


# The highest counts.


def test_grants_the_highest_of_one_goal_and_period_alone(shop, account):
    shop.bonus(goal="1", value="90", title="One")
    shop.bonus(goal="3", value="50", title="Three")
    shop.bonus(goal="2", value="70", title="Two")
    shop.bonus(goal="1", goal_type="conversion_amount", value="5", title="Amount")
    shop.bonus(goal="1", period="week", value="3", title="Week")
    shop.sell("200")
    shop.sell("200")

    assert sorted(granted(account)) == [
        ("minakessler", "Amount", Decimal(5)),
        ("minakessler", "Two", Decimal(70)),
        ("minakessler", "Week", Decimal(3)),
    ]


# Periods.


@pytest.mark.parametrize(
    ("period", "since", "until", "starts"),
    [
        pytest.param(
            *("week", "2026-03-04T00:00", "2026-03-16T00:00"),
            ["2026-03-02", "2026-03-09"],
            id="weeks-from-Monday",
        ),
        pytest.param(
            *("week", "2026-03-08T23:59", "2026-03-08T23:59"), [], id="week-not-over"
        ),
        pytest.param(
            *("week", "2025-12-31T12:00", "2026-01-05T00:00"),
            ["2025-12-29"],
            id="week-over-new-year",
        ),
        pytest.param(
            *("month", "2025-12-31T23:59", "2026-02-28T23:59"),
            ["2025-12-01", "2026-01-01"],
            id="months",
        ),
        pytest.param(
            *("quarter", "2026-03-31T00:00", "2026-10-01T00:00"),
            ["2026-01-01", "2026-04-01", "2026-07-01"],
            id="quarters",
        ),
        pytest.param(
            *("year", "2024-02-29T00:00", "2026-12-31T23:59"),
            ["2024-01-01", "2025-01-01"],
            id="years",
        ),
        pytest.param(
            *("all_time", "2026-03-04T00:00", "2026-03-04T00:00"),
            ["1970-01-01"],
            id="all-time",
        ),
    ],
)
def test_knows_the_periods_that_are_over(period, since, until, starts):
    since, until = (
        datetime.fromisoformat(it).replace(tzinfo=UTC) for it in (since, until)
    )

    found = spans(period, since=since, at=until)

    assert [it.starts.isoformat() for it in found] == starts


@pytest.mark.parametrize(
    ("sold", "counts"),
    [
        pytest.param(datetime(2026, 3, 8, 23, 59, 59, tzinfo=UTC), False, id="before"),
        pytest.param(datetime(2026, 3, 9, tzinfo=UTC), True, id="first-moment"),
        pytest.param(
            datetime(2026, 3, 15, 23, 59, 59, 999999, tzinfo=UTC), True, id="last"
        ),
        pytest.param(datetime(2026, 3, 16, tzinfo=UTC), False, id="after"),
    ],
)
def test_counts_from_monday_to_monday(shop, account, sold, counts):
    shop.bonus(
        goal="1", value="50", period="week", at=datetime(2026, 3, 10, tzinfo=UTC)
    )
    shop.sell("200", at=sold)

    made = grant_bonuses(account, at=datetime(2026, 3, 16, tzinfo=UTC))

    assert [it.period_start for it in made] == [date(2026, 3, 9)] * counts


def test_waits_until_the_period_is_over(shop, account):
    shop.bonus(goal="1", value="50")
    shop.sell("200")

    assert granted(account, at=APRIL - timedelta(seconds=1)) == []
    assert granted(account, at=APRIL) == [MINA_50]


def test_counts_a_period_from_before_the_bonus_was_defined_in_it(shop, account):
    shop.bonus(goal="1", value="50", at=APRIL - timedelta(seconds=1))
    shop.sell("200")

    assert granted(account) == [MINA_50]


def test_grants_nothing_for_periods_before_the_bonus(shop, account):
    shop.bonus(goal="1", value="50", at=APRIL)
    shop.bonus(goal="2", value="90", at=OPENED)
    shop.sell("200")

    assert granted(account, at=MAY) == []


def test_catches_up_on_every_period_that_was_missed(shop, account):
    shop.bonus(goal="1", value="50")
    shop.sell("200")
    shop.sell("200", at=APRIL)

    made = grant_bonuses(account, at=MAY)

    assert sorted(it.period_start for it in made) == [MARCH, APRIL.date()]


def test_waits_while_a_commission_of_the_period_is_pending(shop, account):
    shop.bonus(goal="1", value="50")
    shop.sell("200")
    shop.program.change(auto_approve_commissions=False)
    waiting = shop.commission_of(shop.sell("200"))
    shop.program.change(auto_approve_commissions=True)
    shop.sell("200", at=APRIL)

    assert granted(account) == []
    disapprove(account, commission_id=waiting.pk, at=APRIL)
    assert granted(account) == [MINA_50]


# Once.


@pytest.mark.parametrize("period", ["week", "month", "all_time"])
def test_grants_nothing_twice(shop, account, period):
    shop.bonus(goal="1", value="50", period=period)
    shop.sell("200")
    assert granted(account) == [MINA_50]
    before = everything(account)

    assert granted(account) == []
    assert granted(account, at=APRIL + timedelta(hours=1)) == []
    assert everything(account) == before


def test_grants_nothing_again_where_a_higher_goal_is_reached_later(shop, account):
    shop.bonus(goal="1", value="50")
    shop.bonus(goal="2", value="90")
    shop.sell("200")
    late = shop.commission_of(shop.sell("200"))
    disapprove(account, commission_id=late.pk, at=SOLD)
    assert granted(account) == [MINA_50]

    approve(account, commission_id=late.pk, at=APRIL)

    assert granted(account) == []


def test_grants_nothing_again_though_the_bonus_was_disapproved(shop, account):
    shop.bonus(goal="1", value="50")
    shop.sell("200")
    (made,) = grant_bonuses(account, at=APRIL)

    disapprove(account, commission_id=made.pk, at=APRIL)

    assert granted(account) == []


def test_grants_each_bonus_of_all_time_once(shop, account):
    shop.bonus(goal="1", value="50", period="all_time", title="One")
    shop.bonus(goal="2", value="90", period="all_time", title="Two")
    shop.sell("200")
    assert granted(account, at=SOLD) == [("minakessler", "One", Decimal(50))]

    shop.sell("200", at=APRIL)

    assert granted(account, at=APRIL) == [("minakessler", "Two", Decimal(90))]
    assert granted(account, at=MAY) == []


def test_grants_no_lower_bonus_of_all_time_when_a_sale_is_taken_back(shop, account):
    shop.bonus(goal="1", value="50", period="all_time", title="One")
    shop.bonus(goal="2", value="90", period="all_time", title="Two")
    shop.sell("200")
    sale = shop.sell("200")
    assert granted(account) == [("minakessler", "Two", Decimal(90))]

    remove_conversion(account, conversion_id=sale.pk, at=APRIL)

    assert granted(account, at=MAY) == []


def test_looks_again_at_what_was_earned_once_nobody_can_move_it(
    shop, account, monkeypatch
):
    shop.bonus(goal="1", value="50", title="One")
    shop.bonus(goal="2", value="90", title="Two")
    shop.sell("200")
    late = shop.commission_of(shop.sell("200"))
    disapprove(account, commission_id=late.pk, at=SOLD)

    def hold_late(*args, **kwargs):
        """Somebody approves between the first look and the lock."""
        approve(account, commission_id=late.pk, at=APRIL)
        return hold(*args, **kwargs)

    monkeypatch.setattr(bonuses, "hold", hold_late)

    assert granted(account) == [("minakessler", "Two", Decimal(90))]


def test_holds_the_books_of_a_few_at_a_time(shop, account, monkeypatch):
    monkeypatch.setattr(bonuses, "AT_ONCE", 2)
    shop.bonus(goal="1", value="50")
    for name in "abcde":
        shop.sell("200", member=shop.join("Odette", f"Varga{name}"))

    made = granted(account)

    assert [slug for slug, *_ in made] == [f"odettevarga{name}" for name in "abcde"]
    assert granted(account) == []


def test_counts_all_time_from_before_the_bonus(shop, account):
    shop.sell("200")
    shop.bonus(goal="1", value="50", period="all_time", at=APRIL)

    assert granted(account, at=APRIL) == [MINA_50]


def test_keeps_nothing_when_any_statement_fails(shop, account):
    shop.bonus(goal="1", value="50")
    shop.sell("200")
    shop.sell("200", member=shop.join("Odette", "Varga"))
    account.uses_payouts = True
    account.save()
    top_up(account, amount=Decimal(100), currency="EUR", at=SOLD)
    before = everything(account)

    for number in range(100):
        with failing_at(number) as asked, suppress(Broken):
            grant_bonuses(account, at=APRIL)
        if len(asked) == number:
            break
        assert everything(account) == before, f"{number}: {asked[number]}"

    assert number > 10
    assert account.commissions.filter(kind="bonus").count() == 2
