"""QueuedRow: a row that waits for an attempt by a worker."""

from typing import ClassVar

from django.db import models

from accounts.models.accounts import TenantModel, TenantQuerySet


class QueuedRow(TenantModel):
    """A row of a queue: see `accounts.services.queues`.

    `due_at` is the time of the next attempt; null if there is none.
    """

    due_at = models.DateTimeField("next attempt", null=True)
    attempts = models.PositiveSmallIntegerField(default=0)

    objects: ClassVar = TenantQuerySet.as_manager()

    class Meta:
        abstract = True
