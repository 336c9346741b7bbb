"""Archived programs (docs/api-contract.md, section 7.1)."""

from datetime import timedelta

import pytest

from accounts.actor import use_actor
from tests.conftest import NOW
from tests.factories.tracking import ProgramFactory
from tracking.errors import ArchivedProgramReadOnly, ProgramNotFound
from tracking.services.programs import (
    archive_program,
    ensure_not_archived,
    get_program,
    unarchive_program,
)

LATER = NOW + timedelta(days=1)


def list_audit_log_entries(account):
    return [
        (event.kind, event.subject, event.details, event.created_at)
        for event in account.audit_log.order_by("id")
    ]


def test_finds_only_programs_of_the_account(account, other_account, program):
    ProgramFactory(account=other_account, slug="foreign")

    assert get_program(account, "harbor-lamp-partners") == program
    for slug in ("foreign", "Harbor-Lamp-Partners", "unknown", ""):
        with pytest.raises(ProgramNotFound) as error:
            get_program(account, slug)
        assert str(error.value) == "Program not found"


def test_archives_a_program(account, program):
    archived = archive_program(account, slug=program.slug, at=NOW)

    assert archived.archived_at == program.reload().archived_at == NOW


def test_archiving_again_changes_nothing(account, program):
    archive_program(account, slug=program.slug, at=NOW)

    again = archive_program(account, slug=program.slug, at=LATER)

    assert again.archived_at == program.reload().archived_at == NOW
    assert len(list_audit_log_entries(account)) == 1


def test_unarchives_a_program(account, program):
    archive_program(account, slug=program.slug, at=NOW)

    unarchived = unarchive_program(account, slug=program.slug, at=LATER)

    assert unarchived.archived_at is program.reload().archived_at is None


def test_unarchiving_an_active_program_changes_nothing(account, program):
    unarchive_program(account, slug=program.slug, at=NOW)

    assert program.reload().archived_at is None
    assert list_audit_log_entries(account) == []


def test_logs_both_changes(account, program):
    with use_actor("a command"):
        archive_program(account, slug=program.slug, at=NOW)
        unarchive_program(account, slug=program.slug, at=LATER)

    subject = "program:harbor-lamp-partners"
    assert list_audit_log_entries(account) == [
        ("program.archived", subject, {}, NOW),
        ("program.unarchived", subject, {}, LATER),
    ]
    assert {event.actor for event in account.audit_log.all()} == {"a command"}


def test_does_not_archive_other_programs(account, other_account, program):
    others = [
        ProgramFactory(account=account),
        ProgramFactory(account=other_account, slug=program.slug),
    ]

    archive_program(account, slug=program.slug, at=NOW)

    assert [other.reload().archived_at for other in others] == [None, None]


@pytest.mark.parametrize("operation", [archive_program, unarchive_program])
def test_rejects_unknown_and_foreign_programs(account, other_account, operation):
    foreign = ProgramFactory(account=other_account)

    for slug in (foreign.slug, "unknown"):
        with pytest.raises(ProgramNotFound):
            operation(account, slug=slug, at=NOW)

    assert list_audit_log_entries(other_account) == []


def test_rejects_changes_of_an_archived_program(account, program):
    ensure_not_archived(program)
    archived = archive_program(account, slug=program.slug, at=NOW)

    with pytest.raises(ArchivedProgramReadOnly) as error:
        ensure_not_archived(archived)

    assert str(error.value) == "This program is archived."
    assert error.value.code == "program_archived"
