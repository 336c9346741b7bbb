"""Input of the tracking endpoints (docs/api-contract.md, section 5.5), and its amounts.

An invalid option never loses a sale: it counts as not sent, and the serializer
remembers its name. Only a call without an id or with an invalid amount is invalid.
"""

from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from accounts.models.accounts import Account
from affiliate_site.api.conversion_serializers import (
    MAX_LINE_ITEMS,
    ConversionAmountField,
    CurrencyAwareSerializer,
    LineItemInputSerializer,
)
from affiliate_site.api.errors import FieldError
from affiliate_site.api.fields import (
    ApiFieldMixin,
    CurrencyField,
    TextField,
    TrimmedTextField,
    is_blank,
)
from affiliate_site.api.input_serializers import InputSerializer, ObjectListField
from affiliate_site.api.map_fields import ensure_json_object
from tracking.errors import InvalidNumber, UnclearCurrency
from tracking.meta_data import mend_meta_data
from tracking.printed_amounts import read_printed_amount

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
        mended, is_odd = mend_meta_data({} if data == [] else ensure_json_object(data))
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


class PrintedAmountField(ConversionAmountField):
    """An amount, also as shops print it; the serializer collects the currencies that
    are meant by the mark beside it."""

    root: "BrowserConversionSerializer"

    def to_internal_value(self, data):
        if isinstance(data, str) and not data.strip().startswith("-"):
            printed = read_printed_amount(data, self.root.sent_currency)
            if printed is None:
                raise FieldError(InvalidNumber().text)
            if printed.currencies:
                self.root.printed_currencies.append(printed.currencies)
            data = printed.digits
        return super().to_internal_value(data)


class LineItemListField(ObjectListField):
    """Line items; an empty list is odd and counts as not sent."""

    root: "BrowserCallSerializer"

    def to_internal_value(self, data):
        if data == []:
            self.root.add_odd_option(str(self.field_name))
            raise serializers.SkipField
        return super().to_internal_value(data)


class BrowserCallSerializer(InputSerializer):
    """The fields of every call; `odd_options` are the names of its invalid options,
    `printed_currencies` what the marks beside its amounts stand for."""

    vid = LenientTrimmedTextField()
    meta_data = LenientMetaDataField()
    program_group = LenientTrimmedTextField()

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.odd_options: list[str] = []
        self.printed_currencies: list[frozenset[str]] = []

    def add_odd_option(self, name: str) -> None:
        """Remember the name of an option that counts as not sent, once."""
        if name not in self.odd_options:
            self.odd_options.append(name)


class BrowserClickSerializer(BrowserCallSerializer):
    """A click on an affiliate link."""

    referral_code = LenientTrimmedTextField()
    link_parameter = LenientTrimmedTextField(ignore_blank=True)
    asset_id = LenientTrimmedTextField()
    source_id = LenientTrimmedTextField()
    handover = LenientTrimmedTextField(max_length=512)
    landing_page = LenientTextField(max_length=2048, truncate=True)
    referrer = LenientTextField(max_length=2048, truncate=True)


class BrowserHandoverSerializer(BrowserCallSerializer):
    """A visitor who may go to another host of the shop."""


class BrowserCustomerSerializer(BrowserCallSerializer):
    """A new customer of the shop."""

    customer_id = TextField()
    status = TrimmedTextField(required=False)
    coupons = CouponsField()


class BrowserLineItemSerializer(LineItemInputSerializer):
    """A line item of a conversion."""

    sub_amount = PrintedAmountField()
    commission_type = LenientTrimmedTextField(ignore_blank=True)
    comment = LenientTextField(max_length=1000, truncate=True)


class BrowserConversionSerializer(BrowserCallSerializer, CurrencyAwareSerializer):
    """A conversion, sent by the order confirmation page."""

    external_id = ExternalIdField(required=False)
    amount = PrintedAmountField(required=False)
    currency = CurrencyField(required=False, ignore_blank=True)
    commission_type = LenientTrimmedTextField(ignore_blank=True)
    commissions = LineItemListField(
        child=BrowserLineItemSerializer(), max_items=MAX_LINE_ITEMS, required=False
    )
    customer_id = LenientTextField()
    coupons = CouponsField()


def add_printed_currency(account: Account, data: dict, marks: list[frozenset[str]]) -> None:
    """Set the currency that all marks stand for, of several the one of the programs.

    Nothing is set without marks, or if the call names one. Raises `UnclearCurrency`.
    """
    if not marks or data.get("currency"):
        return
    meant = frozenset.intersection(*marks)
    if len(meant) > 1:
        rows = account.programs.filter(currency__in=meant).order_by()
        meant = frozenset(rows.values_list("currency", flat=True).distinct())
    if len(meant) != 1:
        raise UnclearCurrency
    (data["currency"],) = meant


def read_sale(body: dict) -> dict[str, str]:
    """The order and amount of a sale as the page sent them, of items their amounts."""
    items = body.get("commissions")
    amounts: list[object] = [body.get("amount")]
    if isinstance(items, list) and items:
        amounts = [
            item.get("sub_amount") if isinstance(item, dict) else item
            for item in items[:MAX_LINE_ITEMS]
        ]
    order_id = body.get("external_id")
    return {
        "order_id": order_id if isinstance(order_id, str) else "",
        "amount": "; ".join("none" if it in (None, "") else str(it) for it in amounts),
    }
