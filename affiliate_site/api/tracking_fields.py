"""Input fields that all tracking calls share, and their tracking parameters."""

from typing import ClassVar

from rest_framework import serializers

from affiliate_site.api.fields import (
    ApiFieldMixin,
    QueryBooleanField,
    TextField,
    TrimmedTextField,
    is_blank,
)
from affiliate_site.api.input_serializers import InputSerializer, find_nested_value
from tracking.attribution import TrackingParameters
from tracking.errors import MissingTrackingParameter

TRACKING_ALIASES = {"visitor_id": "tracking_id", "click.id": "click_id"}


class TrackingParameterField(TrimmedTextField):
    """A tracking parameter; the one with the highest priority decides."""

    def __init__(self, **kwargs):
        super().__init__(required=False, **kwargs)


class UserAgentField(TextField):
    """The user agent of the visitor, truncated."""

    def __init__(self, **kwargs):
        super().__init__(required=False, max_length=1000, truncate=True, **kwargs)


class LenientTextField(ApiFieldMixin, serializers.CharField):
    """Text about a visitor; a value of another type counts as empty."""

    schema: ClassVar = {"type": "string"}

    def __init__(self, **kwargs):
        super().__init__(required=False, **kwargs)

    def run_validation(self, data=serializers.empty):
        if data is serializers.empty:
            raise serializers.SkipField
        return data if isinstance(data, str) else ""


class TrackingQuerySerializer(InputSerializer):
    """The query parameters of a tracking call."""

    override_max_cookie_time = QueryBooleanField(required=False)


TRACKING_PARAMETERS = (
    "coupon",
    "referral_code",
    "click_id",
    "asset_id",
    "source_id",
    "tracking_id",
)


def build_tracking_parameters(data: dict, customer_id: str | None = None) -> TrackingParameters:
    """Build the tracking parameters from validated data."""
    sent = {name: data.get(name) for name in (*TRACKING_PARAMETERS, "program_group")}
    return TrackingParameters(customer_id=customer_id, **sent)


def require_parameters(body: dict, *names: str) -> None:
    """Raise MissingTrackingParameter if one of the fields is missing or blank."""
    for name in names:
        if is_missing(find_nested_value(body, name)):
            raise MissingTrackingParameter


def is_missing(value) -> bool:
    """Return whether a value is not sent or blank."""
    return value is None or is_blank(value)
