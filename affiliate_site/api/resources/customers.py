"""Customers: `/customers/`."""

from typing import Any

from accounts.services.rate_limits import RateLimit
from affiliate_site.api.fields import TextField, TrimmedTextField
from affiliate_site.api.filters import (
    BaseFilterSet,
    DateFromFilter,
    DateToFilter,
    ReferenceFilter,
    TextFilter,
)
from affiliate_site.api.input_serializers import InputSerializer
from affiliate_site.api.map_fields import MetaDataField
from affiliate_site.api.representations.tracking import (
    CustomerRepresentation,
    customer_by_public_id,
)
from affiliate_site.api.tracking_fields import (
    TRACKING_ALIASES,
    LenientTextField,
    TrackingParameterField,
    TrackingQuerySerializer,
    UserAgentField,
    build_tracking_parameters,
    require_parameters,
)
from affiliate_site.api.viewsets import TenantViewSet
from tracking.errors import CustomerNotFound
from tracking.models.customers import INITIAL_CUSTOMER_STATUSES, Customer
from tracking.services.customers import (
    CustomerData,
    cancel_customer,
    create_customer,
    delete_customer,
    get_customer,
    uncancel_customer,
    update_customer,
)


class CustomerInputSerializer(InputSerializer):
    """A new customer and its tracking parameters."""

    aliases = TRACKING_ALIASES

    customer_id = TextField()
    coupon = TrackingParameterField()
    referral_code = TrackingParameterField()
    click_id = TrackingParameterField()
    tracking_id = TrackingParameterField()
    asset_id = TrackingParameterField()
    source_id = TrackingParameterField()
    status = TrimmedTextField(
        required=False, schema_extra={"enum": list(INITIAL_CUSTOMER_STATUSES)}
    )
    meta_data = MetaDataField(required=False)
    user_agent = UserAgentField()
    ip = LenientTextField()
    program_group = TrackingParameterField()


class CustomerUpdateSerializer(InputSerializer):
    """Changes of a customer."""

    customer_id = TextField(required=False, reject_blank=True)
    meta_data = MetaDataField(required=False)


class CustomerFilterSet(BaseFilterSet):
    """Filters of customers."""

    program_id = ReferenceFilter(field_name="program")
    customer_id = TextFilter(field_name="customer_id")
    affiliate_id = ReferenceFilter(field_name="affiliate")
    date_from = DateFromFilter(field_name="created_at")
    date_to = DateToFilter(field_name="created_at")


class BaseCustomerViewSet(TenantViewSet):
    """Base class of the customer view sets of the API and of postbacks."""

    permission_model = Customer
    representation = CustomerRepresentation
    row_query = (customer_by_public_id, "public_id", CustomerNotFound)


class CustomerViewSet(BaseCustomerViewSet):
    """Customers (docs/api-contract.md, section 2.1)."""

    throttle_rate = {
        "list": RateLimit(1500, minutes=5),
        "retrieve": RateLimit(1500, minutes=5),
    }
    tracking_actions = ("create",)
    serializer_classes = {
        "create": CustomerInputSerializer,
        "partial_update": CustomerUpdateSerializer,
    }
    query_serializer_classes = {"create": TrackingQuerySerializer}
    filterset_class = CustomerFilterSet

    def list(self, request):
        """List customers, newest first."""
        return self.list_page(self.account.customers.not_deleted().newest_first())

    def create(self, request):
        """Create a customer and attribute it to an affiliate for its lifetime."""
        require_parameters(self.body, "customer_id")
        body, query = self.validate_body_and_query()
        customer = create_customer(self.account, data=build_customer_data(body | query), at=self.at)
        return self.render_instance(customer)

    def retrieve(self, request, customer_id):
        """Retrieve a customer."""
        return self.render_key(customer_id)

    def partial_update(self, request, customer_id):
        """Update the `customer_id` of a customer or replace its meta data."""
        customer = get_customer(self.account, customer_id)
        body = self.validate_body()
        update_customer(
            self.account,
            customer=customer,
            customer_id=body.get("customer_id"),
            meta_data=body.get("meta_data"),
            at=self.at,
        )
        return self.render_key(customer_id)

    def destroy(self, request, customer_id):
        """Delete a customer; its conversions remain."""
        delete_customer(self.account, public_id=customer_id, at=self.at)
        return self.render_no_content()

    def restore(self, request, customer_id):
        """Restore a canceled customer."""
        uncancel_customer(self.account, public_id=customer_id, at=self.at)
        return self.render_key(customer_id)

    def cancel(self, request, customer_id):
        """Cancel a customer."""
        cancel_customer(self.account, public_id=customer_id, at=self.at)
        return self.render_key(customer_id)


def build_customer_data(data: dict, **options: Any) -> CustomerData:
    """Build the service's input from validated data.

    `options` are the fields of `CustomerData` that the interface decides.
    """
    return CustomerData(
        customer_id=data["customer_id"],
        parameters=build_tracking_parameters(data),
        status=data.get("status", "new"),
        meta_data=data.get("meta_data", {}),
        user_agent=data.get("user_agent"),
        ip=data.get("ip"),
        ignore_cookie_age=data.get("override_max_cookie_time", False),
        **options,
    )
