"""The base of our commands: find the account, do one thing, tell it once.

The result goes to standard output, notes to standard error. With `--json` the
result is exactly one JSON object. What cannot be done is one line on standard
error and exit 1; wrong arguments are exit 2.
"""

import re
from abc import ABC, abstractmethod
from argparse import ArgumentTypeError
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError
from django.utils import timezone
from rich.console import Console
from rich.table import Table
from rich.text import Text

from accounts.actor import acting
from accounts.errors import DomainError
from accounts.exact_json import exact_json, plain
from accounts.models.accounts import Account
from accounts.services.accounts import account_named

NUMBER = re.compile(r"[0-9]+", re.ASCII)
HIGHEST_ROW = 2**63 - 1
AMOUNT = re.compile(r"-?[0-9]+(\.[0-9]+)?", re.ASCII)


class TellingCommand(BaseCommand, ABC):
    """A command that tells its result to eyes or to a script."""

    as_json = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--json", action="store_true", help="one JSON object on standard output"
        )

    def handle(self, **options: Any) -> None:
        self.as_json = options.pop("json")
        with acting(f"command {self.name}"):
            try:
                self.work(at=timezone.now(), **options)
            except DomainError as refusal:
                raise CommandError(refusal.text) from refusal
            except OperationalError as error:
                raise CommandError(f"The database does not answer: {error}") from error

    @property
    def name(self) -> str:
        return type(self).__module__.rpartition(".")[2]

    @abstractmethod
    def work(self, *, at: datetime, **options: Any) -> None:
        """Call one service, and tell what came of it."""

    def tell(self, text: str | None, **result: Any) -> None:
        """Print the text (None: nothing) or, with --json, the result."""
        if self.as_json:
            self.stdout.write(exact_json(result).decode())
        elif text is not None:
            self.stdout.write(text)

    def tell_table(
        self, columns: Sequence[str], rows: Sequence[Sequence[Any]], **result: Any
    ) -> None:
        """Print the rows as a table or, with --json, the result."""
        if self.as_json:
            self.tell(None, **result)
            return
        table = Table(*columns, box=None, pad_edge=False)
        for row in rows:
            table.add_row(*(Text(_cell(value)) for value in row))
        # OutputWrapper hides the stream that Rich wants to look at.
        stream: Any = self.stdout._out  # noqa: SLF001
        width = None if self.stdout.isatty() else 200
        console = Console(file=stream, no_color=not self.stdout.isatty(), width=width)
        console.print(table)


class AccountCommand(TellingCommand):
    """A command about one account, which comes first in its arguments."""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("account", metavar="ACCOUNT", help="the account's slug")

    def work(self, *, at: datetime, account: str = "", **options: Any) -> None:
        self.act(account_named(account), at=at, **options)

    @abstractmethod
    def act(self, account: Account, *, at: datetime, **options: Any) -> None:
        """The same, for one account."""


def amount(text: str) -> Decimal:
    """An argument that is an amount: digits, perhaps a point and digits."""
    if not AMOUNT.fullmatch(text):
        raise ArgumentTypeError(f"{text!r} is not a number like 12.50")
    return Decimal(text)


def number(text: str) -> int:
    """An argument that is the number of a row."""
    if not NUMBER.fullmatch(text):
        raise ArgumentTypeError(f"{text!r} is not a number like 1042")
    return int(text) if len(text) < len(str(HIGHEST_ROW)) else HIGHEST_ROW


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    return plain(value) if isinstance(value, Decimal) else str(value)
