"""The pages that `growth.py` measures, their goals and their figures."""

import statistics
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from time import perf_counter
from typing import Any

from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import override_settings
from django.utils import timezone

import benchmarks.django_setup  # noqa: F401 - before models are imported
from accounts.models.accounts import Account
from accounts.models.api_keys import Role
from accounts.models.users import User
from accounts.services.api_keys import create_api_key
from accounts.services.staff import create_staff_user
from benchmarks.growth_data import create_filled_account, settle_account
from benchmarks.growth_lists import fill_lists, list_orders
from benchmarks.operations import API, PAGE_SIZE
from benchmarks.scenario import analyze_tables

MAX_DASHBOARD_SQL_MS = 50.0
MAX_LIST_TIMES, MAX_LIST_STATEMENTS = 1.5, 15
MAX_NOISE_SQL_MS = 5.0  # of a list; times of less say nothing
MAX_SEARCH_SQL_MS = 20.0
MAX_FIRST_PAGE_TIMES, MAX_FILTER_TIMES = 1.2, 1.5
MAX_ANY_PAGE_TIMES, MAX_BALANCE_TIMES = 4.0, 3.0
MAX_SQL_LENGTH = 600  # the end of a statement: its conditions and its order
OK = 200


@dataclass(frozen=True)
class Page:
    """A page, and its goals: times the first size, milliseconds of SQL, statements.

    Up to `noise_sql_ms` it may take any times those of the first size.
    """

    name: str
    path: str
    max_times: float = 0.0
    max_sql_ms: float = 0.0
    max_statements: int = 0
    noise_sql_ms: float = 0.0


@dataclass
class Site:
    """An account of one size, with its clients of API and back office."""

    account: Account
    rows: int
    key: str
    user: User
    staff: Client
    statements: list[tuple[float, str]] = field(default_factory=list)  # the last ones

    def measure(self, path: str) -> tuple[float, float]:
        """Return milliseconds of the request, and of its SQL."""
        path = self.fill_in(path)
        client, headers = self.staff, {}
        if path.startswith(API):
            client, headers = Client(), {"X-Api-Key": self.key}
        with measure_sql() as statements:
            started = perf_counter()
            response = client.get(path, headers=headers)
            duration = perf_counter() - started
        if response.status_code != OK:
            raise RuntimeError(f"{path} returned {response.status_code}")
        self.statements = statements
        return duration * 1000, sum(seconds for seconds, _ in statements) * 1000

    def fill_in(self, path: str) -> str:
        """Replace the names of pages and rows in a path."""
        pages = -(-self.rows // PAGE_SIZE)
        month = timezone.now() - timedelta(days=60)
        return path.format(
            middle=pages // 2,
            last=pages,
            affiliate=self.account.affiliates.order_by("pk")[7].slug,
            date_from=f"{month:%Y-%m-%d}",
            date_to=f"{month + timedelta(days=30):%Y-%m-%d}",
        )


@dataclass
class Figures:
    """Medians of one page for one size, compared with the first size."""

    page: str
    rows: int
    request_ms: float
    sql_ms: float
    request_times: float
    sql_times: float
    statements: int
    is_met: bool = True


def list_pages() -> Iterator[Page]:
    """Yield all pages of API and back office, page 1 of conversions first."""
    conversions = f"{API}/conversions/"
    yield Page("conversions", conversions, MAX_FIRST_PAGE_TIMES)
    for name, query in {
        "program": "program_id=lamps",
        "affiliate": "affiliate_id={affiliate}",
        "customer": "customer_id=member-7",
        "external id": "external_id=order-7",
        "a month": "date_from={date_from}&date_to={date_to}",
        "pending": "pending=true",
    }.items():
        yield Page(f"conversions: {name}", f"{conversions}?{query}", MAX_FILTER_TIMES)
    for name in ("middle", "last"):
        path = f"{conversions}?page={{{name}}}"
        yield Page(f"conversions: {name} page", path, MAX_ANY_PAGE_TIMES)
    for name in ("commissions", "customers", "clicks"):
        yield Page(name, f"{API}/{name}/", MAX_FIRST_PAGE_TIMES)
    for query in ("status=pending", "paid=0", "affiliate_id={affiliate}"):
        path = f"{API}/commissions/?{query}"
        yield Page(f"commissions: {query.partition('=')[0]}", path, MAX_FILTER_TIMES)
    yield Page("balances", f"{API}/balances/", MAX_BALANCE_TIMES)
    yield Page("dashboard", "/admin/", 0, MAX_DASHBOARD_SQL_MS)
    search = "/admin/tracking/conversion/?q=order-7"
    yield Page("admin: search an external id", search, 0, MAX_SEARCH_SQL_MS)


def list_back_office_pages(user: User) -> Iterator[Page]:
    """Yield page 1 of every list of the back office, in each order."""
    for name, path in list_orders(user):
        yield Page(
            f"admin: {name}",
            path,
            MAX_LIST_TIMES,
            max_statements=MAX_LIST_STATEMENTS,
            noise_sql_ms=MAX_NOISE_SQL_MS,
        )


def measure_growth(options: Namespace) -> list[Figures]:
    """Create an account of each size, measure all pages, print a table."""
    call_command("migrate", verbosity=0, interactive=False)
    with override_settings(ALLOWED_HOSTS=["testserver"]):
        sites = [create_site(rows) for rows in options.rows]
        analyze_tables()
        check_ledger(sites, skip=options.skip_ledger)
        print_first_views(sites)
        print(f"{'page':44}{'rows':>9}{'ms':>9}{'times':>7}{'SQL ms':>9}{'times':>7}   n")
        figures: list[Figures] = []
        if not options.only_lists:
            figures += measure_sales(sites, options)
        for site in sites:
            fill_lists(site.account, site.rows)
        analyze_tables()
        for page in list_back_office_pages(sites[0].user):
            figures += measure_page(page, sites, options.rounds)
    connection.close()
    return figures


def measure_sales(sites: Sequence[Site], options: Namespace) -> list[Figures]:
    """Measure what sales alone fill, before and after all is approved, and exports."""
    figures: list[Figures] = []
    for page in list_pages():
        figures += measure_page(page, sites, options.rounds)
    for site in sites:
        settle_account(site.account)
    analyze_tables()
    nothing = f"{API}/conversions/?pending=true"
    page = Page("conversions: nothing pending", nothing, MAX_FILTER_TIMES)
    figures += measure_page(page, sites, options.rounds)
    for site in sites:
        print_export(site, options.export_rows)
    return figures


def create_site(rows: int) -> Site:
    """Create an account with this number of conversions."""
    started, at = perf_counter(), timezone.now()
    account = create_filled_account(f"size-{rows}", conversion_count=rows)
    key = create_api_key(account, name="benchmark", role=Role.OWNER, at=at)[1]
    user, _ = create_staff_user(
        account, email=f"{rows}@e.example", role="owner", password=None, at=at
    )
    staff = Client()
    staff.force_login(user)
    print(f"{rows} rows in {perf_counter() - started:.0f} s", flush=True)
    return Site(account, rows, key, user, staff)


def check_ledger(sites: Sequence[Site], *, skip: bool) -> None:
    """Check the ledger of the smallest account: all are made by the same SQL."""
    if not skip:
        slug = min(sites, key=lambda site: site.rows).account.slug
        call_command("check_ledger", slug)


def print_first_views(sites: Sequence[Site]) -> None:
    """Print the first views: they count the days that are over, once."""
    for path in (f"{API}/conversions/", "/admin/"):
        for site in sites:
            duration, sql = site.measure(path)
            print(f"first {path} of {site.rows}: {duration:.0f} ms, SQL {sql:.0f} ms")


def measure_page(page: Page, sites: Sequence[Site], rounds: int) -> list[Figures]:
    """Measure a page of all sites in turn; print and return medians."""
    times: dict[int, list[tuple[float, ...]]] = {site.rows: [] for site in sites}
    for _ in range(rounds):
        for site in sites:
            measured = site.measure(page.path)
            times[site.rows].append((*measured, len(site.statements)))
    medians = {
        rows: tuple(map(statistics.median, zip(*measured, strict=True)))
        for rows, measured in times.items()
    }
    base = medians[sites[0].rows]
    figures = [compare(page, rows, base, median) for rows, median in medians.items()]
    print("\n".join(map(render_figures, figures)), flush=True)
    if not all(row.is_met for row in figures):
        seconds, sql = max(sites[-1].statements)
        print(f"  slowest statement, {seconds * 1000:.0f} ms: {sql[-MAX_SQL_LENGTH:]}")
    return figures


def compare(page: Page, rows: int, base: tuple[float, ...], measured: tuple[float, ...]) -> Figures:
    """Compare medians of request and SQL with those of the first size."""
    request_ms, sql_ms, statements = measured
    request_times, sql_times = (
        value / max(first, 0.001) for value, first in zip(measured[:2], base[:2], strict=True)
    )
    is_met = (
        (not page.max_times or sql_times <= page.max_times or sql_ms <= page.noise_sql_ms)
        and (not page.max_sql_ms or sql_ms <= page.max_sql_ms)
        and (not page.max_statements or statements <= page.max_statements)
    )
    return Figures(
        page.name,
        rows,
        request_ms,
        sql_ms,
        request_times,
        sql_times,
        int(statements),
        is_met,
    )


def render_figures(row: Figures) -> str:
    """Return one line of the table."""
    return (
        f"{row.page:44}{row.rows:9}{row.request_ms:9.1f}{row.request_times:7.2f}"
        f"{row.sql_ms:9.2f}{row.sql_times:7.2f}{row.statements:4}"
        f" {'' if row.is_met else 'MISSED'}"
    )


def print_export(site: Site, max_rows: int) -> None:
    """Print rows per second and memory of an export of conversions."""
    before, peak, count = get_memory_mb(), 0.0, 0
    started = perf_counter()
    response: Any = site.staff.get("/admin/tracking/conversion/export/")
    if response.status_code != OK:
        raise RuntimeError(f"the export returned {response.status_code}")
    first: float | None = None
    for chunk in response.streaming_content:
        first = first or perf_counter() - started
        count += chunk.count(b"\n")
        peak = max(peak, get_memory_mb())
        if count >= max_rows:
            break
    seconds = perf_counter() - started
    response.close()
    print(
        f"export of {site.rows}: first line after {first or 0:.2f} s,"
        f" {count / seconds:.0f} rows/s, +{max(0.0, peak - before):.1f} MB"
    )


def get_memory_mb() -> float:
    """Return the resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


@contextmanager
def measure_sql() -> Iterator[list[tuple[float, str]]]:
    """Collect the seconds and the text of each statement."""
    statements: list[tuple[float, str]] = []

    def measure(execute: Any, sql: str, *arguments: Any) -> Any:
        started = perf_counter()
        try:
            return execute(sql, *arguments)
        finally:
            statements.append((perf_counter() - started, sql))

    with connection.execute_wrapper(measure):
        yield statements
