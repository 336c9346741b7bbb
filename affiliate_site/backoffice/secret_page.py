"""The page that shows a new secret once, and actions whose result it is."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.template.response import TemplateResponse
from django.urls import reverse

from affiliate_site.backoffice.actions import AdminAction, run_admin_action


def show_secret_once(
    model_admin,
    request,
    rows,
    admin_action: AdminAction,
    *,
    title: str,
    explain: Callable[[Any], str],
    **context,
):
    """Run an action on exactly one row, and show the secret that it returns.

    `explain` says in a sentence about the row what the secret is.
    """
    if len(rows[:2]) != 1:
        text = "Select exactly one row: the secret is shown only once."
        model_admin.message_user(request, text, level=messages.ERROR)
        return None
    secrets: list[Any] = []
    capturing_action = replace(
        admin_action,
        perform=lambda row, at: secrets.append((admin_action.perform(row, at), explain(row))),
    )
    response = run_admin_action(model_admin, request, rows, capturing_action)
    if not secrets:
        return response
    secret, explanation = secrets[0]
    return render_secret(
        model_admin,
        request,
        title=title,
        secret=secret,
        explanation=explanation,
        **context,
    )


def render_secret(
    model_admin,
    request,
    *,
    title: str,
    secret: str,
    explanation: str,
    sign_in_url: str = "",
    back_url: str = "",
    back_text: str = "Back to the list",
    snippets: Sequence[tuple[str, str]] = (),
):
    """The page that shows a new secret once; browsers do not store it.

    `explanation` says what the secret is and who needs it. `sign_in_url` is the page
    that asks for the secret, if it is a password. `back_url` is the next page, by
    default the list. `snippets` are code with the secret, each with its title.
    """
    opts = model_admin.model._meta
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": opts,
        "title": title,
        "secret": secret,
        "explanation": explanation,
        "sign_in_url": sign_in_url,
        "back_url": back_url or reverse(f"admin:{opts.app_label}_{opts.model_name}_changelist"),
        "back_text": back_text,
        "snippets": snippets,
    }
    response = TemplateResponse(request, "admin/secret.html", context)
    response["Cache-Control"] = "no-store"
    return response
