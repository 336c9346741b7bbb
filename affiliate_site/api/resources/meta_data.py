"""Meta data of customers, conversions and affiliates: the same five routes."""

from collections.abc import Callable

from rest_framework import serializers

from accounts.services.usage import Rate
from affiliate_site.api.fields import row_number
from affiliate_site.api.inputs import Input
from affiliate_site.api.maps import MetaData, MetaDataValue
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
from tracking.services.meta_data import forget_key, replace, set_key

MAP = {"type": "object", "additionalProperties": {"type": "string"}}


class ValueShape(serializers.Serializer):
    """The value at one key."""

    value = serializers.CharField()


def value_shape(value: str) -> dict:
    """One value of a map."""
    return {"value": value}


class ValueInput(Input):
    """The value for one key."""

    value = MetaDataValue()


class MapInput(Input):
    """The whole map, under the name that its flaws are told by."""

    meta_data = MetaData()


class MetaDataViewSet(TenantViewSet):
    """Contract 2.1.5; `thing`, `rows` and `missing` alone know whose it is."""

    rates = Rate(300, minutes=15)
    reads = {"replace": MAP, "set_key": ValueInput}
    answers = {
        "retrieve": MAP,
        "replace": MAP,
        "retrieve_key": ValueShape,
        "set_key": ValueShape,
        "forget_key": None,
    }
    missing: type
    rows: Callable

    def retrieve(self, request, row_id):
        """All keys and values."""
        return self.answer(self.kept(row_id))

    def replace(self, request, row_id):
        """Forget all keys, keep these."""
        self.kept(row_id)
        data = self.read_as(MapInput, {"meta_data": self.body})["meta_data"]
        self.change(replace, row_id, data=data)
        return self.answer(data)

    def retrieve_key(self, request, row_id, key):
        """The value at one key."""
        kept = self.kept(row_id)
        if key not in kept:
            raise MetaDataKeyNotFound
        return self.answer(value_shape(kept[key]))

    def set_key(self, request, row_id, key):
        """Create or overwrite one key."""
        self.kept(row_id)
        value = self.read()["value"]
        self.change(set_key, row_id, key=key, value=value)
        return self.answer(value_shape(value))

    def forget_key(self, request, row_id, key):
        """Remove one key."""
        self.change(forget_key, row_id, key=key)
        return self.nothing()

    def kept(self, row_id) -> dict[str, str]:
        for data in self.rows(row_id).values_list("meta_data", flat=True):
            return data
        raise self.missing

    def change(self, how, row_id, **what):
        how(self.account, self.rows(row_id), self.missing, **what, at=self.at)


class CustomerMetaDataViewSet(MetaDataViewSet):
    """The meta data of a customer."""

    thing = Customer
    missing = CustomerNotFound

    def rows(self, row_id):
        return self.account.customers.present().filter(public_id=row_id)


class ConversionMetaDataViewSet(MetaDataViewSet):
    """The meta data of a conversion."""

    thing = Conversion
    missing = ConversionNotFound

    def rows(self, row_id):
        return self.account.conversions.present().filter(pk=row_number(row_id))


class AffiliateMetaDataViewSet(MetaDataViewSet):
    """The meta data of an affiliate."""

    thing = Affiliate
    missing = AffiliateNotFound

    def rows(self, row_id):
        return self.account.affiliates.present().filter(slug=row_id)
