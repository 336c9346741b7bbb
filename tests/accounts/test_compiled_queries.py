"""Compiled statements: the same rows and effects as Django's own."""

import pytest
from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q

from accounts.compiled_queries import compiled
from accounts.compiled_writes import insert_rows
from accounts.models.accounts import Account
from accounts.models.audit_log import AuditLogEntry
from accounts.services.changes import log_events
from tests.conftest import NOW

KIND = "account.locked"


@compiled
def entry_by_subject(account, subject):
    return AuditLogEntry.objects.of(account).select_related("account").filter(subject=subject)


@compiled
def entries_by_id(account, ids: list[int]):
    return AuditLogEntry.objects.of(account).filter(pk__in=ids).order_by("pk")


@compiled
def entries_by_id_or_subject(account, ids: list[int], subject):
    rows = AuditLogEntry.objects.of(account).order_by("pk")
    return rows.filter(Q(pk__in=ids) | Q(subject=subject))


@compiled
def locked_entry(account, pk):
    return AuditLogEntry.objects.of(account).select_for_update().filter(pk=pk)


@compiled
def details_by_kind(account, kind):
    others = AuditLogEntry.objects.of(account).filter(kind=kind, pk__lt=OuterRef("pk"))
    rows = AuditLogEntry.objects.of(account).filter(kind=kind).order_by("pk")
    return rows.annotate(has_earlier=Exists(others)).values(
        "details", "has_earlier", "created_at", "account__slug"
    )


@pytest.fixture
def entries(account):
    log_events(account, [(KIND, account)] * 5, at=NOW, n=[1, None])
    return list(account.audit_log.filter(kind=KIND).order_by("pk"))


def test_returns_the_rows_of_the_ordinary_queryset(account, entries):
    values = {"account": account, "kind": KIND}

    assert details_by_kind.all(**values) == list(details_by_kind(**values))
    assert details_by_kind.all(**values)[1] == {
        "details": {"n": [1, None]},
        "created_at": NOW,
        "account__slug": account.slug,
        "has_earlier": True,
    }


def test_builds_instances_with_related_ones(account, other_account, entries):
    values = {"account": account, "subject": f"account:{account}"}

    found = entry_by_subject.all(**values)

    ordinary = list(entry_by_subject(**values))
    assert [vars(row) | {"_state": 0} for row in found] == [
        vars(row) | {"_state": 0} for row in ordinary
    ]
    assert not found[0]._state.adding
    assert entry_by_subject.first(**(values | {"account": other_account})) is None


def test_instances_refer_to_the_account_that_was_passed(account, entries):
    (found,) = entries_by_id.all(account=account, ids=[entries[0].pk])

    assert found.account is account


@pytest.mark.parametrize("number", [0, 1, 2, 3, 5])
def test_takes_lists_of_any_length(account, entries, number):
    ids = [entry.pk for entry in entries[:number]]

    assert entries_by_id.all(account=account, ids=ids) == entries[:number]


@pytest.mark.parametrize("ids", [[], [0]])
def test_an_empty_list_matches_nothing_by_itself(account, entries, ids):
    subject = f"account:{account}"

    found = entries_by_id_or_subject.all(account=account, ids=ids, subject=subject)

    assert found == list(entries_by_id_or_subject(account=account, ids=ids, subject=subject))
    assert {entry.pk for entry in found} >= {entry.pk for entry in entries}


def test_runs_no_statement_for_a_list_that_is_empty(account, capture_queries):
    with capture_queries() as captured:
        assert entries_by_id.all(account=account, ids=[]) == []

    assert len(captured) == 0


def test_compiles_once(account, entries, monkeypatch):
    entry_by_subject.all(account=account, subject="x")
    monkeypatch.setattr(entry_by_subject, "function", None)

    assert entry_by_subject.first(account=account, subject=f"account:{account}")


def test_rejects_none(account):
    with pytest.raises(ValueError, match="entry_by_subject: subject is None"):
        entry_by_subject.all(account=account, subject=None)


def test_finds_nothing_by_a_number_beyond_the_column(account):
    assert entries_by_id.all(account=account, ids=[2**63]) == []


def test_locks_only_inside_a_transaction(committed_db):
    with transaction.atomic():
        locked_entry.all(account=1, pk=1)  # compiled here

    with pytest.raises(transaction.TransactionManagementError):
        locked_entry.all(account=1, pk=1)


def test_inserts_rows_with_defaults_and_keys(account, capture_queries):
    rows = [
        AuditLogEntry(account=account, kind=KIND, subject=str(n), created_at=NOW) for n in range(3)
    ]

    with capture_queries() as captured:
        insert_rows(rows)

    assert len(captured) == 1
    for row in rows:
        stored = AuditLogEntry.objects.get(pk=row.pk)
        assert vars(stored) | {"_state": 0} == vars(row) | {"_state": 0}
        assert not row._state.adding


def test_inserts_more_rows_than_one_statement_takes(account):
    log_events(account, [(KIND, account)] * 2100, at=NOW)

    assert account.audit_log.filter(kind=KIND).count() == 2100


def test_an_insert_raises_integrity_errors(account, capture_queries):
    with pytest.raises(IntegrityError), transaction.atomic():
        insert_rows([Account(slug=account.slug, name="x", plan=account.plan)])


def test_updates_only_the_row_of_the_account(account, other_account):
    program = account.programs.create(slug="p", title="P", currency="EUR")
    stolen = type(program)(pk=program.pk, account=other_account)

    assert not stolen.update_row(title="Q")
    assert not program.update_row(expected={"title": "R"}, title="Q")
    assert not program.update_row(expected={"archived_at__isnull": False}, title="Q")
    assert program.update_row(expected={"archived_at": None, "title": "P"}, title="Q")
    assert program.reload().title == program.title == "Q"
