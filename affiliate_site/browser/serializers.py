"""Input of the tracking endpoints (docs/api-contract.md, section 5.5).

Invalid values count as unknown ones: the responses do not reveal which accounts, codes,
coupons or customers exist.
"""

from rest_framework import serializers

from accounts.models.accounts import Account
from affiliate_site import throttling
from affiliate_site.api.conversion_serializers import (
    MAX_LINE_ITEMS,
    ConversionAmountField,
    CurrencyAwareSerializer,
    LineItemInputSerializer,
)
from affiliate_site.api.fields import (
    ApiFieldMixin,
    CurrencyField,
    TextField,
    TrimmedTextField,
)
from affiliate_site.api.input_serializers import InputSerializer, ObjectListField
from affiliate_site.api.map_fields import MetaDataField
from tracking.attribution import TrackingParameters
from tracking.services.clicks import Visit
from tracking.services.visitors import find_first_coupon

MAX_USER_AGENT_LENGTH = 1000
MAX_COUPONS = 20


class CouponsField(ApiFieldMixin, serializers.ListField):
    """A coupon, or a list of them."""

    def to_internal_value(self, data):
        coupons = data if isinstance(data, list) else [data]
        field = TrimmedTextField()
        return [field.to_internal_value(coupon) for coupon in coupons[:MAX_COUPONS]]


class BrowserCallSerializer(InputSerializer):
    """The fields of every call."""

    account = TrimmedTextField(max_length=64)
    vid = TrimmedTextField(required=False)
    meta_data = MetaDataField(required=False)
    program_group = TrimmedTextField(required=False)


class PreviousVisitSerializer(InputSerializer):
    """The fields that are read of an invalid click: the previous tracking id."""

    account = TrimmedTextField(max_length=64)
    vid = TrimmedTextField()


class BrowserClickSerializer(BrowserCallSerializer):
    """A click on an affiliate link."""

    referral_code = TrimmedTextField(required=False)
    asset_id = TrimmedTextField(required=False)
    source_id = TrimmedTextField(required=False)
    landing_page = TextField(required=False, max_length=2048, truncate=True)
    referrer = TextField(required=False, max_length=2048, truncate=True)


class BrowserCustomerSerializer(BrowserCallSerializer):
    """A new customer of the shop."""

    customer_id = TextField()
    status = TrimmedTextField(required=False)
    coupons = CouponsField(required=False)


class BrowserConversionSerializer(BrowserCallSerializer, CurrencyAwareSerializer):
    """A conversion, sent by the order confirmation page."""

    external_id = TextField(required=False)
    amount = ConversionAmountField(required=False)
    currency = CurrencyField(required=False)
    commission_type = TrimmedTextField(required=False)
    commissions = ObjectListField(
        child=LineItemInputSerializer(), max_items=MAX_LINE_ITEMS, required=False
    )
    customer_id = TextField(required=False)
    coupons = CouponsField(required=False)


def build_visit(data: dict, request) -> Visit:
    """Build the input of the service; IP and user agent are those of the request."""
    return Visit(
        parameters=TrackingParameters(
            referral_code=data.get("referral_code") or None,
            asset_id=data.get("asset_id"),
            source_id=data.get("source_id"),
            program_group=data.get("program_group"),
        ),
        referrer=data.get("referrer"),
        landing_page=data.get("landing_page"),
        user_agent=get_user_agent(request),
        ip=get_client_ip_or_none(request),
        meta_data=data.get("meta_data", {}),
    )


def build_tracking_parameters(
    account: Account, data: dict, *, customer_id: str | None
) -> TrackingParameters:
    """Build the tracking parameters: customer, first known coupon, tracking id."""
    return TrackingParameters(
        customer_id=customer_id,
        coupon=find_first_coupon(account, data.get("coupons", [])),
        tracking_id=data.get("vid") or None,
        program_group=data.get("program_group"),
    )


def get_user_agent(request) -> str | None:
    """Return the user agent, truncated, or None."""
    return request.headers.get("User-Agent", "")[:MAX_USER_AGENT_LENGTH] or None


def get_client_ip_or_none(request) -> str | None:
    """Return the IP address of the visitor, or None if it is unknown."""
    address = throttling.get_client_ip(request)
    return None if address == throttling.UNKNOWN_IP else address
