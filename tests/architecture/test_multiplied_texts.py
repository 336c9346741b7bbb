"""A foreign text that is filled into another must not be multiplied by it."""

import pytest

from accounts.services.outbox import fill_macros
from tracking.services.mails import fill_placeholders


@pytest.mark.parametrize(
    ("fill", "placeholder"),
    [(fill_macros, "${conversion.amount}"), (fill_placeholders, "{name}")],
)
def test_grows_as_the_sum_of_the_texts(fill, placeholder):
    name = placeholder.strip("${}")
    for count in (10, 100, 10_000):
        for length in (10, 255, 8000, 100_000):
            bound = count * len(placeholder) + 50 * length
            assert len(fill(placeholder * count, {name: "x" * length})) <= bound
