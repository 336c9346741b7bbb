"""What goes out about affiliates and those who may become one."""

from rest_framework import serializers

from affiliate_site.api.shapes.refs import (
    AddressShape,
    CompanyShape,
    ReferralLinkShape,
    address_shape,
    company_shape,
    referral_link_shape,
)
from payouts.models.payments import Way


class PersonShape(serializers.Serializer):
    """What affiliates and prospects tell of themselves."""

    id = serializers.CharField()
    firstname = serializers.CharField()
    lastname = serializers.CharField()
    email = serializers.CharField(allow_null=True)
    company = CompanyShape(allow_null=True)
    address = AddressShape(allow_null=True)


def person_shape(row, of: str, public_id: str) -> dict:
    """The columns of `PERSON`, under a prefix."""
    return {
        "id": row[f"{of}{public_id}"],
        "firstname": row[f"{of}firstname"],
        "lastname": row[f"{of}lastname"],
        "email": row[f"{of}email"],
        "company": company_shape(row, of),
        "address": address_shape(row, of),
    }


class AffiliateShape(PersonShape):
    """An affiliate."""

    meta_data = serializers.DictField(child=serializers.CharField())
    parent_id = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()
    affiliate_group_id = serializers.CharField(allow_null=True)
    promoted_at = serializers.DateTimeField(allow_null=True)
    promotion_method = serializers.CharField(allow_null=True)
    custom_fields = serializers.DictField()


def affiliate_shape(row, of: str = "") -> dict:
    """A row of `AffiliateQuerySet.as_shown`, or those columns under a prefix."""
    return person_shape(row, of, "slug") | {
        "meta_data": row[f"{of}meta_data"],
        "parent_id": row[f"{of}parent__slug"],
        "created_at": row[f"{of}created_at"],
        "affiliate_group_id": row[f"{of}group__public_id"],
        "promoted_at": row[f"{of}promoted_at"],
        "promotion_method": row[f"{of}promotion_method"],
        "custom_fields": row[f"{of}custom_fields"],
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


class ProspectShape(PersonShape):
    """Somebody who may become an affiliate."""

    signup_source = serializers.CharField()
    referral_link = ReferralLinkShape()
    created_at = serializers.DateTimeField()
    promoted_at = serializers.DateTimeField(allow_null=True)
    promotion_method = serializers.CharField(allow_null=True)


def prospect_shape(row) -> dict:
    """A row of `ProspectQuerySet.as_shown` as the API shows it."""
    return person_shape(row, "", "public_id") | {
        "signup_source": row["signup_source"],
        "referral_link": referral_link_shape(row),
        "created_at": row["created_at"],
        "promoted_at": row["promoted_at"],
        "promotion_method": row["promotion_method"],
    }


class GroupShape(serializers.Serializer):
    """A group of affiliates."""

    id = serializers.CharField()
    title = serializers.CharField()
    affiliate_count = serializers.IntegerField()


def group_shape(row) -> dict:
    """A row of `AffiliateGroupQuerySet.as_shown` as the API shows it."""
    return {
        "id": row["public_id"],
        "title": row["title"],
        "affiliate_count": row["affiliate_count"],
    }


class CustomFieldShape(serializers.Serializer):
    """What an account asks its affiliates besides."""

    id = serializers.CharField()
    key = serializers.CharField()
    title = serializers.CharField()
    name = serializers.CharField()
    type = serializers.CharField()
    required = serializers.BooleanField()  # type: ignore[assignment]
    options = serializers.ListField(child=serializers.CharField(), allow_null=True)


def custom_field_shape(row) -> dict:
    """A row of `CustomFieldQuerySet.as_shown` as the API shows it."""
    return {
        "id": row["slug"],
        "key": row["slug"],
        "title": row["title"],
        "name": row["title"],
        "type": row["type"],
        "required": row["required"],
        "options": row["options"],
    }


class NoteShape(serializers.Serializer):
    """A note about an affiliate."""

    id = serializers.CharField()
    note = serializers.CharField()
    created_at = serializers.DateTimeField()


def note_shape(row) -> dict:
    """A row of `NoteQuerySet.as_shown` as the API shows it."""
    return {
        "id": row["public_id"],
        "note": row["note"],
        "created_at": row["created_at"],
    }


class PayoutMethodShape(serializers.Serializer):
    """A way in which an affiliate wants to be paid."""

    id = serializers.CharField()
    type = serializers.CharField()
    title = serializers.CharField()
    details = serializers.DictField(child=serializers.CharField())
    primary = serializers.BooleanField()


def payout_method_shape(row) -> dict:
    """A row of `PayoutMethodQuerySet.as_shown` as the API shows it."""
    return {
        "id": row["kind"],
        "type": row["kind"],
        "title": Way(row["kind"]).label,
        "details": row["details"],
        "primary": row["is_primary"],
    }
