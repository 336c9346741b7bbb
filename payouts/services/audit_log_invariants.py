"""The invariant of the audit log, E15, and the tables that the log and digests cover.

Transfers, payments and audit log entries are never changed. Conversions and commissions
are changed, but the audit log has the old and the new value of each change that money
depends on. So the value at creation can be computed from the present value, and never
changes either. E15 compares the present values with the audit log.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import models
from django.db.models import Q

from accounts.models.accounts import Account
from accounts.models.audit_log import AuditLogEntry
from payouts.models.commissions import Commission
from payouts.models.ledger import Transfer
from payouts.models.payments import Payment
from payouts.services.ledger_invariant_queries import read_in_batches
from payouts.services.ledger_invariants import Discrepancy
from tracking.models.conversions import Conversion


@dataclass(frozen=True)
class CoveredTable:
    """A table whose rows are covered by the digests.

    `columns` never change. An `audited` column changes together with an audit log
    entry, whose details have the old and the new value under the name of the column:
    `audited` maps it to what names a row of another table.
    The audit log names a row by its `subject` column; `created_event` is the kind of
    the first entry about a row, empty if the table has no entries.
    """

    model: type[models.Model]
    columns: tuple[str, ...]
    audited: Mapping[str, str] = field(default_factory=dict)
    created_event: str = ""
    subject: str = "id"

    @property
    def name(self) -> str:
        return self.model._meta.db_table

    @property
    def columns_to_read(self) -> tuple[str, ...]:
        return ("id", "account_id", "created_at", *self.columns, *self.audited.values())

    def get_subject(self, row: dict[str, Any]) -> str:
        """Return the subject of the row's audit log entries."""
        return f"{self.model._meta.model_name}:{row[self.subject]}"


COVERED_TABLES = (
    CoveredTable(
        Transfer,
        columns=(
            "currency",
            "kind",
            "debit_id",
            "credit_id",
            "amount",
            "commission_id",
            "sequence_number",
            "payment_id",
            "reversal_of_id",
            "actor",
        ),
    ),
    CoveredTable(
        Payment,
        columns=("public_id", "affiliate_id", "amount", "currency"),
        created_event="payment.created",
        subject="public_id",
    ),
    CoveredTable(
        AuditLogEntry,
        columns=("kind", "subject", "details", "actor", "trace_id"),
    ),
    CoveredTable(
        Conversion,
        columns=(),
        audited={
            "affiliate": "affiliate__log_id",
            "program": "program__slug",
            "amount": "amount",
            "currency": "currency",
        },
        created_event="conversion.created",
    ),
    CoveredTable(
        Commission,
        columns=(
            "conversion_id",
            "affiliate_id",
            "kind",
            "commission_type",
            "currency",
            "rate_kind",
            "rate",
            "base_commission_id",
            "bonus_id",
            "period_start",
        ),
        audited={"sub_amount": "sub_amount", "amount": "amount"},
        created_event="commission.created",
    ),
)


def check_e15_audit_log(accounts: Sequence[Account]) -> Iterator[Discrepancy]:
    """Yield the differences of conversions, commissions and payments from the log."""
    for table in COVERED_TABLES:
        if table.created_event:
            for account in accounts:
                own = table.model._base_manager.filter(account=account)
                for rows in read_in_batches(own, columns=table.columns_to_read):
                    yield from compare_with_audit_log(table, account, rows)


def compare_with_audit_log(
    table: CoveredTable, account: Account, rows: Sequence[dict[str, Any]]
) -> Iterator[Discrepancy]:
    """Compare rows with the audit log; set audited columns to their first value."""
    if not table.created_event:
        return
    subjects = [table.get_subject(row) for row in rows]
    created: set[str] = set()
    changes: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for _, subject, kind, details in _list_log_entries(table, account, subjects):
        if kind == table.created_event:
            created.add(subject)
        if details.keys() & table.audited.keys():
            changes[subject].append(details)
    missing = [subject for subject in subjects if subject not in created]
    if missing:
        label = missing[0].replace(":", " ")
        label += f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        yield Discrepancy("E15", account.slug, label, "no entry", table.created_event)
    for subject, row in zip(subjects, rows, strict=True):
        for stored, logged_value in _undo_changes(table, row, changes.get(subject, ())):
            label = subject.replace(":", " ")
            yield Discrepancy("E15", account.slug, label, stored, logged_value)


def _list_log_entries(
    table: CoveredTable, account: Account, subjects: Sequence[str]
) -> list[tuple[int, str, str, dict[str, Any]]]:
    """List the entries about creation and audited columns: id, subject, kind, details.

    Sorted in Python: for ORDER BY, SQLite would read the whole log in the order of ids.
    """
    is_needed = Q(kind=table.created_event)
    if table.audited:
        is_needed |= Q(details__has_any_keys=list(table.audited))
    rows = account.audit_log.filter(is_needed, subject__in=subjects)
    return sorted(rows.values_list("id", "subject", "kind", "details"))


def _undo_changes(
    table: CoveredTable, row: dict[str, Any], changes: Sequence[dict[str, Any]]
) -> Iterator[tuple[str, str]]:
    """Set audited columns to their first value; yield differences from the audit log.

    The new value of the last change must be the stored value, and the new value of each
    other change the old value of the next.
    """
    for details in reversed(changes):
        for name, column in table.audited.items():
            if name in details:
                column_field: Any = table.model._meta.get_field(name)
                parse = str if column_field.is_relation else column_field.to_python
                old, new = map(parse, details[name])
                if new != row[column]:
                    yield f"{name} {row[column]}", f"{name} {new}"
                row[column] = old
