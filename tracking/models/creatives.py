"""Creatives: banners and texts that affiliates put on their pages."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models.accounts import TenantModel
from tracking.models.programs import Program


class CreativeKind(models.TextChoices):
    """What affiliates get."""

    IMAGE = "image", "Image"
    TEXT = "text", "Text"


class Creative(TenantModel):
    """A banner or a text of a program; affiliates see it until it is archived.

    The image is a file: `affiliate_site/creative_images.py`.
    """

    program = models.ForeignKey(Program, models.PROTECT, related_name="creatives", db_index=False)
    title = models.CharField(max_length=255)
    kind = models.CharField(max_length=16, choices=CreativeKind)
    text = models.TextField(blank=True)
    file_name = models.CharField(max_length=64, blank=True)  # a random ID
    media_type = models.CharField(max_length=32, blank=True)
    width = models.PositiveIntegerField(null=True)  # pixels
    height = models.PositiveIntegerField(null=True)
    created_at = models.DateTimeField(default=timezone.now)
    archived_at = models.DateTimeField("archived", null=True)

    class Meta:
        default_related_name = "creatives"
        constraints = [
            models.CheckConstraint(
                condition=Q(kind=CreativeKind.TEXT.value, file_name="")
                | Q(kind=CreativeKind.IMAGE.value, width__gt=0, height__gt=0, text=""),
                name="creative_has_image_or_text",
            )
        ]
        indexes = [models.Index(fields=["account", "program", "-id"], name="creatives_of_program")]

    def __str__(self) -> str:
        return str(self.pk)
