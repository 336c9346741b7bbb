"""Notes about an affiliate: docs/api-contract.md, section 2.4.7."""

import re
from datetime import timedelta

import pytest

from tests.affiliate_site.responses import build_field_error
from tests.conftest import NOW
from tests.ledger_checks import snapshot_account
from tests.program_scenario import ProgramScenario

pytestmark = pytest.mark.usefixtures("shared_scenario")

PATH = "/affiliates/minakessler/notes/"
NO_NOTE = {"errors": [{"message": "Note not found"}]}
TYPE = "This value should be of type {{ type }}."
LONG = "This value is too long, {{ limit }} characters at most."


@pytest.fixture
def note(frozen_time, api, scenario):
    """A note about Mina."""
    return api.post(PATH, {"note": " Likes lamps.\n"}).json()


def test_creates_a_note(frozen_time, api, scenario):
    response = api.post(PATH, {"note": " Likes lamps.\n", "id": "no_1"})

    note = response.json()
    assert response.status_code == 200
    assert re.fullmatch("no_[A-Za-z0-9]{16}", note["id"])
    assert note == {
        "id": note["id"],
        "note": " Likes lamps.\n",
        "created_at": "2026-03-04T09:15:27+00:00",
    }
    assert list(note) == ["id", "note", "created_at"]
    assert api.get(f"{PATH}{note['id']}/").json() == note


@pytest.mark.parametrize(
    ("sent", "kept"),
    [("x", "x"), ("ž🛶" * 2500, "ž🛶" * 2500), (7, "7")],
    ids=["one", "longest", "integer"],
)
def test_accepts_1_to_5000_characters(api, scenario, note, sent, kept):
    created = api.post(PATH, {"note": sent}).json()
    changed = api.patch(f"{PATH}{note['id']}/", {"note": sent}).json()

    assert created["note"] == changed["note"] == kept


def build_error(*template):
    return {"errors": [build_field_error("note", *template)]}


MISSING = build_error("Missing mandatory parameter(s)")
BLANK = build_error("This value should not be blank.")
TOO_LONG = build_error(LONG, 5000)
NO_TEXT = build_error(TYPE, "string")


@pytest.mark.parametrize(
    ("text", "on_post", "on_patch"),
    [
        ("", MISSING, BLANK),
        (" \n", MISSING, BLANK),
        ("x" * 5001, TOO_LONG, TOO_LONG),
        (["x"], NO_TEXT, NO_TEXT),
        (True, NO_TEXT, NO_TEXT),
    ],
    ids=["empty", "blank", "long", "list", "boolean"],
)
def test_rejects_an_invalid_text(api, note, text, on_post, on_patch):
    one = f"{PATH}{note['id']}/"

    responses = [
        api.request(method, path, {"note": text})
        for method, path in (("POST", PATH), ("PATCH", one), ("PUT", one))
    ]

    assert [response.status_code for response in responses] == [400] * 3
    assert [response.json() for response in responses] == [on_post, on_patch, on_patch]
    assert api.get(PATH).json() == [note]


@pytest.mark.parametrize("body", [{}, {"note": None}], ids=["absent", "null"])
def test_requires_a_text_only_on_creation(api, account, note, body):
    events = account.audit_log.count()

    created = api.post(PATH, body)
    changed = api.patch(f"{PATH}{note['id']}/", body)

    assert (created.status_code, created.json()) == (400, MISSING)
    assert (changed.status_code, changed.json()) == (200, note)
    assert account.audit_log.count() == events


@pytest.mark.parametrize("method", ["PATCH", "PUT"])
def test_updates_a_note(api, note, method):
    one = f"{PATH}{note['id']}/"

    response = api.request(method, one, {"note": "Sells lamps.", "created_at": "x"})

    assert response.status_code == 200
    assert response.json() == note | {"note": "Sells lamps."}
    assert api.get(one).json() == response.json()


def test_deletes_a_note_once(api, account, note):
    one = f"{PATH}{note['id']}/"

    deleted = api.delete(one, "[]")
    again = [api.request(method, one, {"note": []}) for method in ("DELETE", "PUT", "GET")]

    assert (deleted.status_code, deleted.content) == (204, b"")
    assert [(response.status_code, response.json()) for response in again] == [(404, NO_NOTE)] * 3
    assert account.notes.count() == 0


def test_lists_the_notes_of_one_affiliate_newest_first(frozen_time, api, scenario):
    other_affiliate = scenario.create_enrolled_affiliate("Odette", "Varga")
    api.post(f"/affiliates/{other_affiliate.slug}/notes/", {"note": "about somebody else"})
    for number in range(26):
        frozen_time.move_to(NOW + timedelta(minutes=number // 2), tick=False)
        api.post(PATH, {"note": str(number)})

    first, second = api.get(PATH), api.get(f"{PATH}?page=2")

    shown = [row["note"] for row in first.json() + second.json()]
    assert shown == [str(number) for number in reversed(range(26))]
    assert len(second.json()) == 1
    assert first["Link"].startswith(f'<http://testserver/1.6{PATH}?page=2>; rel="next"')


@pytest.mark.parametrize(
    ("method", "body"),
    [("GET", None), ("PATCH", {"note": "x"}), ("PUT", {"note": []}), ("DELETE", None)],
    ids=["get", "patch", "put", "delete"],
)
@pytest.mark.parametrize("owner", ["another's", "foreign", "nobody's"])
def test_unknown_notes_return_404(
    api, account, other_account, note, other_api, scenario, method, body, owner
):
    other_affiliate, other = (
        scenario.create_enrolled_affiliate("Odette", "Varga"),
        ProgramScenario(other_account, prefix="zz-marker-"),
    )
    foreign = other_api.post(f"/affiliates/{other.mina.slug}/notes/", {"note": "zz"})
    path = {
        "another's": f"/affiliates/{other_affiliate.slug}/notes/{note['id']}/",
        "foreign": f"{PATH}{foreign.json()['id']}/",
        "nobody's": f"{PATH}no_0000000000000000/",
    }[owner]
    before = snapshot_account(account)["Note"], snapshot_account(other_account)

    response = api.request(method, path, body)

    assert response.status_code == 404
    assert response.json() == NO_NOTE
    assert (
        snapshot_account(account)["Note"],
        snapshot_account(other_account),
    ) == before


def test_audit_log_records_notes_without_their_text(api, account, note):
    one = f"{PATH}{note['id']}/"
    api.patch(one, {"note": "secret"})
    api.patch(one, {"note": "secret"})
    api.delete(one)

    events = account.audit_log.filter(kind__startswith="note.").order_by("id")
    assert [(entry.kind, entry.subject, entry.details) for entry in events] == [
        (f"note.{action}", f"note:{note['id']}", {}) for action in ("created", "updated", "deleted")
    ]
