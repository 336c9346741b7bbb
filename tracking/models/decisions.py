"""Decision: what was known when an earner was found, and what came of it."""

from django.db import models
from django.db.models import Q

from accounts.models.accounts import Account, Owned, OwnedQuerySet
from tracking.models.conversions import Conversion
from tracking.models.customers import Customer


class Decision(Owned):
    """The attribution of one customer or one conversion, told so that it can be proved.

    `inputs` and `outcome` are canonical JSON: deciding again from the inputs, by the
    engine named, gives the outcome to the byte.
    """

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="decisions", db_index=False
    )
    customer = models.ForeignKey(
        Customer, models.PROTECT, null=True, related_name="+", db_index=False
    )
    conversion = models.ForeignKey(
        Conversion, models.PROTECT, null=True, related_name="+", db_index=False
    )
    engine = models.CharField(max_length=16)
    inputs = models.TextField()
    outcome = models.TextField()

    objects = OwnedQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "customer"], name="one_decision_per_customer"
            ),
            models.UniqueConstraint(
                fields=["account", "conversion"], name="one_decision_per_conversion"
            ),
            models.CheckConstraint(
                condition=Q(customer=None) ^ Q(conversion=None),
                name="a_decision_is_about_one_thing",
            ),
        ]

    def __str__(self) -> str:
        return f"decision {self.pk}"
