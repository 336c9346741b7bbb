"""SavedView: a filter, search and order of a list that a staff user has named."""

from django.db import models
from django.utils import timezone

from accounts.models.accounts import TenantModel, TenantQuerySet
from accounts.models.users import User

MAX_NAME_LENGTH = 64
MAX_QUERY_LENGTH = 2000


class SavedView(TenantModel):
    """The query of a list's URL under a name; only its user sees it."""

    user = models.ForeignKey(User, models.PROTECT, related_name="+", db_index=False)
    list = models.CharField(max_length=64)  # label of the model: tracking.affiliate
    name = models.CharField(max_length=MAX_NAME_LENGTH)
    query = models.CharField(max_length=MAX_QUERY_LENGTH)
    created_at = models.DateTimeField(default=timezone.now)

    objects = TenantQuerySet.as_manager()

    class Meta:
        default_related_name = "saved_views"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "user", "list", "name"],
                name="one_saved_view_per_name",
            )
        ]

    def __str__(self) -> str:
        return self.name
