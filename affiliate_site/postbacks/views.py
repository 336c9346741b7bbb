"""Server-to-server postbacks 1.7: four operations, by GET or POST.

Rules: docs/api-contract.md, section 4.
"""

from typing import ClassVar

from affiliate_site.api.access import PlanAndRolePermission
from affiliate_site.api.conversion_serializers import (
    ConversionInputSerializer,
    build_conversion_data,
)
from affiliate_site.api.errors import FieldError, PrefetchNotAllowed
from affiliate_site.api.fields import (
    CurrencyAmountField,
    CurrencyField,
    StrictBooleanField,
    TextField,
    TrimmedTextField,
)
from affiliate_site.api.filters import INVALID_STATUS
from affiliate_site.api.input_serializers import InputSerializer
from affiliate_site.api.map_fields import MetaDataField
from affiliate_site.api.parsing import StrictJSONParser
from affiliate_site.api.resources.conversions import BaseConversionViewSet
from affiliate_site.api.resources.customers import (
    BaseCustomerViewSet,
    CustomerInputSerializer,
    build_customer_data,
)
from affiliate_site.api.tracking_fields import require_parameters
from affiliate_site.api.viewsets import TenantViewSet
from affiliate_site.postbacks.query_parsing import parse_query, validate_query_text
from affiliate_site.user_agents import is_prefetch
from payouts.errors import CurrencyNotEditable
from payouts.models.commissions import CommissionStatus
from payouts.services.conversion_creation import create_conversion
from payouts.services.conversion_updates import (
    get_conversion_by_external_id,
    update_conversion,
)
from tracking.attribution import POSTBACK_CONVERSION_ORDER, POSTBACK_CUSTOMER_ORDER
from tracking.models.conversions import ConversionOrigin
from tracking.models.customers import CustomerStatus
from tracking.services.customers import (
    create_customer,
    get_customer_by_customer_id,
    update_customer_from_postback,
)


class FirstOfListField(TrimmedTextField):
    """Text; of a comma-separated list the first item."""

    def normalize(self, text):
        return super().normalize(super().normalize(text).partition(",")[0])


class CommissionStatusField(TrimmedTextField):
    """The status to set on all commissions of a conversion."""

    choices = (
        CommissionStatus.APPROVED,
        CommissionStatus.DISAPPROVED,
        CommissionStatus.PENDING,
    )
    base_schema_extra: ClassVar = {"enum": [choice.value for choice in choices]}

    def to_internal_value(self, data):
        status = super().to_internal_value(data)
        if status not in self.choices:
            values = ", ".join(f"'{choice}'" for choice in self.choices)
            raise FieldError(INVALID_STATUS, value=status, values=values)
        return status


class ConversionPostbackSerializer(ConversionInputSerializer):
    """A conversion with tracking parameters and an optional status."""

    aliases = {
        **ConversionInputSerializer.aliases,
        "commission_types": "commission_type",
    }

    external_id = TextField()
    commission_type = FirstOfListField(required=False, ignore_blank=True)
    override_max_cookie_time = StrictBooleanField(required=False)
    status = CommissionStatusField(required=False)


class SameCurrencyField(TrimmedTextField):
    """The currency of the conversion (`context["currency"]`), in any case."""

    base_schema_extra: ClassVar = CurrencyField.base_schema_extra

    def to_internal_value(self, data):
        text = super().to_internal_value(data)
        if text.upper() != self.context["currency"]:
            raise FieldError(CurrencyNotEditable.message)
        return text


class ConversionExternalIdSerializer(InputSerializer):
    """The external id of a conversion."""

    external_id = TextField()


class ConversionPostbackUpdateSerializer(ConversionExternalIdSerializer):
    """Changes of a conversion; by default its commissions are recalculated."""

    amount = CurrencyAmountField(required=False)
    currency = SameCurrencyField(required=False, ignore_blank=True)
    meta_data = MetaDataField(required=False)
    status = CommissionStatusField(required=False)
    recalculate_commissions = StrictBooleanField(required=False)


class CustomerPostbackSerializer(CustomerInputSerializer):
    """A customer with tracking parameters."""

    override_max_cookie_time = StrictBooleanField(required=False)


class CustomerIdSerializer(InputSerializer):
    """The customer id of a customer."""

    customer_id = TextField()


class CustomerPostbackUpdateSerializer(CustomerIdSerializer):
    """Changes of a customer."""

    meta_data = MetaDataField(required=False)
    status = TrimmedTextField(required=False, schema_extra={"enum": CustomerStatus.values})


class PostbackParser(StrictJSONParser):
    """Parses the query of a GET and the JSON body of a POST."""

    def parse(self, stream, media_type=None, parser_context=None):
        if stream.method == "GET":
            return parse_query(stream.GET)
        return super().parse(stream, media_type, parser_context)


class PostbackPermission(PlanAndRolePermission):
    """Requires write permission for GET too."""

    def get_verb(self, request, view):
        return "add" if view.action == "create" else "change"


class BasePostbackViewSet(TenantViewSet):
    """GET with a query or POST with an object; no rate limit."""

    http_method_names = ["get", "post", "options"]
    parser_classes = (PostbackParser,)
    permission_classes = (PostbackPermission,)
    tracking_actions = ("create", "follow_up")

    def initial(self, request, *args, **kwargs):
        """Reject prefetches, right after the check of the method."""
        if request.method == "GET" and is_prefetch(request):
            raise PrefetchNotAllowed
        super().initial(request, *args, **kwargs)

    def validate_as(self, serializer_class, data, **context):
        """Validate the query text first: invalid text is a field error."""
        self.validate_query_text()
        return super().validate_as(serializer_class, data, **context)

    def validate_query_text(self, *names):
        if self.request.method == "GET":
            validate_query_text(self.request, *names)


class ConversionPostbackViewSet(BasePostbackViewSet, BaseConversionViewSet):
    """`con/c/` and `con/u/`."""

    origin = ConversionOrigin.POSTBACK
    serializer_classes = {
        "create": ConversionPostbackSerializer,
        "follow_up": ConversionPostbackUpdateSerializer,
    }
    conflict_actions = ("create", "follow_up")

    def create(self, request):
        """Create a conversion, optionally with a status; on error nothing is stored."""
        require_parameters(self.body, "external_id")
        self.validate_query_text("external_id")
        attempt = self.start_attempt()
        data = self.validate_body()
        conversion = create_conversion(
            self.account,
            data=build_conversion_data(data, attempt.external_id, order=POSTBACK_CONVERSION_ORDER),
            status=data.get("status"),
            is_id_free=attempt.is_id_free,
            at=self.at,
        )
        attempt.succeed()
        return self.render_instance(conversion)

    def follow_up(self, request):
        """Change amount, meta data and status of a conversion, all or nothing."""
        require_parameters(self.body, "external_id")
        key = self.validate_as(ConversionExternalIdSerializer, self.body)
        conversion = get_conversion_by_external_id(self.account, key["external_id"])
        data = self.validate_body(currency=conversion.currency)
        update_conversion(
            self.account,
            conversion_id=conversion.pk,
            changes={name: data[name] for name in ("amount", "meta_data") if name in data},
            should_recalculate=data.get("recalculate_commissions", True),
            status=data.get("status"),
            at=self.at,
        )
        return self.render_key(conversion.pk)


class CustomerPostbackViewSet(BasePostbackViewSet, BaseCustomerViewSet):
    """`cus/c/` and `cus/u/`."""

    serializer_classes = {
        "create": CustomerPostbackSerializer,
        "follow_up": CustomerPostbackUpdateSerializer,
    }

    def create(self, request):
        """Create a customer; its attribution is permanent."""
        require_parameters(self.body, "customer_id")
        data = self.validate_body()
        customer_data = build_customer_data(data, order=POSTBACK_CUSTOMER_ORDER)
        customer = create_customer(self.account, data=customer_data, at=self.at)
        return self.render_instance(customer)

    def follow_up(self, request):
        """Cancel or restore a customer, change its meta data."""
        require_parameters(self.body, "customer_id")
        key = self.validate_as(CustomerIdSerializer, self.body)
        customer = get_customer_by_customer_id(self.account, key["customer_id"])
        data = self.validate_body()
        update_customer_from_postback(
            self.account,
            customer=customer,
            status=data.get("status"),
            meta_data=data.get("meta_data"),
            at=self.at,
        )
        return self.render_key(customer.public_id)
