"""The diary of an account: what happened, when, and who did it."""

from django.db import models
from django.utils import timezone

from accounts.models.accounts import Account, Owned, OwnedQuerySet


class Event(Owned):
    """One line of the diary; it is never changed and never deleted.

    `facts` tells which fields changed, from what to what, for rules and states;
    never a personal value.
    """

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="events", db_index=False
    )
    kind = models.CharField(max_length=64)
    subject = models.CharField(max_length=255)
    facts = models.JSONField(default=dict)
    actor = models.CharField(max_length=255)
    trace_id = models.CharField(max_length=32, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["account", "-id"], name="diary_newest_first"),
            models.Index(fields=["account", "subject"], name="diary_of_subject"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}"
