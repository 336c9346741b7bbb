"""Actions on selected rows: a confirmation page, then one service call per row."""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from secrets import token_hex
from typing import Any

from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db import OperationalError, transaction
from django.http import QueryDict
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone

from accounts.db_compat import is_temporary
from accounts.errors import DomainError
from accounts.exact_json import format_decimal
from accounts.models.accounts import Account
from accounts.services.idempotency import claim_submission
from affiliate_site.backoffice.effect_tables import build_effect_tables
from affiliate_site.backoffice.formatters import format_money
from affiliate_site.backoffice.theme import get_object_url
from payouts.services.previews import BalanceEffect, MoneyEffects

MAX_ROWS = 900  # rows per action; Django accepts 1,000 form fields
MAX_LISTED_ROWS = 10  # rows that a message names
DATABASE_TIMEOUT_MESSAGE = "the database did not respond in time; try again"
TOKEN_PATTERN = re.compile(r"[0-9a-f]{32}")
SUBMITTED_ALREADY = "{title}: this page was sent already, and nothing was done a second time."


@dataclass(frozen=True)
class AdminAction:
    """What an action does with each selected row.

    `skip_reason` returns why a row is skipped, empty if it is not. `amount_field` names
    the column that is shown, confirmed and summed per currency; `get_status` returns
    another value that must be the confirmed one. `columns` are titles with functions
    that return a text for a row; the confirmation page shows them, `explanation` and
    `alert`, which must not be overlooked. `form` is bound if the action is confirmed;
    `get_balances` lists the balances that change. `undo_action` names an action that is
    offered for the rows that `can_undo` accepts. `get_done_url` returns the list of
    what was made between two times, to which the action leads; its confirmation page is
    accepted once.
    """

    title: str
    perform: Callable[[Any, datetime], object]
    skip_reason: Callable[[Any], str] = lambda row: ""
    amount_field: str = ""
    get_status: Callable[[Any], str] | None = None
    columns: Sequence[tuple[str, Callable[[Any], object]]] = ()
    explanation: str = ""
    alert: str = ""
    form: Any = None
    get_balances: Callable[[list[Any]], Sequence[BalanceEffect]] | None = None
    undo_action: str = ""
    undo_title: str = ""
    can_undo: Callable[[Any], bool] = lambda row: True
    get_done_url: Callable[[datetime, datetime], str] | None = None
    is_dangerous: bool = False  # the color of its button


def run_admin_action(model_admin, request, rows, admin_action: AdminAction):
    """Show the confirmation page; once confirmed, run the action and report."""
    selected_rows = list(rows.select_related("account")[: MAX_ROWS + 1])
    if len(selected_rows) > MAX_ROWS:
        model_admin.message_user(request, f"Select at most {MAX_ROWS} rows.", level=messages.ERROR)
        return None
    is_confirmed = "confirmed" in request.POST
    if not is_confirmed or (admin_action.form and not admin_action.form.is_valid()):
        return render_confirmation(
            model_admin,
            request,
            admin_action,
            *partition_rows(selected_rows, admin_action),
        )
    response = execute_confirmed(model_admin, request, selected_rows, admin_action)
    if response is None and request.POST.get("list_query"):
        # An undo is sent without the filters of the list and leads back to them.
        query = QueryDict(request.POST["list_query"]).urlencode()
        return redirect(f"{request.path}?{query}")
    return response


def bind_form(form_class, request) -> tuple[Any, dict]:
    """The form of the confirmation page, and its values once they were sent."""
    data = request.POST if "confirmed" in request.POST else None
    form = form_class(data, account=request.user.account)
    return form, form.cleaned_data if form.is_valid() else {}


def create_token() -> str:
    """Return the token of a page that is accepted once."""
    return token_hex(16)


def is_sent_again(account: Account, data: Mapping[str, Any], *, at: datetime) -> bool:
    """Whether the page with this token was sent before: by a double click, or from the
    browser's history. Call it within the transaction of the submission."""
    token = data.get("token", "")
    return bool(TOKEN_PATTERN.fullmatch(token)) and not claim_submission(
        account, token=token, at=at
    )


def execute_confirmed(model_admin, request, selected_rows, admin_action: AdminAction):
    """Run the action on each row whose amount is the confirmed one, and report.

    Returns the page that offers to undo it, or that shows what was made, if there is
    one.
    """
    pairs = (pair.partition(":") for pair in request.POST.get("confirmed_amounts", "").split())
    confirmed_amounts = {row_id: amount for row_id, _, amount in pairs}
    included, skipped = partition_rows(selected_rows, admin_action, confirmed_amounts)
    started_at = timezone.now()
    if included and admin_action.get_done_url:
        with transaction.atomic():
            is_again = is_sent_again(included[0].account, request.POST, at=started_at)
        if is_again:
            text = SUBMITTED_ALREADY.format(title=admin_action.title)
            model_admin.message_user(request, text, level=messages.WARNING)
            return None
    results = [(row, perform_on_row(admin_action, row)) for row in included]
    done = [row for row, error in results if not error]
    if done:
        text = f"{admin_action.title}: {len(done)} done."
        if totals := calculate_totals(done, admin_action.amount_field):
            text += f" Total: {' and '.join(totals)}."
        model_admin.message_user(request, text, level=messages.SUCCESS)
    report_not_done(model_admin, request, "Skipped", skipped)
    failed = [(row, error) for row, error in results if error]
    report_not_done(model_admin, request, "Failed", failed)
    if done and admin_action.get_done_url:
        return redirect(admin_action.get_done_url(started_at, timezone.now()))
    if not admin_action.undo_action or not done:
        return None
    return render_undo(model_admin, request, [row.pk for row in done], admin_action)


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
    except OperationalError as error:
        if not is_temporary(error):
            raise
        return DATABASE_TIMEOUT_MESSAGE
    return ""


def render_confirmation(model_admin, request, admin_action: AdminAction, included, skipped):
    """The page with the number of rows, totals per currency and skipped rows."""
    balances = admin_action.get_balances(included) if admin_action.get_balances else ()
    context = {
        **model_admin.admin_site.each_context(request),
        **build_effect_tables(MoneyEffects(balances=balances)),
        "opts": model_admin.model._meta,
        "title": admin_action.title,
        "admin_action": admin_action,
        "form": admin_action.form,
        "rows": [(row, format_confirmed_amount(row, admin_action)) for row in included],
        "listing": list_rows(model_admin, included, admin_action),
        "skipped": [(get_title(model_admin, row), reason) for row, reason in skipped],
        "totals": calculate_totals(included, admin_action.amount_field),
        "action": request.POST.get("action"),
        "checkbox_name": ACTION_CHECKBOX_NAME,
        "token": create_token(),
    }
    return TemplateResponse(request, "admin/action_confirmation.html", context)


def get_title(model_admin, row) -> str:
    """What staff call a row."""
    return getattr(model_admin, "get_object_title", str)(row)


def list_rows(
    model_admin, rows, admin_action: AdminAction
) -> list[tuple[str, Any, list[tuple[str, Any]], str]]:
    """Of each row: URL, name, titles and values of the columns, and amount."""
    listed = []
    for row in rows:
        amount = (
            format_money(getattr(row, admin_action.amount_field), row.currency)
            if admin_action.amount_field
            else ""
        )
        values = [(name, get_value(row)) for name, get_value in admin_action.columns]
        title = get_title(model_admin, row)
        listed.append((get_object_url(row), title, values, amount))
    return listed


def render_undo(model_admin, request, pks: list[Any], admin_action: AdminAction):
    """The page after an action, with a button that undoes it."""
    rows = model_admin.get_queryset(request).filter(pk__in=pks)
    undoable = [row for row in rows.order_by("pk") if admin_action.can_undo(row)]
    if not undoable:
        return None
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.model._meta,
        "title": admin_action.title,
        "admin_action": admin_action,
        "rows": [(row, format_confirmed_amount(row, admin_action)) for row in undoable],
        "action": admin_action.undo_action,
        "totals": calculate_totals(undoable, admin_action.amount_field),
        "checkbox_name": ACTION_CHECKBOX_NAME,
    }
    return TemplateResponse(request, "admin/conversions/action_done.html", context)


def format_confirmed_amount(row, admin_action: AdminAction) -> str:
    """What must stay as it was confirmed, as the hidden field of the page has it."""
    parts = []
    if admin_action.amount_field:
        parts.append(format_decimal(getattr(row, admin_action.amount_field)))
    if admin_action.get_status:
        parts.append(admin_action.get_status(row))
    return "/".join(parts)


def find_changed_amount_reason(
    row, admin_action: AdminAction, confirmed_amounts: dict[str, str] | None
) -> str:
    """Why a row is not what was confirmed; empty if it is."""
    if not admin_action.amount_field or confirmed_amounts is None:
        return ""
    confirmed = confirmed_amounts.get(str(row.pk), "")
    if confirmed == format_confirmed_amount(row, admin_action):
        return ""
    amount = getattr(row, admin_action.amount_field)
    if admin_action.get_status and confirmed.startswith(f"{format_decimal(amount)}/"):
        return f"it is {admin_action.get_status(row)} now"
    return f"the amount is now {format_money(amount, row.currency)}"


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
        names_by_reason[reason].append(get_title(model_admin, row))
    for reason, names in names_by_reason.items():
        listed = ", ".join(names[:MAX_LISTED_ROWS])
        if len(names) > MAX_LISTED_ROWS:
            listed += f" and {len(names) - MAX_LISTED_ROWS} more"
        model_admin.message_user(request, f"{outcome}: {listed}: {reason}", level=messages.WARNING)
