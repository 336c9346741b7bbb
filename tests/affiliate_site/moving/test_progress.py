"""Lines that say how far an import is."""

import httpx
import pytest

from affiliate_site.moving.importing import AccountImport
from affiliate_site.moving.progress import Progress
from tests.affiliate_site.moving.test_source import answer_json, build_source
from tests.program_scenario import CONVERSION_CREATED_AT


class Clock:
    """Seconds that a test moves."""

    seconds = 0.0

    def __call__(self):
        return self.seconds


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def lines():
    return []


@pytest.fixture
def progress(clock, lines):
    return Progress(lines.append, clock=clock)


def test_says_total_rate_and_rest(progress, clock, lines):
    progress("conversion", 100, 100_000)
    clock.seconds = 57
    progress("conversion", 12_298, 100_000)
    assert lines == ["conversions: 12,298 of about 100,000, 214 a second, 7 minutes left"]


@pytest.mark.parametrize(
    ("kind", "count", "total", "line"),
    [
        ("commission", 50, None, "commissions: 50, 5 a second"),
        ("commission_type", 11, 20, "commission types: 11 of about 20, 1 a second"),
        ("bonus", 3, None, "bonuses: 3, below 1 a second"),
        ("customer", 1, 9, "customers: 1 of about 9"),
        ("payment", 60, 40, "payments: 60 of about 60, 6 a second"),
        (
            "belongings",
            21,
            None,
            "affiliates' notes and payout methods: 21, 2 a second",
        ),
    ],
)
def test_says_what_it_knows(progress, clock, lines, kind, count, total, line):
    progress(kind, 1, total)
    clock.seconds = 10
    progress(kind, count, total)
    (said,) = lines
    assert said.removesuffix(", less than a minute left") == line


def test_says_something_every_few_seconds_only(progress, clock, lines):
    for second in range(100):
        clock.seconds = second / 2
        progress("conversion" if second % 2 else "customer", second, None)
    assert len(lines) == 9


def test_the_rate_is_that_of_one_kind(progress, clock, lines):
    progress("affiliate", 1_000, None)
    clock.seconds = 4
    progress("customer", 100, None)
    clock.seconds = 14
    progress("customer", 300, None)
    assert lines == ["customers: 300, 20 a second"]


def test_an_import_knows_the_total_of_a_list_by_its_last_page(account):
    calls = []

    def handler(request):
        path = request.url.path.removeprefix("/1.6/")
        if path != "affiliate-groups/":
            return httpx.Response(200, content="[]")
        page = int(request.url.params["page"])
        rows = [{"id": f"g{page}-{number}", "title": "G"} for number in range(25)]
        return answer_json(rows, Link='</affiliate-groups/?page=8>; rel="last"')

    moving = AccountImport(account, build_source(handler), CONVERSION_CREATED_AT)
    moving.on_progress = lambda *call: calls.append(call)
    moving.run()
    assert calls == [("group", 100, 200), ("group", 200, 200)]
