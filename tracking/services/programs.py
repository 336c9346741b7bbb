"""Programs: look up, archive and unarchive."""

from datetime import datetime
from typing import Any

from django.db import transaction

from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from accounts.services.audit_log import log_event
from tracking.errors import ArchivedProgramReadOnly, ProgramNotFound
from tracking.models.programs import Program


def get_program(account: Account, slug: str) -> Program:
    """Get the program with this slug; raise `ProgramNotFound`."""
    return get_or_raise(account.programs, ProgramNotFound, slug=slug)


def find_oldest_active_program(account: Account) -> Program | None:
    """Find the oldest program that is not archived."""
    programs = account.programs.filter(archived_at=None)
    return programs.order_by("created_at", "id").first()


def archive_program(account: Account, *, slug: str, at: datetime) -> Program:
    """Archive a program, which then accepts no conversions; idempotent."""
    program = get_program(account, slug)
    with transaction.atomic():
        if program.update_row(expected={"archived_at": None}, archived_at=at):
            log_event(account, "program.archived", program, at=at)
    return program


def unarchive_program(account: Account, *, slug: str, at: datetime) -> Program:
    """Unarchive a program, which then accepts conversions again; idempotent."""
    program = get_program(account, slug)
    with transaction.atomic():
        if program.update_row(
            expected={"archived_at__isnull": False}, archived_at=None
        ):
            log_event(account, "program.unarchived", program, at=at)
    return program


def update_browser_trust(
    account: Account,
    *,
    slug: str,
    auto_approve_browser_sales: bool | None = None,
    trust_browser_customers: bool | None = None,
    at: datetime,
) -> Program:
    """Set how far a program trusts pages; None leaves a switch unchanged."""
    program = get_program(account, slug)
    sent: dict[str, Any] = {
        "auto_approve_browser_sales": auto_approve_browser_sales,
        "trust_browser_customers": trust_browser_customers,
    }
    values = {
        name: value
        for name, value in sent.items()
        if value is not None and value != getattr(program, name)
    }
    if values:
        changes = {name: [getattr(program, name), values[name]] for name in values}
        with transaction.atomic():
            program.update_row(**values)
            log_event(account, "program.updated", program, at=at, **changes)
    return program


def ensure_not_archived(program: Program) -> None:
    """Raise `ArchivedProgramReadOnly` if the program is archived."""
    if program.archived_at is not None:
        raise ArchivedProgramReadOnly
