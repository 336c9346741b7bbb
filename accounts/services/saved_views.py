"""Saved views of lists: create, list and delete the views of one staff user.

A view changes only what its user sees, so the audit log has no entries about views.
"""

from datetime import datetime

from django.db import IntegrityError, transaction

from accounts.errors import (
    DuplicateSavedView,
    InvalidSetting,
    SavedViewNotFound,
    TooManySavedViews,
)
from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from accounts.models.users import MAX_NAME_LENGTH, MAX_QUERY_LENGTH, SavedView, User

MAX_SAVED_VIEWS = 12  # per user and list


def create_saved_view(
    account: Account,
    *,
    user: User,
    list_label: str,
    name: str,
    query: str,
    at: datetime,
) -> SavedView:
    """Save the query of a list's URL under a name.

    Raises `InvalidSetting`, `DuplicateSavedView` and `TooManySavedViews`.
    """
    name = " ".join(name.split())
    if not 0 < len(name) <= MAX_NAME_LENGTH or not name.isprintable():
        rule = f"1 to {MAX_NAME_LENGTH} printable characters"
        raise InvalidSetting(setting="The name of a view", rule=rule)
    if not 0 < len(query) <= MAX_QUERY_LENGTH:
        rule = "a filter, a search or an order, and not too long"
        raise InvalidSetting(setting="What a view saves", rule=rule)
    existing = list_saved_views(account, user=user, list_label=list_label)
    if len(existing) >= MAX_SAVED_VIEWS:
        raise TooManySavedViews(limit=MAX_SAVED_VIEWS)
    try:
        with transaction.atomic():
            return account.saved_views.create(
                user=user, list=list_label, name=name, query=query, created_at=at
            )
    except IntegrityError:
        if any(view.name == name for view in existing):
            raise DuplicateSavedView(name=name) from None
        raise


def list_saved_views(account: Account, *, user: User, list_label: str) -> list[SavedView]:
    """Return the user's views of a list, oldest first."""
    return list(account.saved_views.filter(user=user, list=list_label).order_by("id"))


def delete_saved_view(account: Account, *, user: User, view_id: int) -> None:
    """Delete a view of the user; raise `SavedViewNotFound`."""
    rows = account.saved_views.filter(user=user)
    get_or_raise(rows, SavedViewNotFound, pk=view_id).delete()
