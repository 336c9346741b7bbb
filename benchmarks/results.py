"""Results of the API benchmark: medians, ratios, goals. Pure functions."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from benchmarks.load import LoadResult
from benchmarks.operations import HOT

MAX_CLIENT_CPU_SHARE = 0.5  # of one core; above, the client may be the bottleneck
MIN_WAL_SYNCS = 0.9  # of one for each group of simultaneous writes

SERVICE, RAW, FASTAPI, TEXTBOOK_DRF = "service", "raw", "fastapi", "textbook DRF"

SHARES_OF_RAW = {
    "POST clicks": 0.17,
    "POST customers": 0.13,
    "POST conversions": 0.12,
    "GET conversions": 0.25,
    "GET conversions, deep page": 1.0,
    "GET customer": 0.10,
    "GET prospects": 0.15,
}
LISTS = ("GET conversions", "GET conversions, deep page", "GET prospects")
MIN_SHARE_OF_FASTAPI = {"POST": 0.6, "list": 0.7}
MIN_TIMES_TEXTBOOK_DRF = {"POST conversions": 3.0, "list": 4.0}
MIN_RATE_AT_32 = 0.9  # of the rate at 8
MAX_P99_AT_32 = 3.0  # times the median
MIN_SQLITE_SHARE = 0.5  # of PostgreSQL's rate, of a POST at 8
MAX_SQLITE_WAIT_MS = 2000.0
MAX_SHELL_CPU_MS = 1.2
SHELL = "GET commission"
SERVICE_ONLY = (SHELL, HOT)  # operations that only the service answers
MIN_HOT_RATE = 0.6  # of the rate with many affiliates, at 8


@dataclass(frozen=True)
class Round:
    """One side's load in one round."""

    load: LoadResult
    server_cpu_ms: float  # per request; of a client without a server, its own


@dataclass
class Cell:
    """The rounds of all sides for one operation and concurrency."""

    engine: str
    operation: str
    concurrency: int
    rounds: dict[str, list[Round]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def get_rate(self, side: str = SERVICE) -> float:
        """Return the median of requests per second."""
        return median(row.load.rate for row in self.rounds[side])

    def get_median_cpu_ms(self, side: str = SERVICE) -> float:
        """Return the median of CPU milliseconds per request."""
        return median(row.server_cpu_ms for row in self.rounds[side])

    def get_p50_ms(self) -> float:
        """Return the median of the rounds' median waits."""
        return median(row.load.p50_ms for row in self.rounds[SERVICE])

    def get_p99_ms(self) -> float:
        """Return the median of the rounds' 99th percentiles."""
        return median(row.load.p99_ms for row in self.rounds[SERVICE])

    def get_ratios(self, side: str) -> list[float]:
        """Return the rate of the service relative to another side, per round."""
        pairs = zip(self.rounds[SERVICE], self.rounds[side], strict=True)
        return [ours.load.rate / theirs.load.rate for ours, theirs in pairs]

    def list_problems(self) -> Iterator[str]:
        """Yield why the cell is void, if it is."""
        yield from self.problems
        for side, rounds in self.rounds.items():
            for row in rounds:
                yield from list_round_problems(side, row)

    def serialize(self) -> dict[str, Any]:
        """Return the cell as JSON values."""
        return {
            "engine": self.engine,
            "operation": self.operation,
            "concurrency": self.concurrency,
            "problems": list(self.list_problems()),
            "sides": {
                side: {
                    "rate": round(self.get_rate(side), 1),
                    "cpu_ms": round(self.get_median_cpu_ms(side), 3),
                    "rounds": [asdict(row) for row in rounds],
                }
                for side, rounds in self.rounds.items()
            },
        }


@dataclass(frozen=True)
class GoalResult:
    """A goal, and what was measured."""

    cell: str
    goal: str
    limit: float
    measured: float
    spread: tuple[float, float] | None = None
    is_maximum: bool = False

    @property
    def is_met(self) -> bool:
        """Whether the measured value is within the limit."""
        if self.is_maximum:
            return self.measured <= self.limit
        return self.measured >= self.limit


def list_round_problems(side: str, row: Round) -> Iterator[str]:
    """Yield why a round is void: an error, or a busy client."""
    if row.load.errors:
        yield f"{side}: {row.load.errors[0]}"
    if not row.load.rate:
        yield f"{side}: no request was answered in time"
    if side != RAW and row.load.cpu_share > MAX_CLIENT_CPU_SHARE:
        yield f"{side}: the client used {row.load.cpu_share:.2f} of a core"


def list_sync_problems(side: str, syncs: int, sent: int, concurrency: int) -> Iterator[str]:
    """Yield a problem if writes were acknowledged before they were on disk."""
    if syncs < sent / concurrency * MIN_WAL_SYNCS:
        yield f"{side}: {syncs} syncs of the log for {sent} requests"


def get_group(operation: str) -> str:
    """Return `POST`, `list` or the operation itself: goals are set for groups."""
    if operation.startswith("POST"):
        return "POST"
    return "list" if operation in LISTS else operation


def list_goal_results(cells: Sequence[Cell]) -> Iterator[GoalResult]:
    """Yield the goals that the measured cells can decide; void ones decide none."""
    cells = [cell for cell in cells if not any(cell.list_problems())]
    by_key = {(row.engine, row.operation, row.concurrency): row for row in cells}
    for cell in cells:
        if cell.engine == "sqlite":
            other = by_key.get(("postgresql", cell.operation, cell.concurrency))
            yield from list_sqlite_results(cell, other)
            continue
        if cell.concurrency <= 8:
            yield from list_share_results(cell)
        yield from list_comparison_results(cell)
        spread = by_key.get((cell.engine, "POST conversions", cell.concurrency))
        if cell.operation == HOT and cell.concurrency == 8 and spread:
            ratio = cell.get_rate() / spread.get_rate()
            name = "rate of many affiliates"
            yield GoalResult(name_cell(cell), name, MIN_HOT_RATE, ratio)
        if cell.operation == SHELL and cell.concurrency == 1:
            cpu = cell.get_median_cpu_ms()
            name = "CPU ms of the shell"
            yield GoalResult(name_cell(cell), name, MAX_SHELL_CPU_MS, cpu, is_maximum=True)
        if cell.concurrency == 32:
            at_8 = by_key.get((cell.engine, cell.operation, 8))
            yield from list_overload_results(cell, at_8)


def list_share_results(cell: Cell) -> Iterator[GoalResult]:
    """Yield the goal relative to the bare statements."""
    if cell.operation in SHARES_OF_RAW and RAW in cell.rounds:
        limit = SHARES_OF_RAW[cell.operation]
        yield build_ratio_result(cell, RAW, "share of raw", limit)


def list_comparison_results(cell: Cell) -> Iterator[GoalResult]:
    """Yield the goals relative to FastAPI and the textbook DRF application."""
    group = get_group(cell.operation)
    if FASTAPI in cell.rounds and group in MIN_SHARE_OF_FASTAPI:
        limit = MIN_SHARE_OF_FASTAPI[group]
        yield build_ratio_result(cell, FASTAPI, "share of FastAPI", limit)
    for name in {group, cell.operation} & MIN_TIMES_TEXTBOOK_DRF.keys():
        if TEXTBOOK_DRF in cell.rounds:
            limit = MIN_TIMES_TEXTBOOK_DRF[name]
            yield build_ratio_result(cell, TEXTBOOK_DRF, "times textbook DRF", limit)


def list_overload_results(cell: Cell, at_8: Cell | None) -> Iterator[GoalResult]:
    """Yield the goals at 32 connections."""
    if at_8:
        ratio = cell.get_rate() / at_8.get_rate()
        yield GoalResult(name_cell(cell), "rate of c=8", MIN_RATE_AT_32, ratio)
    waits = cell.get_p99_ms() / cell.get_p50_ms()
    yield GoalResult(name_cell(cell), "p99 / p50", MAX_P99_AT_32, waits, is_maximum=True)


def list_sqlite_results(cell: Cell, on_postgresql: Cell | None) -> Iterator[GoalResult]:
    """Yield the goals of the embedded database: POSTs at 8 connections."""
    if get_group(cell.operation) != "POST" or cell.concurrency != 8:
        return
    name = name_cell(cell)
    if on_postgresql:
        ratio = cell.get_rate() / on_postgresql.get_rate()
        yield GoalResult(name, "rate of PostgreSQL", MIN_SQLITE_SHARE, ratio)
    wait = max(row.load.max_ms for row in cell.rounds[SERVICE])
    yield GoalResult(name, "longest wait, ms", MAX_SQLITE_WAIT_MS, wait, is_maximum=True)


def build_ratio_result(cell: Cell, side: str, goal: str, limit: float) -> GoalResult:
    """Compare with another side; the spread is that of the rounds."""
    ratios = cell.get_ratios(side)
    measured = cell.get_rate() / cell.get_rate(side)
    return GoalResult(name_cell(cell), goal, limit, measured, (min(ratios), max(ratios)))


def name_cell(cell: Cell) -> str:
    """Return a name for tables."""
    engine = "" if cell.engine == "postgresql" else f" {cell.engine}"
    return f"{cell.operation} c={cell.concurrency}{engine}"


def render_cell(cell: Cell) -> str:
    """Return one line: rates, CPU, ratios."""
    ours = f"{cell.get_rate():7.0f}/s {cell.get_median_cpu_ms():6.2f} ms CPU"
    others = [
        f"{side} {rate:.0f}/s x{cell.get_rate() / max(rate, 0.1):.3f}"
        f" {cell.get_median_cpu_ms(side):.2f} ms"
        for side, rate in ((side, cell.get_rate(side)) for side in cell.rounds)
        if side != SERVICE
    ]
    waits = f"p50 {cell.get_p50_ms():.1f} p99 {cell.get_p99_ms():.1f} ms"
    return f"{name_cell(cell):36}{ours}  {waits}  " + "  ".join(others)


def render_goal_results(goal_results: Iterable[GoalResult]) -> Iterator[str]:
    """Yield a table of goals."""
    yield f"{'cell':38}{'goal':38}{'limit':>8}{'measured':>10}  rounds"
    for row in goal_results:
        spread = f"{row.spread[0]:.3f} to {row.spread[1]:.3f}" if row.spread else ""
        sign = "at most" if row.is_maximum else "at least"
        mark = "met" if row.is_met else "MISSED"
        yield (
            f"{row.cell:38}{row.goal + ', ' + sign:38}{row.limit:8.2f}"
            f"{row.measured:10.3f}  {spread:18} {mark}"
        )
