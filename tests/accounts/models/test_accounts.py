"""Tenant rows: update, reload, insert and paginate within their account."""

import pytest
from django.db import IntegrityError, transaction

from accounts.models.api_keys import ApiKey
from payouts.models.commission_types import CommissionType, RateKind
from tests.conftest import NOW
from tests.factories.tracking import ProgramFactory

# The partial constraint of one default commission type per program.
ONE_DEFAULT = {"unique_fields": ("account", "program"), "condition_sql": "is_default"}


def make_key(account, *, prefix="aff_live_abc", digest="a" * 64, **values):
    return ApiKey(account=account, prefix=prefix, digest=digest, created_at=NOW, **values)


def make_commission_type(program, *, identifier="standard", is_default=True):
    return CommissionType(
        account=program.account,
        program=program,
        identifier=identifier,
        title=identifier,
        kind=RateKind.PERCENTAGE,
        value=10,
        is_default=is_default,
    )


def test_updates_a_row_by_one_statement_restricted_to_the_account(program, capture_queries):
    with capture_queries() as queries:
        is_updated = program.update_row(title="Harbour", cookie_time=30)

    assert is_updated
    assert len(queries) == 1
    where = queries[0]["sql"].partition("WHERE")[2]
    assert f'"account_id" = {program.account_id}' in where
    assert (program.title, program.cookie_time) == ("Harbour", 30)
    assert (program.reload().title, program.reload().cookie_time) == ("Harbour", 30)


def test_updates_only_the_given_fields(program):
    program.currency = "USD"

    program.update_row(title="Harbour")

    assert program.reload().currency == "EUR"


def test_does_not_update_a_row_of_another_account(program, other_account):
    program.account = other_account

    assert not program.update_row(title="stolen")
    assert program.title == "Harbor Lamp Partners"
    assert type(program).objects.get(pk=program.pk).title == "Harbor Lamp Partners"


def test_updates_a_row_with_the_expected_values(program):
    assert program.update_row(expected={"archived_at": None}, archived_at=NOW)
    assert program.reload().archived_at == NOW


def test_does_not_update_a_row_with_other_values(program):
    stale = program.reload()
    program.update_row(archived_at=NOW)

    assert not stale.update_row(expected={"archived_at": None}, title="late")
    assert stale.title == "Harbor Lamp Partners"
    assert program.reload().title == "Harbor Lamp Partners"


def test_reloads_a_row_by_its_account(program, capture_queries):
    with capture_queries() as queries:
        program.reload()

    where = queries[0]["sql"].partition("WHERE")[2]
    assert f'"account_id" = {program.account_id}' in where


def test_does_not_reload_a_row_of_another_account(program, other_account):
    program.account = other_account

    with pytest.raises(type(program).DoesNotExist):
        program.reload()


def test_inserts_a_row_and_sets_its_primary_key(account):
    key = make_key(account)

    assert account.api_keys.insert_or_ignore(key, unique_fields=("account", "prefix"))

    stored = account.api_keys.get(pk=key.pk)
    assert (stored.prefix, stored.created_at) == (key.prefix, NOW)
    key.update_row(name="still the same row")
    assert account.api_keys.get().name == "still the same row"


def test_inserts_by_one_statement_with_the_account(account, capture_queries):
    with capture_queries() as queries:
        account.api_keys.insert_or_ignore(make_key(account), unique_fields=("account", "prefix"))

    assert len(queries) == 1
    assert '"account_id"' in queries[0]["sql"].partition("VALUES")[0]


def test_returns_false_on_conflict(account):
    rows = account.api_keys
    rows.insert_or_ignore(make_key(account), unique_fields=("account", "prefix"))
    duplicate = make_key(account, digest="b" * 64)

    assert not rows.insert_or_ignore(duplicate, unique_fields=("account", "prefix"))
    assert duplicate.pk is None
    assert rows.count() == 1


def test_a_conflict_does_not_break_the_transaction(account):
    with transaction.atomic():
        for digest in ("a" * 64, "b" * 64):
            account.api_keys.insert_or_ignore(
                make_key(account, digest=digest), unique_fields=("account", "prefix")
            )
        assert account.api_keys.count() == 1


def test_inserts_the_same_values_for_another_account(account, other_account):
    account.api_keys.insert_or_ignore(make_key(account), unique_fields=("account", "prefix"))
    key = make_key(other_account, digest="b" * 64)

    assert other_account.api_keys.insert_or_ignore(key, unique_fields=("account", "prefix"))


def test_fails_on_any_other_unique_constraint(account):
    rows = account.api_keys
    rows.insert_or_ignore(make_key(account), unique_fields=("account", "prefix"))
    same_digest = make_key(account, prefix="aff_live_xyz")

    with pytest.raises(IntegrityError), transaction.atomic():
        rows.insert_or_ignore(same_digest, unique_fields=("account", "prefix"))


def test_fails_on_a_missing_value(account):
    key = make_key(account, name=None)

    with pytest.raises(IntegrityError), transaction.atomic():
        account.api_keys.insert_or_ignore(key, unique_fields=("account", "prefix"))


def test_fails_on_a_check_constraint(account, program):
    negative = make_commission_type(program)
    negative.value = -1

    with pytest.raises(IntegrityError), transaction.atomic():
        account.commission_types.insert_or_ignore(
            negative, unique_fields=("account", "program", "identifier")
        )


def test_inserts_once_with_a_partial_constraint(account, program):
    rows = account.commission_types
    second = make_commission_type(program, identifier="second")

    assert rows.insert_or_ignore(make_commission_type(program), **ONE_DEFAULT)
    assert not rows.insert_or_ignore(second, **ONE_DEFAULT)
    assert rows.get().identifier == "standard"


def test_inserts_rows_that_a_partial_constraint_excludes(account, program):
    rows = account.commission_types
    for identifier in ("accessories", "lamps"):
        row = make_commission_type(program, identifier=identifier, is_default=False)
        assert rows.insert_or_ignore(row, **ONE_DEFAULT)

    assert rows.count() == 2


def test_fails_on_the_full_constraint_despite_the_partial_one(account, program):
    rows = account.commission_types
    rows.insert_or_ignore(make_commission_type(program), **ONE_DEFAULT)
    same_identifier = make_commission_type(program, is_default=False)

    with pytest.raises(IntegrityError), transaction.atomic():
        rows.insert_or_ignore(same_identifier, **ONE_DEFAULT)


def test_paginates_rows_of_the_account_in_order(account, other_account):
    programs = [ProgramFactory(account=account, created_at=NOW) for _ in range(4)]
    ProgramFactory(account=other_account, created_at=NOW)

    page = account.programs.newest_first().paginate(account, offset=1, limit=2)

    assert [row.pk for row in page] == [programs[2].pk, programs[1].pk]
