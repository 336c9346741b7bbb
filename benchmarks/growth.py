"""Measure how lists, the dashboard and exports grow with the rows of an account.

    python -m benchmarks.growth --rows 10000 1000000 5000000

Accounts of all sizes share one private database and take turns; times are compared
with those of the first size. Exit code 1: a goal is missed. See docs/performance.md.
"""

import argparse
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

from benchmarks.databases import create_database
from benchmarks.servers import build_environment


def main() -> None:
    """Create a database and measure in it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth")
    add = parser.add_argument
    add("--rows", nargs="+", type=int, default=[10_000, 1_000_000])
    add("--engine", choices=["postgresql", "sqlite"], default="postgresql")
    add("--rounds", type=int, default=7)
    add("--export-rows", type=int, default=200_000, help="of an export, at most")
    add("--only-lists", action="store_true", help="of the back office")
    add("--skip-ledger", action="store_true", help="do not run check_ledger")
    add("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    with create_database(options.engine) as database:
        os.environ.update(build_environment(database))
        os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
        os.environ["LOG_LEVEL"] = "ERROR"
        # Imported here: the modules set up Django with this database.
        from benchmarks.growth_pages import measure_growth

        figures = measure_growth(options)
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in figures], indent=1))
    sys.exit(0 if all(row.is_met for row in figures) else 1)


if __name__ == "__main__":
    main()
