"""A file that is read in pieces: none of its rows or elements may be large."""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from io import BytesIO
from typing import TypeVar

from accounts.decimals import parse_decimal
from payouts.errors import InvalidResultsFile

MAX_PIECE_BYTES = 1_000_000  # of a row, a tag, or a text between two tags
MAX_PIECES = 2_000_000  # rows, or beginnings and ends of elements
MAX_TEXT_LENGTH = 500  # of a name, reason or status: many payments may share it
MAX_DIGITS = 20  # of an amount, before and after the point
Piece = TypeVar("Piece")


def read_amount(text: str, shown: str = "") -> Decimal:
    """The amount of a text; raises `InvalidResultsFile` if it is none.

    The error says `shown`, else the text.
    """
    try:
        amount = parse_decimal(text)
    except ValueError:
        amount = None
    exponent = None if amount is None else amount.as_tuple().exponent
    if (
        amount is None
        or amount.adjusted() >= MAX_DIGITS
        or not isinstance(exponent, int)
        or exponent < -MAX_DIGITS
    ):
        raise InvalidResultsFile(reason=f"{shown or repr(text[:50])} is no amount")
    return amount


class BoundedFile(BytesIO):
    """Bytes whose reader must find a row or a tag in each of `MAX_PIECE_BYTES`."""

    unused_bytes = 0

    def read(self, size: int | None = -1, /) -> bytes:
        """Read on; raise `InvalidResultsFile` if nothing was found for too long."""
        data = super().read(size)
        self.unused_bytes += len(data)
        if self.unused_bytes > MAX_PIECE_BYTES:
            raise InvalidResultsFile(
                reason="The file is damaged: a row, tag or text has more than"
                f" {MAX_PIECE_BYTES / 1e6:.0f} MB"
            )
        return data

    read1 = read  # used by TextIOWrapper

    def iterate(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        """Yield the rows or tags that a reader of this file finds, up to a number."""
        for number, piece in enumerate(pieces):
            if number == MAX_PIECES:
                raise InvalidResultsFile(
                    reason=f"The file has more than {MAX_PIECES:,} rows or tags: ask"
                    " your bank for one file per day, or delete the empty rows"
                )
            self.unused_bytes = 0
            yield piece
