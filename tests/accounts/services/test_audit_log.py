"""The audit log: one entry per change, in the transaction of the change."""

import pytest
from django.db import transaction

from accounts.actor import use_actor
from accounts.services.changes import log_event, log_events
from tests.conftest import NOW
from tests.factories.tracking import ProgramFactory


def test_logs_an_event_with_all_fields(account, program):
    with use_actor("key aff_live_abc", "7f0c1de2a9b34c5591d2e8c04b6a7f13"):
        log_event(account, "program.updated", program, at=NOW, rate=["10", "7.5"])

    event = account.audit_log.get()
    assert event.kind == "program.updated"
    assert program.slug in event.subject
    assert event.details == {"rate": ["10", "7.5"]}
    assert event.actor == "key aff_live_abc"
    assert event.trace_id == "7f0c1de2a9b34c5591d2e8c04b6a7f13"
    assert event.created_at == NOW


def test_logs_the_system_as_default_actor(account):
    log_event(account, "account.locked", account, at=NOW)

    assert account.audit_log.get().actor == "system"


def test_logs_an_event_per_subject_in_one_statement(account, capture_queries):
    programs = [ProgramFactory(account=account) for _ in range(3)]
    events = [("program.archived", program) for program in programs]

    with capture_queries() as queries:
        log_events(account, events, at=NOW)

    assert len(queries) == 1
    subjects = account.audit_log.order_by("id").values_list("subject", flat=True)
    assert len(subjects) == 3
    for subject, program in zip(subjects, programs, strict=True):
        assert subject.endswith(program.slug)


def test_inserts_nothing_without_subjects(account, capture_queries):
    with capture_queries() as queries:
        log_events(account, [], at=NOW)

    assert not any("INSERT" in query["sql"] for query in queries)


def test_is_rolled_back_with_the_change(account, program):
    def fail_halfway():
        with transaction.atomic():
            program.update_row(title="Harbour")
            log_event(account, "program.updated", program, at=NOW)
            raise ValueError("failed")

    with pytest.raises(ValueError, match="failed"):
        fail_halfway()

    assert not account.audit_log.exists()


def test_writes_to_the_audit_log_of_one_account_only(account, other_account):
    log_event(account, "account.locked", account, at=NOW)

    assert not other_account.audit_log.exists()


def test_logs_no_kind_without_a_sentence(account):
    with pytest.raises(ValueError, match=r"program\.renamed"):
        log_event(account, "program.renamed", account, at=NOW)

    assert not account.audit_log.exists()
