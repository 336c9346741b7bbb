"""Arithmetic of the API benchmark: medians, ratios, goals, void rounds."""

import pytest

from benchmarks.load import LoadResult
from benchmarks.operations import HOT
from benchmarks.results import (
    FASTAPI,
    RAW,
    SERVICE,
    TEXTBOOK_DRF,
    Cell,
    Round,
    list_goal_results,
    list_sync_problems,
    render_cell,
    render_goal_results,
)


def make_rounds(*rates, **values):
    defaults = {"sent": 100, "p50_ms": 2.0, "p99_ms": 5.0, "max_ms": 9.0}
    return [Round(LoadResult(rate=rate, **defaults | values), 1.5) for rate in rates]


def make_cell(operation="POST conversions", concurrency=8, engine="postgresql", **sides):
    names = {"raw": RAW, "fastapi": FASTAPI, "textbook": TEXTBOOK_DRF}
    rounds = {SERVICE: sides.pop(SERVICE, make_rounds(100, 130, 120))}
    rounds |= {names[side]: rows for side, rows in sides.items()}
    return Cell(engine, operation, concurrency, rounds)


def list_measured(*cells):
    return {row.goal: (row.measured, row.is_met) for row in list_goal_results(cells)}


def test_compares_the_medians_of_all_rounds():
    cell = make_cell(raw=make_rounds(1000, 800, 9000))

    assert list_measured(cell) == {"share of raw": (0.12, True)}


def test_shows_the_spread_of_the_rounds():
    cell = make_cell(raw=make_rounds(1000, 1000, 2000))

    (goal_result,) = list_goal_results([cell])

    assert goal_result.spread == (0.06, 0.13)


def test_misses_a_goal_below_its_limit():
    cell = make_cell(raw=make_rounds(1001, 1001, 1001))

    assert list_measured(cell)["share of raw"][1] is False


def test_compares_writes_with_fastapi_and_textbook_drf():
    cell = make_cell(fastapi=make_rounds(200, 200, 200), textbook=make_rounds(40, 40, 40))

    assert list_measured(cell) == {
        "share of FastAPI": (0.6, True),
        "times textbook DRF": (3.0, True),
    }


def test_expects_more_of_lists():
    cell = make_cell(
        "GET conversions",
        fastapi=make_rounds(200, 200, 200),
        textbook=make_rounds(40, 40, 40),
    )

    assert list_measured(cell) == {
        "share of FastAPI": (0.6, False),
        "times textbook DRF": (3.0, False),
    }


def test_compares_32_connections_with_8():
    at_8 = make_cell(service=make_rounds(100))
    at_32 = make_cell(concurrency=32, service=make_rounds(89, p99_ms=6.0))

    assert list_measured(at_8, at_32) == {
        "rate of c=8": (0.89, False),
        "p99 / p50": (3.0, True),
    }


def test_compares_sqlite_with_postgresql():
    embedded = make_cell(engine="sqlite", service=make_rounds(60, max_ms=2001))

    assert list_measured(make_cell(), embedded) == {
        "rate of PostgreSQL": (0.5, True),
        "longest wait, ms": (2001, False),
    }


def test_compares_one_affiliate_with_many():
    hot = make_cell(HOT, service=make_rounds(72))

    assert list_measured(make_cell(), hot) == {"rate of many affiliates": (0.6, True)}


def test_limits_the_cpu_time_of_a_request_that_does_little():
    cell = make_cell("GET commission", concurrency=1)

    assert list_measured(cell) == {"CPU ms of the shell": (1.5, False)}


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"errors": ["HTTP/1.1 500"]}, "service: HTTP/1.1 500"),
        ({"cpu_share": 0.51}, "service: the client used 0.51 of a core"),
    ],
)
def test_a_round_is_void(values, problem):
    cell = make_cell(service=make_rounds(100, **values), raw=make_rounds(100))

    assert list(cell.list_problems()) == [problem]
    assert list(list_goal_results([cell])) == []


def test_a_round_without_answers_is_void():
    cell = make_cell(raw=make_rounds(0, 0, 0))

    assert "raw: no request was answered in time" in cell.list_problems()


def test_simultaneous_writes_may_share_a_sync():
    assert list(list_sync_problems(SERVICE, syncs=12, sent=100, concurrency=8)) == []


def test_writes_without_syncs_are_void():
    problems = list_sync_problems(SERVICE, syncs=11, sent=100, concurrency=8)

    assert list(problems) == ["service: 11 syncs of the log for 100 requests"]


def test_renders_cells_and_goals():
    cell = make_cell(raw=make_rounds(1000, 1000, 1000))

    assert "x0.120" in render_cell(cell)
    assert "0.100 to 0.130" in "\n".join(render_goal_results(list_goal_results([cell])))
