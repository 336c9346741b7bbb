"""Contract 7.1: programs found, archived, brought back."""

from datetime import timedelta

import pytest

from accounts.actor import acting
from tests.conftest import NOW
from tests.factories.tracking import ProgramFactory
from tracking.errors import ProgramIsLocked, ProgramNotFound
from tracking.services.programs import (
    archive,
    program_named,
    refuse_archived,
    unarchive,
)

LATER = NOW + timedelta(days=1)


def diary_of(account):
    return [
        (event.kind, event.subject, event.facts, event.created_at)
        for event in account.events.order_by("id")
    ]


def test_finds_programs_of_the_account_alone(account, other_account, program):
    ProgramFactory(account=other_account, slug="foreign")

    assert program_named(account, "harbor-lamp-partners") == program
    for slug in ("foreign", "Harbor-Lamp-Partners", "unknown", ""):
        with pytest.raises(ProgramNotFound) as refusal:
            program_named(account, slug)
        assert str(refusal.value) == "Program not found"


def test_archives_a_program(account, program):
    archived = archive(account, slug=program.slug, at=NOW)

    assert archived.archived_at == program.again().archived_at == NOW


def test_leaves_an_archived_program_as_it_is(account, program):
    archive(account, slug=program.slug, at=NOW)

    again = archive(account, slug=program.slug, at=LATER)

    assert again.archived_at == program.again().archived_at == NOW
    assert len(diary_of(account)) == 1


def test_brings_a_program_back(account, program):
    archive(account, slug=program.slug, at=NOW)

    back = unarchive(account, slug=program.slug, at=LATER)

    assert back.archived_at is program.again().archived_at is None


def test_leaves_an_open_program_as_it_is(account, program):
    unarchive(account, slug=program.slug, at=NOW)

    assert program.again().archived_at is None
    assert diary_of(account) == []


def test_writes_the_diary(account, program):
    with acting("a command"):
        archive(account, slug=program.slug, at=NOW)
        unarchive(account, slug=program.slug, at=LATER)

    subject = "program:harbor-lamp-partners"
    assert diary_of(account) == [
        ("program.archived", subject, {}, NOW),
        ("program.unarchived", subject, {}, LATER),
    ]
    assert {event.actor for event in account.events.all()} == {"a command"}


def test_leaves_other_programs_alone(account, other_account, program):
    others = [
        ProgramFactory(account=account),
        ProgramFactory(account=other_account, slug=program.slug),
    ]

    archive(account, slug=program.slug, at=NOW)

    assert [other.again().archived_at for other in others] == [None, None]


@pytest.mark.parametrize("act", [archive, unarchive])
def test_does_not_know_other_programs(account, other_account, act):
    foreign = ProgramFactory(account=other_account)

    for slug in (foreign.slug, "unknown"):
        with pytest.raises(ProgramNotFound):
            act(account, slug=slug, at=NOW)

    assert diary_of(other_account) == []


def test_refuses_to_change_an_archived_program(account, program):
    refuse_archived(program)
    archived = archive(account, slug=program.slug, at=NOW)

    with pytest.raises(ProgramIsLocked) as refusal:
        refuse_archived(archived)

    assert str(refusal.value) == "This program is archived."
    assert refusal.value.code == "program_archived"
