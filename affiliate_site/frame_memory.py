"""Memory for the frames of nested calls in one piece.

CPython keeps the frames of a thread in pieces of 16 KiB (since version 3.11). A call
that does not fit gets the next piece from the operating system and gives it back when
it returns; a loop that happens to run at the end of a piece does so in each round. The
longest lists of the back office did it more than 2,000 times, a quarter of their CPU.
"""

from collections.abc import Callable
from types import FunctionType
from typing import Any

FRAME_BYTES = 128 * 1024  # room for some 500 nested calls


def call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function; return what it returns."""
    return function(*args, **kwargs)


# Its own frame seems to need FRAME_BYTES. The piece for it is twice as large, because
# the size of a piece is a power of two, and all calls below it share the other half.
call_with_frame_memory = FunctionType(
    call.__code__.replace(co_stacksize=FRAME_BYTES // 8), {}, "call_with_frame_memory"
)
