"""Saved views above a list or report: filters, searches and orders by name."""

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import QueryDict
from django.shortcuts import redirect
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from accounts.errors import DomainError
from accounts.models.users import MailRhythm
from accounts.services.notifications import can_send_mail
from accounts.services.saved_views import (
    create_saved_view,
    delete_saved_view,
    list_saved_views,
)

UNSAVED_PARAMETERS = ("p", "e", "format")  # page number, error mark, kind of file


class SavedViewsMixin(admin.ModelAdmin):
    """A list with saved views; operators have no account that could own one."""

    reports: tuple[Any, ...] = ()

    def get_urls(self):
        """Add the forms that save and remove a view."""
        name = f"{self.opts.app_label}_{self.opts.model_name}"
        save, remove = (
            require_POST(self.admin_site.admin_view(view))
            for view in (self.save_view, self.remove_view)
        )
        return [
            path("views/save/", save, name=f"{name}_save_view"),
            path("views/<int:view_id>/remove/", remove, name=f"{name}_remove_view"),
            *super().get_urls(),
        ]

    def changelist_view(self, request, extra_context=None):
        """Add the views, and what the form would save."""
        context = self.describe_views(request, normalize_query(request.GET))
        return super().changelist_view(request, context | (extra_context or {}))

    def describe_views(self, request, query: str, page: str = "") -> dict[str, Any]:
        """The views of the list, or of the report with this name, and the query that
        the form would save."""
        account, label = request.user.account, self._get_view_label(page)
        views = list_saved_views(account, user=request.user, list_label=label) if account else []
        return {
            "saved_views": views,
            "view_query": query,
            "view_page": page,
            "can_save_view": account is not None and query != "",
            "rhythms": MailRhythm.choices if can_send_mail() else (),
        }

    def _get_view_label(self, page: str) -> str:
        is_known = page in {it.name for it in self.reports}
        return f"{self.opts.label_lower}.{page}" if is_known else self.opts.label_lower

    def save_view(self, request):
        """Save the query of the list under the name that the user entered."""
        form = request.POST
        query = normalize_query(QueryDict(form.get("query", "")))
        options: dict[str, Any] = {"is_shared": "is_shared" in form}
        if form.get("page"):
            options["is_pinned"] = "is_pinned" in form
            options["mailed_every"] = form.get("mailed_every", "")
        return self._change_views(
            request,
            query,
            lambda account: create_saved_view(
                account,
                user=request.user,
                list_label=self._get_view_label(form.get("page", "")),
                name=form.get("name", ""),
                query=query,
                at=timezone.now(),
                **options,
            ),
        )

    def remove_view(self, request, view_id):
        """Remove a view of the user."""
        return self._change_views(
            request,
            normalize_query(QueryDict(request.POST.get("query", ""))),
            lambda account: delete_saved_view(account, user=request.user, view_id=view_id),
        )

    def _change_views(self, request, query, change):
        account = request.user.account
        if account is None or not self.has_view_permission(request):
            raise PermissionDenied
        try:
            change(account)
        except DomainError as error:
            self.message_user(request, error.text, level=messages.ERROR)
        page = request.POST.get("page", "")
        name = f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist"
        if page in {it.name for it in self.reports}:
            name = f"admin:{page}"
        return redirect(f"{reverse(name)}?{query}" if query else reverse(name))


def normalize_query(query: QueryDict) -> str:
    """The parameters of a list in one order, without page and empty values."""
    result = QueryDict(mutable=True)
    for name in sorted(set(query) - set(UNSAVED_PARAMETERS)):
        if values := [value for value in query.getlist(name) if value]:
            result.setlist(name, values)
    return result.urlencode()
