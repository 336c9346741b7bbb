"""Input of the tracking endpoints (docs/api-contract.md, section 5.5).

An invalid option never loses a sale: it counts as not sent, and the serializer
remembers its name. Only a call without an id or with an invalid amount is invalid.
"""

from rest_framework import serializers
from rest_framework.exceptions import ValidationError

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
    is_blank,
)
from affiliate_site.api.input_serializers import InputSerializer, ObjectListField
from affiliate_site.api.map_fields import ensure_object
from tracking.attribution import TrackingParameters
from tracking.meta_data import mend_meta_data
from tracking.services.clicks import Visit
from tracking.services.visitors import find_first_coupon

MAX_USER_AGENT_LENGTH = 1000
MAX_COUPONS = 20


class LenientFieldMixin(serializers.Field):
    """An optional field; an invalid value is reported as odd and counts as not sent."""

    root: "BrowserCallSerializer"

    def __init__(self, **kwargs):
        super().__init__(required=False, **kwargs)

    def run_validation(self, data=serializers.empty):
        try:
            return super().run_validation(data)
        except ValidationError:
            self.report_odd()
            raise serializers.SkipField from None

    def report_odd(self):
        """Remember that the value of this field is odd."""
        self.root.add_odd_option(str(self.field_name))


class LenientTrimmedTextField(LenientFieldMixin, TrimmedTextField):
    """Text for a look-up."""


class LenientTextField(LenientFieldMixin, TextField):
    """Text, kept unchanged."""


class LenientMetaDataField(LenientFieldMixin, ApiFieldMixin):
    """Meta data, without what cannot be stored."""

    def to_internal_value(self, data):
        mended, is_odd = mend_meta_data({} if data == [] else ensure_object(data))
        if is_odd:
            self.report_odd()
        return mended


class CouponsField(LenientFieldMixin, ApiFieldMixin):
    """A coupon, or a list of them; blank ones are ignored."""

    def to_internal_value(self, data):
        coupons = []
        for coupon in (data if isinstance(data, list) else [data])[:MAX_COUPONS]:
            try:
                coupons.append(TrimmedTextField().to_internal_value(coupon))
            except ValidationError:
                self.report_odd()
        return list(filter(None, coupons))


class ExternalIdField(TextField):
    """An external id, kept unchanged; invisible characters make it odd.

    It would look like the id of another conversion.
    """

    root: "BrowserCallSerializer"

    def to_internal_value(self, data):
        text = super().to_internal_value(data)
        if not is_blank(text) and (text != text.strip() or not text.isprintable()):
            self.root.add_odd_option(str(self.field_name))
        return text


class LineItemListField(ObjectListField):
    """Line items; an empty list is odd and counts as not sent."""

    root: "BrowserCallSerializer"

    def to_internal_value(self, data):
        if data == []:
            self.root.add_odd_option(str(self.field_name))
            raise serializers.SkipField
        return super().to_internal_value(data)


class BrowserCallSerializer(InputSerializer):
    """The fields of every call; `odd_options` are the names of its invalid options."""

    vid = LenientTrimmedTextField()
    meta_data = LenientMetaDataField()
    program_group = LenientTrimmedTextField()

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.odd_options: list[str] = []

    def add_odd_option(self, name: str) -> None:
        """Remember the name of an option that counts as not sent, once."""
        if name not in self.odd_options:
            self.odd_options.append(name)


class BrowserClickSerializer(BrowserCallSerializer):
    """A click on an affiliate link."""

    referral_code = LenientTrimmedTextField()
    asset_id = LenientTrimmedTextField()
    source_id = LenientTrimmedTextField()
    landing_page = LenientTextField(max_length=2048, truncate=True)
    referrer = LenientTextField(max_length=2048, truncate=True)


class BrowserCustomerSerializer(BrowserCallSerializer):
    """A new customer of the shop."""

    customer_id = TextField()
    status = TrimmedTextField(required=False)
    coupons = CouponsField()


class BrowserLineItemSerializer(LineItemInputSerializer):
    """A line item of a conversion."""

    commission_type = LenientTrimmedTextField(ignore_blank=True)
    comment = LenientTextField(max_length=1000, truncate=True)


class BrowserConversionSerializer(BrowserCallSerializer, CurrencyAwareSerializer):
    """A conversion, sent by the order confirmation page."""

    external_id = ExternalIdField(required=False)
    amount = ConversionAmountField(required=False)
    currency = CurrencyField(required=False, ignore_blank=True)
    commission_type = LenientTrimmedTextField(ignore_blank=True)
    commissions = LineItemListField(
        child=BrowserLineItemSerializer(), max_items=MAX_LINE_ITEMS, required=False
    )
    customer_id = LenientTextField()
    coupons = CouponsField()


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
    """Build the tracking parameters: customer, first known coupon, tracking id.

    An unknown coupon is kept only if nothing else was sent: it is why the call fails.
    """
    coupons = data.get("coupons", [])
    tracking_id = data.get("vid") or None
    coupon = find_first_coupon(account, coupons)
    if coupons and coupon is None and tracking_id is None and customer_id is None:
        coupon = coupons[0]
    return TrackingParameters(
        customer_id=customer_id,
        coupon=coupon,
        tracking_id=tracking_id,
        program_group=data.get("program_group"),
    )


def get_user_agent(request) -> str | None:
    """Return the user agent, truncated, or None."""
    return request.headers.get("User-Agent", "")[:MAX_USER_AGENT_LENGTH] or None


def get_client_ip_or_none(request) -> str | None:
    """Return the IP address of the visitor, or None if it is unknown."""
    address = throttling.get_client_ip(request)
    return None if address == throttling.UNKNOWN_IP else address
