"""The law of docs/architecture.md, section 3: transactions lock rows in one order.

It sees locks by `select_for_update` and those of the ledger. Rows that the transaction
has created count only in the ledger: another transaction may insert the same row. A
transaction that a test opens around services is none of theirs.
"""

import sys
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from django.db import connection
from django.db.models import Model, QuerySet
from django.db.models.sql.compiler import SQLInsertCompiler
from django.db.transaction import Atomic

from accounts import compiled_writes
from accounts.compiled_queries import CompiledSelect
from payouts.models.ledger import LedgerAccount
from payouts.services.ledger import LedgerSession

ORDER = (
    *("TableUpload", "Connection", "Account", "ExchangeRate", "PayoutMinimum", "TaxRule"),
    *("RiskRule", "TableImport", "Enrollment", "Affiliate", "Prospect", "Customer", "Conversion"),
    *("Bonus", "PayoutRun", "PayoutLine", "LedgerAccount", "DocumentSequence"),
)
# Those and all others whose rows are locked: `concurrency/test_saved_columns.py` proves
# of each that nobody writes back what another connection changes.
LOCKED_MODELS = (
    *ORDER,
    *("AffiliateGroup", "Click", "Commission", "CommissionType", "Creative"),
    *("CustomField", "DailyRowCount", "Delivery", "Document", "GroupRate", "Level"),
    *(
        "Mail",
        "Note",
        "Payment",
        "PayoutMethod",
        "PayoutSettings",
        "PortalSecondFactor",
    ),
    *("PortalSettings", "Program", "Question", "Scenario", "ShopEvent", "StaleDay", "TaxData"),
    *("User", "WebhookEndpoint"),
)
# Append-only, and rows of a package, which locks and saves them itself.
OTHERS = {"AuditLogEntry", "TOTPDevice"}
NEVER_UPDATED = ("DailyRowCount", "StaleDay")  # rows are added and deleted only


class LockOrder:
    """The locks of the present transaction of a test, which may run within others."""

    def __init__(self):
        self.outer = len(connection.atomic_blocks)
        self.transaction = None
        self.created, self.held, self.violations = [], set(), []
        self.models = set()  # whose rows were locked

    def begin(self):
        """Forget the locks of the transaction before; return whether there is one."""
        inner = connection.atomic_blocks[self.outer :]
        begun = [block for block in inner if not getattr(block, "is_of_test", False)]
        if begun and begun[0] is not self.transaction:
            self.transaction, self.created, self.held = begun[0], [], set()
        return bool(begun)

    def create(self, rows):
        if self.begin():
            self.created += rows

    def lock(self, model, pks):
        self.models.add(model.__name__)
        if model.__name__ not in ORDER or not self.begin():
            return
        new = set(pks) - {None}
        if model is not LedgerAccount:
            new -= {row.pk for row in self.created if type(row) is model}
        late = {(ORDER.index(model.__name__), pk) for pk in new} - self.held
        if late and self.held and min(late) < max(self.held):
            kind = ORDER[max(self.held)[0]]
            self.violations.append(f"{model.__name__} is locked after {kind}")
        self.held |= late

    def lock_fetched(self, _, rows):
        if rows.query.select_for_update:
            self.lock(rows.model, map(get_pk, rows._result_cache))

    def lock_compiled(self, rows, select, *_):
        if select.locks:
            self.lock(select.model, map(get_pk, rows))

    def lock_changed(self, _, ledger):
        changed = [key for key, change in ledger.changes.items() if change]
        self.lock(LedgerAccount, [ledger.ledger_accounts[key].pk for key in changed])


def mark_block(_, block):
    """Mark a block of a transaction that a test opens."""
    block.is_of_test = "/tests/" in sys._getframe(2).f_code.co_filename


def get_pk(row):
    """Return the key of a row, or of its values, which begin with the key."""
    if isinstance(row, dict):
        row = tuple(row.values())
    return row.pk if isinstance(row, Model) else row[0] if type(row) is tuple else row


def call_after(owner, name, look):
    """Let `look` see the result and the arguments of a function."""
    original = getattr(owner, name)

    def wrapper(*args, **kwargs):
        result = original(*args, **kwargs)
        look(result, *args)
        return result

    return patch.object(owner, name, wrapper)


@contextmanager
def record_locks():
    """Yield the `LockOrder` of what runs in the block."""
    order = LockOrder()
    with ExitStack() as stack:
        for owner, name, look in (
            (Atomic, "__enter__", mark_block),
            (QuerySet, "_fetch_all", order.lock_fetched),
            (CompiledSelect, "run", order.lock_compiled),
            (LedgerSession, "_change_balances", order.lock_changed),
            (compiled_writes, "_insert_batch", lambda _, rows, *__: order.create(rows)),
            (
                SQLInsertCompiler,
                "execute_sql",
                lambda _, compiler, *__: order.create(compiler.query.objs),
            ),
        ):
            stack.enter_context(call_after(owner, name, look))
        yield order
