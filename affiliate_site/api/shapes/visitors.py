"""What goes out about clicks and customers."""

from rest_framework import serializers

from affiliate_site.agents import seen_with
from affiliate_site.api.shapes.refs import (
    AffiliateRefShape,
    ClickRefShape,
    ProgramRefShape,
    affiliate_ref_shape,
    click_ref_shape,
    program_ref_shape,
)


class ClickDetailsShape(serializers.Serializer):
    """Where a visitor came from, and with what."""

    referrer = serializers.CharField(allow_null=True)
    landing_page = serializers.CharField(allow_null=True)
    browser = serializers.CharField(allow_null=True)
    os = serializers.CharField(allow_null=True)
    platform = serializers.CharField(allow_null=True)
    device = serializers.CharField(allow_null=True)


def click_details_shape(row) -> dict:
    """From a click's columns; its user agent is read here, not when it came."""
    return {
        "referrer": row["referrer"],
        "landing_page": row["landing_page"],
        **seen_with(row["user_agent"] or ""),
    }


class ClickIdShape(serializers.Serializer):
    """A click that was just made."""

    id = serializers.CharField()


def click_id_shape(click) -> dict:
    """What `click_id` takes."""
    return {"id": str(click.public_id)}


class GeolocationShape(serializers.Serializer):
    """Where a visitor was; always null in this version."""

    country = serializers.CharField(allow_null=True)
    city = serializers.CharField(allow_null=True)


class ClickShape(serializers.Serializer):
    """A click."""

    id = serializers.CharField()
    created_at = serializers.DateTimeField()
    meta_data = serializers.DictField(child=serializers.CharField())
    details = ClickDetailsShape()
    geolocation = GeolocationShape(allow_null=True)
    affiliate = AffiliateRefShape(allow_null=True)
    program = ProgramRefShape()


def click_shape(row) -> dict:
    """A row of `ClickQuerySet.as_shown` as the API shows it."""
    return {
        "id": str(row["public_id"]),
        "created_at": row["created_at"],
        "meta_data": row["meta_data"],
        "details": click_details_shape(row),
        "geolocation": None,  # contract 2.8: no address is looked up in this version
        "affiliate": affiliate_ref_shape(row),
        "program": program_ref_shape(row),
    }


class CustomerShape(serializers.Serializer):
    """A customer."""

    id = serializers.CharField()
    customer_id = serializers.CharField()
    status = serializers.CharField()
    created_at = serializers.DateTimeField()
    click = ClickRefShape(allow_null=True)
    program = ProgramRefShape()
    affiliate = AffiliateRefShape()
    affiliate_meta_data = serializers.DictField(
        child=serializers.CharField(), allow_null=True
    )
    meta_data = serializers.DictField(child=serializers.CharField())
    warnings = serializers.ListField(child=serializers.CharField(), allow_null=True)


def customer_shape(row) -> dict:
    """A row of `CustomerQuerySet.as_shown` as the API shows it."""
    return {
        "id": row["public_id"],
        "customer_id": row["customer_id"],
        "status": row["status"],
        "created_at": row["created_at"],
        "click": click_ref_shape(row),
        "program": program_ref_shape(row),
        "affiliate": affiliate_ref_shape(row),
        "affiliate_meta_data": row["click__meta_data"],
        "meta_data": row["meta_data"],
        "warnings": row["warnings"],
    }
