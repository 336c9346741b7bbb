"""Logo: the picture of an account in the QR codes of its affiliates' links."""

from django.db import models

from accounts.models.accounts import TenantModel, TenantQuerySet


class Logo(TenantModel):
    """A small picture; apart from the account, which each request reads."""

    media_type = models.CharField(max_length=32)
    image = models.BinaryField()

    objects = TenantQuerySet.as_manager()

    class Meta:
        default_related_name = "logos"
        constraints = [
            models.UniqueConstraint(fields=["account"], name="one_logo_per_account")
        ]

    def __str__(self) -> str:
        return f"{self.media_type}, {len(self.image):,} bytes"
