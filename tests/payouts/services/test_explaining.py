"""One sale told from the clues to the cent, and proved anew from what was kept."""

import json
from datetime import timedelta
from decimal import Decimal

import pytest

from payouts.models.commission_types import RateKind
from payouts.services.commissions import approve, disapprove
from payouts.services.explaining import explain
from payouts.services.funding import top_up
from payouts.services.payments import Order, pay
from payouts.services.rates import Item
from payouts.services.revising import (
    add_commissions,
    change_commission,
    change_conversion,
    remove_conversion,
)
from tests.proof import books_agree
from tests.shop import SOLD, Shop, remove
from tracking.attribution import POSTBACK, Clues
from tracking.errors import ConversionNotFound
from tracking.services import customers
from tracking.services.affiliates import Application
from tracking.services.placement import make_group, put_below, put_into_group
from tracking.services.prospects import Invitation, invite

LATER = SOLD + timedelta(days=1)


@pytest.fixture
def shop(account):
    shop = Shop(account)
    shop.odette = shop.join("Odette", "Varga")
    yield shop
    books_agree(account)


def told(sale):
    return explain(sale.account, conversion_id=sale.pk)


def differences(sale):
    return told(sale).differences


def revise(sale, amount):
    change_conversion(
        sale.account,
        conversion_id=sale.pk,
        changes={"amount": Decimal(amount)},
        recalculate=True,
        at=LATER,
    )


def set_commission(shop, sale, **changes):
    number = shop.account.commissions.filter(conversion=sale).order_by("id")[0].pk
    changes = {name: Decimal(value) for name, value in changes.items()}
    change_commission(shop.account, commission_id=number, changes=changes, at=LATER)


# The story.


def test_tells_a_sale_with_all_its_clues(shop, account):
    click = shop.click(shop.odette, at=SOLD - timedelta(days=60))
    clues = Clues(
        customer_id="acct-1",
        coupon=shop.mina.coupon,
        click_id=str(click.public_id),
        tracking_id="0" * 32,
    )
    sale = shop.sell(("33.33", None), clues=clues, external_id="order-1")
    number = shop.commission_of(sale).pk
    approve(account, commission_id=number, at=LATER)
    [payment] = pay(account, orders=[Order("minakessler", Decimal(5), "EUR")], at=LATER)

    story = told(sale)

    assert story.conversion == {
        "id": sale.pk,
        "external_id": "order-1",
        "amount": Decimal("33.33"),
        "currency": "EUR",
        "program": "harbor-lamp-partners",
        "affiliate": "minakessler",
        "tracking_source": "coupon",
        "warnings": None,
        "created_at": SOLD,
        "removed_at": None,
    }
    attribution = dict(story.attribution)
    assert [it["clue"] for it in attribution.pop("clues")]
    assert attribution == {
        "engine": "1",
        "order": [
            *("customer", "coupon", "referral_code", "click_id"),
            *("asset_id", "tracking_id"),
        ],
        "ignore_cookie_age": False,
        "winner": {
            "clue": "coupon",
            "affiliate": "minakessler",
            "program": "harbor-lamp-partners",
        },
        "late_by": None,
        "losers": [
            {
                "clue": "click_id",
                "value": str(click.public_id),
                "affiliate": "odettevarga",
                "reason": "expired by 15 d 0 h",
            },
            {
                "clue": "tracking_id",
                "value": "0" * 32,
                "affiliate": None,
                "reason": "points at nobody",
            },
        ],
    }
    assert story.commissions == [
        {
            "id": number,
            "affiliate": "minakessler",
            "kind": "regular",
            "commission_type": "standard",
            "follows": None,
            "sub_amount": Decimal("33.33"),
            "rate": {
                "kind": "percentage",
                "value": "10.0000",
                "from": "commission type standard",
            },
            "exact": Decimal("3.333"),
            "amount": Decimal("3.33"),
            "currency": "EUR",
            "set_by_hand": False,
            "born": {
                "status": "pending",
                "reason": "the program lets somebody decide",
            },
            "passed_over": [],
            "status": "approved",
            "finalized_at": None,
            "payment": payment.public_id,
            "transfers": [
                {
                    "kind": kind,
                    "from": source,
                    "to": goal,
                    "amount": Decimal("3.33"),
                    "created_at": at,
                }
                for kind, source, goal, at in [
                    (*moves(account, number, 0), SOLD),
                    (*moves(account, number, 1), LATER),
                ]
            ],
        }
    ]
    assert story.differences == []


def moves(account, commission, place):
    """Kind and both sides of a commission's transfer."""
    rows = account.transfers.filter(commission=commission).order_by("step")
    return rows.values_list("kind", "debit__kind", "credit__kind")[place]


def test_tells_who_was_passed_over_and_why(shop, account):
    put_below(account, affiliate_id="minakessler", parent="odettevarga", at=SOLD)
    shop.level(2, "3")
    remove(shop.odette.affiliate)
    sale = shop.sell("200")

    [line] = told(sale).commissions

    assert line["passed_over"] == [
        {"level": 2, "affiliate": "odettevarga", "reason": "the affiliate is deleted"}
    ]
    assert differences(sale) == []


def test_tells_a_removed_sale_with_its_commissions(shop, account):
    sale = shop.sell("200")
    remove_conversion(account, conversion_id=sale.pk, at=LATER)

    story = told(sale)

    assert story.conversion["removed_at"] == LATER
    assert [it["amount"] for it in story.commissions] == [20]
    assert story.differences == []


def test_does_not_tell_the_sale_of_another_account(shop, other_account):
    theirs = Shop(other_account, mark="zz-marker-").sell("200")

    with pytest.raises(ConversionNotFound):
        explain(shop.account, conversion_id=theirs.pk)


def test_reads_only(shop, account, statements):
    sale = shop.sell("200")

    with statements() as asked:
        told(sale)

    assert {it["sql"].split()[0] for it in asked.captured_queries} == {"SELECT"}


# What agrees with itself.


def by_customer(shop):
    shop.customer("acct-1")
    return shop.sell("200", clues=Clues(customer_id="acct-1", coupon=" "))


def by_code(shop):
    return shop.sell("200", clues=Clues(referral_code=shop.mina.code))


def by_click(shop):
    click = shop.click(meta_data={"subid1": "a\u0301b"})
    return shop.sell("200", clues=Clues(click_id=str(click.public_id)))


def by_old_click(shop):
    click = shop.click(at=SOLD - timedelta(days=60, microseconds=1))
    clues = Clues(click_id=str(click.public_id))
    return shop.sell("200", clues=clues, ignore_cookie_age=True)


def by_pair(shop):
    pair = {"asset_id": shop.mina.asset_id, "source_id": shop.mina.source_id}
    return shop.sell("200", clues=Clues(**pair))


def by_postback(shop):
    click = shop.click()
    clues = Clues(referral_code=shop.odette.code, click_id=str(click.public_id))
    return shop.sell("200", clues=clues, order=POSTBACK)


def by_prospect(shop):
    person = Application("Nora", "Falk", email="n@example.org")
    prospect = invite(shop.account, invitation=Invitation(person), at=SOLD)
    code = shop.account.referral_codes.get(prospect=prospect).code
    return shop.sell("200", clues=Clues(referral_code=code))


def by_levels(shop):
    put_below(shop.account, affiliate_id="minakessler", parent="odettevarga", at=SOLD)
    shop.level(2, "0.0333")
    return shop.sell("33.33", "0.15", customer_id="acct-1")


def by_group(shop):
    group = make_group(shop.account, title="Circle", at=SOLD)
    put_into_group(
        shop.account, affiliate_id="minakessler", group_id=group.public_id, at=SOLD
    )
    shop.group_rate(group, "12.3456")
    sale = shop.sell("33.33")
    shop.account.group_rates.update(value=Decimal(1))
    return sale


def by_fixed_rate(shop):
    shop.type("flat", "2.5", kind=RateKind.FIXED)
    sale = shop.sell(("0", "flat"), ("19.99", "flat"), currency="JPY")
    revise(sale, "77")
    return sale


def by_hand(shop):
    sale = shop.sell("200")
    set_commission(shop, sale, amount="7")
    return sale


def by_hand_and_part(shop):
    sale = shop.sell("200")
    set_commission(shop, sale, amount="7", sub_amount="50")
    return sale


def by_hand_then_again(shop):
    sale = by_hand(shop)
    revise(sale, "66.66")
    return sale


def revised(shop):
    sale = by_levels(shop)
    revise(sale, "100.01")
    revise(sale, "0")
    revise(sale, "9.99")
    return sale


def added_to(shop):
    sale = by_levels(shop)
    items = [Item(Decimal("0.05")), Item(Decimal(9))]
    add_commissions(shop.account, conversion_id=sale.pk, items=items, at=LATER)
    return sale


def without_cover(shop):
    shop.account.uses_payouts = True
    shop.account.save()
    top_up(shop.account, amount=Decimal(20), currency="EUR", at=SOLD)
    shop.program.change(auto_approve_commissions=True)
    put_below(shop.account, affiliate_id="minakessler", parent="odettevarga", at=SOLD)
    shop.level(2, "3")
    return shop.sell("200", "100")


def warned(shop):
    shop.program.change(auto_approve_commissions=True)
    return shop.sell("200", customer_id="Mina@notes.example.org")


def past_the_cap(shop):
    shop.program.change(recurring=False)
    shop.sell("200", customer_id="acct-1")
    return shop.sell("200", customer_id="acct-1")


def decided(shop):
    sale = shop.sell("200")
    number = shop.commission_of(sale).pk
    approve(shop.account, commission_id=number, at=LATER)
    disapprove(shop.account, commission_id=number, at=LATER)
    return sale


def of_a_forgotten_customer(shop):
    sale = shop.sell("200", customer_id="acct-1")
    customers.remove(shop.account, public_id=sale.customer.public_id, at=LATER)
    return sale


def immense(shop):
    return shop.sell("9999999999999.99")


AGREEING = [
    *(by_customer, by_code, by_click, by_old_click, by_pair, by_postback),
    *(by_prospect, by_levels, by_group, by_fixed_rate, by_hand, by_hand_and_part),
    *(by_hand_then_again, revised, added_to, without_cover, warned, past_the_cap),
    *(decided, of_a_forgotten_customer, immense),
]


@pytest.mark.parametrize("sell", AGREEING, ids=[it.__name__ for it in AGREEING])
def test_agrees_with_what_was_kept(shop, sell):
    assert differences(sell(shop)) == []


@pytest.mark.parametrize("sell", [by_prospect, by_hand, revised])
def test_agrees_with_what_was_kept_of_a_removed_sale(shop, account, sell):
    sale = sell(shop)

    remove_conversion(account, conversion_id=sale.pk, at=LATER)

    assert differences(sale) == []


def test_tells_the_winner_as_it_was_decided(shop):
    story = told(by_prospect(shop))

    assert story.conversion["affiliate"] == "norafalk"
    assert story.attribution["winner"]["affiliate"].startswith("ap_")


# What does not.


def bend(rows, **values):
    """Write past the services, as somebody with the database in hand would."""
    assert rows.update(**values)


BENT = {
    "amount": {"amount": Decimal("20.01")},
    "sub-amount": {"sub_amount": Decimal("200.01")},
    "rate": {"rate": Decimal("10.0001")},
    "kind of rate": {"rate_kind": RateKind.FIXED},
}


@pytest.mark.parametrize("name", BENT)
@pytest.mark.parametrize("make", [Shop.sell, by_hand], ids=["reckoned", "by hand"])
def test_finds_a_bent_commission(account, name, make):
    shop = Shop(account)
    sale = make(shop)
    bend(account.commissions.filter(conversion=sale), **BENT[name])

    found = differences(sale)

    assert found
    assert all(f": {name} is " in it for it in found)


WORKINGS = {
    "sub_amount": "200.01",
    "exact": "20.001",
    "amount": "20.01",
    "status": "approved",
    "reason": "somebody said so",
    "rate": {"kind": "percentage", "value": "11", "from": "commission type standard"},
}


@pytest.mark.parametrize("name", WORKINGS)
def test_finds_a_bent_working(account, name):
    sale = Shop(account).sell("200")
    row = account.commissions.filter(conversion=sale)
    working = json.loads(row.get().working) | {name: WORKINGS[name]}
    bend(row, working=json.dumps(working))

    assert differences(sale)


@pytest.mark.parametrize("kind", ["regular", "level"])
def test_finds_a_commission_moved_to_somebody_else(shop, account, kind):
    sale = by_levels(shop)
    jana = shop.join("Jana", "Lind")
    row = account.commissions.filter(conversion=sale, kind=kind)[:1].get()
    was = row.affiliate_id
    bend(account.commissions.filter(pk=row.pk), affiliate=jana.affiliate)

    found = differences(sale)

    bend(account.commissions.filter(pk=row.pk), affiliate=was)
    assert found


@pytest.mark.parametrize("name", ["affiliate", "program", "tracking_source"])
def test_finds_a_sale_that_is_not_as_it_was_decided(shop, account, name):
    other = Shop(account, "another-program", email="m2@example.org")
    sale = shop.sell("200")
    values = {
        "affiliate": shop.odette.affiliate,
        "program": other.program,
        "tracking_source": "click",
    }
    bend(account.conversions.filter(pk=sale.pk), **{name: values[name]})

    assert differences(sale)


@pytest.mark.parametrize("name", ["inputs", "outcome", "both"])
def test_finds_a_bent_decision(shop, account, name):
    sale = shop.sell("200")
    row = account.decisions.filter(conversion=sale)
    kept = row.values("inputs", "outcome").get()
    bent = {
        key: text.replace("minakessler", "odettevarga")
        for key, text in kept.items()
        if name in (key, "both")
    }
    bend(row, **bent)

    assert differences(sale)
