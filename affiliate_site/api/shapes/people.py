"""What goes out about affiliates."""

from urllib.parse import urlsplit, urlunsplit

from django.conf import settings
from rest_framework import serializers

from affiliate_site.api.shapes.refs import (
    AddressShape,
    CompanyShape,
    ReferralLinkShape,
    address_shape,
    company_shape,
)


class AffiliateShape(serializers.Serializer):
    """An affiliate."""

    id = serializers.CharField()
    firstname = serializers.CharField()
    lastname = serializers.CharField()
    email = serializers.CharField(allow_null=True)
    company = CompanyShape(allow_null=True)
    address = AddressShape(allow_null=True)
    meta_data = serializers.DictField(child=serializers.CharField())
    parent_id = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()
    affiliate_group_id = serializers.CharField(allow_null=True)
    promoted_at = serializers.DateTimeField(allow_null=True)
    promotion_method = serializers.CharField(allow_null=True)
    custom_fields = serializers.DictField()


def affiliate_shape(row, of: str = "") -> dict:
    """A row of `AffiliateQuerySet.as_shown`, or those columns under a prefix."""
    return {
        "id": row[f"{of}slug"],
        "firstname": row[f"{of}firstname"],
        "lastname": row[f"{of}lastname"],
        "email": row[f"{of}email"],
        "company": company_shape(row, of),
        "address": address_shape(row, of),
        "meta_data": row[f"{of}meta_data"],
        # Nobody can have a parent, a group, a prospect's past or custom fields yet.
        "parent_id": None,
        "created_at": row[f"{of}created_at"],
        "affiliate_group_id": None,
        "promoted_at": None,
        "promotion_method": None,
        "custom_fields": {},
    }


class NewAffiliateShape(AffiliateShape):
    """An affiliate that was just made, with its password if it was made here."""

    password = serializers.CharField(allow_null=True)


def new_affiliate_shape(row, password: str | None) -> dict:
    """The one answer that ever shows a password."""
    return affiliate_shape(row) | {"password": password}


class EnrolmentShape(AffiliateShape):
    """An affiliate in a program."""

    referral_link = ReferralLinkShape()
    coupon = serializers.CharField(allow_null=True)
    approved = serializers.BooleanField(allow_null=True)
    applied_at = serializers.DateTimeField()


def enrolment_shape(row) -> dict:
    """A row of `EnrolmentQuerySet.as_shown` as the API shows it."""
    return affiliate_shape(row, "affiliate__") | {
        "referral_link": referral_link_shape(row),
        "coupon": row["coupon__code"],
        "approved": row["approved"],
        "applied_at": row["applied_at"],
    }


def referral_link_shape(row) -> dict:
    """From an enrolment's columns."""
    source = f"{row['source__id']}-{row['source__hex']}"
    return {
        "link": referral_link(row["program__landing_page"], row["code__code"]),
        "asset_id": f"{row['asset__id']}-{row['asset__hex']}",
        "source_id": source,
    }


def referral_link(landing_page: str, code: str) -> str:
    """The landing page with `ref=<code>` as the last parameter: clients split on it."""
    parts = urlsplit(landing_page or f"{settings.PUBLIC_URL}/")
    query = f"{parts.query}&ref={code}" if parts.query else f"ref={code}"
    return urlunsplit(parts._replace(query=query, path=parts.path or "/"))
