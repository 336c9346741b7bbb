"""Contract 2.2.6 to 2.2.8: a sale changed, removed, added to, and what follows."""

import json
from contextlib import suppress
from datetime import timedelta
from decimal import Decimal

import pytest

from accounts.errors import Several
from payouts.errors import CommissionApproved
from payouts.models.commission_types import RateKind
from payouts.services.commissions import approve, disapprove
from payouts.services.funding import top_up
from payouts.services.ledger import balances_of
from payouts.services.payments import Order, pay
from payouts.services.revising import (
    add_commissions,
    change_commission,
    change_conversion,
    remove_conversion,
)
from tests.proof import Broken, books_agree, everything, failing_at
from tests.shop import OPENED, SOLD, Shop, items_of, remove
from tracking.errors import (
    AffiliateDeleted,
    ConversionNotFound,
    DuplicateConversion,
    ProgramIsLocked,
)
from tracking.services.placement import put_below
from tracking.services.programs import archive

LATER = SOLD + timedelta(days=1)


@pytest.fixture
def shop(account):
    shop = Shop(account)
    shop.type("accessories", "7.5")
    shop.type("flat", "2.5", kind=RateKind.FIXED)
    yield shop
    books_agree(account)


@pytest.fixture
def odette(shop):
    """Mina's parent, who earns 3 % by level 2."""
    odette = shop.join("Odette", "Varga")
    put_below(shop.account, affiliate_id=shop.mina.slug, parent=odette.slug, at=SOLD)
    shop.level(2, "3")
    return odette


def revise(sale, amount, *, recalculate=True, **changes):
    return change_conversion(
        sale.account,
        conversion_id=sale.pk,
        changes={"amount": Decimal(amount)} | changes,
        recalculate=recalculate,
        at=LATER,
    )


def parts(sale):
    """Part and amount of each regular commission of a sale, by number."""
    rows = sale.account.commissions.filter(conversion=sale, kind="regular")
    return [(str(it.sub_amount), str(it.amount)) for it in plain(rows)]


def plain(rows):
    """By number, the amounts without noughts at their end."""
    for row in rows.order_by("id"):
        row.sub_amount = f"{row.sub_amount.normalize():f}"
        row.amount = f"{row.amount.normalize():f}"
        yield row


def levels(sale):
    """The same of the levels."""
    rows = sale.account.commissions.filter(conversion=sale, kind="level")
    return [(str(it.sub_amount), str(it.amount)) for it in plain(rows)]


def commissions(sale):
    return list(sale.account.commissions.filter(conversion=sale).order_by("id"))


def freeze(*chosen):
    """Approve these, of an account that pays through the service."""
    account = chosen[0].account
    account.uses_payouts = True
    account.save()
    top_up(account, amount=Decimal(100), currency="EUR", at=SOLD)
    for it in chosen:
        approve(account, commission_id=it.pk, at=SOLD)


def set_amount(commission, amount):
    """Give a commission an amount by hand."""
    change_commission(
        commission.account,
        commission_id=commission.pk,
        changes={"amount": Decimal(amount)},
        at=SOLD,
    )


# A sale changed.


@pytest.mark.parametrize(
    ("sold", "currency", "amount", "became"),
    [
        pytest.param(["200"], "EUR", "150", [("150", "15")], id="one"),
        pytest.param(["200"], "EUR", "0", [("0", "0")], id="one-to-nought"),
        pytest.param(["0"], "EUR", "49.9", [("49.9", "4.99")], id="one-from-nought"),
        pytest.param(
            ["200", ("49.90", "accessories")],
            "EUR",
            "100",
            [("80.03", "8"), ("19.97", "1.5")],
            id="two-types",
        ),
        pytest.param(
            ["1", "1", "1"],
            "EUR",
            "10",
            [("3.33", "0.33"), ("3.33", "0.33"), ("3.34", "0.33")],
            id="the-last-takes-the-rest",
        ),
        pytest.param(
            ["1"] * 4,
            "EUR",
            "0.02",
            [("0.01", "0"), ("0.01", "0"), ("0", "0"), ("0", "0")],
            id="none-below-nought",
        ),
        pytest.param(
            ["0", ("0", "flat")],
            "EUR",
            "80",
            [("80", "8"), ("0", "2.5")],
            id="the-first-gets-all",
        ),
        pytest.param(
            [("200", "flat"), "100"],
            "EUR",
            "150",
            [("100", "2.5"), ("50", "5")],
            id="a-fixed-amount-stays",
        ),
        pytest.param(
            ["100", "100", "100"],
            "JPY",
            "1000",
            [("333", "33"), ("333", "33"), ("334", "33")],
            id="JPY",
        ),
        pytest.param(
            ["1", "1", "1"],
            "KWD",
            "1",
            [("0.333", "0.033"), ("0.333", "0.033"), ("0.334", "0.033")],
            id="KWD",
        ),
    ],
)
def test_shares_a_new_amount_among_the_commissions(
    shop, sold, currency, amount, became
):
    sale = shop.sell(*sold, currency=currency)

    changed = revise(sale, amount)

    assert changed.amount == sale.again().amount == Decimal(amount)
    assert parts(sale) == became


def test_keeps_the_commissions_without_recalculation(shop):
    sale = shop.sell("200", "100")

    revise(sale, "30", recalculate=False)

    assert sale.again().amount == 30
    assert parts(sale) == [("200", "20"), ("100", "10")]


def test_makes_the_only_commission_the_whole_whatever_went_before(shop):
    sale = shop.sell("200")
    revise(sale, "30", recalculate=False)

    revise(sale, "60")

    assert parts(sale) == [("60", "6")]


def test_deals_no_rest_out_where_the_parts_were_not_the_whole(shop, account):
    sale = shop.sell("1", "1", "1")
    add_commissions(account, conversion_id=sale.pk, items=items_of("3"), at=SOLD)

    revise(sale, "10")

    assert [part for part, _ in parts(sale)] == ["3.33", "3.33", "3.33", "10"]


def test_deals_the_rest_out_where_added_parts_made_the_whole(shop, account):
    sale = shop.sell("1", "1")
    add_commissions(account, conversion_id=sale.pk, items=items_of("1"), at=SOLD)
    revise(sale, "3", recalculate=False)

    revise(sale, "20")

    assert [part for part, _ in parts(sale)] == ["6.67", "6.67", "6.66"]


def test_reckons_by_the_rate_of_birth(shop, account):
    sale = shop.sell("200")
    account.commission_types.filter(program=shop.program).update(value=Decimal(50))

    revise(sale, "100")

    assert parts(sale) == [("100", "10")]


@pytest.mark.parametrize("amount", ["200", "100"])
def test_overwrites_what_was_set_by_hand(shop, amount):
    sale = shop.sell("200")
    commission = shop.commission_of(sale)
    set_amount(commission, "99")
    assert json.loads(commission.again().working)["by_hand"]

    revise(sale, amount)

    assert parts(sale) == [(amount, str(int(amount) // 10))]
    assert "by_hand" not in json.loads(commission.again().working)


def test_overwrites_what_was_set_by_hand_of_a_fixed_amount(shop):
    sale = shop.sell(("200", "flat"))
    set_amount(shop.commission_of(sale), "99")

    revise(sale, "100")

    assert parts(sale) == [("100", "2.5")]


def test_keeps_states_and_moves_balances_by_the_difference(shop, account):
    sale = shop.sell("100", "100", "100")
    approved, disapproved, _ = commissions(sale)
    approve(account, commission_id=approved.pk, at=SOLD)
    disapprove(account, commission_id=disapproved.pk, at=SOLD)
    other = shop.commission_of(shop.sell("50"))
    approve(account, commission_id=other.pk, at=SOLD)

    revise(sale, "600")

    assert balances_of(account) == {"minakessler": {"EUR": Decimal(25)}}
    assert [it.status for it in commissions(sale)] == [
        "approved",
        "disapproved",
        "pending",
    ]
    books_agree(account)
    revise(sale, "0")
    assert balances_of(account) == {"minakessler": {"EUR": Decimal(5)}}


def test_takes_back_what_was_paid_already(shop, account):
    sale = shop.sell("200")
    commission = shop.commission_of(sale)
    approve(account, commission_id=commission.pk, at=SOLD)
    pay(account, orders=[Order("minakessler", Decimal(20), "EUR")], at=SOLD)

    revise(sale, "50")

    assert balances_of(account) == {"minakessler": {"EUR": Decimal(-15)}}
    assert commission.again().payment is not None


def test_lets_the_levels_follow(shop, odette):
    sale = shop.sell("200", ("100", "accessories"))

    revise(sale, "30")

    assert parts(sale) == [("20", "2"), ("10", "0.75")]
    assert levels(sale) == [("20", "0.6"), ("10", "0.3")]


def test_overwrites_the_amount_of_a_level_set_by_hand(shop, odette):
    sale = shop.sell("200")
    _, level = commissions(sale)
    set_amount(level, "77")

    revise(sale, "100")

    assert (parts(sale), levels(sale)) == ([("100", "10")], [("100", "3")])


def test_keeps_final_commissions_and_shares_in_proportion_among_the_rest(shop):
    sale = shop.sell("1", "1", "1")
    first, *_ = commissions(sale)
    freeze(first)

    revise(sale, "20")

    assert sale.again().amount == 20
    assert [part for part, _ in parts(sale)] == ["1", "6.67", "6.67"]


def test_scales_the_only_one_that_is_not_final(shop):
    sale = shop.sell("100", "100")
    freeze(commissions(sale)[0])

    revise(sale, "100")

    assert parts(sale) == [("100", "10"), ("50", "5")]


def test_changes_a_sale_whose_commissions_are_all_final(shop, account):
    sale = shop.sell("200")
    freeze(shop.commission_of(sale))

    revise(sale, "100")

    assert sale.again().amount == 100
    assert parts(sale) == [("200", "20")]
    assert balances_of(account) == {"minakessler": {"EUR": Decimal(20)}}


def test_keeps_a_final_level_where_the_one_it_follows_changes(shop, odette):
    sale = shop.sell("200")
    _, level = commissions(sale)
    freeze(level)

    revise(sale, "100")

    assert (parts(sale), levels(sale)) == ([("100", "10")], [("200", "6")])


def test_keeps_the_level_of_a_final_commission(shop, odette):
    sale = shop.sell("200")
    regular, _ = commissions(sale)
    freeze(regular)

    revise(sale, "100")

    assert (parts(sale), levels(sale)) == ([("200", "20")], [("200", "6")])


def test_writes_the_diary_of_what_changed_alone(shop, account):
    sale = shop.sell("0", "200", ("100", "flat"))
    written = account.events.count()

    revise(sale, "150")

    _, first, second = commissions(sale)
    told = account.events.order_by("id")[written:]
    assert [(it.kind, it.subject) for it in told] == [
        ("commission.updated", f"commission:{first.pk}"),
        ("commission.updated", f"commission:{second.pk}"),
        ("conversion.updated", f"conversion:{sale.pk}"),
    ]


@pytest.mark.parametrize("recalculate", [True, False])
def test_changes_nothing_where_the_amount_stays(shop, account, recalculate):
    sale = shop.sell("66.67", "66.67", "66.66")
    before = everything(account)

    revise(sale, "200", recalculate=recalculate)

    after = everything(account)
    changed = [name for name in after if after[name] != before[name]]
    assert changed == []


@pytest.mark.parametrize("recalculate", [True, False])
def test_refuses_a_taken_external_id_and_keeps_the_amount(shop, account, recalculate):
    shop.sell("1", external_id="order-1")
    sale = shop.sell("200", external_id="order-2")
    before = everything(account)

    with pytest.raises(DuplicateConversion) as refused:
        revise(sale, "100", recalculate=recalculate, external_id="order-1")

    assert str(refused.value) == (
        "Duplicate conversion. There is already a conversion for External id 'order-1'"
    )
    assert everything(account) == before


def test_takes_the_external_id_of_a_removed_sale(shop, account):
    gone = shop.sell("1", external_id="order-1")
    sale = shop.sell("200")
    remove_conversion(account, conversion_id=gone.pk, at=LATER)

    revise(sale, "200", external_id="order-1")

    assert sale.again().external_id == "order-1"


# A sale removed.


def test_takes_approved_amounts_back_and_leaves_the_rest(shop, account, odette):
    kept = shop.sell("50")
    sale = shop.sell("200", customer_id="acct-1")
    for it in (*commissions(kept), *commissions(sale)):
        approve(account, commission_id=it.pk, at=SOLD)

    remove_conversion(account, conversion_id=sale.pk, at=LATER)

    assert balances_of(account) == {
        "minakessler": {"EUR": Decimal(5)},
        "odettevarga": {"EUR": Decimal("1.5")},
    }
    assert not account.commissions.present().filter(conversion=sale).exists()
    assert account.customers.get().status == "paying"


def test_removes_a_sale_that_was_paid(shop, account):
    sale = shop.sell("200")
    commission = shop.commission_of(sale)
    approve(account, commission_id=commission.pk, at=SOLD)
    pay(account, orders=[Order("minakessler", Decimal(20), "EUR")], at=SOLD)

    remove_conversion(account, conversion_id=sale.pk, at=LATER)

    assert balances_of(account) == {"minakessler": {"EUR": Decimal(-20)}}
    assert commission.again().payment is None


@pytest.mark.parametrize("number", [0, 1])
def test_keeps_a_sale_of_which_one_commission_is_final(shop, account, odette, number):
    sale = shop.sell("200")
    freeze(commissions(sale)[number])
    before = everything(account)

    with pytest.raises(CommissionApproved):
        remove_conversion(account, conversion_id=sale.pk, at=LATER)

    assert everything(account) == before


def test_removes_a_sale_with_nothing_final_though_payouts_are_on(shop, account):
    sale = shop.sell("200", "100")
    disapprove(account, commission_id=commissions(sale)[0].pk, at=SOLD)
    account.uses_payouts = True
    account.save()

    remove_conversion(account, conversion_id=sale.pk, at=LATER)

    assert not account.conversions.present().exists()


def add(account, number, at=LATER):
    return add_commissions(account, conversion_id=number, items=items_of("1"), at=at)


def remove_sale(account, number):
    remove_conversion(account, conversion_id=number, at=LATER)


def change(account, number):
    change_conversion(
        account,
        conversion_id=number,
        changes={"amount": Decimal(1)},
        recalculate=True,
        at=LATER,
    )


STORIES = pytest.mark.parametrize("story", [change, remove_sale, add])


@STORIES
def test_does_not_know_removed_sales(shop, account, story):
    sale = shop.sell("200")
    remove_conversion(account, conversion_id=sale.pk, at=LATER)
    before = everything(account)

    with pytest.raises(ConversionNotFound):
        story(account, sale.pk)

    assert everything(account) == before


@STORIES
def test_does_not_know_the_sales_of_other_accounts(account, other_account, story):
    theirs = Shop(other_account, mark="zz-marker-").sell("200")
    before = everything(other_account)

    with pytest.raises(ConversionNotFound):
        story(account, theirs.pk)

    assert everything(other_account) == before


# A sale added to.


def test_books_extra_rewards_and_keeps_the_amount(shop, account, odette):
    sale = shop.sell("200", currency="JPY")
    written = account.events.count()

    made = add_commissions(
        account,
        conversion_id=sale.pk,
        items=items_of("15", ("100", "accessories")),
        at=LATER,
    )

    assert [
        (it.kind, it.affiliate_id, it.commission_type, it.sub_amount, it.amount)
        for it in made
    ] == [
        ("regular", shop.mina.affiliate.pk, "standard", 15, 2),  # 1.5, half up
        ("regular", shop.mina.affiliate.pk, "accessories", 100, 8),
        ("level", odette.affiliate.pk, "level-2", 15, 0),
        ("level", odette.affiliate.pk, "level-2", 100, 3),
    ]
    assert {(it.currency, it.status, it.created_at) for it in made} == {
        ("JPY", "pending", LATER)
    }
    assert sale.again().amount == 200
    told = account.events.order_by("id")[written:]
    assert [(it.kind, it.subject) for it in told] == [
        ("commission.created", f"commission:{it.pk}") for it in made
    ]


def test_books_rewards_past_every_cap(shop, account):
    shop.program.change(
        recurring=False, recurring_period_days=1, auto_approve_commissions=True
    )
    first = shop.sell("200", customer_id="acct-1")
    second = shop.sell("200", customer_id="acct-1")
    late = SOLD + timedelta(days=300)

    made = [*add(account, first.pk, late), *add(account, second.pk, late)]

    assert [it.status for it in made] == ["approved", "approved"]


@pytest.mark.parametrize(
    ("approves", "customer_id", "status"),
    [
        pytest.param(False, None, "pending", id="somebody-decides"),
        pytest.param(True, None, "approved", id="by-itself"),
        pytest.param(True, "mina@notes.example.org", "pending", id="warnings"),
    ],
)
def test_bears_rewards_in_the_state_of_any_commission(
    shop, account, approves, customer_id, status
):
    shop.program.change(auto_approve_commissions=approves)
    sale = shop.sell("0", customer_id=customer_id)

    (made,) = add_commissions(
        account, conversion_id=sale.pk, items=items_of("100"), at=LATER
    )

    assert made.status == status
    owed = {"minakessler": {"EUR": Decimal(10)}} if status == "approved" else {}
    assert balances_of(account) == owed


def test_lets_a_reward_wait_that_lacks_cover(shop, account):
    shop.program.change(auto_approve_commissions=True)
    sale = shop.sell("0")
    account.uses_payouts = True
    account.save()
    top_up(account, amount=Decimal(10), currency="EUR", at=SOLD)

    made = add_commissions(
        account, conversion_id=sale.pk, items=items_of("60", "60", "40"), at=LATER
    )

    assert [it.status for it in made] == ["approved", "pending", "approved"]
    assert [it.finalized_at for it in made] == [LATER, None, LATER]


@pytest.mark.parametrize(
    ("breaking", "refusal"),
    [
        pytest.param("removed archived", AffiliateDeleted, id="deleted-then-archived"),
        pytest.param("archived", ProgramIsLocked, id="archived"),
    ],
)
def test_adds_nothing_against_a_rule(shop, account, breaking, refusal):
    sale = shop.sell("200")
    if "archived" in breaking:
        archive(account, slug=shop.program.slug, at=SOLD)
    if "removed" in breaking:
        remove(shop.mina.affiliate)
    before = everything(account)

    with pytest.raises(refusal):
        add(account, sale.pk)

    assert everything(account) == before


def test_names_every_unknown_type_before_the_rules(shop, account):
    sale = shop.sell("200")
    archive(account, slug=shop.program.slug, at=SOLD)
    remove(shop.mina.affiliate)
    items = items_of(("1", "nothing"), "1", ("1", "level-2"))

    with pytest.raises(Several) as refused:
        add_commissions(account, conversion_id=sale.pk, items=items, at=LATER)

    assert [(it.text, it.path) for it in refused.value.refusals] == [
        ("Unknown commission type", "commissions[0].commission_type"),
        ("Unknown commission type", "commissions[2].commission_type"),
    ]


# Whatever breaks.


@STORIES
@pytest.mark.parametrize("payouts", [False, True], ids=["payouts-off", "payouts-on"])
def test_keeps_nothing_when_any_statement_fails(shop, account, odette, story, payouts):
    shop.program.change(auto_approve_commissions=True)
    sale = shop.sell("200", "100")
    if payouts:
        for it in commissions(sale):
            disapprove(account, commission_id=it.pk, at=SOLD)
        account.uses_payouts = True
        account.save()
        top_up(account, amount=Decimal(1000), currency="EUR", at=OPENED)
    before = everything(account)

    for number in range(200):
        with failing_at(number) as asked, suppress(Broken):
            story(account, sale.pk)
        if len(asked) == number:
            break
        assert everything(account) == before, f"{number}: {asked[number]}"

    assert number > 10
    assert everything(account) != before
    books_agree(account)
