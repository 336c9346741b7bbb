"""Commissions: `/commissions/`."""

from functools import partial

from accounts.services.usage import Rate
from affiliate_site.api.fields import Flag, KnownAmount, Text, row_number
from affiliate_site.api.filters import Choice, ListFilter, Switch, Words
from affiliate_site.api.inputs import Input
from affiliate_site.api.shapes.sales import CommissionShape, commission_shape
from affiliate_site.api.viewsets import TenantViewSet
from payouts.errors import CommissionNotFound
from payouts.models.commissions import Commission, Status
from payouts.services.commissions import approve, commission_numbered, disapprove
from payouts.services.revising import change_commission

STATUS_OF = {True: Status.APPROVED, False: Status.DISAPPROVED, None: Status.PENDING}


class CommissionChange(Input):
    """What may change about a commission; `approved: null` puts it back to pending."""

    amount = KnownAmount(required=False)
    conversion_sub_amount = KnownAmount(required=False)
    comment = Text(required=False, allow_null=True, max_length=1000)
    approved = Flag(required=False, allow_null=True)


class CommissionFilter(ListFilter):
    """`approved` is read when `status` is absent."""

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
        return rows.filter(payment__isnull=not value)

    def by_approval(self, rows, name, value):
        return rows.filter(status=Status.APPROVED if value else Status.DISAPPROVED)


class CommissionViewSet(TenantViewSet):
    """Contract 2.3."""

    thing = Commission
    rates = {"list": Rate(1500, minutes=5)}
    reads = {"partial_update": CommissionChange}
    filters = {"list": CommissionFilter}
    conflicts = ("partial_update", "approve", "disapprove")
    answers = {
        "list": CommissionShape(many=True),
        "retrieve": CommissionShape,
        "partial_update": CommissionShape,
        "approve": CommissionShape,
        "disapprove": CommissionShape,
    }

    def list(self, request):
        """The account's commissions, newest first."""
        rows = self.account.commissions.present()
        return self.page(self.shape, rows.newest_first())

    def retrieve(self, request, commission_id):
        """One commission."""
        return self.shown(row_number(commission_id))

    def partial_update(self, request, commission_id):
        """Change amounts, comment or approval of a commission, all or nothing."""
        number = row_number(commission_id)
        currency = commission_numbered(self.account, number).currency
        changes = changes_of(self.read(currency=currency))
        change_commission(
            self.account, commission_id=number, changes=changes, at=self.at
        )
        return self.shown(number)

    def approve(self, request, commission_id):
        """Approve a commission and owe its amount to the affiliate."""
        number = row_number(commission_id)
        done = approve(self.account, commission_id=number, at=self.at)
        return self.shown(number, done)

    def disapprove(self, request, commission_id):
        """Owe a commission's amount no more."""
        number = row_number(commission_id)
        done = disapprove(self.account, commission_id=number, at=self.at)
        return self.shown(number, done)

    @property
    def shape(self):
        return partial(commission_shape, account=self.account)

    def shown(self, number, decided=None):
        rows = self.account.commissions.present().filter(pk=number)
        done = (
            {"status": decided.status, "finalized_at": decided.finalized_at}
            if decided
            else {}
        )
        row = self.found(rows, CommissionNotFound, **done)
        return self.answer(self.shape(row))


def changes_of(said: dict) -> dict:
    """What was read, as the service takes it."""
    changes = dict(said)
    if "approved" in changes:
        changes["status"] = STATUS_OF[changes.pop("approved")]
    if "conversion_sub_amount" in changes:
        changes["sub_amount"] = changes.pop("conversion_sub_amount")
    return changes
