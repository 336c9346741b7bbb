"""Reliability, section 14: who is removed is forgotten, whatever happens meanwhile."""

import pytest

from tests.proof import books_agree
from tests.shop import SOLD, Shop
from tracking.attribution import REST, Clues
from tracking.errors import CustomerNotFound
from tracking.models.customers import Status
from tracking.services import customers
from tracking.services.attribution import verify, weigh
from tracking.services.customers import (
    LookAgain,
    buyer,
    customer_named,
    remove,
    rename,
)

SECRET = "alice@example.org"


@pytest.fixture
def shop(account):
    shop = Shop(account)
    yield shop
    books_agree(account)


def tombstone(account):
    return account.customers.get()


def test_puts_nothing_back_on_a_customer_that_was_removed_meanwhile(account, shop):
    seen = shop.customer("acct-1")
    remove(account, public_id=seen.public_id, at=SOLD)

    with pytest.raises(CustomerNotFound):
        rename(
            account,
            customer=seen,
            customer_id=SECRET,
            meta_data={"name": "Alice"},
            at=SOLD,
        )

    assert tombstone(account).customer_id == ""
    assert tombstone(account).meta_data == {}
    assert not account.events.filter(kind="customer.updated").exists()


def test_makes_a_removed_customer_pay_nothing(account, shop):
    seen = shop.customer("acct-1", status="lead")
    finding = weigh(
        account,
        clues=Clues(customer_id="acct-1"),
        order=REST,
        at=SOLD,
        ignore_cookie_age=False,
    )
    remove(account, public_id=seen.public_id, at=SOLD)

    with pytest.raises(LookAgain):
        buyer(account, finding, customer_id="acct-1", at=SOLD)

    assert tombstone(account).status == Status.LEAD


def test_attributes_a_sale_anew_when_the_customer_came_at_this_moment(
    account, shop, monkeypatch
):
    rival = shop.join("Odette", "Varga")
    clues = Clues(coupon=shop.mina.coupon, customer_id="acct-1")
    how = {"order": REST, "at": SOLD, "ignore_cookie_age": False}
    too_early = weigh(account, clues=clues, **how)
    shop.customer("acct-1", member=rival)
    looks = []

    def first_look_is_too_early(account, **how):
        finding = weigh(account, **how) if looks else too_early
        looks.append(finding.affiliate.slug)
        return finding

    monkeypatch.setattr("payouts.services.recording.weigh", first_look_is_too_early)

    conversion = shop.sell(customer_id="acct-1")

    assert looks == ["minakessler", "odettevarga"]
    assert conversion.affiliate.slug == "odettevarga"
    assert conversion.tracking_source == "customer"


def test_writes_one_line_for_one_step_of_a_customer(account, shop):
    customer = shop.customer("acct-1", status="lead")
    stale = customer_named(account, customer.public_id)

    shop.sell(customer_id="acct-1")
    shop.sell(customer_id="acct-1")

    lines = account.events.filter(kind="customer.updated")
    assert stale.status == Status.LEAD
    assert [line.facts for line in lines] == [{"status": ["lead", "paying"]}]


def test_keeps_no_trace_of_the_callers_id_in_its_decisions(account, shop):
    shop.sell(customer_id=SECRET)
    shop.sell(customer_id=SECRET)
    customer = account.customers.get()

    remove(account, public_id=customer.public_id, at=SOLD)

    kept = [f"{it.inputs} {it.outcome}" for it in account.decisions.order_by("pk")]
    assert len(kept) == 2
    assert not any(SECRET in text for text in kept)
    assert customer.public_id in kept[1]
    assert all(verify(decision) for decision in account.decisions.all())


def test_forgets_the_visitor_of_its_sales_too(account, shop):
    shop.sell(customer_id="acct-1", user_agent="Mozilla/5.0", ip="203.0.113.7")

    remove(account, public_id=account.customers.get().public_id, at=SOLD)

    sale = account.conversions.get()
    assert (sale.user_agent, sale.ip) == (None, None)


def test_removes_a_customer_once_however_many_ask_at_once(account, shop, monkeypatch):
    seen = shop.customer("acct-1")
    remove(account, public_id=seen.public_id, at=SOLD)
    monkeypatch.setattr(customers, "customer_named", lambda account, public_id: seen)

    with pytest.raises(CustomerNotFound):
        remove(account, public_id=seen.public_id, at=SOLD)

    assert account.events.filter(kind="customer.deleted").count() == 1
