"""Bar charts as SVG, drawn on the server."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

WIDTH, HEIGHT = 360, 170  # units of the drawing
LEFT, BOTTOM, TOP = 52, 22, 16  # what the labels take
MAX_LABELS = 6  # below the bars
TICKS = 4  # lines above zero
MAX_VALUES = 12  # above the bars
DIGIT_WIDTH, PHONE_DIGIT_WIDTH = 4, 6.4
STEPS = (Decimal(1), Decimal(2), Decimal("2.5"), Decimal(5), Decimal(10))


@dataclass(frozen=True)
class Bar:
    """The bar of a part of the period, with its text, the value above and the label
    below it."""

    x: float
    y: float
    width: float
    height: float
    text: str
    label: str
    value: str
    value_y: float
    middle: float


@dataclass(frozen=True)
class Tick:
    """A horizontal line with its value."""

    y: float
    label: str


@dataclass(frozen=True)
class Chart:
    title: str
    description: str
    is_tight: bool  # the values above the bars do not fit on a phone
    bars: Sequence[Bar]
    ticks: Sequence[Tick]
    left: int = LEFT
    right: int = WIDTH
    base: int = HEIGHT - BOTTOM
    label_y: int = HEIGHT - 6
    view_box: str = f"0 0 {WIDTH} {HEIGHT}"


def build_chart(
    title: str,
    values: Sequence[tuple[str, int | Decimal]],
    format_value: Callable[[int | Decimal], str],
    *,
    has_decimals: bool = False,
) -> Chart:
    """Draw one bar for each label and value; a negative value has none."""
    highest = max([value for _, value in values] or [0])
    top = find_top(Decimal(highest), has_decimals=has_decimals)
    scale = (HEIGHT - BOTTOM - TOP) / float(top)
    step = (WIDTH - LEFT) / (len(values) or 1)
    every = -(-len(values) // MAX_LABELS)
    longest = max([len(format_value(value)) for _, value in values] or [0])
    has_values = len(values) <= MAX_VALUES and longest * DIGIT_WIDTH <= step
    bars = []
    for index, (label, value) in enumerate(values):
        height = round(max(float(value), 0) * scale, 1)
        x = LEFT + index * step
        bars.append(
            Bar(
                x=round(x + step * 0.1, 1),
                y=round(HEIGHT - BOTTOM - height, 1),
                width=round(step * 0.8, 1),
                height=height,
                text=f"{label}: {format_value(value)}",
                label=label if index % every == 0 else "",
                value=format_value(value) if has_values else "",
                value_y=round(HEIGHT - BOTTOM - height - 4, 1),
                middle=round(x + step / 2, 1),
            )
        )
    ticks = [
        Tick(
            y=round(HEIGHT - BOTTOM - float(value) * scale, 1),
            label=format_value(value),
        )
        for value in (top * number / TICKS for number in range(TICKS + 1))
        if has_decimals or value == int(value)
    ]
    description = "; ".join(bar.text for bar in bars)
    is_tight = longest * PHONE_DIGIT_WIDTH > step
    return Chart(title, description, is_tight, bars, ticks)


def find_top(highest: Decimal, *, has_decimals: bool) -> Decimal:
    """The value of the topmost line: a round one that no bar exceeds."""
    if highest <= 0:
        return Decimal(TICKS)
    step = highest / TICKS
    if not has_decimals:
        step = max(step, Decimal(1))
    power = Decimal(10) ** step.adjusted()
    rounded = next(power * it for it in STEPS if power * it >= step)
    if not has_decimals and rounded != int(rounded):
        rounded = Decimal(int(rounded) + 1)
    return rounded * TICKS
