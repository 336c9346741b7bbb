"""Who acts: known to the diary and the log, for as long as it lasts."""

import threading

import pytest

from accounts.actor import acting, known_as, present_actor


def test_is_the_system_when_nobody_is_known():
    assert present_actor().name == "system"
    assert present_actor().trace_id == ""


def test_knows_the_actor_inside_only():
    with acting("command prune", "7f0c"):
        assert present_actor().name == "command prune"
        assert present_actor().trace_id == "7f0c"

    assert present_actor().name == "system"


def test_comes_back_to_the_outer_actor():
    with acting("outer"):
        with acting("inner"):
            assert present_actor().name == "inner"
        assert present_actor().name == "outer"


def test_keeps_the_trace_id_when_a_name_becomes_known():
    with acting("unknown", "7f0c"):
        known_as("key aff_live_abc")

        assert present_actor().name == "key aff_live_abc"
        assert present_actor().trace_id == "7f0c"
    assert present_actor().name == "system"


def test_forgets_the_actor_after_a_failure():
    with pytest.raises(ValueError, match="no good"), acting("command"):
        raise ValueError("no good")

    assert present_actor().name == "system"


def test_does_not_tell_another_thread():
    seen = []
    with acting("command"):
        other = threading.Thread(target=lambda: seen.append(present_actor().name))
        other.start()
        other.join()

    assert seen == ["system"]
