"""Actions on selected rows: a confirmation page, then one service call per row."""

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
from django.urls import reverse
from django.utils import timezone

from accounts.errors import DomainError
from accounts.exact_json import format_decimal
from affiliate_site.backoffice.formatters import format_money

MAX_ROWS = 900  # rows per action; Django accepts 1,000 form fields
MAX_LISTED_ROWS = 10  # rows that a message names
DATABASE_TIMEOUT_MESSAGE = "the database did not respond in time; try again"


@dataclass(frozen=True)
class AdminAction:
    """What an action does with each selected row.

    `skip_reason` returns why a row is skipped, empty if it is not. `amount_field` names
    the column that is shown, confirmed and summed per currency. `list_consequences`
    returns what staff must know before they confirm, as sentences.
    """

    title: str
    perform: Callable[[Any, datetime], object]
    skip_reason: Callable[[Any], str] = lambda row: ""
    amount_field: str = ""
    list_consequences: Callable[[list[Any]], list[str]] = lambda rows: []


def run_admin_action(model_admin, request, rows, admin_action: AdminAction):
    """Show the confirmation page; once confirmed, run the action and report."""
    selected_rows = list(rows.select_related("account")[: MAX_ROWS + 1])
    if len(selected_rows) > MAX_ROWS:
        model_admin.message_user(
            request, f"Select at most {MAX_ROWS} rows.", level=messages.ERROR
        )
        return None
    if "confirmed" not in request.POST:
        return render_confirmation(
            model_admin,
            request,
            admin_action,
            *partition_rows(selected_rows, admin_action),
        )
    execute_confirmed(model_admin, request, selected_rows, admin_action)
    return None


def execute_confirmed(
    model_admin, request, selected_rows, admin_action: AdminAction
) -> None:
    """Run the action on each row whose amount is the confirmed one, and report."""
    pairs = (
        pair.partition(":")
        for pair in request.POST.get("confirmed_amounts", "").split()
    )
    confirmed_amounts = {row_id: amount for row_id, _, amount in pairs}
    included, skipped = partition_rows(selected_rows, admin_action, confirmed_amounts)
    results = [(row, perform_on_row(admin_action, row)) for row in included]
    failed = [(row, error) for row, error in results if error]
    if done_count := len(included) - len(failed):
        model_admin.message_user(request, f"{admin_action.title}: {done_count} done.")
    report_not_done(model_admin, request, "Skipped", skipped)
    report_not_done(model_admin, request, "Failed", failed)


def partition_rows(
    selected_rows,
    admin_action: AdminAction,
    confirmed_amounts: dict[str, str] | None = None,
):
    """The rows to process, and the rows to skip with their reasons.

    `confirmed_amounts` maps IDs of rows to the amounts of the confirmation page.
    """
    included, skipped = [], []
    for row in selected_rows:
        reason = admin_action.skip_reason(row) or find_changed_amount_reason(
            row, admin_action, confirmed_amounts
        )
        if reason:
            skipped.append((row, reason))
        else:
            included.append(row)
    return included, skipped


def perform_on_row(admin_action: AdminAction, row) -> str:
    """Run the action on one row; the error message, empty if it succeeded."""
    try:
        admin_action.perform(row, timezone.now())
    except DomainError as error:
        return error.text
    except OperationalError:
        return DATABASE_TIMEOUT_MESSAGE
    return ""


def render_confirmation(
    model_admin, request, admin_action: AdminAction, included, skipped
):
    """The page with the number of rows, totals per currency and skipped rows."""
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.model._meta,
        "title": admin_action.title,
        "admin_action": admin_action,
        "rows": [(row, format_confirmed_amount(row, admin_action)) for row in included],
        "skipped": skipped,
        "totals": calculate_totals(included, admin_action.amount_field),
        "consequences": admin_action.list_consequences(included),
        "action": request.POST.get("action"),
        "checkbox_name": ACTION_CHECKBOX_NAME,
    }
    return TemplateResponse(request, "admin/action_confirmation.html", context)


def format_confirmed_amount(row, admin_action: AdminAction) -> str:
    """The amount of a row as the hidden field of the confirmation page has it."""
    return (
        format_decimal(getattr(row, admin_action.amount_field))
        if admin_action.amount_field
        else ""
    )


def find_changed_amount_reason(
    row, admin_action: AdminAction, confirmed_amounts: dict[str, str] | None
) -> str:
    """Why the amount of a row is not the confirmed one; empty if it is."""
    if not admin_action.amount_field or confirmed_amounts is None:
        return ""
    if confirmed_amounts.get(str(row.pk)) == format_confirmed_amount(row, admin_action):
        return ""
    amount = format_money(getattr(row, admin_action.amount_field), row.currency)
    return f"the amount is now {amount}"


def calculate_totals(rows, amount_field: str) -> list[str]:
    """Totals of a column, one per currency."""
    totals: dict[str, Decimal] = defaultdict(Decimal)
    for row in rows if amount_field else ():
        totals[row.currency] += getattr(row, amount_field)
    return [format_money(total, currency) for currency, total in sorted(totals.items())]


def report_not_done(
    model_admin, request, outcome: str, rows_with_reasons: list[tuple[Any, str]]
) -> None:
    """Add one message per reason, with the outcome and the names of the rows."""
    names_by_reason: dict[str, list[str]] = defaultdict(list)
    for row, reason in rows_with_reasons:
        names_by_reason[reason].append(str(row))
    for reason, names in names_by_reason.items():
        listed = ", ".join(names[:MAX_LISTED_ROWS])
        if len(names) > MAX_LISTED_ROWS:
            listed += f" and {len(names) - MAX_LISTED_ROWS} more"
        model_admin.message_user(
            request, f"{outcome}: {listed}: {reason}", level=messages.WARNING
        )


def show_secret_once(
    model_admin, request, rows, admin_action: AdminAction, *, title: str, **context
):
    """Run an action on exactly one row, and show the secret that it returns."""
    if len(rows[:2]) != 1:
        text = "Select exactly one row: the secret is shown only once."
        model_admin.message_user(request, text, level=messages.ERROR)
        return None
    secrets: list[Any] = []
    capturing_action = replace(
        admin_action,
        perform=lambda row, at: secrets.append(admin_action.perform(row, at)),
    )
    response = run_admin_action(model_admin, request, rows, capturing_action)
    if not secrets:
        return response
    return render_secret(
        model_admin, request, title=title, secret=secrets[0], **context
    )


def render_secret(
    model_admin,
    request,
    *,
    title: str,
    secret: str,
    sign_in_url: str = "",
    back_url: str = "",
    back_text: str = "Back to the list",
):
    """The page that shows a new secret once; browsers do not store it.

    `sign_in_url` is the page that asks for the secret, if it is a password. `back_url`
    is the next page, by default the list.
    """
    opts = model_admin.model._meta
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": opts,
        "title": title,
        "secret": secret,
        "sign_in_url": sign_in_url,
        "back_url": back_url
        or reverse(f"admin:{opts.app_label}_{opts.model_name}_changelist"),
        "back_text": back_text,
    }
    response = TemplateResponse(request, "admin/secret.html", context)
    response["Cache-Control"] = "no-store"
    return response
