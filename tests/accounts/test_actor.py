"""The current actor of the audit log and the request log."""

import threading

import pytest

from accounts.actor import (
    Actor,
    ActorKind,
    build_actor,
    get_actor,
    parse_actor,
    set_actor,
    use_actor,
)


def test_defaults_to_the_system_actor():
    assert get_actor().name == "system"
    assert get_actor().trace_id == ""


def test_sets_the_actor_within_the_block_only():
    with use_actor("command prune", "7f0c"):
        assert get_actor().name == "command prune"
        assert get_actor().trace_id == "7f0c"

    assert get_actor().name == "system"


def test_restores_the_outer_actor():
    with use_actor("outer"):
        with use_actor("inner"):
            assert get_actor().name == "inner"
        assert get_actor().name == "outer"


def test_keeps_the_trace_id_when_the_actor_is_renamed():
    with use_actor("unknown", "7f0c"):
        set_actor("key aff_live_abc")

        assert get_actor().name == "key aff_live_abc"
        assert get_actor().trace_id == "7f0c"
    assert get_actor().name == "system"


def test_resets_the_actor_after_an_exception():
    with pytest.raises(ValueError, match="failed"), use_actor("command"):
        raise ValueError("failed")

    assert get_actor().name == "system"


def test_does_not_set_the_actor_of_another_thread():
    names = []
    with use_actor("command"):
        thread = threading.Thread(target=lambda: names.append(get_actor().name))
        thread.start()
        thread.join()

    assert names == ["system"]


@pytest.mark.parametrize(
    ("kind", "key", "name"),
    [
        (ActorKind.STAFF, 12, "staff 12"),
        (ActorKind.OPERATOR, "", "operator"),
        (ActorKind.CONNECTION, "co-1_a", "connection co-1_a"),
        (ActorKind.IMPORT, "old.example.org", "import from old.example.org"),
        (ActorKind.SYSTEM, "", "system"),
    ],
)
def test_reads_what_it_wrote(kind, key, name):
    assert build_actor(kind, key) == name
    assert parse_actor(name) == (kind, str(key))


@pytest.mark.parametrize("name", [None, "", "staff12", "staff ", "nobody", "connections 1"])
def test_reads_no_kind_from_another_text(name):
    assert parse_actor(name) == Actor(None, "")
