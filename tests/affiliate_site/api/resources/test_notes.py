"""Contract 2.4.7: notes about an affiliate."""

import re
from datetime import timedelta

import pytest

from tests.conftest import NOW
from tests.proof import everything
from tests.shop import Shop

PATH = "/affiliates/minakessler/notes/"
NO_NOTE = {"errors": [{"message": "Note not found"}]}
NO_AFFILIATE = {"errors": [{"message": "Affiliate not found"}]}
TYPE = "This value should be of type {{ type }}."
LONG = "This value is too long, {{ limit }} characters at most."


@pytest.fixture
def note(now, api, shop):
    """What is kept about Mina."""
    return api.post(PATH, {"note": " Likes lamps.\n"}).json()


def flaw(message, raw=None):
    return {
        "errors": [
            {"message": message, "message_raw": raw or message, "property_path": "note"}
        ]
    }


def test_keeps_a_note_as_it_was_written(now, api, shop):
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
    assert response["X-RateLimit-Limit"] == "300"
    assert api.get(f"{PATH}{note['id']}/").json() == note


@pytest.mark.parametrize(
    ("sent", "kept"),
    [("x", "x"), ("ž🛶" * 2500, "ž🛶" * 2500), (7, "7")],
    ids=["one", "longest", "integer"],
)
def test_takes_1_to_5000_characters(api, shop, note, sent, kept):
    made = api.post(PATH, {"note": sent}).json()
    changed = api.patch(f"{PATH}{note['id']}/", {"note": sent}).json()

    assert made["note"] == changed["note"] == kept


MISSING = flaw("Missing mandatory parameter(s)")
BLANK = flaw("This value should not be blank.")
TOO_LONG = flaw("This value is too long, 5000 characters at most.", LONG)
NO_TEXT = flaw("This value should be of type string.", TYPE)


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
def test_refuses_an_odd_text(api, note, text, on_post, on_patch):
    one = f"{PATH}{note['id']}/"

    answers = [
        api.ask(method, path, {"note": text})
        for method, path in (("POST", PATH), ("PATCH", one), ("PUT", one))
    ]

    assert [it.status_code for it in answers] == [400] * 3
    assert [it.json() for it in answers] == [on_post, on_patch, on_patch]
    assert api.get(PATH).json() == [note]


@pytest.mark.parametrize("said", [{}, {"note": None}], ids=["absent", "null"])
def test_wants_a_text_only_where_a_note_is_made(api, account, note, said):
    events = account.events.count()

    made = api.post(PATH, said)
    changed = api.patch(f"{PATH}{note['id']}/", said)

    assert (made.status_code, made.json()) == (400, MISSING)
    assert (changed.status_code, changed.json()) == (200, note)
    assert account.events.count() == events


@pytest.mark.parametrize("method", ["PATCH", "PUT"])
def test_changes_a_note(api, note, method):
    one = f"{PATH}{note['id']}/"

    response = api.ask(method, one, {"note": "Sells lamps.", "created_at": "x"})

    assert response.status_code == 200
    assert response.json() == note | {"note": "Sells lamps."}
    assert api.get(one).json() == response.json()


def test_counts_the_alias_with_what_it_stands_for(api, note):
    one = f"{PATH}{note['id']}/"

    left = [
        api.ask(method, one, {"note": "x"})["X-RateLimit-Remaining"]
        for method in ("PATCH", "PUT", "PATCH")
    ]

    assert left == ["299", "298", "297"]


def test_tears_a_note_up_once(api, account, note):
    one = f"{PATH}{note['id']}/"

    gone = api.delete(one, "[]")
    again = [api.ask(method, one, {"note": []}) for method in ("DELETE", "PUT", "GET")]

    assert (gone.status_code, gone.content) == (204, b"")
    assert [(it.status_code, it.json()) for it in again] == [(404, NO_NOTE)] * 3
    assert account.notes.count() == 0


def test_lists_the_notes_of_one_affiliate_newest_first(now, api, shop):
    rival = shop.join("Odette", "Varga")
    api.post(f"/affiliates/{rival.slug}/notes/", {"note": "about somebody else"})
    for number in range(26):
        now.move_to(NOW + timedelta(minutes=number // 2), tick=False)
        api.post(PATH, {"note": str(number)})

    first, second = api.get(PATH), api.get(f"{PATH}?page=2")

    shown = [row["note"] for row in first.json() + second.json()]
    assert shown == [str(number) for number in reversed(range(26))]
    assert len(second.json()) == 1
    assert first["Link"].startswith(f'<http://testserver/1.6{PATH}?page=2>; rel="next"')


@pytest.mark.parametrize(
    ("method", "said"),
    [("GET", None), ("PATCH", {"note": "x"}), ("PUT", {"note": []}), ("DELETE", None)],
    ids=["get", "patch", "put", "delete"],
)
@pytest.mark.parametrize("whose", ["another's", "foreign", "nobody's"])
def test_knows_a_note_of_its_own_affiliate_alone(
    api, account, other_account, note, other_api, shop, method, said, whose
):
    rival, other = shop.join("Odette", "Varga"), Shop(other_account, mark="zz-marker-")
    foreign = other_api.post(f"/affiliates/{other.mina.slug}/notes/", {"note": "zz"})
    path = {
        "another's": f"/affiliates/{rival.slug}/notes/{note['id']}/",
        "foreign": f"{PATH}{foreign.json()['id']}/",
        "nobody's": f"{PATH}no_0000000000000000/",
    }[whose]
    before = everything(account)["Note"], everything(other_account)

    response = api.ask(method, path, said)

    assert response.status_code == 404
    assert response.json() == NO_NOTE
    assert (everything(account)["Note"], everything(other_account)) == before


@pytest.mark.parametrize("slug", ["nobody", "zzmarkerminakessler"])
def test_keeps_no_note_about_a_stranger(api, other_account, shop, slug):
    Shop(other_account, mark="zz-marker-")

    answers = [api.get(f"/affiliates/{slug}/notes/")]
    answers += [api.post(f"/affiliates/{slug}/notes/", {"note": ""})]

    assert [(it.status_code, it.json()) for it in answers] == [(404, NO_AFFILIATE)] * 2
    assert other_account.notes.count() == 0


def test_tells_the_diary_but_not_what_was_written(api, account, note):
    one = f"{PATH}{note['id']}/"
    api.patch(one, {"note": "secret"})
    api.patch(one, {"note": "secret"})
    api.delete(one)

    lines = account.events.filter(kind__startswith="note.").order_by("id")
    assert [(it.kind, it.subject, it.facts) for it in lines] == [
        (f"note.{what}", f"note:{note['id']}", {})
        for what in ("written", "changed", "torn_up")
    ]
