"""Meta data of customers, conversions and affiliates."""

from collections.abc import Callable

from drf_spectacular.utils import extend_schema

from accounts.services.rate_limits import RateLimit
from affiliate_site.api.fields import parse_integer_id
from affiliate_site.api.input_serializers import InputSerializer
from affiliate_site.api.map_fields import MetaDataField, MetaDataValueField
from affiliate_site.api.representations.base import Representation, Text
from affiliate_site.api.viewsets import TenantViewSet
from tracking.errors import (
    AffiliateNotFound,
    ConversionNotFound,
    CustomerNotFound,
    MetaDataKeyNotFound,
)
from tracking.models.affiliates import Affiliate
from tracking.models.conversions import Conversion
from tracking.models.customers import Customer
from tracking.services.meta_data import (
    delete_meta_data_key,
    replace_meta_data,
    set_meta_data_key,
)

META_DATA_SCHEMA = {"type": "object", "additionalProperties": {"type": "string"}}


class MetaDataValueRepresentation(Representation):
    """The value of one key."""

    value = Text(example="gold")


class MetaDataValueInputSerializer(InputSerializer):
    """The new value of one key."""

    value = MetaDataValueField()


class MetaDataInputSerializer(InputSerializer):
    """A body that is the map itself; the paths of its errors begin with `meta_data`."""

    meta_data = MetaDataField()

    def to_internal_value(self, data):
        return super().to_internal_value({"meta_data": data})


class MetaDataViewSet(TenantViewSet):
    """Base class of the meta data routes (docs/api-contract.md, section 2.1.5)."""

    throttle_rate = RateLimit(300, minutes=15)
    serializer_classes = {
        "replace": MetaDataInputSerializer,
        "set_key": MetaDataValueInputSerializer,
    }
    representation = META_DATA_SCHEMA
    representations = {
        "retrieve_key": MetaDataValueRepresentation,
        "set_key": MetaDataValueRepresentation,
        "delete_key": None,
    }
    not_found_error: type
    get_rows: Callable

    def retrieve(self, request, row_id):
        """Retrieve all meta data."""
        return self.render_response(self.get_meta_data(row_id))

    @extend_schema(request={"application/json": MetaDataField.schema})
    def replace(self, request, row_id):
        """Replace all meta data."""
        self.get_meta_data(row_id)
        data = self.validate_body()["meta_data"]
        self.apply_change(replace_meta_data, row_id, data=data)
        return self.render_response(data)

    def retrieve_key(self, request, row_id, key):
        """Retrieve the value of one key."""
        meta_data = self.get_meta_data(row_id)
        if key not in meta_data:
            raise MetaDataKeyNotFound
        return self.render_row((meta_data[key],))

    def set_key(self, request, row_id, key):
        """Set the value of one key."""
        self.get_meta_data(row_id)
        value = self.validate_body()["value"]
        self.apply_change(set_meta_data_key, row_id, key=key, value=value)
        return self.render_row((value,))

    def delete_key(self, request, row_id, key):
        """Delete one key."""
        self.apply_change(delete_meta_data_key, row_id, key=key)
        return self.render_no_content()

    def get_meta_data(self, row_id) -> dict[str, str]:
        for data in self.get_rows(row_id).values_list("meta_data", flat=True):
            return data
        raise self.not_found_error

    def apply_change(self, service, row_id, **arguments):
        service(
            self.account,
            self.get_rows(row_id),
            self.not_found_error,
            **arguments,
            at=self.at,
        )


class CustomerMetaDataViewSet(MetaDataViewSet):
    """The meta data of a customer."""

    permission_model = Customer
    not_found_error = CustomerNotFound

    def get_rows(self, row_id):
        return self.account.customers.not_deleted().filter(public_id=row_id)


class ConversionMetaDataViewSet(MetaDataViewSet):
    """The meta data of a conversion."""

    permission_model = Conversion
    not_found_error = ConversionNotFound

    def get_rows(self, row_id):
        return self.account.conversions.not_deleted().filter(pk=parse_integer_id(row_id))


class AffiliateMetaDataViewSet(MetaDataViewSet):
    """The meta data of an affiliate."""

    permission_model = Affiliate
    not_found_error = AffiliateNotFound

    def get_rows(self, row_id):
        return self.account.affiliates.not_deleted().filter(slug=row_id)
