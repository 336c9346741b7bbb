"""Representations of clicks and customers."""

from rest_framework import serializers

from affiliate_site.api.representations.nested import (
    AffiliateSummarySerializer,
    ClickSummarySerializer,
    ProgramSummarySerializer,
    represent_affiliate_summary,
    represent_click_summary,
    represent_program_summary,
)
from affiliate_site.user_agents import parse_user_agent


class ClickDetailsSerializer(serializers.Serializer):
    """Referrer, landing page and device of a visitor."""

    referrer = serializers.CharField(allow_null=True)
    landing_page = serializers.CharField(allow_null=True)
    browser = serializers.CharField(allow_null=True)
    os = serializers.CharField(allow_null=True)
    platform = serializers.CharField(allow_null=True)
    device = serializers.CharField(allow_null=True)


def represent_click_details(row) -> dict:
    """Represent the details of a click; parses its user agent."""
    return {
        "referrer": row["referrer"],
        "landing_page": row["landing_page"],
        **parse_user_agent(row["user_agent"] or ""),
    }


class CreatedClickSerializer(serializers.Serializer):
    """A new click."""

    id = serializers.CharField()


def represent_created_click(click) -> dict:
    """Represent a new click by its id."""
    return {"id": str(click.public_id)}


class GeolocationSerializer(serializers.Serializer):
    """The location of a visitor; always null in this version."""

    country = serializers.CharField(allow_null=True)
    city = serializers.CharField(allow_null=True)


class ClickSerializer(serializers.Serializer):
    """A click."""

    id = serializers.CharField()
    created_at = serializers.DateTimeField()
    meta_data = serializers.DictField(child=serializers.CharField())
    details = ClickDetailsSerializer()
    geolocation = GeolocationSerializer(allow_null=True)
    affiliate = AffiliateSummarySerializer(allow_null=True)
    program = ProgramSummarySerializer()


def represent_click(row) -> dict:
    """Represent a click."""
    return {
        "id": str(row["public_id"]),
        "created_at": row["created_at"],
        "meta_data": row["meta_data"],
        "details": represent_click_details(row),
        "geolocation": None,  # docs/api-contract.md, section 2.8
        "affiliate": represent_affiliate_summary(row),
        "program": represent_program_summary(row),
    }


class CustomerSerializer(serializers.Serializer):
    """A customer."""

    id = serializers.CharField()
    customer_id = serializers.CharField()
    status = serializers.CharField()
    created_at = serializers.DateTimeField()
    click = ClickSummarySerializer(allow_null=True)
    program = ProgramSummarySerializer()
    affiliate = AffiliateSummarySerializer()
    affiliate_meta_data = serializers.DictField(
        child=serializers.CharField(), allow_null=True
    )
    meta_data = serializers.DictField(child=serializers.CharField())
    warnings = serializers.ListField(child=serializers.CharField(), allow_null=True)


def represent_customer(row) -> dict:
    """Represent a customer."""
    return {
        "id": row["public_id"],
        "customer_id": row["customer_id"],
        "status": row["status"],
        "created_at": row["created_at"],
        "click": represent_click_summary(row),
        "program": represent_program_summary(row),
        "affiliate": represent_affiliate_summary(row),
        "affiliate_meta_data": row["click__meta_data"],
        "meta_data": row["meta_data"],
        "warnings": row["warnings"],
    }
