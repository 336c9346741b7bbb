"""reliability.md, section 6: each equation holds after a story, and finds an error.

Errors are planted past the services, on rows that the database lets be changed; the
triggers of the append-only tables stay.
"""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import IntegrityError, connection, transaction

from payouts.models.commissions import Commission
from payouts.services import proof
from payouts.services.commissions import approve, disapprove
from payouts.services.funding import top_up
from payouts.services.payments import Order, cancel_payment, pay
from payouts.services.proof import Failure, prove
from tests.proof import books_agree
from tests.shop import SOLD, Shop

LATER = SOLD + timedelta(days=1)


@pytest.fixture
def commission(shop):
    """20 EUR of a sale of 200, pending."""
    return shop.commission_of(shop.sell("200"))


def approved(shop, amount="100", **sale):
    """A commission that is approved."""
    commission = shop.commission_of(shop.sell(amount, **sale))
    return approve(shop.account, commission_id=commission.pk, at=SOLD)


def found(*accounts):
    """The equations that do not hold."""
    return {it.equation for it in prove(accounts, at=LATER).failures}


def place(account, kind, currency="EUR"):
    return account.ledger_accounts.get(kind=kind, currency=currency)


def post(account, commission, step, **odd):
    """Insert a transfer that nobody should have written: pending → payable."""
    return account.transfers.create(
        **{
            "currency": "EUR",
            "kind": "approved",
            "debit": place(account, "pending"),
            "credit": place(account, "payable"),
            "amount": commission.amount,
            "commission": commission,
            "step": step,
        }
        | odd
    )


def test_finds_nothing_in_books_without_a_story(account):
    report = books_agree(account)

    assert (report.ledger_accounts, report.transfers) == (0, 0)
    assert (report.closed_count, report.closed_last_id) == (0, None)


def test_finds_nothing_after_stories(shop, account, other_account):
    rival = shop.join("Odette", "Varga")
    theirs = Shop(other_account, mark="zz-marker-")
    approved(theirs)
    approved(shop)
    approved(shop, "5000", currency="JPY", member=rival)
    shop.sell("0", "12.345", currency="KWD")
    shop.program.change(auto_approve_commissions=True, recurring=False)
    shop.sell("10", "20", customer_id="acct-1")
    shop.sell("10", "20", customer_id="acct-1")
    disapprove(account, commission_id=approved(shop).pk, at=SOLD)

    report = books_agree(account, other_account)

    assert report.ledger_accounts == 3 + 3 + 3 + 3
    assert report.transfers == account.transfers.count() + 2
    assert report.below_nought == 0


def test_counts_the_transfers_of_closed_days(shop, account):
    shop.sell("200")
    last = account.transfers.get()
    shop.sell("300", at=SOLD.replace(hour=0, minute=0, second=0) + timedelta(days=1))

    report = prove([account], at=LATER)

    assert report.failures == []
    assert (report.closed_count, report.closed_last_id, report.closed_sum) == (
        1,
        last.pk,
        20,
    )
    assert report.transfers == 2


@pytest.mark.parametrize(
    ("kind", "balance", "equations"),
    [
        pytest.param("pending", "19.99", {"E1", "E2", "E4"}, id="pending-less"),
        pytest.param("pending", "20.0001", {"E1", "E2", "E4"}, id="pending-a-bit"),
        pytest.param("payable", "0", {"E1", "E2", "E3"}, id="payable-nought"),
        pytest.param("payable", "-10", {"E1", "E2", "E3"}, id="payable-below"),
        pytest.param("payable", "10.0001", {"E1", "E2", "E3"}, id="payable-a-bit"),
    ],
)
def test_finds_a_balance_that_is_not_the_sum_of_its_transfers(
    shop, account, commission, kind, balance, equations
):
    approved(shop)

    account.ledger_accounts.filter(kind=kind).update(balance=Decimal(balance))

    assert found(account) == equations


def test_names_the_row_and_both_amounts(shop, account, commission):
    account.ledger_accounts.filter(kind="pending").update(balance=Decimal("19.5"))

    failures = prove([account], at=LATER).failures

    row = "pending of minakessler in EUR"
    assert [
        (
            *(it.equation, it.account, it.row),
            *(Decimal(it.stored), Decimal(it.computed)),
        )
        for it in failures
    ] == [
        ("E1", "harbor", "EUR", Decimal("-0.5"), 0),
        ("E2", "harbor", row, Decimal("19.5"), 20),
        ("E4", "harbor", row, Decimal("19.5"), 20),
    ]


def test_finds_two_balances_that_hide_each_other(shop, account, commission):
    """E1 alone would not see it."""
    approved(shop)

    account.ledger_accounts.filter(kind="pending").update(balance=Decimal(15))
    account.ledger_accounts.filter(kind="payable").update(balance=Decimal(15))

    assert found(account) == {"E2", "E3", "E4"}


@pytest.mark.parametrize(
    ("values", "equations"),
    [
        pytest.param({"amount": Decimal("20.01")}, {"E4", "E5", "E6"}, id="amount"),
        pytest.param({"status": "approved"}, {"E3", "E4", "E6"}, id="approved"),
        pytest.param({"status": "disapproved"}, {"E4", "E5", "E6"}, id="disapproved"),
        pytest.param({"currency": "JPY"}, {"E4", "E5"}, id="currency"),
    ],
)
def test_finds_a_commission_that_was_changed_past_the_ledger(
    account, commission, values, equations
):
    account.commissions.filter(pk=commission.pk).update(**values)

    assert found(account) >= equations


def test_finds_a_commission_that_was_given_to_somebody_else(shop, account, commission):
    rival = shop.join("Odette", "Varga")

    account.commissions.update(affiliate=rival.affiliate)

    assert "E4" in found(account)


def test_finds_a_commission_without_transfers(shop, account, commission):
    values = {
        field.attname: getattr(commission, field.attname)
        for field in Commission._meta.concrete_fields
        if not field.primary_key
    }

    account.commissions.create(**values)

    assert found(account) == {"E4", "E5", "E6"}


def test_finds_a_commission_of_somebody_without_any_books(shop, account, commission):
    values = {
        field.attname: getattr(commission, field.attname)
        for field in Commission._meta.concrete_fields
        if not field.primary_key
    }

    account.commissions.create(**values | {"currency": "CHF"})

    assert found(account) == {"E4", "E5", "E6"}


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param((3, 4), id="one-is-missing"),
        pytest.param((2, 4), id="a-gap"),
        pytest.param((0, 3), id="one-is-nought"),
    ],
)
def test_finds_steps_that_are_not_1_to_n(account, commission, steps):
    """There and back again: the amounts are right, the steps are not."""
    first, second = steps
    post(account, commission, first)
    post(
        account,
        commission,
        second,
        kind="reopened",
        debit=place(account, "payable"),
        credit=place(account, "pending"),
    )

    assert found(account) == {"E6"}


def test_finds_a_transfer_too_many(account, commission):
    post(account, commission, 2)

    assert found(account) == {"E2", "E6"}


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("earned", id="kind-of-another-pair"),
        pytest.param("reopened", id="the-wrong-way"),
        pytest.param("gift", id="no-kind-at-all"),
    ],
)
def test_finds_a_transfer_whose_places_do_not_fit_its_kind(account, commission, kind):
    post(account, commission, 2, kind=kind)

    assert "E9" in found(account)


def test_finds_a_transfer_of_another_currency(account, commission):
    post(account, commission, 2, currency="JPY")

    assert "E9" in found(account)


def test_finds_a_transfer_into_another_currency(shop, account, commission):
    shop.sell("100", currency="JPY")

    post(account, commission, 2, credit=place(account, "payable", "JPY"))

    assert "E9" in found(account)


def test_finds_a_transfer_into_another_account(account, other_account, commission):
    Shop(other_account, mark="zz-marker-").sell("100")

    post(account, commission, 2, credit=place(other_account, "payable"))

    assert {"E9", "E11"} <= found(account)


def test_finds_a_table_without_its_triggers(account, monkeypatch):
    """No trigger is lifted: a table that never had any stands for one that lost it."""
    monkeypatch.setattr(proof, "APPEND_ONLY", (Commission,))

    failures = prove([account], at=LATER).failures

    assert [(it.equation, it.account, it.row, it.stored) for it in failures] == [
        ("E10", "-", "payouts_commission", "no trigger")
    ] * 2


@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has no such modes")
@pytest.mark.parametrize(
    "spoil",
    [
        "ALTER TABLE payouts_transfer ENABLE REPLICA TRIGGER"
        " payouts_transfer_refuses_update",
        "CREATE OR REPLACE FUNCTION payouts_transfer_only_grows() RETURNS trigger"
        " LANGUAGE plpgsql AS $$ BEGIN RETURN new; END $$",
    ],
    ids=["fires for replicas alone", "refuses nothing"],
)
def test_finds_a_trigger_that_lets_changes_pass(account, spoil):
    execute(spoil)

    assert found(account) == {"E10"}


def test_finds_two_equal_commissions_that_changed_hands(shop, account):
    mine = shop.commission_of(shop.sell("200"))
    rival = shop.join("Odette", "Varga")
    hers = shop.commission_of(shop.sell("200", member=rival))

    for one, other in ((mine, hers), (hers, mine)):
        execute(
            "UPDATE payouts_commission SET affiliate_id = %s WHERE id = %s",
            *(one.affiliate_id, other.pk),
        )

    failures = prove([account], at=LATER).failures
    assert [(it.equation, it.row) for it in failures] == [
        ("E6", f"commission {mine.pk} (pending)"),
        ("E6", f"commission {hers.pk} (pending)"),
    ]


def test_finds_two_equal_payments_that_changed_hands(shop, account):
    rival = shop.join("Odette", "Varga")
    orders = [Order(it.slug, Decimal(5), "EUR") for it in (shop.mina, rival)]
    mine, hers = pay(account, orders=orders, at=SOLD)

    for one, other in ((mine, hers), (hers, mine)):
        execute(
            "UPDATE payouts_payment SET affiliate_id = %s WHERE id = %s",
            *(one.affiliate_id, other.pk),
        )

    assert [it.equation for it in prove([account], at=LATER).failures] == ["E7"] * 2


@pytest.mark.parametrize(
    "spoil", ["removed_at = created_at", "currency = 'USD'"], ids=["removed", "dollars"]
)
def test_finds_a_commission_that_its_sale_does_not_bear(account, commission, spoil):
    execute(
        f"UPDATE tracking_conversion SET {spoil} WHERE id = %s",  # noqa: S608
        commission.conversion_id,
    )

    assert found(account) == {"E6"}


@pytest.mark.parametrize(
    ("rows", "column"),
    [
        ("commissions", "affiliate"),
        ("commissions", "conversion"),
        ("conversions", "program"),
        ("enrolments", "affiliate"),
        ("referral_codes", "enrolment"),
        ("commission_types", "program"),
        ("ledger_accounts", "affiliate"),
    ],
)
def test_finds_a_row_that_belongs_to_two_accounts(
    account, other_account, commission, rows, column
):
    Shop(other_account, mark="zz-marker-").sell("100")
    stranger = getattr(getattr(other_account, rows).first(), column)
    stranger = stranger or other_account.affiliates.get()
    mine = getattr(account, rows).exclude(**{column: None}).first()

    type(mine)._base_manager.filter(pk=mine.pk).update(**{column: stranger})

    failures = prove([account, other_account], at=LATER).failures
    table = mine._meta.db_table
    assert Failure(
        "E11", "harbor", f"{table} {mine.pk}", "another account's", column
    ) in list(failures)


@pytest.mark.skipif(
    connection.vendor != "sqlite",
    reason="PostgreSQL's columns hold nothing but integers",
)
@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("payouts_ledgeraccount", "balance", "200000.5"),
        ("payouts_commission", "amount", "200000.5"),
        ("payouts_commission", "sub_amount", "'much'"),
        ("tracking_conversion", "amount", "0.1"),
        ("payouts_commissiontype", "value", "1.5"),
    ],
)
def test_finds_an_amount_that_is_not_whole(account, commission, table, column, value):
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {table} SET {column} = {value}")  # noqa: S608 - ours

    failures = list(proof.whole_database())

    assert Failure("E13", "-", table, failures[0].stored, column) in failures
    assert {it.equation for it in failures} == {"E13"}


def test_looks_at_the_accounts_that_it_is_given(shop, account, other_account):
    shop.sell("200")
    account.ledger_accounts.filter(kind="pending").update(balance=Decimal(1))

    assert found(other_account) == set()
    assert found(other_account, account) == {"E1", "E2", "E4"}


def test_counts_balances_below_nought(shop, account):
    approved(shop)
    account.ledger_accounts.filter(kind="payable").update(balance=Decimal(-1))

    assert prove([account], at=LATER).below_nought == 1


# Payments: E3, E7, E8 and E12.


@pytest.fixture
def payment(shop, account):
    """10 EUR, which cover a commission of 10; a rival has been paid 10 as well."""
    rival = shop.join("Odette", "Varga")
    approved(shop)
    approved(shop, member=rival)
    ten = Decimal(10)
    orders = [Order(it.slug, ten, "EUR") for it in (shop.mina, rival)]
    return pay(account, orders=orders, at=SOLD)[0]


def execute(sentence, *values):
    """Past every service, and past the ORM."""
    with connection.cursor() as cursor:
        cursor.execute(sentence, values)


def columns_of(row, **changed):
    """The columns of a row but its number, to make another."""
    return {
        field.attname: getattr(row, field.attname)
        for field in row._meta.concrete_fields
        if not field.primary_key
    } | changed


def test_finds_nothing_after_payments_of_every_sort(shop, account):
    approved(shop, "300")
    for uses_payouts in (False, True):
        account.uses_payouts = uses_payouts
        account.save()
        top_up(account, amount=Decimal(25), currency="EUR", at=SOLD)
        orders = [Order(shop.mina.slug, Decimal(it), "EUR") for it in ("10", "40")]
        first, _ = pay(account, orders=orders, at=SOLD)
        account.uses_payouts = not uses_payouts
        account.save()
        cancel_payment(account, payment_id=first.public_id, at=LATER)

    report = books_agree(account)

    # Mina: 30 - 40 - 40; the fund: 50 - 40. A fund is a balance below nought.
    assert report.below_nought == 2


@pytest.mark.parametrize(
    ("column", "value", "equations"),
    [
        pytest.param("amount", 110_000, {"E3", "E7"}, id="amount"),
        pytest.param("currency", "JPY", {"E3", "E12"}, id="currency"),
        pytest.param("canceled_at", LATER, {"E3", "E7", "E8", "E12"}, id="canceled"),
    ],
)
def test_finds_a_payment_that_was_changed_past_the_ledger(
    account, payment, column, value, equations
):
    execute(
        f"UPDATE payouts_payment SET {column} = %s WHERE id = %s",  # noqa: S608 - ours
        *(value, payment.pk),
    )

    assert found(account) == equations


def test_finds_a_payment_that_was_given_to_somebody_else(account, payment):
    rival = account.affiliates.get(slug="odettevarga")

    execute(
        "UPDATE payouts_payment SET affiliate_id = %s WHERE id = %s",
        *(rival.pk, payment.pk),
    )

    assert found(account) == {"E3", "E7", "E12"}


def test_names_the_payment_that_stands_again(account, payment):
    cancel_payment(account, payment_id=payment.public_id, at=LATER)

    execute("UPDATE payouts_payment SET canceled_at = NULL")

    failures = [it for it in prove([account], at=LATER).failures if it.equation == "E7"]
    assert [it.row for it in failures] == [f"payment {payment.public_id} (standing)"]
    assert found(account) == {"E3", "E7", "E8"}


def test_finds_a_payment_without_a_transfer(account, payment):
    lost = account.payments.create(**columns_of(payment, public_id="pa_lost"))

    failures = prove([account], at=LATER).failures
    assert {it.equation for it in failures} == {"E3", "E7"}
    assert [it.row for it in failures if it.equation == "E7"] == [
        f"payment {lost.public_id} (standing)"
    ]


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param({"amount": Decimal("9.99")}, id="another-amount"),
        pytest.param({"reverses": None}, id="reverses-nothing"),
        pytest.param({"reverses": "the-other"}, id="reverses-another"),
        pytest.param({"credit": "pending"}, id="goes-elsewhere"),
        pytest.param({"credit": "the-other"}, id="goes-to-somebody-else"),
    ],
)
def test_finds_a_reversal_that_is_none(account, payment, odd):
    paid, other = account.transfers.filter(kind="paid").order_by("id")
    if odd.get("reverses") == "the-other":
        odd = {"reverses": other}
    if odd.get("credit") == "the-other":
        odd = {"credit": other.debit}
    if odd.get("credit") == "pending":
        mine = account.ledger_accounts.filter(affiliate=payment.affiliate)
        odd = {"credit": mine.get(kind="pending")}
    execute(
        "UPDATE payouts_payment SET canceled_at = %s WHERE id = %s", LATER, payment.pk
    )
    reversal = {
        "kind": "payment_canceled",
        "debit": paid.credit,
        "credit": paid.debit,
        "reverses": paid,
    }

    account.transfers.create(
        currency="EUR",
        payment=payment,
        **{"amount": Decimal(10)} | reversal | odd,
    )

    assert "E7" in found(account)


def test_finds_a_payment_booked_against_a_fund_that_shows_it_not(shop, account):
    """The stored balance of the fund alone is wrong: E2, and E1 with it."""
    top_up(account, amount=Decimal(100), currency="EUR", at=SOLD)

    execute("UPDATE payouts_ledgeraccount SET balance = 0 WHERE kind = 'funding'")

    assert found(account) == {"E1", "E2"}


@pytest.mark.parametrize(
    ("debit", "credit"),
    [
        pytest.param("external", "funding", id="the-wrong-way"),
        pytest.param("funding", "expense", id="from-somewhere-else"),
    ],
)
def test_finds_a_top_up_that_does_not_come_from_outside(
    shop, account, commission, debit, credit
):
    top_up(account, amount=Decimal(100), currency="EUR", at=SOLD)

    account.transfers.create(
        currency="EUR",
        kind="funded",
        debit=place(account, debit),
        credit=place(account, credit),
        amount=Decimal(5),
    )

    assert found(account) >= {"E8", "E9"}


def test_finds_a_payment_that_came_out_of_another_pocket(shop, account, payment):
    """A transfer too many into the fund: what no payment and no top-up explains."""
    top_up(account, amount=Decimal(100), currency="EUR", at=SOLD)
    owed = account.transfers.filter(kind="paid").first().debit

    account.transfers.create(
        currency="EUR",
        kind="payment_canceled",
        debit=place(account, "funding"),
        credit=owed,
        amount=Decimal(5),
    )

    assert found(account) >= {"E8"}


@pytest.mark.parametrize("sort", ["canceled", "somebody-elses", "other-currency"])
def test_finds_a_commission_that_its_payment_cannot_cover(shop, account, payment, sort):
    mine = account.commissions.get(payment=payment)
    if sort == "canceled":
        cancel_payment(account, payment_id=payment.public_id, at=LATER)
    elif sort == "somebody-elses":
        payment = account.payments.exclude(pk=payment.pk).get()
    else:
        order = Order(shop.mina.slug, Decimal(1), "JPY")
        (payment,) = pay(account, orders=[order], at=SOLD)

    execute(
        "UPDATE payouts_commission SET payment_id = %s WHERE id = %s",
        *(payment.pk, mine.pk),
    )

    assert prove([account], at=LATER).failures == [
        Failure(
            "E12",
            "harbor",
            f"commission {mine.pk} (approved)",
            payment.public_id,
            "no payment",
        )
    ]


def test_covers_by_the_database_only_what_counts(account, payment):
    """E12 has a constraint before it: nothing pending, nothing removed is covered."""
    for column, value in (("status", "pending"), ("removed_at", LATER)):
        with pytest.raises(IntegrityError), transaction.atomic():
            execute(
                f"UPDATE payouts_commission SET {column} = %s"  # noqa: S608 - ours
                " WHERE payment_id IS NOT NULL",
                value,
            )
