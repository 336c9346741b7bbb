"""Programs: found, archived, brought back."""

from datetime import datetime

from django.db import transaction

from accounts.models.accounts import Account
from accounts.services.events import note
from tracking.errors import ProgramIsLocked, ProgramNotFound
from tracking.models.programs import Program


def program_named(account: Account, slug: str) -> Program:
    """The account's program with this slug."""
    program = account.programs.filter(slug=slug).first()
    if program is None:
        raise ProgramNotFound
    return program


def oldest_open(account: Account) -> Program | None:
    """The account's oldest program that is not archived; None: there is none."""
    programs = account.programs.filter(archived_at=None)
    return programs.order_by("created_at", "id").first()


def archive(account: Account, *, slug: str, at: datetime) -> Program:
    """Take no more conversions; an archived program stays as it is."""
    program = program_named(account, slug)
    with transaction.atomic():
        if program.change(expecting={"archived_at": None}, archived_at=at):
            note(account, "program.archived", program, at=at)
    return program


def unarchive(account: Account, *, slug: str, at: datetime) -> Program:
    """Take conversions again."""
    program = program_named(account, slug)
    with transaction.atomic():
        if program.change(expecting={"archived_at__isnull": False}, archived_at=None):
            note(account, "program.unarchived", program, at=at)
    return program


def refuse_archived(program: Program) -> None:
    """Stop here if the program is archived: it cannot be modified."""
    if program.archived_at is not None:
        raise ProgramIsLocked
