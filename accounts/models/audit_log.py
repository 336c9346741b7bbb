"""What people and keys changed, and when commands ran."""

from django.db import models
from django.utils import timezone

from accounts.models.accounts import TenantModel


class AuditLogEntry(TenantModel):
    """An entry of the audit log, which is never changed or deleted.

    `details` has the changed fields, with old and new values for settings and
    statuses. No field has personal data: users, affiliates and customers are named by
    IDs, which the back office looks up when it shows an entry; of accounts to pay to,
    entries have the last digits.
    """

    kind = models.CharField(max_length=64)
    subject = models.CharField(max_length=255)
    details = models.JSONField(default=dict)
    actor = models.CharField(max_length=255)
    trace_id = models.CharField("trace ID", max_length=32, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        default_related_name = "audit_log"
        verbose_name = "audit log entry"
        verbose_name_plural = "audit log entries"
        indexes = [
            models.Index(fields=["account", "-id"], name="audit_log_newest_first"),
            models.Index(fields=["account", "subject"], name="audit_log_by_subject"),
            models.Index(fields=["account", "actor", "-id"], name="audit_log_by_actor"),
            models.Index(fields=["account", "kind", "-id"], name="audit_log_by_kind"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}"


class CommandRun(models.Model):
    """The last success of a nightly command, or sign of life of a webhook worker."""

    name = models.CharField(max_length=64, primary_key=True)  # of the command
    succeeded_at = models.DateTimeField()

    def __str__(self) -> str:
        name: str = self.name
        return name
