"""Contract 2.3.2 and 2.3.3: PATCH of a commission, what follows and what it moves."""

import json
from contextlib import suppress
from datetime import timedelta
from decimal import Decimal

import pytest

from payouts.errors import (
    BalanceTooLarge,
    CommissionApproved,
    CommissionNotFound,
    CommissionUnfunded,
    OnlyOfASale,
)
from payouts.models.commission_types import RateKind
from payouts.services.bonuses import grant_bonuses
from payouts.services.commissions import approve, disapprove
from payouts.services.funding import top_up
from payouts.services.ledger import balances_of
from payouts.services.payments import Order, pay
from payouts.services.revising import change_commission, remove_conversion
from tests.proof import Broken, books_agree, everything, failing_at
from tests.shop import SOLD, Shop
from tracking.errors import TooManyDigits

LATER = SOLD + timedelta(days=1)


@pytest.fixture
def shop(account):
    shop = Shop(account)
    yield shop
    books_agree(account)


@pytest.fixture
def commission(shop):
    """20 EUR of a sale of 200, pending."""
    return shop.commission_of(shop.sell("200"))


@pytest.fixture
def family(shop):
    """Mina's 20 of 200 with what her parent and grandparent get: 6 and 2, pending."""
    parent, grandparent = shop.join("Odette", "Varga"), shop.join("Abel", "Sorel")
    shop.mina.affiliate.change(parent=parent.affiliate)
    parent.affiliate.change(parent=grandparent.affiliate)
    shop.level(2, 3)
    shop.level(3, 1)
    sale = shop.sell("200")
    return list(shop.account.commissions.filter(conversion=sale).order_by("id"))


def changed(commission, **changes):
    """The commission as it is stored after a change."""
    amounts = {
        name: value if name in ("comment", "status") else Decimal(value)
        for name, value in changes.items()
    }
    change_commission(
        commission.account, commission_id=commission.pk, changes=amounts, at=LATER
    )
    return commission.again()


def decided(commission, status):
    """Brought into this state from pending."""
    decide = {"approved": approve, "disapproved": disapprove}.get(status)
    if decide:
        decide(commission.account, commission_id=commission.pk, at=SOLD)
    return commission.again()


def use_payouts(account, *, fund=None):
    account.uses_payouts = True
    account.save()
    if fund:
        top_up(account, amount=Decimal(fund), currency="EUR", at=SOLD)


def of(commission):
    """What PATCH can change."""
    return (commission.sub_amount, commission.amount, commission.status)


def sale_of(commission):
    return commission.account.conversions.get(pk=commission.conversion_id).amount


def balance(account):
    return balances_of(account).get("minakessler", {}).get("EUR", 0)


# Amounts.


@pytest.mark.parametrize("status", ["pending", "approved", "disapproved"])
@pytest.mark.parametrize("amount", ["0", "0.01", "19.99", "20.01", "9999999999999.99"])
def test_sets_the_amount_in_any_state_without_the_payout_feature(
    account, commission, status, amount
):
    decided(commission, status)

    after = changed(commission, amount=amount)

    assert of(after) == (200, Decimal(amount), status)
    assert sale_of(commission) == 200
    assert balance(account) == (Decimal(amount) if status == "approved" else 0)


@pytest.mark.parametrize("status", ["pending", "approved", "disapproved"])
@pytest.mark.parametrize(
    ("sub_amount", "amount"),
    [
        pytest.param("0", "0", id="nought"),
        pytest.param("300", "30", id="more"),
        pytest.param("99.95", "10", id="half-up"),
        pytest.param("99.94", "9.99", id="down"),
    ],
)
def test_recalculates_by_the_stored_rate_and_moves_the_sale(
    shop, account, commission, status, sub_amount, amount
):
    decided(commission, status)
    account.commission_types.update(value=Decimal(50))

    after = changed(commission, sub_amount=sub_amount)

    assert of(after) == (Decimal(sub_amount), Decimal(amount), status)
    assert sale_of(commission) == Decimal(sub_amount)
    assert balance(account) == (Decimal(amount) if status == "approved" else 0)


def test_keeps_a_fixed_amount_whatever_the_part(shop):
    shop.type("flat", 5, kind=RateKind.FIXED)
    commission = shop.commission_of(shop.sell(("200", "flat")))

    assert of(changed(commission, sub_amount="300")) == (300, 5, "pending")
    assert sale_of(commission) == 300


def test_lets_the_amount_decide_when_both_are_sent(commission):
    after = changed(commission, sub_amount="300", amount="20")

    assert of(after) == (300, 20, "pending")
    assert sale_of(commission) == 300
    assert json.loads(after.working)["by_hand"] is True


def test_overwrites_an_amount_set_by_hand_with_another_part(commission):
    changed(commission, amount="77")

    after = changed(commission, sub_amount="300")

    assert of(after) == (300, 30, "pending")
    assert "by_hand" not in json.loads(after.working)


@pytest.mark.parametrize(
    ("stands", "sub_amount", "falls_to"),
    [
        pytest.param("500", "50", "350", id="by-the-same-difference"),
        pytest.param("150", "50", "0", id="to-nought"),
        pytest.param("149.99", "50", "0", id="not-below-nought"),
        pytest.param("0", "200.01", "0.01", id="up-from-nought"),
    ],
)
def test_moves_the_sale_by_the_difference_not_to_the_sum(
    account, commission, stands, sub_amount, falls_to
):
    sale = account.conversions.get()
    sale.change(amount=Decimal(stands))

    changed(commission, sub_amount=sub_amount)

    assert sale_of(commission) == Decimal(falls_to)


def test_changes_one_part_of_a_sale_alone(shop, account):
    sale = shop.sell("100", "50")
    first, second = account.commissions.filter(conversion=sale).order_by("id")

    changed(second, sub_amount="60")

    assert [of(it.again()) for it in (first, second)] == [
        (100, 10, "pending"),
        (60, 6, "pending"),
    ]
    assert sale_of(first) == 160


@pytest.mark.parametrize(
    ("currency", "sub_amount", "amount"),
    [("JPY", "15", "2"), ("JPY", "14", "1"), ("KWD", "0.005", "0.001")],
)
def test_rounds_to_the_currency_of_the_sale(shop, currency, sub_amount, amount):
    commission = shop.commission_of(shop.sell("200", currency=currency))

    after = changed(commission, sub_amount=sub_amount)

    assert after.amount == Decimal(amount)


def test_refuses_a_sale_that_its_column_could_not_hold(shop, account):
    sale = shop.sell("9999999999998", "1")
    second = account.commissions.filter(conversion=sale).latest("id")
    before = everything(account)

    with pytest.raises(TooManyDigits) as refused:
        changed(second, sub_amount="2.01")

    assert refused.value.path == "conversion_sub_amount"
    assert everything(account) == before


def test_refuses_a_balance_that_its_column_could_not_hold(shop, account):
    shop.type("huge", 9_999_999_999_999, kind=RateKind.FIXED)
    last = shop.commission_of(shop.sell("0"))
    shop.sell(*[("0", "huge")] * 90)
    before = everything(account)

    with pytest.raises(BalanceTooLarge):
        changed(last, amount="90")

    assert everything(account) == before
    assert changed(last, amount="89").amount == 89


# Levels.


def test_takes_the_levels_along_with_a_part_not_with_an_amount(account, family):
    own, *above = family

    changed(own, amount="100")
    assert [it.again().amount for it in above] == [6, 2]
    changed(own, sub_amount="300", amount="1")

    assert [of(it.again()) for it in family] == [
        (300, 1, "pending"),
        (300, 9, "pending"),
        (300, 3, "pending"),
    ]


def test_moves_the_balances_of_the_levels(account, family):
    for it in family[:2]:
        decided(it, "approved")
    decided(family[2], "disapproved")

    changed(family[0], sub_amount="100")

    assert balances_of(account) == {
        "minakessler": {"EUR": 10},
        "odettevarga": {"EUR": 3},
    }
    assert of(family[2].again()) == (100, 1, "disapproved")


def test_leaves_final_levels_as_they_are(account, family):
    use_payouts(account, fund="6")
    decided(family[1], "approved")

    changed(family[0], sub_amount="300")

    assert [it.again().amount for it in family] == [30, 6, 3]


def test_changes_a_level_alone_and_never_its_part(account, family):
    own, level, _ = family

    assert changed(level, amount="50").amount == 50
    assert (own.again().amount, sale_of(own)) == (20, 200)
    for same_or_not in ("200", "300"):
        before = everything(account)
        with pytest.raises(OnlyOfASale) as refused:
            changed(level, sub_amount=same_or_not, comment="no")
        assert refused.value.path == "conversion_sub_amount"
        assert everything(account) == before


# A bonus is of no sale.


def test_changes_a_bonus(shop, account):
    shop.bonus(goal=1, value=50)
    decided(shop.commission_of(shop.sell("200")), "approved")
    (bonus,) = grant_bonuses(account, at=SOLD + timedelta(days=40))

    after = changed(bonus, amount="40", comment="Well done", status="approved")

    assert (of(after), after.comment) == ((None, 40, "approved"), "Well done")
    assert balance(account) == 60
    with pytest.raises(OnlyOfASale):
        changed(bonus, sub_amount="1")


# Decisions.


@pytest.mark.parametrize("before", ["pending", "approved", "disapproved"])
@pytest.mark.parametrize("goal", ["pending", "approved", "disapproved"])
def test_decides_from_any_state_without_the_payout_feature(
    account, commission, before, goal
):
    decided(commission, before)

    after = changed(commission, status=goal)

    assert (of(after), after.finalized_at) == ((200, 20, goal), None)
    assert balance(account) == (20 if goal == "approved" else 0)


@pytest.mark.parametrize("goal", ["pending", "disapproved"])
def test_uncovers_what_is_no_longer_approved(account, commission, goal):
    decided(commission, "approved")
    pay(account, orders=[Order("minakessler", Decimal(20), "EUR")], at=SOLD)

    after = changed(commission, status=goal)

    assert (after.payment_id, balance(account)) == (None, -20)


def test_keeps_the_cover_of_a_commission_with_another_amount(account, commission):
    decided(commission, "approved")
    (payment,) = pay(
        account, orders=[Order("minakessler", Decimal(20), "EUR")], at=SOLD
    )

    after = changed(commission, amount="25", comment="more")

    assert (after.payment_id, balance(account)) == (payment.pk, 5)


def test_changes_everything_at_once_or_nothing(account, commission):
    use_payouts(account, fund="29.99")
    said = {"sub_amount": "300", "comment": "all of it", "status": "approved"}
    before = everything(account)

    with pytest.raises(CommissionUnfunded):
        changed(commission, **said)

    assert everything(account) == before
    after = changed(commission, **said | {"amount": "29.99"})
    assert of(after) == (300, Decimal("29.99"), "approved")
    assert (after.comment, after.finalized_at) == ("all of it", LATER)


FINAL = {
    "approve": {"status": "approved"},
    "disapprove": {"status": "disapproved"},
    "back to pending": {"status": "pending"},
    "another amount": {"amount": "20.01"},
    "another part": {"sub_amount": "200.01"},
    "a comment beside it": {"comment": "no", "amount": "1"},
    "the same amount for another part": {"sub_amount": "300", "amount": "20"},
}


@pytest.mark.parametrize("changes", FINAL.values(), ids=FINAL)
def test_freezes_what_is_final(account, commission, changes):
    use_payouts(account, fund="20")
    decided(commission, "approved")
    before = everything(account)

    with pytest.raises(CommissionApproved):
        changed(commission, **changes)

    assert everything(account) == before


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"amount": "20", "sub_amount": "200"}, id="the-same-amounts"),
        pytest.param({"comment": "thanks"}, id="a-comment"),
    ],
)
def test_takes_what_leaves_the_money_of_a_final_one_alone(account, commission, changes):
    use_payouts(account, fund="20")
    decided(commission, "approved")

    after = changed(commission, **changes)

    assert of(after) == (200, 20, "approved")
    assert after.comment == changes.get("comment")


@pytest.mark.parametrize("before", ["pending", "disapproved"])
@pytest.mark.parametrize("goal", ["pending", "disapproved"])
def test_changes_what_is_not_final_with_the_payout_feature(
    account, commission, before, goal
):
    use_payouts(account)
    decided(commission, before)

    after = changed(commission, sub_amount="100", status=goal)

    assert (of(after), after.finalized_at) == ((100, 10, goal), None)
    assert sale_of(commission) == 100


def test_wants_cover_for_what_is_owed_already_and_the_new_amount(shop, account):
    rival = shop.join("Odette", "Varga")
    owed = shop.commission_of(shop.sell("300", member=rival))
    commission = shop.commission_of(shop.sell("200"))
    use_payouts(account, fund="45")
    decided(owed, "approved")

    with pytest.raises(CommissionUnfunded):
        changed(commission, amount="15.01", status="approved")

    assert changed(commission, amount="15", status="approved").status == "approved"


# The diary, and what is not there.


def test_tells_the_diary_only_what_changed(account, commission):
    written = account.events.count()

    changed(commission, sub_amount="300", comment="secret", status="approved")
    changed(commission, sub_amount="300", comment="secret", status="approved")

    told = account.events.order_by("id")[written:]
    subject = f"commission:{commission.pk}"
    assert [(it.kind, it.subject, sorted(it.facts)) for it in told] == [
        ("commission.updated", subject, ["amount", "fields"]),
        ("commission.updated", subject, ["status"]),
        (
            *("conversion.updated", f"conversion:{commission.conversion_id}"),
            sorted(told[2].facts),
        ),
    ]
    assert told[0].facts["fields"] == ["comment", "sub_amount"]
    assert [Decimal(it) for it in told[0].facts["amount"]] == [20, 30]


def test_does_not_know_what_was_removed_or_is_somebody_elses(
    account, other_account, commission
):
    with pytest.raises(CommissionNotFound):
        change_commission(
            other_account, commission_id=commission.pk, changes={}, at=LATER
        )
    remove_conversion(account, conversion_id=commission.conversion_id, at=LATER)

    with pytest.raises(CommissionNotFound):
        changed(commission, comment="late")


def test_keeps_nothing_when_any_statement_fails(account, family):
    before = everything(account)

    for number in range(100):
        with failing_at(number) as asked, suppress(Broken):
            change_commission(
                account,
                commission_id=family[0].pk,
                changes={"sub_amount": Decimal(300), "status": "approved"},
                at=LATER,
            )
        if len(asked) == number:
            break
        assert everything(account) == before, f"{number}: {asked[number]}"

    assert number > 10
    assert [it.again().amount for it in family] == [30, 9, 3]
