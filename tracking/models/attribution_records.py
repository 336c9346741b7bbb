"""AttributionRecord: the inputs and the outcome of an attribution."""

from django.db import models
from django.db.models import Q

from accounts.models.accounts import TenantModel, TenantQuerySet
from tracking.models.conversions import Conversion
from tracking.models.customers import Customer


class AttributionRecord(TenantModel):
    """The stored, verifiable attribution of one customer or one conversion.

    The latest record of a subject counts: confirming a claim adds one.
    `inputs` and `outcome` are canonical JSON. Replaying the inputs with the version
    `engine` of the attribution produces the same outcome to the byte.
    """

    customer = models.ForeignKey(
        Customer, models.PROTECT, null=True, related_name="+", db_index=False
    )
    conversion = models.ForeignKey(
        Conversion, models.PROTECT, null=True, related_name="+", db_index=False
    )
    engine = models.CharField(max_length=16)
    inputs = models.TextField()
    outcome = models.TextField()

    objects = TenantQuerySet.as_manager()

    class Meta:
        default_related_name = "attribution_records"
        indexes = [
            models.Index(
                fields=["account", "customer"], name="attribution_of_customer"
            ),
            models.Index(
                fields=["account", "conversion"], name="attribution_of_conversion"
            ),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(customer=None) ^ Q(conversion=None),
                name="attribution_record_has_one_subject",
            ),
        ]

    def __str__(self) -> str:
        return f"attribution record {self.pk}"
