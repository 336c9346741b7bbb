"""Request serializers of conversions, for the API, postbacks and browser script."""

from functools import cached_property
from typing import Any

from affiliate_site.api.fields import (
    CurrencyField,
    ExactAmountField,
    TextField,
    TrimmedTextField,
    clean_amount,
    find_currency,
    is_blank,
)
from affiliate_site.api.input_serializers import InputSerializer, ObjectListField
from affiliate_site.api.map_fields import MetaDataField
from affiliate_site.api.tracking_fields import (
    TRACKING_ALIASES,
    LenientTextField,
    TrackingParameterField,
    UserAgentField,
    build_tracking_parameters,
)
from payouts.calculation import LineItem
from payouts.services.conversion_creation import ConversionData
from tracking.money import ZERO

MAX_LINE_ITEMS = 100


class ConversionAmountField(ExactAmountField):
    """An exact amount, validated in the currency of the request if one is sent."""

    root: "CurrencyAwareSerializer"

    def to_internal_value(self, data):
        amount = super().to_internal_value(data)
        clean_amount(amount, self.root.sent_currency)
        return amount


class LineItemInputSerializer(InputSerializer):
    """A line item of a conversion."""

    aliases = {"conversion_sub_amount": "sub_amount"}

    sub_amount = ConversionAmountField()
    commission_type = TrimmedTextField(required=False, ignore_blank=True)
    comment = TextField(required=False, max_length=1000)


class CurrencyAwareSerializer(InputSerializer):
    """A conversion whose amounts are in the `currency` of the same request."""

    @cached_property
    def sent_currency(self) -> str | None:
        """Return the valid currency of the request; None if the program decides."""
        return find_currency(self.initial_data)


class ConversionInputSerializer(CurrencyAwareSerializer):
    """A conversion and its tracking parameters; `commissions` replaces `amount`."""

    aliases = TRACKING_ALIASES

    customer_id = TextField(required=False)
    coupon = TrackingParameterField()
    referral_code = TrackingParameterField()
    click_id = TrackingParameterField()
    tracking_id = TrackingParameterField()
    asset_id = TrackingParameterField()
    source_id = TrackingParameterField()
    external_id = TextField(required=False)
    amount = ConversionAmountField(required=False)
    currency = CurrencyField(required=False, ignore_blank=True)
    commission_type = TrimmedTextField(required=False, ignore_blank=True)
    commissions = ObjectListField(
        child=LineItemInputSerializer(), max_items=MAX_LINE_ITEMS, required=False
    )
    meta_data = MetaDataField(required=False)
    program_group = TrackingParameterField()
    user_agent = UserAgentField()
    ip = LenientTextField()


def build_conversion_data(data: dict, external_id: str | None, **options: Any) -> ConversionData:
    """Build the service's input; a blank customer counts as not sent.

    `options` are the fields of `ConversionData` that the interface decides.
    """
    customer_id = data.get("customer_id")
    return ConversionData(
        parameters=build_tracking_parameters(data, None if is_blank(customer_id) else customer_id),
        line_items=build_line_items(data),
        external_id=external_id,
        currency=data.get("currency"),
        meta_data=data.get("meta_data", {}),
        user_agent=data.get("user_agent"),
        ip=data.get("ip"),
        ignore_cookie_age=data.get("override_max_cookie_time", False),
        **options,
    )


def build_line_items(data: dict) -> list[LineItem]:
    """Return the line items sent, or one for the whole amount."""
    items = data.get("commissions")
    if not items:
        return [LineItem(data.get("amount", ZERO), data.get("commission_type"))]
    return [
        build_line_item(item, "sub_amount", f"commissions[{index}].")
        for index, item in enumerate(items)
    ]


def build_line_item(item: dict, amount_name: str, prefix: str) -> LineItem:
    """Build one line item; `prefix` begins the paths of its errors."""
    return LineItem(
        item[amount_name],
        item.get("commission_type"),
        item.get("comment"),
        amount_path=f"{prefix}{amount_name}",
        type_path=f"{prefix}commission_type",
    )
