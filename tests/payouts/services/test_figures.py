"""What the dashboard counts: exact, per currency, of one account."""

from datetime import timedelta
from decimal import Decimal

import pytest

from accounts.models.days import ChangedDay, CountedDay
from accounts.services import days
from accounts.services.webhooks import add_webhook, disable
from payouts.services.commissions import approve, disapprove
from payouts.services.figures import (
    Period,
    Standing,
    count_of,
    figures_of,
    in_all,
    owed_now,
    slugs_of,
    standings_of,
    worklist_of,
)
from payouts.services.payments import Order, cancel_payment, pay
from payouts.services.rates import Item
from payouts.services.revising import (
    add_commissions,
    change_commission,
    change_conversion,
    remove_conversion,
)
from payouts.tallies import Tally
from tests.shop import JOINED, SOLD, Shop
from tracking.attribution import Clues
from tracking.services.affiliates import Application
from tracking.services.clicks import Visit, record_click
from tracking.services.customers import remove as remove_customer
from tracking.services.prospects import Invitation, invite

DAY = timedelta(days=1)
LATER = SOLD + 30 * DAY
WEEK = Period((SOLD - 3 * DAY).date(), (SOLD + 4 * DAY).date())


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


def number_of(account, firstname):
    return account.affiliates.get(firstname=firstname).pk


def count(account, period=WEEK, at=LATER):
    """What is told of a period, the kept days and those counted just now."""
    return in_all(figures_of(account, period.days, at=at), period)


def earned(account, span, at):
    return count(account, span, at=at).commissions_that_are("pending", "approved")


def test_counts_what_happened_in_a_period(busy, account):
    mina, odette = number_of(account, "Mina"), number_of(account, "Odette")

    week = count(account)

    assert (week.clicked, week.sold, week.customers, week.active) == (2, 4, 1, 2)
    assert week.revenue == amounts(EUR="260.5", USD="30")
    assert week.of(mina) == (1, 3, amounts(EUR="250.5", USD="30"))
    assert week.of(odette) == (1, 1, amounts(EUR="10"))
    assert week.commissions_that_are("pending") == amounts(EUR="1", USD="3")
    assert week.commissions_that_are("approved") == amounts(EUR="20")
    assert week.commissions_that_are("disapproved") == amounts(EUR="5.05")
    assert week.commissions_that_are("approved", "pending") == amounts(
        EUR="21", USD="3"
    )
    assert week.paid == amounts(EUR="12.5")
    assert week.rate == Decimal("200.0")


def test_counts_nothing_outside_the_period(busy, account):
    before = count(account, WEEK.before)

    assert WEEK.before == Period((SOLD - 11 * DAY).date(), (SOLD - 4 * DAY).date())
    assert (before.clicked, before.sold, before.revenue) == (0, 0, {})
    assert before.rate is None
    day = SOLD.date()
    assert count(account, Period(day - DAY, day - DAY)).sold == 0
    assert count(account, Period(day, day)).sold == 3


def test_counts_a_day_from_its_first_moment_to_its_last(shop, account):
    midnight = SOLD.replace(hour=0, minute=0, second=0, microsecond=0)
    for moment in (midnight - timedelta(microseconds=1), midnight, midnight + DAY):
        shop.sell("1", at=moment)

    assert count(account, Period(SOLD.date(), SOLD.date())).sold == 1


def test_counts_nothing_of_another_account(busy, other_account):
    theirs = Shop(other_account, mark="zz-marker-", email=None)
    theirs.sell("77")

    week = count(other_account)

    assert (week.sold, week.revenue) == (1, amounts(EUR="77"))
    assert slugs_of(other_account, [number_of(busy.account, "Mina")]) == {}


def test_keeps_a_day_that_is_over_and_counts_the_running_one(busy, account):
    week = figures_of(account, WEEK.days, at=LATER)

    kept = account.counted_days.order_by("day").values_list("day", flat=True)
    assert list(kept) == [day for day in WEEK.days if day >= (SOLD - DAY).date()]
    account.counted_days.filter(day=SOLD.date()).update(figures='{"kept":true}')
    assert figures_of(account, [SOLD.date()], at=LATER) == {SOLD.date(): {"kept": True}}
    just_over = (SOLD + DAY).replace(hour=0, minute=59)
    assert figures_of(account, [SOLD.date()], at=just_over) == {
        SOLD.date(): week[SOLD.date()]
    }


def test_does_not_count_days_to_come(account):
    assert figures_of(account, [SOLD.date() + DAY], at=SOLD) == {}


def test_counts_a_day_again_when_one_of_its_rows_changed(busy, account):
    sale = account.conversions.filter(amount=200).get()
    odettes = account.conversions.filter(amount=10).get()
    customer, payment = account.customers.get(), account.payments.get()
    commission = busy.commission_of(sale)
    how: dict = {"at": LATER}
    changes = [
        lambda: approve(
            account, commission_id=busy.commission_of(odettes).pk, at=LATER
        ),
        lambda: disapprove(account, commission_id=commission.pk, at=LATER),
        lambda: change_commission(
            account, commission_id=commission.pk, changes={"status": "pending"}, **how
        ),
        lambda: change_conversion(
            account,
            conversion_id=sale.pk,
            changes={"amount": Decimal(70)},
            recalculate=True,
            **how,
        ),
        lambda: cancel_payment(account, payment_id=payment.public_id, at=LATER),
        lambda: remove_conversion(account, conversion_id=odettes.pk, at=LATER),
        lambda: remove_customer(account, public_id=customer.public_id, at=LATER),
    ]

    for change in changes:
        was = count(account, at=LATER).days
        assert account.changed_days.count() == 0
        change()
        now = count(account, at=LATER).days
        assert now != was
        assert now == [count_of(account, day) for day in WEEK.days]


def test_counts_the_days_of_commissions_that_go_with_their_sale(shop, account):
    sale = shop.sell("100")
    extra = Item(Decimal(100))
    add_commissions(account, conversion_id=sale.pk, items=[extra], at=LATER)
    span = Period(SOLD.date(), LATER.date())
    later = LATER + 2 * DAY
    assert earned(account, span, later) == amounts(EUR="20")

    remove_conversion(account, conversion_id=sale.pk, at=later)

    assert earned(account, span, later) == {}


def test_marks_no_day_that_is_not_over(shop, account):
    sale = shop.sell("100")
    approve(account, commission_id=shop.commission_of(sale).pk, at=SOLD)

    assert not ChangedDay.objects.exists()
    assert not CountedDay.objects.exists()


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


def test_tells_who_sells_best(busy, account):
    week = count(account)

    best = week.best(10)

    slugs = slugs_of(account, [who for who, _ in best])
    assert [(slugs[who], number) for who, number in best] == [
        ("minakessler", 3),
        ("odettevarga", 1),
    ]
    assert week.best(1) == best[:1]


def test_tells_which_pages_are_seen_most(shop, account, monkeypatch):
    for page, times in (("lamps?ref=a", 2), ("lamps#top", 1), ("desk", 1), ("", 1)):
        for _ in range(times):
            shop.click(landing_page=f"https://shop.example.net/{page}")
    shop.click()

    assert count(account).most_seen(2) == [
        ("https://shop.example.net/lamps", 3),
        ("https://shop.example.net/", 1),
    ]

    monkeypatch.setattr("payouts.tallies.MOST_PAGES", 1)
    assert count_of(account, (SOLD - DAY).date())["pages"] == {
        "https://shop.example.net/lamps": 3,
        "(all other pages)": 2,
    }


def test_tells_how_affiliates_do(busy, account):
    zoe = busy.join("Zoe", "Lund", approved=None)
    numbers = {it.firstname: it.pk for it in account.affiliates.all()}
    now = SOLD + 3 * DAY + timedelta(minutes=20)

    told = standings_of(
        account, list(numbers.values()), Period(WEEK.first, now.date()), at=now
    )

    assert told[numbers["Mina"]] == Standing(
        clicked=1,
        sold=3,
        revenue=amounts(EUR="250.5", USD="30"),
        owed=amounts(EUR="7.5"),
        places=(True,),
    )
    assert told[numbers["Odette"]].revenue == amounts(EUR="10")
    assert told[zoe.affiliate.pk] == Standing(0, 0, {}, {}, (None,))


def test_counts_the_running_days_of_affiliates_too(busy, account):
    mina = number_of(account, "Mina")
    period = Period(WEEK.first, SOLD.date())

    told = standings_of(account, [mina], period, at=SOLD)

    assert (told[mina].clicked, told[mina].sold) == (1, 2)


def test_counts_the_clicks_of_a_prospect_who_became_an_affiliate(shop, account):
    person = Application(firstname="Pia", lastname="Lang", email="p@notes.example.org")
    pia = invite(account, invitation=Invitation(person), at=JOINED)
    clues = Clues(referral_code=account.referral_codes.get(prospect=pia).code)
    record_click(account, visit=Visit(clues=clues), at=SOLD)
    assert count(account).active == 0

    shop.sell("10", clues=clues, at=LATER)

    pia.refresh_from_db()
    assert count(account, at=LATER + DAY).of(pia.affiliate_id)[0] == 1


def test_counts_no_day_before_the_first_row(shop, account, statements):
    shop.sell("10")
    years = [SOLD.date() - DAY * number for number in range(700)]

    with statements() as asked:
        figures = figures_of(account, years, at=LATER)

    assert len(asked) < 20
    assert [it.day for it in account.counted_days.all()] == [SOLD.date()]
    assert Tally(figures.values()).sold == 1


def test_keeps_nothing_while_another_one_counts(busy, account, monkeypatch):
    monkeypatch.setattr("accounts.services.days._one_at_a_time", lambda account: False)

    assert count(account).sold == 4
    assert not account.counted_days.exists()


def test_counts_once_what_another_one_has_just_counted(busy, account):
    count(account)
    kept = list(account.counted_days.order_by("day").values_list("day", flat=True))
    again: list = []

    told = days._count_again(account, kept, again.append)

    assert again == []
    assert sorted(told) == kept
