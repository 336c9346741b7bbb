"""Conversions: `/conversions/` and the commissions added to one."""

from typing import Any

from rest_framework.exceptions import ValidationError

from accounts.services.rate_limits import RateLimit
from affiliate_site.api.conversion_previews import preview_conversion
from affiliate_site.api.conversion_serializers import (
    MAX_LINE_ITEMS,
    ConversionInputSerializer,
    build_conversion_data,
    build_line_item,
)
from affiliate_site.api.fields import (
    CurrencyAmountField,
    QueryBooleanField,
    TextField,
    TrimmedTextField,
    is_blank,
    parse_integer_id,
)
from affiliate_site.api.filters import (
    BaseFilterSet,
    BooleanFilter,
    DateFromFilter,
    DateToFilter,
    ReferenceFilter,
    TextFilter,
)
from affiliate_site.api.input_serializers import InputSerializer
from affiliate_site.api.map_fields import MetaDataField
from affiliate_site.api.representations.conversions import (
    CommissionRepresentation,
    ConversionRepresentation,
    NewConversionRepresentation,
    conversion_by_id,
)
from affiliate_site.api.tracking_fields import TrackingQuerySerializer
from affiliate_site.api.viewsets import TenantViewSet
from payouts.calculation import LineItem
from payouts.models.commissions import Commission, CommissionStatus
from payouts.services.conversion_creation import create_conversion
from payouts.services.conversion_updates import (
    add_commissions,
    delete_conversion,
    get_conversion_currency,
    update_conversion,
)
from tracking.errors import (
    ConversionNotFound,
    DuplicateConversion,
    TooManyConversionAttempts,
)
from tracking.models.conversions import Conversion, ConversionOrigin
from tracking.services.attempts import Attempt

EXTERNAL_ID_FIELD = TextField()


class ConversionUpdateSerializer(InputSerializer):
    """Changes of a conversion; a blank `external_id` counts as not sent."""

    amount = CurrencyAmountField(required=False)
    external_id = TextField(required=False)
    meta_data = MetaDataField(required=False)


class ConversionUpdateQuerySerializer(InputSerializer):
    """The query parameters of an update."""

    recalculate_commissions = QueryBooleanField(required=False)


class ConversionQuerySerializer(TrackingQuerySerializer):
    """The query parameters of a new conversion."""

    dry_run = QueryBooleanField(required=False)


class CommissionInputSerializer(InputSerializer):
    """An additional commission of a conversion."""

    max_items = MAX_LINE_ITEMS

    conversion_sub_amount = CurrencyAmountField()
    commission_type = TrimmedTextField(required=False, ignore_blank=True)
    comment = TextField(required=False, max_length=1000)


class ConversionFilterSet(BaseFilterSet):
    """Filters of conversions."""

    program_id = ReferenceFilter(field_name="program")
    external_id = TextFilter(field_name="external_id")
    affiliate_id = ReferenceFilter(field_name="affiliate")
    customer_id = TextFilter(method="filter_by_customer")
    pending = BooleanFilter(method="filter_by_pending")
    date_from = DateFromFilter(field_name="created_at")
    date_to = DateToFilter(field_name="created_at")

    def filter_by_customer(self, rows, name, value):
        customers = self.account.customers.not_deleted().filter(customer_id=value)
        return rows.filter(customer__in=customers.values("pk"))

    def filter_by_pending(self, rows, name, value):
        if not value:
            return rows
        pending = self.account.commissions.not_deleted().filter(status=CommissionStatus.PENDING)
        return rows.filter(pk__in=pending.values("conversion"))


class BaseConversionViewSet(TenantViewSet):
    """Base class of the conversion view sets of the API and of postbacks."""

    permission_model = Conversion
    representation = ConversionRepresentation
    row_query = (conversion_by_id, "pk", ConversionNotFound)

    origin: str
    attempt: Attempt | None = None  # None until `start_attempt`

    def start_attempt(self) -> Attempt:
        """Start an attempt, if it is allowed, with the `external_id` of the body.

        That comes before the validation of the body (docs/api-contract.md, 2.2.5).
        """
        external_id = parse_external_id(self.body.get("external_id"))
        attempt = Attempt(self.account, origin=self.origin, external_id=external_id)
        attempt.ensure_allowed()
        self.attempt = attempt
        return attempt

    def handle_exception(self, exc):
        """Store the failure; every transaction of the request is closed by now."""
        is_refused = isinstance(exc, DuplicateConversion | TooManyConversionAttempts)
        if self.attempt is not None and not is_refused and not self.is_dry_run:
            self.attempt.fail(exc)
        return super().handle_exception(exc)


class ConversionViewSet(BaseConversionViewSet):
    """Conversions (docs/api-contract.md, section 2.2)."""

    origin = ConversionOrigin.API
    throttle_rate = {
        "list": RateLimit(900, minutes=1),
        "retrieve": RateLimit(1500, minutes=5),
    }
    tracking_actions = ("create",)
    serializer_classes = {
        "create": ConversionInputSerializer,
        "partial_update": ConversionUpdateSerializer,
    }
    query_serializer_classes = {
        "create": ConversionQuerySerializer,
        "partial_update": ConversionUpdateQuerySerializer,
    }
    representations = {"create": NewConversionRepresentation}
    filterset_class = ConversionFilterSet
    conflict_actions = ("destroy",)

    @property
    def is_dry_run(self) -> bool:
        """Whether nothing is stored; also of an invalid `dry_run`, which is refused."""
        value = self.request.query_params.get("dry_run", "")
        is_sent = self.action == "create" and bool(value)
        return is_sent and QueryBooleanField.BOOLEAN_VALUES.get(value.lower()) is not False

    def list(self, request):
        """List conversions, newest first."""
        return self.list_page(self.account.conversions.not_deleted().newest_first())

    def create(self, request):
        """Create a conversion with its commissions, or show what would be created."""
        attempt = self.start_attempt()
        body, query = self.validate_body_and_query()
        values: dict[str, Any] = {
            "data": build_conversion_data(body | query, attempt.external_id),
            "is_id_free": attempt.is_id_free,
            "at": self.at,
        }
        if self.is_dry_run:
            return self.render_response(preview_conversion(self.account, **values))
        conversion = create_conversion(self.account, **values)
        attempt.succeed()
        return self.render_instance(conversion)

    def retrieve(self, request, conversion_id):
        """Retrieve a conversion."""
        return self.render_key(parse_integer_id(conversion_id))

    def partial_update(self, request, conversion_id):
        """Update a conversion; commissions are recalculated on request."""
        pk = parse_integer_id(conversion_id)
        currency = get_conversion_currency(self.account, pk)
        body, query = self.validate_body_and_query(currency=currency)
        update_conversion(
            self.account,
            conversion_id=pk,
            changes=build_conversion_changes(body),
            should_recalculate=query.get("recalculate_commissions", False),
            at=self.at,
        )
        return self.render_key(pk)

    def destroy(self, request, conversion_id):
        """Delete a conversion and its commissions."""
        pk = parse_integer_id(conversion_id)
        delete_conversion(self.account, conversion_id=pk, at=self.at)
        return self.render_no_content()


class AddedCommissionViewSet(TenantViewSet):
    """Additional commissions (docs/api-contract.md, section 2.2.8)."""

    permission_model = Commission
    serializer_classes = {"create": CommissionInputSerializer}
    atomic_actions = ("create",)  # sent again after an error, it pays twice
    conflict_actions = ("create",)
    representation = CommissionRepresentation
    representations = {"create": [CommissionRepresentation]}

    def create(self, request, conversion_id):
        """Add commissions to a conversion; its amount does not change."""
        pk = parse_integer_id(conversion_id)
        currency = get_conversion_currency(self.account, pk)
        items = self.validate_body_items(currency=currency)
        added = add_commissions(
            self.account,
            conversion_id=pk,
            line_items=build_added_line_items(items, is_array=isinstance(self.body, list)),
            at=self.at,
        )
        pks = [commission.pk for commission in added]
        rows = CommissionRepresentation.rows_by_pk.all(account=self.account, pks=pks)
        return self.render_rows(rows)


def parse_external_id(value) -> str | None:
    """Return the `external_id` of a body; None if it is missing or blank."""
    if value is None or is_blank(value):
        return None
    try:
        return EXTERNAL_ID_FIELD.to_internal_value(value)
    except ValidationError as error:
        raise ValidationError({"external_id": error.detail}) from None


def build_conversion_changes(data: dict) -> dict:
    """Return the changed values; a blank `external_id` is left out."""
    external_id = data.get("external_id")
    return {
        name: value
        for name, value in data.items()
        if name != "external_id" or not is_blank(external_id)
    }


def build_added_line_items(items: list[dict], *, is_array: bool) -> list[LineItem]:
    """Build the service's input from validated data."""
    return [
        build_line_item(item, "conversion_sub_amount", f"[{index}]." if is_array else "")
        for index, item in enumerate(items)
    ]
