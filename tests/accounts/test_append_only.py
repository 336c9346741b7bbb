"""Append-only tables reject changes, however they are made."""

import pytest
from django.apps import apps
from django.db import DatabaseError, connection, transaction

from accounts.append_only import get_trigger_names
from accounts.models.audit_log import AuditLogEntry
from accounts.services.changes import log_event
from tests.conftest import NOW

APPEND_ONLY = {"accounts.AuditLogEntry", "payouts.LedgerDigest", "payouts.Transfer"}
TABLES = [model._meta.db_table for model in apps.get_models() if model._meta.label in APPEND_ONLY]

TRIGGERS = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = %s",
    "postgresql": (
        "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgenabled = 'O'"
        " AND tgrelid = %s::regclass"
    ),
}


@pytest.fixture
def audit_log_entry(account):
    log_event(account, "account.locked", account, at=NOW)
    return account.audit_log.get(kind="account.locked")


def update_queryset(entry):
    AuditLogEntry.objects.filter(pk=entry.pk).update(kind="changed")


def save_instance(entry):
    entry.kind = "changed"
    entry.save()


def update_row(entry):
    entry.update_row(kind="changed")


def delete_instance(entry):
    entry.delete()


def delete_queryset(entry):
    entry.account.audit_log.all().delete()


def update_by_sql(entry):
    with connection.cursor() as cursor:
        cursor.execute("UPDATE accounts_auditlogentry SET kind = 'changed'")


def delete_by_sql(entry):
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM accounts_auditlogentry WHERE id = %s", [entry.pk])


WRITE_ATTEMPTS = [
    update_queryset,
    save_instance,
    update_row,
    delete_instance,
    delete_queryset,
    update_by_sql,
    delete_by_sql,
]


@pytest.mark.parametrize("write", WRITE_ATTEMPTS, ids=lambda write: write.__name__)
def test_rejects_changes_of_append_only_rows(audit_log_entry, write):
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        write(audit_log_entry)

    assert audit_log_entry.account.audit_log.filter(kind="account.locked").count() == 1


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.django_db
def test_finds_both_triggers_after_all_migrations(table):
    with connection.cursor() as cursor:
        cursor.execute(TRIGGERS[connection.vendor], [table])
        found = {row[0] for row in cursor.fetchall()}

    assert found == set(get_trigger_names(table))
    assert sorted(get_trigger_names(table).values()) == ["DELETE", "UPDATE"]
