"""PaymentAllocation: which payment paid which commission; never deleted."""

from django.db import models

from accounts.models.accounts import Account, TenantModel, TenantQuerySet
from payouts.models.commissions import Commission
from payouts.models.payments import Payment


class PaymentAllocation(TenantModel):
    """A commission that a payment paid when it was created.

    `Commission.payment` is the payment that pays it now. The allocation stays when the
    payment is canceled or the commission's status changes.
    """

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="payment_allocations", db_index=False
    )
    payment = models.ForeignKey(
        Payment, models.PROTECT, related_name="+", db_index=False
    )
    commission = models.ForeignKey(
        Commission, models.PROTECT, related_name="+", db_index=False
    )

    objects = TenantQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "commission", "payment"],
                name="one_allocation_per_payment",
            )
        ]

    def __str__(self) -> str:
        return f"{self.payment_id} {self.commission_id}"
