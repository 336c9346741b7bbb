"""TenantAdmin: a ModelAdmin restricted to the rows of the signed-in user's account.

The rows of other accounts are inaccessible everywhere in the admin: lists, forged IDs,
autocompletes, actions and history.
"""

from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, TypeVar

from django.contrib import admin
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import models
from django.http import HttpRequest

from accounts.email_addresses import fold_email
from accounts.models.accounts import Account, Plan, TenantModel
from accounts.models.users import User

MAX_SEARCH_MATCHES = 1000  # objects that a search by a relation or a part considers
DATE_LOOKUPS = ("created_at__gte", "created_at__lt")
Row = TypeVar("Row", bound=models.Model)


@dataclass(frozen=True)
class SearchMatch:
    """The rows that one search field finds; some are left out if `is_limited`."""

    condition: models.Q
    is_limited: bool = False

    @classmethod
    def of_rows(cls, column: str, pks: list[int], *, is_limited: bool = False) -> "SearchMatch":
        """Find rows by a column with one of these keys."""
        return cls(
            models.Q(**{f"{column}__in": pks[:MAX_SEARCH_MATCHES]}),
            is_limited or len(pks) > MAX_SEARCH_MATCHES,
        )


def filter_for_user(rows: models.QuerySet[Row], user: User) -> models.QuerySet[Row]:
    """Return the rows a user may see: staff those of their account, operators all.

    Plans are public. Raises `TypeError` for another model without an account.
    """
    if user.is_superuser:
        return rows
    if rows.model is Account:
        return rows.filter(pk=user.account_id)
    if issubclass(rows.model, TenantModel | User):
        return rows.filter(account_id=user.account_id)
    if rows.model is Plan:
        return rows
    raise TypeError(f"{rows.model._meta.label} belongs to no account")


class TenantAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """The page of a model of an account, which only shows rows.

    Rows change through actions and pages that call services.
    """

    # Lookups allowed in the URL of a list in addition to its filters. Others could
    # reveal a hidden column letter by letter.
    extra_lookups: tuple[str, ...] = ()
    show_full_result_count = False
    list_per_page = 50
    list_max_show_all = 0

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[Any]:
        """Return the rows of every list, page, action and autocomplete."""
        return filter_for_user(super().get_queryset(request), get_user(request))

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        user = get_user(request)
        is_own = obj is None or user.is_superuser or obj.account_id == user.account_id
        return is_own and super().has_view_permission(request, obj)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def to_field_allowed(self, request: HttpRequest, to_field: str) -> bool:
        """Allow no other key than the primary one in `_to_field`.

        Django looks up others among all relations, also hidden ones named `+`.
        """
        return to_field == self.opts.pk.name

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> Any:
        """Refuse a POST: with `_saveasnew`, Django's own form would store a new row,
        past the services and the audit log."""
        if request.method == "POST":
            raise PermissionDenied
        return super().change_view(request, object_id, *args, **kwargs)

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Allow the filters of the list, dates of creation, and `extra_lookups`."""
        filters: list[Any] = list(self.list_filter)
        fields = [each for each in filters if isinstance(each, str)]
        parameters = [
            name
            for each in filters
            if not isinstance(each, str)
            for name in (each.parameter_name, *getattr(each, "parameters", ()))
        ]
        return lookup in (
            *parameters,
            *(f"{name}__{type_}" for name in fields for type_ in ("exact", "isnull")),
            *DATE_LOOKUPS,
            *self.extra_lookups,
        )

    def get_list_display(self, request: HttpRequest) -> Any:
        """Add the account column for operators."""
        columns = super().get_list_display(request)
        return ["account", *columns] if get_user(request).is_superuser else columns

    def get_list_select_related(self, request: HttpRequest) -> Any:
        relations = super().get_list_select_related(request) or ()
        return [*relations, "account"]  # type: ignore[misc]

    def get_exclude(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return ["account", *(super().get_exclude(request, obj) or [])]

    def get_search_results(
        self, request: HttpRequest, queryset: models.QuerySet[Any], search_term: str
    ) -> tuple[models.QuerySet[Any], bool]:
        """Return the rows of which one of the search fields equals the term.

        Each field is first looked up by its own index, because no index supports a
        search in several columns. `request.is_search_limited` is set if not all rows
        that match are among them.
        """
        term = search_term.strip()
        if not term:
            return queryset, False
        matches = self.list_search_matches(request, term)
        if not matches:
            return queryset.none(), False
        request.is_search_limited = any(match.is_limited for match in matches)  # type: ignore[attr-defined]
        return queryset.filter(reduce(or_, (match.condition for match in matches))), False

    def list_search_matches(self, request: HttpRequest, term: str) -> list[SearchMatch]:
        """Return one match per search field; subclasses may add matches."""
        user = get_user(request)
        matches = [
            find_match(self.model, name, value, user)
            for name in self.get_search_fields(request)
            for value in self.list_search_terms(request, name, term)
        ]
        return [match for match in matches if match]

    def list_search_terms(self, request: HttpRequest, name: str, term: str) -> list[str]:
        """Return what to look up in a field; subclasses may add other spellings."""
        return [term]


def find_match(model: Any, name: str, term: str, user: User) -> SearchMatch | None:
    """Find the rows where a search field has the term; None if there are none.

    `name` is a search field like `slug__exact` or `affiliate__slug__exact`.
    """
    path, _, lookup = name.rpartition("__")
    relation, _, column = path.rpartition("__")
    target = model._meta.get_field(relation).related_model if relation else model
    value = fold_email(term) if column == "email_folded" else term
    condition = models.Q(**{f"{column}__{lookup}": value})
    condition &= get_index_condition(target, column)
    try:
        rows = filter_for_user(target._base_manager.filter(condition), user)
        limit = MAX_SEARCH_MATCHES + 1 if relation else 1
        pks = list(rows.values_list("pk", flat=True)[:limit])
    except (ValueError, ValidationError):
        return None  # the term is not a value of this column's type
    if not pks:
        return None
    return SearchMatch.of_rows(relation, pks) if relation else SearchMatch(condition)


def get_index_condition(model: Any, column: str) -> models.Q:
    """Return the condition of the index on a column; empty if one covers all rows."""
    indexes = [*model._meta.constraints, *model._meta.indexes]
    conditions = [
        index.condition
        for index in indexes
        if list(getattr(index, "fields", ()))[:2] == ["account", column]
    ]
    is_partial = conditions and all(conditions)
    return conditions[0] if is_partial else models.Q()


def get_user(request: HttpRequest) -> User:
    """Return the signed-in user of an admin request."""
    user = request.user
    if not isinstance(user, User):
        raise TypeError("no user is signed in")
    return user
