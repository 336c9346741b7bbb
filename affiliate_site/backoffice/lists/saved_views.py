"""Saved views above a list: the user's own filters, searches and orders by name."""

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import QueryDict
from django.shortcuts import redirect
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from accounts.errors import DomainError
from accounts.services.saved_views import (
    create_saved_view,
    delete_saved_view,
    list_saved_views,
)

UNSAVED_PARAMETERS = ("p", "e")  # page number, error mark


class SavedViewsMixin(admin.ModelAdmin):
    """A list with saved views; operators have no account that could own one."""

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
        """Add the user's views and the query that the form would save."""
        query = normalize_query(request.GET)
        account = request.user.account
        context = {
            "saved_views": list_saved_views(
                account, user=request.user, list_label=self.opts.label_lower
            )
            if account
            else [],
            "view_query": query,
            "can_save_view": account is not None and query != "",
        }
        return super().changelist_view(request, context | (extra_context or {}))

    def save_view(self, request):
        """Save the query of the list under the name that the user entered."""
        query = normalize_query(QueryDict(request.POST.get("query", "")))
        name = request.POST.get("name", "")
        return self._change_views(
            request,
            query,
            lambda account: create_saved_view(
                account,
                user=request.user,
                list_label=self.opts.label_lower,
                name=name,
                query=query,
                at=timezone.now(),
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
        name = f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist"
        return redirect(f"{reverse(name)}?{query}" if query else reverse(name))


def normalize_query(query: QueryDict) -> str:
    """The parameters of a list in one order, without page and empty values."""
    result = QueryDict(mutable=True)
    for name in sorted(set(query) - set(UNSAVED_PARAMETERS)):
        if value := query.get(name):
            result[name] = str(value)
    return result.urlencode()
