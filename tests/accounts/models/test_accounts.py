"""Owned rows: changed, re-read and inserted through their account."""

import pytest
from django.db import IntegrityError, transaction

from accounts.models.keys import ApiKey
from payouts.models.commission_types import CommissionType, RateKind
from tests.conftest import NOW
from tests.factories.tracking import ProgramFactory


def new_key(account, *, prefix="aff_live_abc", digest="a" * 64, **values):
    return ApiKey(
        account=account, prefix=prefix, digest=digest, created_at=NOW, **values
    )


def new_type(program, *, identifier="standard", is_default=True):
    return CommissionType(
        account=program.account,
        program=program,
        identifier=identifier,
        title=identifier,
        kind=RateKind.PERCENTAGE,
        value=10,
        is_default=is_default,
    )


def test_changes_a_row_by_one_update_that_names_the_account(program, statements):
    with statements() as asked:
        changed = program.change(title="Harbour", cookie_time=30)

    assert changed
    assert len(asked) == 1
    where = asked[0]["sql"].partition("WHERE")[2]
    assert f'"account_id" = {program.account_id}' in where
    assert (program.title, program.cookie_time) == ("Harbour", 30)
    assert (program.again().title, program.again().cookie_time) == ("Harbour", 30)


def test_writes_no_field_that_was_not_named(program):
    program.currency = "USD"

    program.change(title="Harbour")

    assert program.again().currency == "EUR"


def test_changes_nothing_when_the_row_is_of_another_account(program, other_account):
    program.account = other_account

    assert not program.change(title="stolen")
    assert program.title == "Harbor Lamp Partners"
    assert type(program).objects.get(pk=program.pk).title == "Harbor Lamp Partners"


def test_changes_a_row_that_still_holds_what_is_expected(program):
    assert program.change(expecting={"archived_at": None}, archived_at=NOW)
    assert program.again().archived_at == NOW


def test_leaves_a_row_that_holds_something_else(program):
    seen_earlier = program.again()
    program.change(archived_at=NOW)

    assert not seen_earlier.change(expecting={"archived_at": None}, title="late")
    assert seen_earlier.title == "Harbor Lamp Partners"
    assert program.again().title == "Harbor Lamp Partners"


def test_reads_a_row_again_through_its_account(program, statements):
    with statements() as asked:
        program.again()

    where = asked[0]["sql"].partition("WHERE")[2]
    assert f'"account_id" = {program.account_id}' in where


def test_does_not_read_a_row_again_under_another_account(program, other_account):
    program.account = other_account

    with pytest.raises(type(program).DoesNotExist):
        program.again()


def test_inserts_a_row_and_gives_it_its_number(account):
    key = new_key(account)

    assert account.api_keys.insert_unless_taken(key, on=("account", "prefix"))

    stored = account.api_keys.get(pk=key.pk)
    assert (stored.prefix, stored.created_at) == (key.prefix, NOW)
    key.change(name="still the same row")
    assert account.api_keys.get().name == "still the same row"


def test_inserts_by_one_statement_that_names_the_account(account, statements):
    with statements() as asked:
        account.api_keys.insert_unless_taken(new_key(account), on=("account", "prefix"))

    assert len(asked) == 1
    assert '"account_id"' in asked[0]["sql"].partition("VALUES")[0]


def test_says_no_where_the_columns_are_taken(account):
    rows = account.api_keys
    rows.insert_unless_taken(new_key(account), on=("account", "prefix"))
    late = new_key(account, digest="b" * 64)

    assert not rows.insert_unless_taken(late, on=("account", "prefix"))
    assert late.pk is None
    assert rows.count() == 1


def test_leaves_the_transaction_usable_where_the_columns_are_taken(account):
    with transaction.atomic():
        for digest in ("a" * 64, "b" * 64):
            account.api_keys.insert_unless_taken(
                new_key(account, digest=digest), on=("account", "prefix")
            )
        assert account.api_keys.count() == 1


def test_inserts_the_same_for_another_account(account, other_account):
    account.api_keys.insert_unless_taken(new_key(account), on=("account", "prefix"))
    key = new_key(other_account, digest="b" * 64)

    assert other_account.api_keys.insert_unless_taken(key, on=("account", "prefix"))


def test_fails_on_any_other_unique_constraint(account):
    rows = account.api_keys
    rows.insert_unless_taken(new_key(account), on=("account", "prefix"))
    same_digest = new_key(account, prefix="aff_live_xyz")

    with pytest.raises(IntegrityError), transaction.atomic():
        rows.insert_unless_taken(same_digest, on=("account", "prefix"))


def test_fails_on_a_missing_value(account):
    key = new_key(account, name=None)

    with pytest.raises(IntegrityError), transaction.atomic():
        account.api_keys.insert_unless_taken(key, on=("account", "prefix"))


def test_fails_on_a_check(account, program):
    negative = new_type(program)
    negative.value = -1

    with pytest.raises(IntegrityError), transaction.atomic():
        account.commission_types.insert_unless_taken(
            negative, on=("account", "program", "identifier")
        )


def test_inserts_into_a_partial_index_once(account, program):
    rows = account.commission_types
    partial = {"on": ("account", "program"), "among": "is_default"}
    late = new_type(program, identifier="late")

    assert rows.insert_unless_taken(new_type(program), **partial)
    assert not rows.insert_unless_taken(late, **partial)
    assert rows.get().identifier == "standard"


def test_inserts_what_a_partial_index_leaves_out(account, program):
    rows = account.commission_types
    partial = {"on": ("account", "program"), "among": "is_default"}
    for identifier in ("accessories", "lamps"):
        row = new_type(program, identifier=identifier, is_default=False)
        assert rows.insert_unless_taken(row, **partial)

    assert rows.count() == 2


def test_fails_on_the_whole_index_beside_the_partial_one(account, program):
    rows = account.commission_types
    partial = {"on": ("account", "program"), "among": "is_default"}
    rows.insert_unless_taken(new_type(program), **partial)
    same_identifier = new_type(program, is_default=False)

    with pytest.raises(IntegrityError), transaction.atomic():
        rows.insert_unless_taken(same_identifier, **partial)


def test_cuts_rows_of_its_account_only_and_keeps_the_order(account, other_account):
    mine = [ProgramFactory(account=account, created_at=NOW) for _ in range(4)]
    ProgramFactory(account=other_account, created_at=NOW)

    cut = account.programs.newest_first().cut(account, first=1, length=2)

    assert [row.pk for row in cut] == [mine[2].pk, mine[1].pk]
