"""Reconciliation: every ledger invariant checked for some accounts, with counts."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from django.db import connection
from django.db.models import Count, Max

from accounts.append_only import list_invalid_triggers
from accounts.db_compat import count_non_integer_rows, use_snapshot
from accounts.models.accounts import Account
from accounts.models.audit_log import AuditLogEntry
from accounts.services.accounts import list_accounts, record_reconciliation
from payouts.models.ledger import LedgerDigest, Transfer
from payouts.services.audit_log_invariants import check_e15_audit_log
from payouts.services.ledger_digests import DigestReport, OnRows, check_e15_e16_digests, save_digest
from payouts.services.ledger_invariant_queries import list_tenant_models
from payouts.services.ledger_invariants import Discrepancy, LedgerInvariants
from tracking.amounts import AmountField, ExactSum
from tracking.money import ZERO

MAX_CHECKED_TRANSFERS = 50_000  # in a request: they take some five seconds
APPEND_ONLY_MODELS = (AuditLogEntry, LedgerDigest, Transfer)
logger = logging.getLogger(__name__)


@dataclass
class ReconciliationReport:
    """What was checked and which discrepancies were found.

    `closed_…` describes the transfers of the days before today. `digest_report` is
    there if all accounts were checked.
    """

    accounts: Sequence[Account] = ()
    ledger_account_count: int = 0
    transfer_count: int = 0
    negative_balance_count: int = 0
    discrepancies: list[Discrepancy] = field(default_factory=list)
    closed_transfer_count: int = 0
    last_closed_transfer_id: int | None = None
    closed_transfer_total: Decimal = ZERO
    digest_report: DigestReport | None = None

    def count_discrepancies(self, account: Account) -> int:
        """Count the discrepancies of an account and of the whole database."""
        return sum(discrepancy.account in (account.slug, "-") for discrepancy in self.discrepancies)


def reconcile(accounts: Sequence[Account], *, at: datetime) -> ReconciliationReport:
    """Recompute every balance from the transfers and check each invariant but E16."""
    report = _check_ledgers(accounts, at)
    report.discrepancies += check_e15_audit_log(accounts)
    return report


def check_account(account: Account, *, at: datetime) -> ReconciliationReport | None:
    """Check the amounts of one account: all but E10, E11, E13, E15, E16 and E18.

    None, and nothing is checked, if it has more than `MAX_CHECKED_TRANSFERS` transfers.
    Discrepancies are recorded; that there are none is not, because only the nightly
    check, which sees more, may end an alarm.
    """
    newest_first = account.transfers.order_by("-created_at", "-id")
    number = newest_first[: MAX_CHECKED_TRANSFERS + 1].count()
    if number > MAX_CHECKED_TRANSFERS:
        return None
    report = ReconciliationReport(accounts=[account], transfer_count=number)
    with use_snapshot():
        report.discrepancies += LedgerInvariants(account).list_amount_discrepancies()
    if report.discrepancies:
        record_result(report, at=at)
    return report


def reconcile_all(
    *,
    at: datetime,
    expected_digest: str | None = None,
    on_rows: OnRows = lambda _: None,
) -> ReconciliationReport:
    """Check each invariant of all accounts, and the digests (E16).

    Accounts that are being deleted are left out.

    `expected_digest` is one that was printed earlier: it must still be in the chain.
    `on_rows` gets how many more of `count_covered_rows` are read.
    """
    accounts = list_accounts()
    report = _check_ledgers(accounts, at)
    report.digest_report = check_e15_e16_digests(
        accounts, at=at, expected=expected_digest, on_rows=on_rows
    )
    report.discrepancies += report.digest_report.discrepancies
    return report


def _check_ledgers(accounts: Sequence[Account], at: datetime) -> ReconciliationReport:
    report = ReconciliationReport(accounts=accounts)
    report.discrepancies += check_e10_triggers_and_e13_precision()
    for account in accounts:
        try:
            _check_ledger(report, account, at)
        except Exception as error:
            if not connection.is_usable():
                raise
            logger.exception("the ledger of %s could not be checked", account.slug)
            name = type(error).__name__
            report.discrepancies.append(
                Discrepancy("-", account.slug, name, "not checked", "see the log")
            )
    return report


def _check_ledger(report: ReconciliationReport, account: Account, at: datetime) -> None:
    invariants = LedgerInvariants(account)
    report.ledger_account_count += len(invariants.ledger_accounts)
    report.negative_balance_count += sum(
        (row.balance or 0) < 0 for row in invariants.ledger_accounts
    )
    report.discrepancies += invariants.list_discrepancies()
    _add_ledger_totals(report, account, at)


def record_result(report: ReconciliationReport, *, at: datetime) -> None:
    """Record the result for the dashboards, and the digest of new rows."""
    for account in report.accounts:
        count = report.count_discrepancies(account)
        record_reconciliation(account, discrepancy_count=count, at=at)
    if report.digest_report:
        save_digest(report.digest_report)


def check_e10_triggers_and_e13_precision() -> Iterator[Discrepancy]:
    """E10: append-only triggers exist. E13: stored amounts are integers."""
    for append_only in APPEND_ONLY_MODELS:
        table = append_only._meta.db_table
        for name, problem in list_invalid_triggers(table).items():
            yield Discrepancy("E10", "-", table, problem, name)
    for model in list_tenant_models():
        table = model._meta.db_table
        for column in model._meta.fields:
            if isinstance(column, AmountField):
                count = count_non_integer_rows(table, column.attname)
                if count:
                    yield Discrepancy("E13", "-", table, f"{count} odd rows", column.attname)


def _add_ledger_totals(report: ReconciliationReport, account: Account, at: datetime) -> None:
    today = at.replace(hour=0, minute=0, second=0, microsecond=0)
    closed = account.transfers.filter(created_at__lt=today).aggregate(
        n=Count("id"), last=Max("id"), total=ExactSum("amount")
    )
    report.transfer_count += account.transfers.count()
    report.closed_transfer_count += closed["n"]
    report.closed_transfer_total += closed["total"] or ZERO
    if closed["last"] is not None:
        report.last_closed_transfer_id = max(report.last_closed_transfer_id or 0, closed["last"])
