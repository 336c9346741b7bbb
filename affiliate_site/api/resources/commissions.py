"""Commissions: `/commissions/`."""

from functools import partial

from accounts.services.usage import Rate
from affiliate_site.api.fields import row_number
from affiliate_site.api.filters import Choice, ListFilter, Switch, Words
from affiliate_site.api.shapes.sales import CommissionShape, commission_shape
from affiliate_site.api.viewsets import TenantViewSet
from payouts.errors import CommissionNotFound
from payouts.models.commissions import Commission, Status
from payouts.services.commissions import approve, disapprove


class CommissionFilter(ListFilter):
    """`approved` is read when `status` is absent. No payment covers anything yet."""

    affiliate_id = Words(field_name="affiliate__slug")
    status = Choice(choices=Status.values, field_name="status")
    paid = Switch(method="by_payment")
    approved = Switch(method="by_approval")

    def __init__(self, data, **kwargs):
        if data.get("status"):
            data = data.copy()
            data.pop("approved", None)
        super().__init__(data, **kwargs)

    def by_payment(self, rows, name, value):
        return rows.none() if value else rows

    def by_approval(self, rows, name, value):
        return rows.filter(status=Status.APPROVED if value else Status.DISAPPROVED)


class CommissionViewSet(TenantViewSet):
    """Contract 2.3."""

    thing = Commission
    rates = {"list": Rate(1500, minutes=5)}
    filters = {"list": CommissionFilter}
    conflicts = ("approve", "disapprove")
    answers = {
        "list": CommissionShape(many=True),
        "approve": CommissionShape,
        "disapprove": CommissionShape,
    }

    def list(self, request):
        """The account's commissions, newest first."""
        return self.page(self.shape, self.account.commissions.newest_first())

    def approve(self, request, commission_id):
        """Approve a commission and owe its amount to the affiliate."""
        number = row_number(commission_id)
        return self.shown(approve(self.account, commission_id=number, at=self.at))

    def disapprove(self, request, commission_id):
        """Owe a commission's amount no more."""
        number = row_number(commission_id)
        return self.shown(disapprove(self.account, commission_id=number, at=self.at))

    @property
    def shape(self):
        return partial(commission_shape, pending_as_null=self.account.pending_as_null)

    def shown(self, commission):
        rows = self.account.commissions.filter(pk=commission.pk)
        row = self.found(
            rows,
            CommissionNotFound,
            status=commission.status,
            finalized_at=commission.finalized_at,
        )
        return self.answer(self.shape(row))
