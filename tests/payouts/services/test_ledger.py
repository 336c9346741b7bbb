"""architecture.md, section 14: each transfer, and what they add up to."""

from decimal import Decimal

import pytest
from django.db import connection, transaction

from accounts.engines import OnlyGrows, naming_refused_changes
from payouts.errors import BalanceTooLarge
from payouts.models.commission_types import RateKind
from payouts.services.commissions import approve, disapprove
from payouts.services.ledger import balances_of, hold
from tests.proof import books_agree, everything
from tests.shop import SOLD, Shop, remove

EARNED = ("earned", "expense", "pending")
APPROVED = ("approved", "pending", "payable")
REOPENED = ("reopened", "payable", "pending")
WITHDRAWN = ("withdrawn", "pending", "expense")

STORIES = {
    "pending": ((), [EARNED]),
    "approved": ((approve,), [EARNED, APPROVED]),
    "approved-twice": ((approve, approve), [EARNED, APPROVED]),
    "disapproved": ((disapprove,), [EARNED, WITHDRAWN]),
    "disapproved-twice": ((disapprove, disapprove), [EARNED, WITHDRAWN]),
    "approved-then-disapproved": (
        (approve, disapprove),
        [EARNED, APPROVED, REOPENED, WITHDRAWN],
    ),
    "disapproved-then-approved": (
        (disapprove, approve),
        [EARNED, WITHDRAWN, EARNED, APPROVED],
    ),
}


@pytest.fixture
def shop(account):
    shop = Shop(account)
    yield shop
    books_agree(account)


def act(shop, commission, *decisions):
    for decide in decisions:
        decide(shop.account, commission_id=commission.pk, at=SOLD)


def chain(account, commission):
    """The transfers of a commission: kind, from, to, in the order of their steps."""
    rows = account.transfers.filter(commission=commission).order_by("step")
    return list(rows.values_list("kind", "debit__kind", "credit__kind"))


def stored(account):
    """(kind, affiliate's slug, currency) → the balance that is stored."""
    rows = account.ledger_accounts.values_list(
        "kind", "affiliate__slug", "currency", "balance"
    )
    return {(kind, slug, currency): balance for kind, slug, currency, balance in rows}


@pytest.mark.parametrize("story", STORIES)
def test_moves_a_commission_step_by_step(shop, account, story):
    decisions, moves = STORIES[story]
    commission = shop.commission_of(shop.sell("200"))

    act(shop, commission, *decisions)

    assert chain(account, commission) == moves
    rows = account.transfers.order_by("step")
    assert [row.step for row in rows] == list(range(1, len(moves) + 1))
    assert {(row.amount, row.currency, row.created_at) for row in rows} == {
        (Decimal(20), "EUR", SOLD)
    }


@pytest.mark.parametrize("story", STORIES)
def test_moves_nothing_for_a_commission_of_nought(shop, account, story):
    decisions, _ = STORIES[story]
    commission = shop.commission_of(shop.sell("0"))

    act(shop, commission, *decisions)

    assert not account.transfers.exists()


def test_earns_and_approves_at_birth(shop, account):
    shop.program.change(auto_approve_commissions=True)

    commission = shop.commission_of(shop.sell("200"))

    assert chain(account, commission) == [EARNED, APPROVED]


def test_moves_nothing_past_the_cap(shop, account):
    shop.program.change(recurring=False)
    shop.sell("200", customer_id="acct-1")

    commission = shop.commission_of(shop.sell("200", customer_id="acct-1"))

    assert chain(account, commission) == []


@pytest.mark.parametrize(
    ("decisions", "pending", "payable"),
    [
        pytest.param((), 20, 0, id="pending"),
        pytest.param((approve,), 0, 20, id="approved"),
        pytest.param((approve, disapprove), 0, 0, id="disapproved"),
    ],
)
def test_stores_the_balances_that_a_decision_needs(
    shop, account, decisions, pending, payable
):
    act(shop, shop.commission_of(shop.sell("200")), *decisions)

    assert stored(account) == {
        ("expense", None, "EUR"): None,
        ("pending", "minakessler", "EUR"): Decimal(pending),
        ("payable", "minakessler", "EUR"): Decimal(payable),
    }


def test_keeps_a_place_for_each_affiliate_and_currency(shop, account):
    rival = shop.join("Odette", "Varga")
    shop.sell("200")
    shop.sell("200", member=rival)
    shop.sell("0.30000000000000004")
    shop.sell("200", currency="JPY")

    assert stored(account) == {
        ("expense", None, "EUR"): None,
        ("pending", "minakessler", "EUR"): Decimal("20.03"),
        ("payable", "minakessler", "EUR"): Decimal(0),
        ("pending", "odettevarga", "EUR"): Decimal(20),
        ("payable", "odettevarga", "EUR"): Decimal(0),
        ("expense", None, "JPY"): None,
        ("pending", "minakessler", "JPY"): Decimal(20),
        ("payable", "minakessler", "JPY"): Decimal(0),
    }


def test_tells_balances_sorted_and_without_noughts(shop, account):
    rival = shop.join("Odette", "Varga")
    idle = shop.join("Abel", "Idle")
    for member, currency in (
        *((rival, "EUR"), (shop.mina, "KWD"), (shop.mina, "EUR")),
        *((shop.mina, "JPY"), (rival, "CHF")),
    ):
        sale = shop.sell("200", member=member, currency=currency)
        act(shop, shop.commission_of(sale), approve)
    act(shop, shop.commission_of(shop.sell("1", member=rival)), disapprove)
    shop.sell("200", member=idle)
    remove(rival.affiliate)

    told = balances_of(account)

    assert told == {
        "minakessler": {"EUR": 20, "JPY": 20, "KWD": 20},
        "odettevarga": {"CHF": 20, "EUR": 20},
    }
    assert [list(told), *map(list, told.values())] == [
        ["minakessler", "odettevarga"],
        ["EUR", "JPY", "KWD"],
        ["CHF", "EUR"],
    ]
    assert balances_of(account, rival.affiliate.pk) == {
        "odettevarga": {"CHF": 20, "EUR": 20}
    }
    assert balances_of(account, idle.affiliate.pk) == {}


def test_keeps_the_books_of_two_accounts_apart(shop, account, other_account):
    theirs = Shop(other_account, mark="zz-marker-")
    act(theirs, theirs.commission_of(theirs.sell("1000")), approve)

    act(shop, shop.commission_of(shop.sell("200")), approve)

    assert balances_of(account) == {"minakessler": {"EUR": 20}}
    books_agree(account, other_account)


# It only grows.


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda rows: rows.update(amount=Decimal(1)), id="update"),
        pytest.param(lambda rows: rows.update(step=9), id="renumber"),
        pytest.param(lambda rows: rows._raw_delete(rows.db), id="delete"),
    ],
)
def test_refuses_to_change_or_delete_a_transfer(shop, account, change):
    shop.sell("200")
    before = everything(account)

    with pytest.raises(OnlyGrows), naming_refused_changes(), transaction.atomic():
        change(account.transfers.all())

    assert everything(account) == before


# What does not fit.


def test_refuses_a_balance_that_its_column_could_not_hold(shop, account):
    """Below 9·10¹⁴: ninety times the largest amount, and not ninety more."""
    shop.type("huge", 9_999_999_999_999, kind=RateKind.FIXED)
    shop.type("rest", 89, kind=RateKind.FIXED)
    shop.type("one", 1, kind=RateKind.FIXED)
    shop.sell(*[("0", "huge")] * 90)
    shop.sell(("0", "rest"))
    before = everything(account)

    with pytest.raises(BalanceTooLarge) as refused:
        shop.sell(("0", "one"), customer_id="acct-1")

    assert str(refused.value) == "This value has too many digits."
    assert stored(account)[("pending", "minakessler", "EUR")] == 9 * 10**14 - 1
    assert everything(account) == before


def test_refuses_an_approval_that_its_column_could_not_hold(shop, account):
    shop.type("huge", 9_999_999_999_999, kind=RateKind.FIXED)
    shop.type("rest", 90, kind=RateKind.FIXED)
    shop.program.change(auto_approve_commissions=True)
    shop.sell(*[("0", "huge")] * 90)
    shop.program.change(auto_approve_commissions=False)
    last = shop.commission_of(shop.sell(("0", "rest")))
    before = everything(account)

    with pytest.raises(BalanceTooLarge):
        act(shop, last, approve)

    assert everything(account) == before


# Locks.


def asked_of(statements, story):
    with statements() as asked:
        story()
    return [it["sql"] for it in asked.captured_queries]


def test_opens_the_books_of_a_sale_after_everything_else(shop, statements):
    asked = asked_of(
        statements, lambda: shop.sell("200", customer_id="acct-1", external_id="one")
    )

    books = [
        number
        for number, sql in enumerate(asked)
        if "payouts_ledgeraccount" in sql or "payouts_transfer" in sql
    ]
    others = [
        number
        for number, sql in enumerate(asked)
        if sql.startswith(("INSERT", "UPDATE")) and number not in books
    ]
    assert max(others) < min(books)


def test_locks_the_books_before_it_changes_a_commission(shop, account, statements):
    commission = shop.commission_of(shop.sell("200"))

    asked = asked_of(statements, lambda: act(shop, commission, approve))

    locked = next(
        number
        for number, sql in enumerate(asked)
        if "payouts_ledgeraccount" in sql and "ORDER BY" in sql
    )
    changed = next(
        number
        for number, sql in enumerate(asked)
        if sql.startswith('UPDATE "payouts_commission"')
    )
    looked_again = [
        number
        for number, sql in enumerate(asked)
        if sql.startswith("SELECT") and 'FROM "payouts_commission"' in sql
    ]
    assert locked < max(looked_again) < changed


@pytest.mark.skipif(
    connection.vendor == "sqlite",
    reason="SQLite has one writer: there are no row locks to look at",
)
def test_locks_rows_once_in_the_order_of_their_ids(shop, account, statements):
    rival = shop.join("Odette", "Varga")
    purses = [(it.affiliate.pk, "EUR") for it in (rival, shop.mina)]

    def open_books():
        with (
            transaction.atomic(),
            hold(account, purses, at=SOLD) as books,
        ):
            books.covers(purses[0], Decimal(0), besides=())

    account.uses_payouts = True
    asked = asked_of(statements, open_books)

    locks = [sql for sql in asked if "FOR NO KEY UPDATE" in sql]
    assert len(locks) == 1
    assert 'ORDER BY "payouts_ledgeraccount"."id" ASC' in locks[0]


def test_makes_no_place_before_its_first_word(shop, account, statements):
    def ask_nothing():
        with hold(account, [(shop.mina.affiliate.pk, "EUR")], at=SOLD):
            pass

    assert asked_of(statements, ask_nothing) == []
    assert stored(account) == {}
