"""What stands in the way and has no name stays a crash: it is never taken for
something that a caller could mend."""

from decimal import Decimal

import pytest
from django.db import IntegrityError

from accounts.services.accounts import open_account
from payouts.services.programs import Rules, open_program
from payouts.services.rates import Item
from payouts.services.recording import Sale, record_conversion
from tests.shop import SECRET, SOLD, Shop
from tracking.attribution import REST, Clues
from tracking.services.affiliates import Application, sign_up
from tracking.services.attribution import weigh
from tracking.services.customers import rename
from tracking.services.enrolments import Entry, change_enrolment, enrol
from tracking.services.looking import LOOKS, LookAgain


@pytest.fixture
def shop(account):
    return Shop(account)


def open_one(account, shop):
    open_account(
        slug="new",
        name="New",
        plan="pro",
        uses_payouts=False,
        pending_as_null=False,
        at=SOLD,
    )


def open_other(account, shop):
    rules = Rules(title="Other", currency="EUR")
    open_program(account, slug="other", rules=rules, at=SOLD)


def join(account, shop):
    sign_up(account, application=Application("Odette", "Varga"), secret=SECRET, at=SOLD)


def take_in(account, shop):
    person = Application("O", "V")
    affiliate = sign_up(account, application=person, secret=SECRET, at=SOLD)
    entry = Entry(affiliate_id=affiliate.slug)
    enrol(account, program=shop.program, entry=entry, at=SOLD)


def give_coupon(account, shop):
    change_enrolment(
        account,
        program=shop.program,
        affiliate_id="minakessler",
        changes={"coupon": "NEW"},
        at=SOLD,
    )


def change(account, shop):
    customer = shop.customer("acct-1")
    rename(account, customer=customer, customer_id=None, meta_data={"a": "b"}, at=SOLD)


def change_id(account, shop):
    customer = shop.customer("acct-1")
    rename(account, customer=customer, customer_id="acct-2", meta_data=None, at=SOLD)


STORIES = {
    open_one: "accounts.services.accounts",
    open_other: "payouts.services.programs",
    join: "tracking.services.affiliates",
    take_in: "tracking.services.enrolments",
    give_coupon: "tracking.services.enrolments",
    change: "tracking.services.customers",
    change_id: "tracking.services.customers",
}


@pytest.mark.parametrize(
    ("story", "module"), STORIES.items(), ids=[it.__name__ for it in STORIES]
)
def test_lets_a_collision_without_a_name_through(
    account, shop, monkeypatch, story, module
):
    def collide(account, kind, *subjects, **facts):
        if kind != "customer.created":
            raise IntegrityError("another rule")

    monkeypatch.setattr(f"{module}.note", collide)

    with pytest.raises(IntegrityError, match="another rule"):
        story(account, shop)


def test_gives_up_on_a_customer_that_comes_and_goes(account, shop, monkeypatch):
    clues = Clues(coupon=shop.mina.coupon, customer_id="acct-1")
    too_early = weigh(
        account, clues=clues, order=REST, at=SOLD, ignore_cookie_age=False
    )
    shop.customer("acct-1")
    looks = []

    def always_too_early(account, **how):
        looks.append(how)
        return too_early

    monkeypatch.setattr("payouts.services.recording.weigh", always_too_early)

    sale = Sale(clues=clues, items=[Item(Decimal(10))])
    with pytest.raises(LookAgain):
        record_conversion(account, sale=sale, at=SOLD)

    assert len(looks) == LOOKS
    assert not account.conversions.exists()
