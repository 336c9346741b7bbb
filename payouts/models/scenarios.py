"""Scenario: the sales of a period by other rules, calculated once."""

from django.db import models
from django.utils import timezone

from accounts.models.queues import QueuedRow

MAX_TITLE_LENGTH = 255


class Scenario(QueuedRow):
    """What a period would have cost by other rules (`payouts.services.scenarios`).

    `changes` and `result` are JSON: what the command `what_if` reads and answers. One
    without a result waits, is being calculated (`done` of `total` sales), or has an
    `error`. A calculation that is killed begins again when its lease, `due_at`, ends.
    `title` says what changes, `outcome` by how much the commissions differ, for lists.
    """

    not_exported = "calculated from what moves; `what_if` calculates it again"

    first_day = models.DateField("from")
    last_day = models.DateField("to")
    title = models.CharField("what changes", max_length=MAX_TITLE_LENGTH)
    outcome = models.CharField("difference", max_length=MAX_TITLE_LENGTH, blank=True)
    changes = models.TextField()
    result = models.TextField(blank=True)
    error = models.CharField(max_length=MAX_TITLE_LENGTH, blank=True)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    created_by = models.CharField(max_length=255)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        default_related_name = "scenarios"
        indexes = [
            models.Index(
                fields=["account", "due_at"],
                condition=models.Q(due_at__isnull=False),
                name="scenarios_due",
            ),
            models.Index(fields=["account", "-created_at", "-id"], name="scenarios_newest_first"),
        ]

    def __str__(self) -> str:
        return str(self.pk)
