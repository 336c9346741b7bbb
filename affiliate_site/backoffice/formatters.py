"""How values are shown on the screens of the back office."""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Self

from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from affiliate_site.cells import EMPTY_VALUE, Money, format_money, format_person
from tracking.money import ZERO

__all__ = ["EMPTY_VALUE", "Money", "format_money", "format_person"]  # for the pages, with all below

AMOUNT_SPACE_PATTERN = re.compile(r"(?<=\d)(?<!:\d\d) (?=[A-Z]{3}\b)")


class Label(str):
    """A status, or other words that pages show in a color."""

    __slots__ = ("color",)
    color: str

    def __new__(cls, text: str, color: str = "") -> Self:
        label = super().__new__(cls, text)
        label.color = color
        return label


def build_labels(colors: Mapping[Any, str]) -> dict[str, Label]:
    """The labels of choices, by their values, in these colors."""
    return {it: Label(it.label.lower(), color) for it, color in colors.items()}


def format_labels(labels: Iterable[Label]) -> SafeString:
    pairs = ((it.color, capfirst(it)) for it in labels)
    return format_html_join(" ", '<span class="status-label {}">{}</span>', pairs) or EMPTY_VALUE


REMOVED = Label("removed", "danger")


def format_totals(totals_by_currency) -> Money:
    """`249.90 EUR, 20.00 USD`; `0` without any."""
    totals = [
        format_money(total, currency) for currency, total in sorted(totals_by_currency.items())
    ]
    if len(totals) == 1:
        return totals[0]
    return Money(", ".join(totals)) if totals else Money("0", ZERO)


def count_noun(number: int, noun: str) -> str:
    """`1 payment`, `2,500 payments`."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def format_change(before: str | None, after: str | None) -> str:
    """`R-1 → R-2`; empty without a change."""
    return "" if before == after else f"{before or 'none'} → {after or 'none'}"


def keep_amounts_together(text: str) -> str:
    """A text in which no line ends between an amount and its currency."""
    kept = AMOUNT_SPACE_PATTERN.sub("\u00a0", text)
    return SafeString(kept) if isinstance(text, SafeString) else kept


def format_datetime(at: datetime | None, *, timespec: str = "minutes") -> str:
    """`2026-11-21 00:54 CET`, in the time zone of the account; also with seconds.

    Empty without a time.
    """
    if at is None:
        return ""
    local = timezone.localtime(at)
    text = local.replace(tzinfo=None).isoformat(" ", timespec)
    return f"{text} {local.tzname()}"


def format_day(at: datetime | None) -> str:
    """The day of a moment in the time zone of the account; empty without one."""
    return f"{timezone.localdate(at)}" if at else ""


def format_ledger_note(account) -> str:
    """The result of the last `check_ledger --note`, which operators run nightly."""
    if account.reconciled_at is None:
        return "The nightly check has not run yet; an operator sets it up."
    at = format_datetime(account.reconciled_at)
    if account.discrepancy_count:
        return f"Ledger checked {at}: {account.discrepancy_count} discrepancies."
    return f"Ledger balanced, last checked {at}."


def format_affiliate(affiliate) -> SafeString:
    """Name and ID."""
    return format_html(
        '{} {} <span class="subtext">{}</span>',
        affiliate.firstname,
        affiliate.lastname,
        affiliate.slug,
    )


def format_key_values(data) -> str:
    """A JSON object, one key per line."""
    return "\n".join(f"{name}: {value}" for name, value in (data or {}).items()) or EMPTY_VALUE


def describe_hold_days(days: int | None) -> str:
    """`30 days after the sale`, and what 0 and None mean."""
    if days is None:
        return "When each program says"
    return f"{days} days after the sale" if days else "At once"


def describe_recurring(program) -> str:
    """Which sales of a customer earn."""
    if not program.recurring:
        return "Only the first sale of a customer earns"
    limits = []
    if program.recurring_cap:
        limits.append(f"up to {program.recurring_cap} sales")
    if program.recurring_period_days:
        limits.append(f"for {program.recurring_period_days} days")
    return f"Later sales of a customer earn, too{': ' if limits else ''}" + " ".join(limits)
