"""The audit log is history: what is decided is read from columns."""

import ast
import re

from accounts.events import EVENT_SENTENCES
from accounts.models.webhooks import TEST_EVENT
from tests.architecture.syntax_trees import parse_modules, parse_modules_outside

READERS = {
    # Written, and named by the deliveries of its events.
    "accounts/models/__init__.py": "exports the model",
    "accounts/models/webhooks.py": "a delivery names its event",
    "accounts/services/changes.py": "writes it",
    "accounts/services/outbox.py": "a delivery names its event",
    "accounts/services/erasure.py": "the event of a delivery that is rendered again",
    "payouts/services/erasure.py": "the event of a delivery that is rendered again",
    # Reconciliation.
    "payouts/services/ledger_digests.py": "compares rows with it",
    "payouts/services/reconciliation.py": "checks its triggers",
    # History pages and exports.
    "affiliate_site/backoffice/account/audit_log.py": "its list",
    "affiliate_site/backoffice/affiliates/affiliate_detail.py": "activity",
    "affiliate_site/backoffice/affiliates/notes.py": "who wrote a note",
    "affiliate_site/backoffice/conversions/conversion_details.py": "who reported it",
    "affiliate_site/backoffice/conversions/customer_details.py": "timeline",
    "affiliate_site/backoffice/object_pages.py": "history of an object",
    "affiliate_site/moving/tables/undo.py": "who has changed what an import made",
    "affiliate_site/privacy/person_export.py": "export of a person's data",
    "accounts/management/commands/list_audit_log.py": "the log for operators",
}


def reads_audit_log(tree: ast.AST) -> bool:
    """Whether a module names the model, or the entries of an account."""
    return any(
        getattr(node, "attr", "") == "audit_log"
        or "AuditLogEntry" in (getattr(node, "id", ""), getattr(node, "name", ""))
        for node in ast.walk(tree)
        if not isinstance(node, ast.ClassDef)
    )


def test_only_history_exports_and_reconciliation_read_the_audit_log():
    modules = parse_modules_outside("migrations")

    found = {path for path, tree in modules.items() if reads_audit_log(tree)}

    assert found == READERS.keys()


def test_detects_a_reader():
    for source in ("account.audit_log.filter()", "from m import AuditLogEntry"):
        assert reads_audit_log(ast.parse(source))
    assert not reads_audit_log(ast.parse("from services.audit_log import log_event"))


def test_the_logged_kinds_are_the_declared_ones():
    """So also what a branch logs that no test runs."""
    subjects = {kind.partition(".")[0] for kind in EVENT_SENTENCES}
    kind = re.compile(rf"({'|'.join(subjects)})\.(?!id$)[a-z_]+")
    logged = {
        node.value
        for tree in parse_modules().values()
        if imports(tree, "accounts.services.changes", "accounts.services.staff")
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and kind.fullmatch(str(node.value))
    }

    assert logged | {TEST_EVENT} == EVENT_SENTENCES.keys()


def imports(tree, *modules) -> bool:
    return any(
        isinstance(node, ast.ImportFrom) and node.module in modules
        for node in tree.body
    )
