"""ImportedObject: what an object of another system is called here."""

from django.db import models
from django.utils import timezone

from accounts.models.accounts import TenantModel

MAX_SOURCE_ID_LENGTH = 255


class ImportedObject(TenantModel):
    """An object that was read from a source; a second run changes it, if at all.

    `local_id` is the primary key here. `fingerprint` is the digest of what the source
    said, so that a run sees what has changed since.
    """

    source = models.CharField(max_length=255)  # the host, or the name of a file
    kind = models.CharField(max_length=32)
    source_id = models.CharField(max_length=MAX_SOURCE_ID_LENGTH)
    local_id = models.BigIntegerField()
    fingerprint = models.CharField(max_length=64)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        default_related_name = "imported_objects"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "source", "kind", "source_id"],
                name="one_import_per_object",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.source_id}"
