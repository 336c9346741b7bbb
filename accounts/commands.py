"""Base classes of the management commands.

The result goes to standard output, diagnostics to standard error. With `--json` the
result is exactly one JSON object. A business error is one line on standard error and
exit code 1; wrong arguments are exit code 2.
"""

import logging
import re
import shutil
import sys
from abc import ABC, abstractmethod
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, TypeVar

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, InterfaceError, connection
from django.db.models import QuerySet
from django.utils import timezone
from rich.console import Console
from rich.progress import Progress, TaskID
from rich.table import Table
from rich.text import Text

from accounts.actor import ActorKind, build_actor, use_actor
from accounts.command_line import describe_failure, find_lasting_failure
from accounts.decimals import parse_decimal
from accounts.errors import AccountNotFound, DomainError
from accounts.exact_json import format_decimal, serialize_exact_json
from accounts.models.accounts import Account
from accounts.services.accounts import get_account

INTEGER_PATTERN = re.compile(r"[0-9]+", re.ASCII)
MAX_ROW_ID = 2**63 - 1
MAX_LISTED = 10_000
# Control characters of terminals, and those that change the direction of text.
CONTROLS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
FAILED_ACCOUNTS = "The work was done, but not for all accounts; the log says why:"
Row = TypeVar("Row")
logger = logging.getLogger(__name__)
CURRENCY_PATTERN = re.compile(r"[A-Za-z]{3}", re.ASCII)
AMOUNT_PATTERN = re.compile(r"-?[0-9]+(\.[0-9]+)?", re.ASCII)


class JsonCommand(BaseCommand, ABC):
    """A command that prints its result as text or, with --json, as one JSON object."""

    as_json = False
    json_help = ""  # the keys of the object, where --help explains them
    failed_accounts: list[str]

    def add_arguments(self, parser: CommandParser) -> None:
        text = "print one JSON object" + (f": {self.json_help}" if self.json_help else "")
        parser.add_argument("--json", action="store_true", help=text)

    def handle(self, **options: Any) -> None:
        self.as_json = options.pop("json")
        self.failed_accounts = []
        with use_actor(build_actor(ActorKind.COMMAND, self.command_name)):
            try:
                self.run(at=timezone.now(), **options)
            except AccountNotFound as error:
                text = f"{error.text}; list_accounts shows all"
                raise CommandError(escape_controls(text)) from error
            except DomainError as error:
                raise CommandError(escape_controls(error.text)) from error
            except (DatabaseError, InterfaceError) as error:
                reason = describe_failure(error)
                if reason is None:
                    raise
                raise CommandError(reason) from error
        if self.failed_accounts:
            names = ", ".join(dict.fromkeys(self.failed_accounts))
            raise CommandError(escape_controls(f"{FAILED_ACCOUNTS} {names}"))

    @contextmanager
    def go_on_after_errors(self, account: Account) -> Iterator[None]:
        """Log an error of one account, so that the work of the others goes on.

        At the end, the exit code is 1. A database that is gone, read-only or of another
        release ends the command.
        """
        try:
            yield
        except Exception as error:
            is_lasting = isinstance(error, DatabaseError) and find_lasting_failure(error)
            if is_lasting or not connection.is_usable():
                raise
            logger.exception("%s failed for %s", self.command_name, account.slug)
            self.failed_accounts.append(account.slug)

    @contextmanager
    def show_progress(
        self, description: str, *, total: int | Callable[[], int] | None = None
    ) -> Iterator["ProgressBar"]:
        """Show how far a long command is, on standard error if that is a terminal.

        A `total` that takes time to count is a function.
        """
        console = Console(stderr=True)
        is_shown = console.is_terminal
        with Progress(console=console, transient=True, disable=not is_shown) as progress:
            if callable(total):
                total = total() if is_shown else None
            yield ProgressBar(progress, progress.add_task(description, total=total))

    def track(self, rows: Sequence[Row], description: str) -> Iterator[Row]:
        """Yield the rows, and show how many are done."""
        with self.show_progress(description, total=len(rows)) as bar:
            for row in rows:
                yield row
                bar.advance()

    @property
    def command_name(self) -> str:
        return type(self).__module__.rpartition(".")[2]

    @abstractmethod
    def run(self, *, at: datetime, **options: Any) -> None:
        """Call one service and write its result."""

    def write_result(self, text: str, **result: Any) -> None:
        if self.as_json:
            self.stdout.write(escape_controls(serialize_exact_json(result).decode()))
        else:
            self.stdout.write(escape_controls(text))

    def write_table(
        self, columns: Sequence[str], rows: Sequence[Sequence[Any]], **result: Any
    ) -> None:
        """Print the rows as a table or, with --json, the result."""
        if self.as_json:
            self.write_result("", **result)
            return
        table = Table(*columns, box=None, pad_edge=False)
        for row in rows:
            cells = (escape_controls(_format_cell(value)) for value in row)
            table.add_row(*(Text(cell.replace("\n", "\\n")) for cell in cells))
        # Rich needs the stream that Django's OutputWrapper wraps.
        stream: Any = self.stdout._out  # noqa: SLF001
        width = None if self.stdout.isatty() else 200
        console = Console(file=stream, no_color=not self.stdout.isatty(), width=width)
        console.print(table)


@dataclass(frozen=True)
class ProgressBar:
    """The bar of `show_progress`."""

    progress: Progress
    task: TaskID

    def advance(self, number: float = 1) -> None:
        """Move the bar on."""
        self.progress.advance(self.task, number)

    def update(self, **values: Any) -> None:
        """Set `total`, `completed` or `description`."""
        self.progress.update(self.task, **values)


class AccountCommand(JsonCommand):
    """A command for one account, whose slug is the first argument.

    `arguments` are the texts that follow it, with what the help says of them.
    """

    arguments: ClassVar[dict[str, str]] = {}

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        texts = {"account": "the account's slug"} | self.arguments
        for name, text in texts.items():
            parser.add_argument(name, metavar=name.upper(), help=text)

    def run(self, *, at: datetime, account: str = "", **options: Any) -> None:
        self.run_for_account(get_account(account), at=at, **options)

    @abstractmethod
    def run_for_account(self, account: Account, *, at: datetime, **options: Any) -> None:
        """Call one service for this account and write its result."""


class AccountListCommand(AccountCommand):
    """A command that lists rows of an account; `--limit` where they are many.

    `columns` are titles by names of columns, `json_keys` those that have another name
    in JSON, where `key` names the list.
    """

    columns: ClassVar[dict[str, str]]
    json_keys: ClassVar[dict[str, str]] = {}
    key: ClassVar[str]
    default_limit: ClassVar[int | None] = None

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        if self.default_limit is not None:
            add_limit_argument(parser, self.default_limit)

    @abstractmethod
    def list_rows(self, account: Account, **options: Any) -> QuerySet[Any]:
        """Return the rows in their order."""

    def run_for_account(self, account: Account, *, at: datetime, **options: Any) -> None:
        found = self.list_rows(account, **options).values(*self.columns)
        rows = list(found[: options.get("limit")])
        output = [
            {self.json_keys.get(name, name): value for name, value in row.items()} for row in rows
        ]
        table = [tuple(row.values()) for row in rows]
        self.write_table(tuple(self.columns.values()), table, **{self.key: output})


def add_limit_argument(parser: CommandParser, default: int) -> None:
    """Add `--limit`: how many rows are listed, at most `MAX_LISTED`."""
    parser.add_argument(
        "--limit",
        type=parse_limit,
        default=default,
        metavar="N",
        help=f"the newest N, by default {default}, at most {MAX_LISTED}",
    )


def parse_limit(text: str) -> int:
    """Parse a whole number from 1 to `MAX_LISTED`."""
    if not INTEGER_PATTERN.fullmatch(text) or not 0 < int(text[:9]) <= MAX_LISTED:
        raise ArgumentTypeError(f"{text!r} is not a number from 1 to {MAX_LISTED}")
    return int(text)


def add_events_argument(parser: CommandParser) -> None:
    """Add `--event`, which names the events that a new endpoint receives."""
    parser.add_argument(
        "--event",
        action="append",
        default=[],
        dest="events",
        metavar="NAME",
        help="only this event, e.g. conversion.created (repeatable)",
    )


def read_file(path: Path, *, max_bytes: int) -> tuple[str, bytes]:
    """Return the name and the content of a file; `-` is standard input.

    Raises `CommandError` if it cannot be read or is larger than `max_bytes`.
    """
    name = "standard input" if str(path) == "-" else path.name
    try:
        with nullcontext(sys.stdin.buffer) if str(path) == "-" else path.open("rb") as file:
            content = file.read(max_bytes + 1)
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}") from error
    if len(content) > max_bytes:
        raise CommandError(f"{name} has more than {max_bytes >> 20} MiB: it is not read.")
    return name, content


@contextmanager
def use_path(path: Path) -> Iterator[Path]:
    """Yield the path of a file that is read more than once or from its middle.

    `-` is standard input, which is copied into a private file of the block.
    """
    if str(path) != "-":
        yield path
        return
    with TemporaryDirectory() as directory:
        copy = Path(directory) / "standard input"
        with copy.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield copy


def escape_controls(text: str) -> str:
    """Write control characters as `\\u001b`: stored texts must not control a terminal.

    Line breaks stay.
    """
    return CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def parse_day(text: str) -> date:
    """Parse a day like 2026-11-30."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a day like 2026-11-30") from None


def add_days(parser: CommandParser) -> None:
    """Add the options of a period: its `first` and `last` day."""
    for name, dest, text in (
        ("--from", "first", "the first day, YYYY-MM-DD, in the account's zone"),
        ("--to", "last", "the last day"),
    ):
        parser.add_argument(
            name, dest=dest, metavar="DAY", type=parse_day, required=True, help=text
        )


def parse_amount_argument(text: str) -> Decimal:
    """Parse a decimal amount: digits, optionally followed by a point and digits."""
    try:
        if AMOUNT_PATTERN.fullmatch(text):
            return parse_decimal(text)
    except ValueError:
        pass
    raise ArgumentTypeError(f"{text!r} is not a number like 12.50")


def parse_currency_amount(text: str) -> tuple[str, Decimal]:
    """Parse a currency and an amount that is not below zero: `EUR=50`."""
    currency, _, amount = text.partition("=")
    if not CURRENCY_PATTERN.fullmatch(currency) or amount.startswith("-"):
        raise ArgumentTypeError(f"{text!r} is not an amount like EUR=50")
    return currency.upper(), parse_amount_argument(amount)


def parse_id_argument(text: str) -> int:
    """Parse a row ID; a number too large for the database becomes `MAX_ROW_ID`."""
    if not INTEGER_PATTERN.fullmatch(text):
        raise ArgumentTypeError(f"{text!r} is not a number like 1042")
    return int(text) if len(text) < len(str(MAX_ROW_ID)) else MAX_ROW_ID


def _format_cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S} UTC"
    return format_decimal(value) if isinstance(value, Decimal) else str(value)
