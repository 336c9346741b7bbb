"""A file that is read in pieces: none of its rows or elements may be large."""

from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import TypeVar

from payouts.errors import InvalidResultsFile

MAX_PIECE_BYTES = 1_000_000  # of a row, a tag, or a text between two tags
MAX_PIECES = 2_000_000  # rows, or beginnings and ends of elements
Piece = TypeVar("Piece")


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
