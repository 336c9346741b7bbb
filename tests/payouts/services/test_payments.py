"""Contract 7.6: payments, what they cover, what canceling gives back."""

from contextlib import suppress
from datetime import timedelta
from decimal import Decimal

import pytest

from accounts.errors import Several
from payouts.errors import BalanceMoved, BalanceTooLarge, PaymentNotFound
from payouts.services.commissions import approve, disapprove
from payouts.services.funding import top_up
from payouts.services.ledger import balances_of
from payouts.services.payments import Order, cancel_payment, pay
from payouts.services.revising import change_commission, remove_conversion
from tests.proof import Broken, books_agree, everything, failing_at
from tests.shop import SOLD, Shop
from tracking.services.affiliates import remove_affiliate
from tracking.services.programs import archive

PAID = SOLD + timedelta(days=7)
LATER = SOLD + timedelta(days=8)


@pytest.fixture
def shop(account):
    """Whoever sells here for so much earns all of it."""
    shop = Shop(account)
    shop.type("all", 100)
    yield shop
    books_agree(account)


def earn(shop, *amounts, **sale):
    """Approved commissions of these amounts, each of its own sale, oldest first."""
    made = []
    for amount in amounts:
        commission = shop.commission_of(shop.sell((amount, "all"), **sale))
        made.append(approve(shop.account, commission_id=commission.pk, at=SOLD))
    return made


def paid(account, *amounts, to="minakessler", currency="EUR", at=PAID):
    """Payments of these amounts, in one batch."""
    orders = [Order(to, Decimal(amount), currency) for amount in amounts]
    return pay(account, orders=orders, at=at)


def cancel(account, payment, at=LATER):
    cancel_payment(account, payment_id=payment.public_id, at=at)


def covered_by(commissions, *payments):
    """For each commission the place of the payment that covers it, None for none."""
    numbers = [payment.pk for payment in payments]
    return [
        numbers.index(it.payment_id) if it.payment_id else None
        for it in (commission.again() for commission in commissions)
    ]


def use_payouts(account, *, on=True):
    account.uses_payouts = on
    account.save()


def owed(account):
    return balances_of(account)


def fund_of(account, currency="EUR"):
    """The payout balance."""
    return -account.ledger_accounts.get(kind="funding", currency=currency).balance


# What is covered.


@pytest.mark.parametrize(
    ("amounts", "payments", "covered"),
    [
        pytest.param(["20", "3.74"], ["23.74"], [0, 0], id="exactly"),
        pytest.param(["20", "3.74"], ["23.73"], [0, None], id="a-cent-short"),
        pytest.param(["20", "3.74"], ["100"], [0, 0], id="more-than-owed"),
        pytest.param(["30", "5"], ["10"], [None, None], id="stops-at-the-first"),
        pytest.param(["30", "5"], ["10", "25"], [1, 1], id="what-is-left-adds-up"),
        pytest.param(["5", "5", "5"], ["5", "5"], [0, 1, None], id="one-after-another"),
        pytest.param(["0", "5"], ["4"], [0, None], id="nought-fits"),
        pytest.param(["5", "0"], ["4"], [None, None], id="nought-waits-in-line"),
        pytest.param(["5", "0"], ["5"], [0, 0], id="nought-fits-into-nothing"),
    ],
)
@pytest.mark.parametrize("at_once", [True, False], ids=["in-one-batch", "one-by-one"])
def test_covers_the_oldest_while_they_fit_whole(
    shop, account, amounts, payments, covered, at_once
):
    commissions = earn(shop, *amounts)

    batches = [payments] if at_once else [[amount] for amount in payments]
    made = [payment for batch in batches for payment in paid(account, *batch)]

    assert covered_by(commissions, *made) == covered
    balance = sum(map(Decimal, amounts)) - sum(map(Decimal, payments))
    assert owed(account) == ({"minakessler": {"EUR": balance}} if balance else {})


def test_goes_by_the_date_of_a_commission_not_by_its_number(shop, account):
    (late,) = earn(shop, "10", at=SOLD + timedelta(days=2))
    (early,) = earn(shop, "10", at=SOLD + timedelta(days=1))

    (payment,) = paid(account, "10")

    assert covered_by([late, early], payment) == [None, 0]


def test_covers_only_what_is_approved(shop, account):
    waits = shop.commission_of(shop.sell(("5", "all")))
    (counts,) = earn(shop, "5")
    (refused,) = earn(shop, "5")
    disapprove(account, commission_id=refused.pk, at=SOLD)

    (payment,) = paid(account, "100")

    assert covered_by([waits, counts, refused], payment) == [None, 0, None]


def test_keeps_affiliates_and_currencies_apart(shop, account):
    rival = shop.join("Odette", "Varga")
    mine = earn(shop, "10")
    yen = earn(shop, "10", currency="JPY")
    theirs = earn(shop, "10", member=rival)

    (payment,) = paid(account, "1000")

    assert covered_by([*mine, *yen, *theirs], payment) == [0, None, None]
    assert owed(account) == {
        "minakessler": {"EUR": -990, "JPY": 10},
        "odettevarga": {"EUR": 10},
    }


def test_deals_a_mixed_batch_out_in_the_order_of_its_orders(shop, account):
    rival = shop.join("Odette", "Varga")
    mine = earn(shop, "10", "20")
    yen = earn(shop, "7", currency="JPY")
    theirs = earn(shop, "10", member=rival)

    made = pay(
        account,
        orders=[
            Order("odettevarga", Decimal(10), "EUR"),
            Order("minakessler", Decimal(15), "EUR"),
            Order("minakessler", Decimal(7), "JPY"),
            Order("minakessler", Decimal(15), "EUR"),
        ],
        at=PAID,
    )

    assert covered_by([*mine, *yen, *theirs], *made) == [1, 3, 2, 0]
    assert owed(account) == {}


def test_counts_what_an_edit_took_out_of_the_budget(shop, account):
    """A covered commission that grew is paid for first: 60 paid, 50 taken."""
    first, second, third = earn(shop, "20", "10", "10")
    before = paid(account, "20")
    change_commission(
        account, commission_id=first.pk, changes={"amount": Decimal(50)}, at=LATER
    )

    after = paid(account, "40")

    assert covered_by([first, second, third], *before, *after) == [0, 1, None]
    assert owed(account) == {"minakessler": {"EUR": Decimal(10)}}


def test_covers_nothing_while_what_is_covered_exceeds_all_payments(shop, account):
    """Not even a commission of nought."""
    (first,) = earn(shop, "20")
    before = paid(account, "20")
    change_commission(
        account, commission_id=first.pk, changes={"amount": Decimal(30)}, at=LATER
    )
    (nought,) = earn(shop, "0")

    short = paid(account, "9.99")

    assert covered_by([first, nought], *before, *short) == [0, None]
    enough = paid(account, "0.01")
    assert covered_by([first, nought], *before, *enough) == [0, 1]


@pytest.mark.parametrize(
    "uncover",
    [
        pytest.param(
            lambda account, it: disapprove(account, commission_id=it.pk, at=LATER),
            id="disapproved",
        ),
        pytest.param(
            lambda account, it: change_commission(
                account, commission_id=it.pk, changes={"status": "pending"}, at=LATER
            ),
            id="back-to-pending",
        ),
        pytest.param(
            lambda account, it: remove_conversion(
                account, conversion_id=it.conversion_id, at=LATER
            ),
            id="removed",
        ),
    ],
)
def test_deals_out_what_was_uncovered_with_the_next_payment(shop, account, uncover):
    first, second, third = earn(shop, "20", "15", "10")
    before = paid(account, "20")

    uncover(account, first)

    assert covered_by([first, second, third], *before) == [None, None, None]
    assert owed(account) == {"minakessler": {"EUR": Decimal(5)}}
    after = paid(account, "5")
    assert covered_by([first, second, third], *before, *after) == [None, 1, 1]


def test_covers_again_what_was_approved_again(shop, account):
    (commission,) = earn(shop, "20")
    before = paid(account, "20")
    disapprove(account, commission_id=commission.pk, at=LATER)
    approve(account, commission_id=commission.pk, at=LATER)

    assert covered_by([commission], *before) == [None]
    after = paid(account, "0.01")
    assert covered_by([commission], *before, *after) == [1]


# Canceling.


def test_uncovers_only_what_the_canceled_payment_covered(shop, account):
    commissions = earn(shop, "10", "20", "30")
    first, second = paid(account, "10", "50")

    cancel(account, first)

    assert covered_by(commissions, first, second) == [None, 1, 1]
    assert owed(account) == {"minakessler": {"EUR": Decimal(10)}}
    assert (first.again().canceled_at, second.again().canceled_at) == (LATER, None)
    (third,) = paid(account, "10")
    assert covered_by(commissions, first, second, third) == [2, 1, 1]


def test_deals_nothing_out_when_a_payment_is_canceled(shop, account):
    """The rest of the other payment would fit: it waits for the next one."""
    first, second = earn(shop, "30", "5")
    payments = paid(account, "30", "4.99")

    cancel(account, payments[0])

    assert covered_by([first, second], *payments) == [None, None]
    (third,) = paid(account, "25.01")
    assert covered_by([first, second], *payments, third) == [2, None]


def test_cancels_once(shop, account):
    earn(shop, "20")
    (payment,) = paid(account, "20")
    cancel(account, payment)
    before = everything(account)

    with pytest.raises(PaymentNotFound) as refused:
        cancel(account, payment)

    assert str(refused.value) == "Payment not found"
    assert everything(account) == before
    assert owed(account) == {"minakessler": {"EUR": Decimal(20)}}


def test_exchanges_the_sides_of_the_transfer(shop, account):
    (payment,) = paid(account, "20")
    cancel(account, payment)

    there, back = account.transfers.filter(payment=payment).order_by("id")

    assert (there.kind, there.debit.kind, there.credit.kind) == (
        *("paid", "payable", "paid"),
    )
    assert (back.kind, back.debit_id, back.credit_id) == (
        *("payment_canceled", there.credit_id, there.debit_id),
    )
    assert (back.reverses_id, back.amount, back.created_at) == (there.pk, 20, LATER)
    assert (there.reverses_id, there.amount, there.created_at) == (None, 20, PAID)


def test_does_not_cancel_the_payments_of_another_account(shop, account, other_account):
    (payment,) = paid(account, "20")
    before = everything(account)

    with pytest.raises(PaymentNotFound):
        cancel(other_account, payment)

    assert everything(account) == before


# Whom, and how much.


def test_pays_removed_affiliates_of_archived_programs(shop, account):
    (commission,) = earn(shop, "20")
    remove_affiliate(account, affiliate_id="minakessler", at=LATER)
    archive(account, slug=shop.program.slug, at=LATER)

    (payment,) = paid(account, "20", at=LATER)

    assert covered_by([commission], payment) == [0]
    cancel(account, payment)
    assert owed(account) == {"minakessler": {"EUR": Decimal(20)}}


def test_refuses_the_whole_batch_and_names_everybody_unknown(
    shop, account, other_account
):
    Shop(other_account, mark="zz-marker-")
    known = ("minakessler", "[0].")
    strangers = ["zz-marker-minakessler", "Minakessler"]
    before = everything(account)

    with pytest.raises(Several) as refused:
        pay(
            account,
            orders=[
                Order(slug, Decimal(5), "EUR", place)
                for slug, place in [
                    known,
                    *((it, f"[{n}].") for n, it in enumerate(strangers, 1)),
                ]
            ],
            at=PAID,
        )

    assert [(it.text, it.path) for it in refused.value.refusals] == [
        ("Unknown affiliate", "[1].affiliate_id"),
        ("Unknown affiliate", "[2].affiliate_id"),
    ]
    assert everything(account) == before


def test_refuses_a_debt_that_its_column_could_not_hold(shop, account):
    most = "9999999999999"
    paid(account, *[most] * 90)
    paid(account, "89")
    before = everything(account)

    with pytest.raises(BalanceTooLarge):
        paid(account, "0.01", "1")

    assert everything(account) == before


def test_tells_the_diary(shop, account):
    first, second = earn(shop, "10", "10")
    written = account.events.count()

    (payment,) = paid(account, "15")
    cancel(account, payment)

    subject, commission = f"payment:{payment.public_id}", f"commission:{first.pk}"
    told = account.events.order_by("id")[written:]
    assert [(it.kind, it.subject, it.facts, it.created_at) for it in told] == [
        ("payment.created", subject, {}, PAID),
        ("commission.updated", commission, {"fields": ["payout"]}, PAID),
        ("payment.canceled", subject, {}, LATER),
        ("commission.updated", commission, {"fields": ["payout"]}, LATER),
    ]
    assert second.again().payment_id is None


# With the payout feature.


def test_takes_a_payment_out_of_the_payout_balance_and_puts_it_back(shop, account):
    use_payouts(account)
    top_up(account, amount=Decimal(100), currency="EUR", at=SOLD)
    (commission,) = earn(shop, "60")

    (payment,) = paid(account, "60")

    assert (fund_of(account), owed(account)) == (40, {})
    assert covered_by([commission], payment) == [0]
    cancel(account, payment)
    assert (fund_of(account), owed(account)) == (100, {"minakessler": {"EUR": 60}})
    assert covered_by([commission], payment) == [None]
    assert commission.again().status == "approved"


def test_never_refuses_a_payment_for_lack_of_payout_balance(shop, account):
    use_payouts(account)
    top_up(account, amount=Decimal("10.5"), currency="EUR", at=SOLD)

    paid(account, "30")
    paid(account, "7", currency="JPY")

    assert (fund_of(account), fund_of(account, "JPY")) == (Decimal("-19.5"), -7)
    assert owed(account) == {"minakessler": {"EUR": -30, "JPY": -7}}


@pytest.mark.parametrize("on", [True, False], ids=["paid-with", "paid-without"])
def test_puts_the_amount_back_where_it_came_from(shop, account, on):
    """Whatever the account does by the time it is canceled."""
    top_up(account, amount=Decimal(100), currency="EUR", at=SOLD)
    use_payouts(account, on=on)
    (payment,) = paid(account, "30")
    assert fund_of(account) == (70 if on else 100)
    use_payouts(account, on=not on)

    cancel(account, payment)

    assert (fund_of(account), owed(account)) == (100, {})
    books_agree(account)


# All or nothing.


def test_keeps_nothing_when_any_statement_fails(shop, account):
    use_payouts(account)
    top_up(account, amount=Decimal(100), currency="EUR", at=SOLD)
    earn(shop, "10", "20")

    def story_of_paying():
        paid(account, "10", "20")

    def story_of_canceling():
        cancel(account, account.payments.standing().first())

    for story in (story_of_paying, story_of_canceling):
        before = everything(account)
        for number in range(100):
            with failing_at(number) as asked, suppress(Broken):
                story()
            if len(asked) == number:
                break
            assert everything(account) == before, f"{number}: {asked[number]}"
        assert number > 6
        books_agree(account)
    assert account.payments.standing().count() == 1


@pytest.mark.parametrize("amount", ["0.01", "19.99", "20.01", "40"])
def test_pays_while_so_much_is_owed_where_that_is_asked(shop, account, amount):
    earn(shop, "20")

    def pay_owed(amount):
        owed = Decimal(amount)
        order = Order(shop.mina.slug, owed, "EUR", owed=owed)
        return pay(account, orders=[order], at=SOLD)

    with pytest.raises(BalanceMoved) as refused:
        pay_owed(amount)
    assert str(refused.value) == "The balance is 20 EUR by now"
    assert not account.payments.exists()

    pay_owed("20")
    with pytest.raises(BalanceMoved, match="The balance is 0 EUR by now"):
        pay_owed("20")
    assert account.payments.count() == 1
