"""operations.md, section 3: the programs of an account, at the command line."""

import re
import uuid
from datetime import timedelta

import pytest

from tests.command_line import is_refused_as_wrong, manage, refusal, run, run_json
from tests.conftest import NOW
from tests.factories.accounts import AccountFactory
from tests.factories.tracking import ProgramFactory
from tracking.models.programs import Program

MOMENT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00"


@pytest.fixture
def programs(account, other_account):
    """Two programs of the account, one of the other."""
    ProgramFactory(account=other_account, slug="zz-marker", title="zz-marker")
    older = ProgramFactory(
        account=account, slug="harbor", title="Harbor Lamps", created_at=NOW
    )
    newer = ProgramFactory(
        account=account,
        slug="beacon",
        title="Beacon",
        currency="JPY",
        created_at=NOW + timedelta(days=1),
        archived_at=NOW + timedelta(days=2),
    )
    return older, newer


def everything():
    """All programs and all that was noted."""
    return list(Program.objects.order_by("id").values()), [
        list(program.account.events.order_by("id").values())
        for program in Program.objects.select_related("account")
    ]


def test_lists_programs_as_json_oldest_first(programs):
    assert run_json("list_programs", "harbor") == {
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


def test_lists_programs_in_a_table_of_the_account_alone(programs):
    titles, *rows = run("list_programs", "harbor").splitlines()

    assert titles.split() == ["Id", "Title", "Currency", "Archived"]
    assert [row.split()[0] for row in rows] == ["harbor", "beacon"]
    assert "Harbor Lamps" in rows[0]
    assert "2026-03-06" in rows[1]
    assert "\x1b" not in "".join(rows)


@pytest.mark.parametrize("title", ["[/sale]", "[red]Sale[/red]", ":bell: Sale"])
def test_lists_a_title_as_it_is(account, title):
    ProgramFactory(account=account, title=title)

    assert title in run("list_programs", "harbor")


def test_lists_no_program(account):
    assert run_json("list_programs", "harbor") == {"programs": []}
    assert len(run("list_programs", "harbor").splitlines()) == 1


def test_archives_and_brings_back_without_a_word(program):
    assert run("archive_program", "harbor", program.slug) == ""
    assert program.again().archived_at is not None

    assert run("unarchive_program", "harbor", program.slug) == ""
    assert program.again().archived_at is None


def test_tells_an_archived_program_as_json_the_same_again(program):
    first = run_json("archive_program", "harbor", program.slug)
    before = everything()
    again = run_json("archive_program", "harbor", program.slug)

    assert list(first) == ["program", "archived_at"]
    assert first["program"] == program.slug
    assert re.fullmatch(MOMENT, first["archived_at"])
    assert again == first
    assert everything() == before


def test_tells_a_program_that_was_brought_back_as_json(program):
    run("archive_program", "harbor", program.slug)
    told = {"program": program.slug, "archived_at": None}

    assert run_json("unarchive_program", "harbor", program.slug) == told
    before = everything()
    assert run_json("unarchive_program", "harbor", program.slug) == told
    assert everything() == before


@pytest.mark.parametrize("command", ["archive_program", "unarchive_program"])
@pytest.mark.parametrize(
    ("account_slug", "slug"),
    [("harbor", "unknown"), ("harbor", "zz-marker"), ("unknown", "harbor")],
    ids=["unknown program", "foreign program", "unknown account"],
)
def test_does_not_know_a_program(programs, command, account_slug, slug):
    before = everything()

    refusal(command, account_slug, slug)
    assert everything() == before


def test_does_not_know_an_account(programs):
    assert "unknown" in refusal("list_programs", "unknown")


@pytest.mark.parametrize(
    "command",
    [
        ["archive_program", "harbor"],
        ["unarchive_program", "harbor"],
        ["archive_program", "harbor", "harbor", "more"],
        ["list_programs"],
        ["list_programs", "harbor", "--all"],
    ],
    ids=" ".join,
)
def test_stops_at_wrong_arguments(programs, command):
    before = everything()

    assert is_refused_as_wrong(*command)
    assert everything() == before


@pytest.mark.usefixtures("committed")
def test_works_as_a_process():
    slug = f"acme-{uuid.uuid4().hex[:12]}"
    ProgramFactory(account=AccountFactory(slug=slug), slug="harbor")

    archived = manage("archive_program", slug, "harbor")
    unknown = manage("archive_program", slug, "beacon")

    assert (archived.code, archived.out, archived.err) == (0, "", "")
    assert (unknown.code, unknown.out) == (1, "")
    assert len(unknown.err.splitlines()) == 1
