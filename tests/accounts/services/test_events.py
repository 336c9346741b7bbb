"""The diary: one line for every change, in the transaction of the change."""

import pytest
from django.db import transaction

from accounts.actor import acting
from accounts.services.events import note, note_each
from tests.conftest import NOW
from tests.factories.tracking import ProgramFactory


def test_writes_one_line_with_all_that_is_known(account, program):
    with acting("key aff_live_abc", "7f0c1de2a9b34c5591d2e8c04b6a7f13"):
        note(account, "program.changed", program, at=NOW, rate=["10", "7.5"])

    event = account.events.get()
    assert event.kind == "program.changed"
    assert program.slug in event.subject
    assert event.facts == {"rate": ["10", "7.5"]}
    assert event.actor == "key aff_live_abc"
    assert event.trace_id == "7f0c1de2a9b34c5591d2e8c04b6a7f13"
    assert event.created_at == NOW


def test_names_the_system_when_nobody_is_known(account):
    note(account, "account.locked", account, at=NOW)

    assert account.events.get().actor == "system"


def test_writes_a_line_for_each_subject_by_one_statement(account, statements):
    programs = [ProgramFactory(account=account) for _ in range(3)]

    with statements() as asked:
        note_each(account, "program.archived", programs, at=NOW)

    assert len(asked) == 1
    subjects = account.events.order_by("id").values_list("subject", flat=True)
    assert len(subjects) == 3
    for subject, program in zip(subjects, programs, strict=True):
        assert subject.endswith(program.slug)


def test_asks_nothing_for_no_subject(account, statements):
    with statements() as asked:
        note_each(account, "program.archived", [], at=NOW)

    assert not any("INSERT" in query["sql"] for query in asked)


def test_is_gone_when_the_change_is_rolled_back(account, program):
    def fail_halfway():
        with transaction.atomic():
            program.change(title="Harbour")
            note(account, "program.changed", program, at=NOW)
            raise ValueError("half way")

    with pytest.raises(ValueError, match="half way"):
        fail_halfway()

    assert not account.events.exists()


def test_writes_into_the_diary_of_one_account(account, other_account):
    note(account, "account.locked", account, at=NOW)

    assert not other_account.events.exists()
