"""Nested calls below `call_with_frame_memory` share one piece of memory."""

import sys
from resource import RUSAGE_THREAD, getrusage
from threading import Thread

import pytest

from affiliate_site.frame_memory import call_with_frame_memory

ROUNDS = 500


def do_nothing():
    pass


def call_at_depth(depth):
    """Call a function in a loop, below so many calls; return the page faults."""
    if depth:
        return call_at_depth(depth - 1)
    before = getrusage(RUSAGE_THREAD).ru_minflt
    for _ in range(ROUNDS):
        do_nothing()
    return getrusage(RUSAGE_THREAD).ru_minflt - before


def list_page_faults():
    return [call_at_depth(depth) for depth in range(400)]


def run_in_thread(function, *arguments):
    """A new thread has no memory for frames yet."""
    results = []
    thread = Thread(target=lambda: results.append(function(*arguments)))
    thread.start()
    thread.join()
    return results[0]


def test_a_loop_at_any_depth_requests_no_memory():
    faults = run_in_thread(call_with_frame_memory, list_page_faults)
    assert len(faults) == 400
    assert max(faults) < ROUNDS / 10


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="later versions may differ")
def test_without_it_some_loops_request_memory_in_each_round():
    assert max(run_in_thread(list_page_faults)) >= ROUNDS


def test_returns_and_raises_like_the_function():
    assert call_with_frame_memory(int, "12", base=3) == 5
    with pytest.raises(ValueError, match="invalid literal"):
        call_with_frame_memory(int, "x")
