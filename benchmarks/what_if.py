"""Calculate the sales of a year by other rules with the command `what_if`.

    python -m benchmarks.what_if --sales 100000

Each customer has five sales. CPU is that of this process, without PostgreSQL's. Exit
code 1: the goal is missed.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

from benchmarks.databases import create_database
from benchmarks.servers import build_environment

MAX_SECONDS = 120.0
SALES_PER_CUSTOMER = 5
RATE = {"kind": "percentage", "value": 12}
RULES: dict[str, dict[str, Any]] = {
    "the same": {},
    "a rate": {"rates": {"standard": RATE}},
    "a cap": {"recurring": True, "recurring_cap": 3},
    "cookie days": {"cookie_time": 1},
    "all of these": {
        "rates": {"standard": RATE},
        "levels": {"2": RATE},
        "cookie_time": 1,
        "hold_days": 3,
        "recurring": True,
        "recurring_cap": 3,
        "recurring_period_days": 100,
    },
}


def main() -> None:
    """Create a database, fill it and measure in it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.what_if")
    parser.add_argument("--sales", type=int, default=100_000)
    parser.add_argument("--engine", choices=["postgresql", "sqlite"], default="postgresql")
    options = parser.parse_args()
    with create_database(options.engine) as database, TemporaryDirectory() as directory:
        os.environ.update(build_environment(database))
        os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
        os.environ["LOG_LEVEL"] = "ERROR"
        slowest = max(measure(options.sales, Path(directory) / "changes.json"))
    is_met = slowest <= MAX_SECONDS
    print(f"{'met   ' if is_met else 'MISSED'} at most {MAX_SECONDS:.0f} s: {slowest:.1f} s")
    sys.exit(0 if is_met else 1)


def measure(sales: int, file: Path) -> Iterator[float]:
    """Yield the seconds of each change of rules, and print what it took."""
    # Imported here: the modules set up Django with this database.
    from django.core.management import call_command
    from django.db import connection
    from django.utils import timezone

    import benchmarks.django_setup  # noqa: F401 - before models are imported
    from benchmarks.growth_data import AFFILIATE_COUNT, DAYS, create_filled_account, execute
    from benchmarks.scenario import analyze_tables

    call_command("migrate", verbosity=0, interactive=False)
    create_filled_account("year", conversion_count=sales)
    # Affiliates take turns: this many sales later it is the same one's turn.
    customers = max(1, sales // SALES_PER_CUSTOMER // AFFILIATE_COUNT) * AFFILIATE_COUNT
    execute(
        "UPDATE tracking_conversion SET customer_id ="
        f" customer_id - (customer_id - 1) / {customers} * {customers}"
    )
    analyze_tables()
    today = timezone.now().date()
    period = ["--from", f"{today - timedelta(days=DAYS + 1)}", "--to", f"{today}"]
    for name, rules in RULES.items():
        file.write_text(json.dumps({"programs": {"lamps": rules}} if rules else {}))
        output = StringIO()
        started, cpu_started = perf_counter(), process_time()
        call_command("what_if", "year", *period, "--changes", file, "--json", stdout=output)
        seconds, cpu_seconds = perf_counter() - started, process_time() - cpu_started
        result = json.loads(output.getvalue())
        print(
            f"{name:14}{result['sales']:9} sales, {result['sales_changed']:9} change:"
            f" {seconds:6.1f} s, CPU {cpu_seconds:.1f} s",
            flush=True,
        )
        yield seconds
    connection.close()


if __name__ == "__main__":
    main()
