"""Small curves of daily numbers, as parts of an SVG."""

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 120, 28  # units of the drawing
GAP = 1  # between two bars
MIN_BAR_HEIGHT = 1


@dataclass(frozen=True)
class Bar:
    """The rectangle of a day, with its text."""

    x: float
    y: float
    width: float
    height: float
    text: str


@dataclass(frozen=True)
class Sparkline:
    """A bar for each day; `label` says all numbers in words."""

    label: str
    bars: list[Bar]
    view_box: str = f"0 0 {WIDTH} {HEIGHT}"


def build_sparkline(title: str, values: Sequence[tuple[str, float]]) -> Sparkline:
    """A sparkline of days with their numbers; a negative number counts as zero."""
    highest = max((value for _, value in values), default=0) or 1
    step = WIDTH / (len(values) or 1)
    bars = []
    for index, (day, value) in enumerate(values):
        height = round(max(value, 0) * HEIGHT / highest, 1)
        height = max(height, MIN_BAR_HEIGHT)
        bars.append(
            Bar(
                x=round(index * step, 2),
                y=round(HEIGHT - height, 2),
                width=round(step - GAP, 2),
                height=height,
                text=f"{day}: {value:,}",
            )
        )
    numbers = ", ".join(f"{value:,}" for _, value in values)
    period = f"{values[0][0]} to {values[-1][0]}" if values else ""
    return Sparkline(f"{title} by day, {period}: {numbers}", bars)
