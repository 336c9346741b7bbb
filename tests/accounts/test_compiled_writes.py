"""Statements that write many rows at once."""

from decimal import Decimal

import pytest

from accounts.compiled_writes import insert_many_rows, insert_rows, update_each
from accounts.db_compat import split_by_values
from payouts.models.payments import PayoutMethod
from payouts.models.runs import PayoutMinimum


@pytest.fixture
def minimums(account):
    rows = [
        PayoutMinimum(account=account, currency=currency, amount=Decimal(5))
        for currency in ("EUR", "USD", "GBP")
    ]
    insert_rows(rows)
    return rows


def list_amounts(account):
    rows = account.payout_minimums.order_by("id")
    return list(rows.values_list("currency", "amount"))


def test_sets_each_row_to_its_own_values(account, minimums, capture_queries):
    changes = [(row.pk, f"X{n}", Decimal(n)) for n, row in enumerate(minimums, 1)]

    with capture_queries() as captured:
        update_each(PayoutMinimum, account.pk, ["currency", "amount"], changes)

    assert len(captured) == 1
    assert list_amounts(account) == [("X1", 1), ("X2", 2), ("X3", 3)]


def test_adds_to_the_values_of_the_rows(account, minimums):
    changes = [(row.pk, Decimal(n) / 100) for n, row in enumerate(minimums[:2], 1)]

    update_each(PayoutMinimum, account.pk, ["amount"], changes, adds=True)

    assert [amount for _, amount in list_amounts(account)] == [
        *(Decimal("5.01"), Decimal("5.02"), Decimal(5))
    ]


def test_writes_json_and_null(account, scenario):
    method = account.payout_methods.create(
        affiliate=scenario.mina.affiliate, kind="bank", blind_index="x"
    )
    values = [(method.pk, {"iban": "ü"}, None)]

    update_each(PayoutMethod, account.pk, ["details", "blind_index"], values)

    stored = method.reload()
    assert (stored.details, stored.blind_index) == ({"iban": "ü"}, None)


def test_changes_no_row_of_another_account(account, other_account, minimums):
    changes = [(row.pk, Decimal(9)) for row in minimums]

    update_each(PayoutMinimum, other_account.pk, ["amount"], changes)

    assert {amount for _, amount in list_amounts(account)} == {5}


def test_inserts_a_thousand_rows_by_one_statement(account, capture_queries):
    rows = [
        PayoutMinimum(account=account, currency=f"{n:03}", amount=Decimal(1)) for n in range(1000)
    ]

    with capture_queries() as captured:
        insert_rows(rows)

    assert len(captured) == 1
    sizes = [len(batch) for batch in split_by_values(range(40_000), 4)]
    assert sizes[0] >= 8_000
    assert sum(sizes) == 40_000
    assert account.payout_minimums.count() == 1000


def test_inserts_many_rows_without_their_keys(account):
    rows = [
        PayoutMinimum(account=account, currency=currency, amount=Decimal(amount))
        for currency, amount in (("EUR", "0.01"), ("USD", "7"))
    ]

    insert_many_rows(rows)
    insert_many_rows([])

    assert list_amounts(account) == [("EUR", Decimal("0.01")), ("USD", 7)]
    assert {row.pk for row in rows} == {None}
