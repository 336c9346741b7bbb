"""Saved views of lists and reports: create, list and delete those of a staff user.

A view changes nothing but what is offered to look at, so the audit log has no entries
about views.
"""

from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import Q

from accounts.errors import (
    DuplicateSavedView,
    InvalidSetting,
    SavedViewNotFound,
    TooManySavedViews,
)
from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from accounts.models.users import (
    MAX_NAME_LENGTH,
    MAX_QUERY_LENGTH,
    MailRhythm,
    SavedView,
    User,
)

MAX_SAVED_VIEWS = 12  # per user and list
MAX_PINNED_VIEWS = 4


def create_saved_view(
    account: Account,
    *,
    user: User,
    list_label: str,
    name: str,
    query: str,
    at: datetime,
    is_shared: bool = False,
    is_pinned: bool = False,
    mailed_every: str = "",
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
    if mailed_every not in ("", *MailRhythm.values):
        raise InvalidSetting(setting="Mailed", rule=f"one of {', '.join(MailRhythm.values)}")
    existing = list(account.saved_views.filter(user=user, list=list_label))
    if len(existing) >= MAX_SAVED_VIEWS:
        raise TooManySavedViews(limit=MAX_SAVED_VIEWS)
    try:
        with transaction.atomic():
            return account.saved_views.create(
                user=user,
                list=list_label,
                name=name,
                query=query,
                created_at=at,
                shared_at=at if is_shared else None,
                pinned_at=at if is_pinned else None,
                mailed_every=mailed_every or None,
            )
    except IntegrityError:
        if any(view.name == name for view in existing):
            raise DuplicateSavedView(name=name) from None
        raise


def list_saved_views(account: Account, *, user: User, list_label: str) -> list[SavedView]:
    """Return the user's views of a list and those of the team, oldest first."""
    seen = account.saved_views.filter(Q(user=user) | Q(shared_at__isnull=False), list=list_label)
    return list(seen.order_by("id"))


def list_pinned_views(account: Account, *, user: User) -> list[SavedView]:
    """Return the reports on the user's dashboard, at most `MAX_PINNED_VIEWS`."""
    seen = account.saved_views.filter(
        Q(user=user) | Q(shared_at__isnull=False), pinned_at__isnull=False
    )
    return list(seen.order_by("id")[:MAX_PINNED_VIEWS])


def delete_saved_view(account: Account, *, user: User, view_id: int) -> None:
    """Delete a view of the user; raise `SavedViewNotFound`."""
    rows = account.saved_views.filter(user=user)
    get_or_raise(rows, SavedViewNotFound, pk=view_id).delete()
