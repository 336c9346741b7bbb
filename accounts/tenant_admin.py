"""TenantAdmin: what staff may see and touch of an account's rows; plain Django.

Each door of the admin is shut for another account's rows: lists, forms, forged ids,
choices, autocompletes, actions, delete pages and history.
"""

from functools import reduce
from operator import or_
from typing import Any, TypeVar

from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db import models
from django.http import HttpRequest

from accounts.models.accounts import Account, Owned
from accounts.models.users import User

MOST_FOUND = 1000  # things of which the rows are told, by one search
DAYS = ("created_at__gte", "created_at__lt")
Row = TypeVar("Row", bound=models.Model)


def own_rows(rows: models.QuerySet[Row], user: User) -> models.QuerySet[Row]:
    """What a user may see of these rows: staff those of their account, operators all.

    A model without an account holds nobody's secret (plans) or is the account itself.
    """
    if user.is_superuser:
        return rows
    if rows.model is Account:
        return rows.filter(pk=user.account_id)
    if issubclass(rows.model, Owned | User):
        return rows.filter(account_id=user.account_id)
    return rows


class OwnRows:
    """For pages and inlines alike: rows and choices of the account, and no others."""

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[Any]:
        """Where every list, form, action and autocomplete begins."""
        return own_rows(super().get_queryset(request), signed_in(request))  # type: ignore[misc]

    def formfield_for_foreignkey(
        self, db_field: Any, request: HttpRequest, **kwargs: Any
    ) -> Any:
        """The choices of a form, and what a forged one is compared with."""
        kwargs["queryset"] = self._choices(db_field, request)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)  # type: ignore[misc]

    def formfield_for_manytomany(
        self, db_field: Any, request: HttpRequest, **kwargs: Any
    ) -> Any:
        """The same, for several at once."""
        kwargs["queryset"] = self._choices(db_field, request)
        return super().formfield_for_manytomany(db_field, request, **kwargs)  # type: ignore[misc]

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._is_own(request, obj) and super().has_view_permission(request, obj)  # type: ignore[misc]

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._is_own(request, obj) and super().has_change_permission(  # type: ignore[misc]
            request, obj
        )

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._is_own(request, obj) and super().has_delete_permission(  # type: ignore[misc]
            request, obj
        )

    @staticmethod
    def _choices(db_field: Any, request: HttpRequest) -> models.QuerySet[Any]:
        model: Any = db_field.remote_field.model
        return own_rows(model._base_manager.all(), signed_in(request))

    @staticmethod
    def _is_own(request: HttpRequest, obj: Any) -> bool:
        user = signed_in(request)
        if obj is None or user.is_superuser:
            return True
        account = obj.pk if isinstance(obj, Account) else obj.account_id
        return bool(account == user.account_id)


class TenantAdmin(OwnRows, admin.ModelAdmin):  # type: ignore[type-arg]
    """A page over one model of an account; the account is never asked for."""

    # What the address of a list may ask besides its filters: no other column, and no
    # comparison that would tell a hidden one letter by letter.
    lookups: tuple[str, ...] = ()
    show_full_result_count = False
    list_per_page = 50
    list_max_show_all = 0

    def lookup_allowed(
        self, lookup: str, value: str, request: HttpRequest | None = None
    ) -> bool:
        """Filters of the list, the days that a number counts, and what a page names."""
        filters: list[Any] = list(self.list_filter)
        columns = [it for it in filters if isinstance(it, str)]
        own = [it.parameter_name for it in filters if not isinstance(it, str)]
        return lookup in (
            *own,
            *(f"{name}__{how}" for name in columns for how in ("exact", "isnull")),
            *DAYS,
            *self.lookups,
        )

    def get_list_display(self, request: HttpRequest) -> Any:
        """Operators see whose each row is."""
        shown = super().get_list_display(request)
        return ["account", *shown] if signed_in(request).is_superuser else shown

    def get_list_select_related(self, request: HttpRequest) -> Any:
        joined = super().get_list_select_related(request) or ()
        return [*joined, "account"]  # type: ignore[misc]

    def get_exclude(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return ["account", *(super().get_exclude(request, obj) or [])]

    def save_model(
        self, request: HttpRequest, obj: Any, form: Any, change: Any
    ) -> None:
        """A new row is the account's own, whatever was sent."""
        if not change:
            obj.account = signed_in(request).account
        super().save_model(request, obj, form, change)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Nothing of another account stands on a delete page."""
        return super().get_deleted_objects(
            [obj for obj in objs if self._is_own(request, obj)], request
        )

    def get_search_results(
        self, request: HttpRequest, queryset: models.QuerySet[Any], search_term: str
    ) -> tuple[models.QuerySet[Any], bool]:
        """Rows of which one searched column is exactly this.

        Each column is asked by its own index first: none answers "this or that".
        """
        term = search_term.strip()
        if not term:
            return queryset, False
        asked = (
            exactly(self.model, name, term, signed_in(request))
            for name in self.get_search_fields(request)
        )
        hits = [hit for hit in asked if hit is not None]
        return (queryset.filter(reduce(or_, hits)) if hits else queryset.none()), False


class ReadOnlyTenantAdmin(TenantAdmin):
    """Looked at, never edited: what changes it are actions, which call services."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class TenantInline(OwnRows, admin.TabularInline):  # type: ignore[type-arg]
    """Rows of the account below another one of its rows."""

    extra = 0


def exactly(model: Any, name: str, term: str, user: User) -> models.Q | None:
    """What finds rows by `slug__exact` or `affiliate__slug__exact`; None: no row."""
    relation, _, column = name.removesuffix("__exact").rpartition("__")
    target = model._meta.get_field(relation).related_model if relation else model
    value = term.casefold() if column.endswith("_folded") else term
    condition = indexed_rows(target, column) & models.Q(**{column: value})
    try:
        rows = own_rows(target._base_manager.filter(condition), user)
        found = list(rows.values_list("pk", flat=True)[: MOST_FOUND if relation else 1])
    except (ValueError, ValidationError):
        return None  # nothing in this column looks like that
    if not found:
        return None
    return models.Q(**{f"{relation}__in": found}) if relation else condition


def indexed_rows(model: Any, column: str) -> models.Q:
    """Which rows the index holds that finds a column: all, or those not removed."""
    rules = [*model._meta.constraints, *model._meta.indexes]
    conditions = [
        rule.condition
        for rule in rules
        if list(getattr(rule, "fields", ()))[:2] == ["account", column]
    ]
    partial = all(conditions) and conditions
    return partial[0] if partial else models.Q()


def signed_in(request: HttpRequest) -> User:
    """Who asks; the admin lets nobody else in."""
    user = request.user
    if not isinstance(user, User):
        raise TypeError("nobody is signed in")
    return user
