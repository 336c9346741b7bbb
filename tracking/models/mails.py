"""Mail: an e-mail that is stored before it is sent."""

from django.db import models
from django.utils import timezone

from accounts.models.queues import QueuedRow
from tracking.models.affiliates import Affiliate


class Mail(QueuedRow):
    """An e-mail to an affiliate or applicant, at most one of a kind about one thing.

    `due_at` is the time of the next attempt. It is null while an attempt runs and after
    the last one, so that a worker that stops in between never sends a second one.
    """

    affiliate = models.ForeignKey(
        Affiliate, models.PROTECT, null=True, related_name="+", db_index=False
    )
    kind = models.CharField(max_length=32)  # such as `payment`
    about = models.CharField(max_length=64)  # a public ID
    recipient = models.CharField(max_length=255)
    subject = models.CharField(max_length=255)
    text = models.TextField()
    created_at = models.DateTimeField(default=timezone.now)
    sent_at = models.DateTimeField(null=True)
    error = models.CharField(max_length=255, blank=True)  # of the last attempt

    sender_name = ""  # of the account's portal settings, for who claimed the mail

    class Meta:
        default_related_name = "mails"
        constraints = [
            models.UniqueConstraint(fields=["account", "kind", "about"], name="one_mail_of_a_kind")
        ]
        indexes = [
            models.Index(
                fields=["account", "due_at"],
                condition=models.Q(due_at__isnull=False),
                name="mails_due",
            ),
            models.Index(fields=["account", "affiliate", "-id"], name="mails_by_affiliate"),
        ]

    def __str__(self) -> str:
        return f"{self.kind}/{self.about}"
