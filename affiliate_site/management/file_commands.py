"""Commands whose result is JSON, or a file for people in another format."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from django.core.management.base import CommandError, CommandParser

from accounts.commands import AccountCommand
from accounts.exact_json import serialize_exact_json
from affiliate_site.env import open_private_file

BINARY_FORMATS = ("xlsx", "pdf")


class FileCommand(AccountCommand):
    """Adds --format, one of `formats` or json, and --output."""

    formats: ClassVar[Sequence[str]]

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        *others, last = self.formats
        parser.add_argument(
            "--format",
            dest="file_format",
            choices=["json", *self.formats],
            default="json",
            metavar="FORMAT",
            help=f"json (the default), {', '.join(others)} or {last}",
        )
        parser.add_argument(
            "--output", metavar="FILE", type=Path, help="write a file that only you can read"
        )

    def ensure_output(self, file_format: str, output: Path | None) -> None:
        """Raise for a format that no terminal shows, unless there is a file for it."""
        if file_format in BINARY_FORMATS and output is None:
            raise CommandError(f"{file_format.upper()} needs --output FILE.")

    def write_file(
        self,
        result: dict[str, Any],
        render: Callable[[str], bytes],
        file_format: str,
        output: Path | None,
    ) -> None:
        """Write the result as JSON, or what `render` makes of it in another format."""
        is_json = file_format == "json"
        content = serialize_exact_json(result) if is_json else render(file_format)
        if output:
            try:
                with open(output, "wb", opener=open_private_file) as stream:
                    stream.write(content)
            except OSError as error:
                raise CommandError(f"{output}: {error.strerror}") from error
        shown = output or content.decode("utf-8-sig").replace("\r\n", "\n")
        self.write_result(f"{shown}".rstrip("\n"), **result)
