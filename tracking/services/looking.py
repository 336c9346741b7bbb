"""Looking again: what a story has seen may be another thing by the time it writes."""

from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import ParamSpec, TypeVar

LOOKS = 4  # what comes and goes so often is not there

Told = ParamSpec("Told")
Outcome = TypeVar("Outcome")


class LookAgain(Exception):
    """What was seen came, went or changed at this very moment: begin anew."""


def looking_again(story: Callable[Told, Outcome]) -> Callable[Told, Outcome]:
    """Tell a story anew, in a transaction of its own, when it asks for that."""

    @wraps(story)
    def told(*args: Told.args, **kwargs: Told.kwargs) -> Outcome:
        for _ in range(LOOKS - 1):
            with suppress(LookAgain):
                return story(*args, **kwargs)
        return story(*args, **kwargs)

    return told
