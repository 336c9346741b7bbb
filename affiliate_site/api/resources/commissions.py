"""Commissions: `/commissions/`."""

from accounts.services.rate_limits import RateLimit
from affiliate_site.api.fields import (
    CurrencyAmountField,
    StrictBooleanField,
    TextField,
    parse_integer_id,
)
from affiliate_site.api.filters import (
    BaseFilterSet,
    BooleanFilter,
    ChoiceFilter,
    ReferenceFilter,
)
from affiliate_site.api.input_serializers import InputSerializer
from affiliate_site.api.representations.conversions import (
    CommissionRepresentation,
    commission_by_id,
)
from affiliate_site.api.viewsets import TenantViewSet
from payouts.errors import CommissionNotFound
from payouts.models.commissions import Commission, CommissionStatus
from payouts.services.commissions import (
    approve_commission,
    disapprove_commission,
    get_commission,
)
from payouts.services.conversion_updates import update_commission

STATUS_BY_APPROVAL = {
    True: CommissionStatus.APPROVED,
    False: CommissionStatus.DISAPPROVED,
    None: CommissionStatus.PENDING,
}


class CommissionUpdateSerializer(InputSerializer):
    """Changes of a commission; `approved: null` makes it pending."""

    amount = CurrencyAmountField(required=False)
    conversion_sub_amount = CurrencyAmountField(required=False)
    comment = TextField(required=False, allow_null=True, max_length=1000)
    approved = StrictBooleanField(required=False, allow_null=True)


class CommissionFilterSet(BaseFilterSet):
    """Filters of commissions; `approved` is ignored if `status` is sent."""

    affiliate_id = ReferenceFilter(field_name="affiliate")
    status = ChoiceFilter(choices=CommissionStatus.values, field_name="status")
    paid = BooleanFilter(method="filter_by_paid")
    approved = BooleanFilter(method="filter_by_approval")

    def __init__(self, data, **kwargs):
        if data.get("status"):
            data = data.copy()
            data.pop("approved", None)
        super().__init__(data, **kwargs)

    def filter_by_paid(self, rows, name, value):
        return rows.filter(payment__isnull=not value)

    def filter_by_approval(self, rows, name, value):
        return rows.filter(
            status=CommissionStatus.APPROVED if value else CommissionStatus.DISAPPROVED
        )


class CommissionViewSet(TenantViewSet):
    """Commissions (docs/api-contract.md, section 2.3)."""

    permission_model = Commission
    throttle_rate = {"list": RateLimit(1500, minutes=5)}
    serializer_classes = {"partial_update": CommissionUpdateSerializer}
    filterset_class = CommissionFilterSet
    conflict_actions = ("partial_update", "approve", "disapprove")
    representation = CommissionRepresentation

    def list(self, request):
        """List commissions, newest first."""
        return self.list_page(self.account.commissions.not_deleted().newest_first())

    def retrieve(self, request, commission_id):
        """Retrieve a commission."""
        return self.render_commission(parse_integer_id(commission_id))

    def partial_update(self, request, commission_id):
        """Update amounts, comment or approval of a commission."""
        pk = parse_integer_id(commission_id)
        currency = get_commission(self.account, pk).currency
        changes = build_commission_changes(self.validate_body(currency=currency))
        update_commission(self.account, commission_id=pk, changes=changes, at=self.at)
        return self.render_commission(pk)

    def approve(self, request, commission_id):
        """Approve a commission; its amount becomes payable."""
        pk = parse_integer_id(commission_id)
        commission = approve_commission(self.account, commission_id=pk, at=self.at)
        return self.render_commission(pk, commission)

    def disapprove(self, request, commission_id):
        """Disapprove a commission; its amount is no longer payable."""
        pk = parse_integer_id(commission_id)
        commission = disapprove_commission(self.account, commission_id=pk, at=self.at)
        return self.render_commission(pk, commission)

    def render_commission(self, pk, changed=None):
        """Render a commission, in the status that this request has just set."""
        row = self.get_row(commission_by_id, CommissionNotFound, pk=pk)
        if changed:
            row = CommissionRepresentation.replace(
                row, status=changed.status, finalized_at=changed.finalized_at
            )
        return self.render_row(row)


def build_commission_changes(data: dict) -> dict:
    """Map validated changes to columns."""
    changes = dict(data)
    if "approved" in changes:
        changes["status"] = STATUS_BY_APPROVAL[changes.pop("approved")]
    if "conversion_sub_amount" in changes:
        changes["sub_amount"] = changes.pop("conversion_sub_amount")
    return changes
