"""Actions: a confirm page that says what is moved, then one service call a row."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db import OperationalError
from django.template.response import TemplateResponse
from django.utils import timezone

from accounts.errors import DomainError
from accounts.exact_json import plain

MOST = 900  # rows of one action: a form has a thousand fields at most
NO_ANSWER = "the database did not answer in time; try again"


@dataclass(frozen=True)
class Deed:
    """What an action does with each chosen row.

    `leaves` says why a row is left out (nothing: it is not); `amount` is the column
    that is summed up per currency.
    """

    title: str
    does: Callable[[Any, datetime], object]
    leaves: Callable[[Any], str] = lambda row: ""
    amount: str = ""


def carry_out(page, request, rows, deed: Deed):
    """Show what would be moved; confirmed, do it, and say what was left out and why."""
    chosen = list(rows.select_related("account")[: MOST + 1])
    if len(chosen) > MOST:
        page.message_user(request, f"Choose {MOST} rows at most.", level=messages.ERROR)
        return None
    if "confirmed" not in request.POST:
        return confirm_page(page, request, deed, *sorted_out(chosen, deed))
    go_through(page, request, chosen, deed)
    return None


def go_through(page, request, chosen, deed: Deed) -> None:
    """Do it to each row that is as it was shown, and tell of the others."""
    pairs = (it.partition(":") for it in request.POST.get("shown", "").split())
    agreed = {number: amount for number, _, amount in pairs}
    moved, left = sorted_out(chosen, deed, agreed)
    for row in moved:
        if refusal := attempt(deed, row):
            left.append((row, refusal))
    tell(page, request, deed, len(chosen) - len(left), left)


def sorted_out(chosen, deed: Deed, agreed: dict[str, str] | None = None):
    """The rows to be moved, and those that stay as they are, each with its reason.

    `agreed` are the amounts that somebody was shown, by the numbers of their rows.
    """
    moved, left = [], []
    for row in chosen:
        why = deed.leaves(row) or changed_since(row, deed, agreed)
        if why:
            left.append((row, why))
        else:
            moved.append(row)
    return moved, left


def attempt(deed: Deed, row) -> str:
    """Do it to one row; why it was refused, or nothing."""
    try:
        deed.does(row, timezone.now())
    except DomainError as refusal:
        return refusal.text
    except OperationalError:
        return NO_ANSWER
    return ""


def confirm_page(page, request, deed: Deed, moved, left):
    """How many, how much per currency, and which rows stay as they are."""
    context = {
        **page.admin_site.each_context(request),
        "opts": page.model._meta,
        "title": deed.title,
        "deed": deed,
        "rows": [(row, shown(row, deed)) for row in moved],
        "left": left,
        "totals": totals(moved, deed.amount),
        "action": request.POST.get("action"),
        "checkbox": ACTION_CHECKBOX_NAME,
    }
    return TemplateResponse(request, "admin/confirm.html", context)


def shown(row, deed: Deed) -> str:
    """The amount that somebody agrees to."""
    return plain(getattr(row, deed.amount)) if deed.amount else ""


def changed_since(row, deed: Deed, agreed: dict[str, str] | None) -> str:
    """Why a row is not what the confirm page showed; nothing: it is."""
    if not deed.amount or agreed is None:
        return ""
    amount = plain(getattr(row, deed.amount))
    if agreed.get(str(row.pk)) == amount:
        return ""
    return f"it is {amount} {row.currency} by now"


def totals(rows, amount: str) -> list[str]:
    """Sums of a column, one for each currency: they are never added."""
    sums: dict[str, Decimal] = defaultdict(Decimal)
    for row in rows if amount else ():
        sums[row.currency] += getattr(row, amount)
    return [f"{plain(total)} {currency}" for currency, total in sorted(sums.items())]


def tell(page, request, deed: Deed, done: int, left) -> None:
    """A message for what was done, and one for each reason why something was not."""
    if done:
        page.message_user(request, f"{deed.title}: {done} done.")
    reasons: dict[str, list[str]] = defaultdict(list)
    for row, why in left:
        reasons[why].append(str(row))
    for why, named in reasons.items():
        page.message_user(
            request,
            f"Left out: {', '.join(named[:10])}"
            f"{' and others' if len(named) > 10 else ''}: {why}",
            level=messages.WARNING,
        )


def hand_out(page, request, rows, deed: Deed, *, title: str, back: str):
    """An action on one row, out of which comes a text that is shown this once."""
    if len(rows[:2]) != 1:
        text = "Choose one row: what comes of it is shown once."
        page.message_user(request, text, level=messages.ERROR)
        return None
    made: list[Any] = []
    kept = replace(deed, does=lambda row, at: made.append(deed.does(row, at)))
    answer = carry_out(page, request, rows, kept)
    if not made:
        return answer
    return shown_once(page, request, title=title, secret=made[0], back=back)


def shown_once(page, request, *, title: str, secret: str, back: str):
    """A page with a secret that is never shown again."""
    context = {
        **page.admin_site.each_context(request),
        "opts": page.model._meta,
        "title": title,
        "secret": secret,
        "back": back,
    }
    response = TemplateResponse(request, "admin/shown_once.html", context)
    response["Cache-Control"] = "no-store"
    return response
