"""Commands that list, archive and unarchive programs."""

import re
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command

from tests.command_line import (
    run_command,
    run_failing_command,
    run_json_command,
)
from tests.conftest import NOW
from tests.factories.tracking import ProgramFactory
from tracking.models.programs import Program

TIMESTAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00"


@pytest.fixture
def programs(account, other_account):
    """Two programs of the account, one of the other."""
    ProgramFactory(account=other_account, slug="zz-marker", title="zz-marker")
    older = ProgramFactory(account=account, slug="harbor", title="Harbor Lamps", created_at=NOW)
    newer = ProgramFactory(
        account=account,
        slug="beacon",
        title="Beacon",
        currency="JPY",
        created_at=NOW + timedelta(days=1),
        archived_at=NOW + timedelta(days=2),
    )
    return older, newer


def snapshot_all():
    """All programs and their accounts' audit logs."""
    return list(Program.objects.order_by("id").values()), [
        list(program.account.audit_log.order_by("id").values())
        for program in Program.objects.select_related("account")
    ]


def test_lists_programs_as_json_oldest_first(programs):
    assert run_json_command("list_programs", "harbor") == {
        "programs": [
            {
                "program": "harbor",
                "title": "Harbor Lamps",
                "currency": "EUR",
                "archived_at": None,
            },
            {
                "program": "beacon",
                "title": "Beacon",
                "currency": "JPY",
                "archived_at": "2026-03-06T09:15:27+00:00",
            },
        ]
    }


def test_lists_only_programs_of_the_account_as_a_table(programs):
    titles, *rows = run_command("list_programs", "harbor").splitlines()

    assert titles.split() == ["ID", "Title", "Currency", "Archived"]
    assert [row.split()[0] for row in rows] == ["harbor", "beacon"]
    assert "Harbor Lamps" in rows[0]
    assert "2026-03-06" in rows[1]
    assert "\x1b" not in "".join(rows)


def test_lists_nothing_without_programs(account):
    assert run_json_command("list_programs", "harbor") == {"programs": []}
    assert len(run_command("list_programs", "harbor").splitlines()) == 1


def test_archives_and_unarchives_and_says_so(program):
    assert "no new sales" in run_command("archive_program", "harbor", program.slug)
    assert program.reload().archived_at is not None

    assert "again" in run_command("unarchive_program", "harbor", program.slug)
    assert program.reload().archived_at is None


def test_archiving_again_prints_the_same_json(program):
    first = run_json_command("archive_program", "harbor", program.slug)
    before = snapshot_all()
    again = run_json_command("archive_program", "harbor", program.slug)

    assert list(first) == ["program", "archived_at"]
    assert first["program"] == program.slug
    assert re.fullmatch(TIMESTAMP, first["archived_at"])
    assert again == first
    assert snapshot_all() == before


def test_prints_an_unarchived_program_as_json(program):
    run_command("archive_program", "harbor", program.slug)
    expected = {"program": program.slug, "archived_at": None}

    assert run_json_command("unarchive_program", "harbor", program.slug) == expected
    before = snapshot_all()
    assert run_json_command("unarchive_program", "harbor", program.slug) == expected
    assert snapshot_all() == before


@pytest.mark.parametrize("command", ["archive_program", "unarchive_program"])
@pytest.mark.parametrize("slug", ["unknown", "zz-marker"])
def test_rejects_an_unknown_program(programs, command, slug):
    before = snapshot_all()

    run_failing_command(command, "harbor", slug)
    assert snapshot_all() == before


def test_sets_the_keys_of_customer_emails(account):
    result = run_json_command(
        "set_customer_email_keys",
        account.slug,
        "--meta-data-key",
        "mail",
        "--meta-data-key",
        "email",
    )

    assert result == {"account": account.slug, "customer_email_keys": ["mail", "email"]}
    account.refresh_from_db()
    assert account.customer_email_keys == ["mail", "email"]
    assert "keys of meta data" in run_failing_command(
        "set_customer_email_keys", account.slug, "--meta-data-key", "a/b"
    )
    with pytest.raises(CommandError, match="--meta-data-key --none is required"):
        call_command("set_customer_email_keys", account.slug)
    account.refresh_from_db()
    assert account.customer_email_keys == ["mail", "email"]
    run_json_command("set_customer_email_keys", account.slug, "--none")
    account.refresh_from_db()
    assert account.customer_email_keys == []
