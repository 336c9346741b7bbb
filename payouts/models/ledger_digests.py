"""LedgerDigest: a link of the hash chain over the rows that money depends on."""

from django.db import models
from django.utils import timezone


class LedgerDigest(models.Model):
    """The digest of the rows that were created before `sealed_until`, of all accounts.

    `segments` maps each covered table to its rows since the previous digest: their last
    id, number and SHA-256. `digest` is the SHA-256 over `previous`, `sealed_until` and
    `segments`; `previous` is the digest before, or empty. Triggers reject updates and
    deletes.
    """

    previous = models.CharField(max_length=64, blank=True)
    sealed_until = models.DateTimeField()
    segments = models.JSONField()
    digest = models.CharField(max_length=64)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["previous"], name="one_ledger_digest_per_predecessor"
            )
        ]

    def __str__(self) -> str:
        return self.digest
