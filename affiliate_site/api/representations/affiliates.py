"""Representations of affiliates, prospects and related objects."""

from rest_framework import serializers

from affiliate_site.api.representations.nested import (
    AddressSerializer,
    CompanySerializer,
    ReferralLinkSerializer,
    represent_address,
    represent_company,
    represent_referral_link,
)
from payouts.models.payments import PayoutMethodKind


class PersonSerializer(serializers.Serializer):
    """Fields that affiliates and prospects share."""

    id = serializers.CharField()
    firstname = serializers.CharField()
    lastname = serializers.CharField()
    email = serializers.CharField(allow_null=True)
    company = CompanySerializer(allow_null=True)
    address = AddressSerializer(allow_null=True)


def represent_person(row, prefix: str, public_id: str) -> dict:
    """Represent the person columns of a row, which have this prefix."""
    return {
        "id": row[f"{prefix}{public_id}"],
        "firstname": row[f"{prefix}firstname"],
        "lastname": row[f"{prefix}lastname"],
        "email": row[f"{prefix}email"],
        "company": represent_company(row, prefix),
        "address": represent_address(row, prefix),
    }


class AffiliateSerializer(PersonSerializer):
    """An affiliate."""

    meta_data = serializers.DictField(child=serializers.CharField())
    parent_id = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()
    affiliate_group_id = serializers.CharField(allow_null=True)
    promoted_at = serializers.DateTimeField(allow_null=True)
    promotion_method = serializers.CharField(allow_null=True)
    custom_fields = serializers.DictField()


def represent_affiliate(row, prefix: str = "") -> dict:
    """Represent an affiliate; its columns may have a prefix."""
    return represent_person(row, prefix, "slug") | {
        "meta_data": row[f"{prefix}meta_data"],
        "parent_id": row[f"{prefix}parent__slug"],
        "created_at": row[f"{prefix}created_at"],
        "affiliate_group_id": row[f"{prefix}group__public_id"],
        "promoted_at": row[f"{prefix}promoted_at"],
        "promotion_method": row[f"{prefix}promotion_method"],
        "custom_fields": row[f"{prefix}custom_fields"],
    }


class CreatedAffiliateSerializer(AffiliateSerializer):
    """A new affiliate; `password` is set only if it was generated."""

    password = serializers.CharField(allow_null=True)


def represent_created_affiliate(row, password: str | None) -> dict:
    """Represent a new affiliate with its generated password, if any."""
    return represent_affiliate(row) | {"password": password}


class EnrollmentSerializer(AffiliateSerializer):
    """An affiliate in a program."""

    referral_link = ReferralLinkSerializer()
    coupon = serializers.CharField(allow_null=True)
    approved = serializers.BooleanField(allow_null=True)
    applied_at = serializers.DateTimeField()


def represent_enrollment(row) -> dict:
    """Represent an affiliate in a program."""
    return represent_affiliate(row, "affiliate__") | {
        "referral_link": represent_referral_link(row),
        "coupon": row["coupon__code"],
        "approved": row["approved"],
        "applied_at": row["applied_at"],
    }


class ProspectSerializer(PersonSerializer):
    """A prospect: a person who may become an affiliate."""

    signup_source = serializers.CharField()
    referral_link = ReferralLinkSerializer()
    created_at = serializers.DateTimeField()
    promoted_at = serializers.DateTimeField(allow_null=True)
    promotion_method = serializers.CharField(allow_null=True)


def represent_prospect(row) -> dict:
    """Represent a prospect."""
    return represent_person(row, "", "public_id") | {
        "signup_source": row["signup_source"],
        "referral_link": represent_referral_link(row),
        "created_at": row["created_at"],
        "promoted_at": row["promoted_at"],
        "promotion_method": row["promotion_method"],
    }


class AffiliateGroupSerializer(serializers.Serializer):
    """A group of affiliates."""

    id = serializers.CharField()
    title = serializers.CharField()
    affiliate_count = serializers.IntegerField()


def represent_affiliate_group(row) -> dict:
    """Represent a group of affiliates."""
    return {
        "id": row["public_id"],
        "title": row["title"],
        "affiliate_count": row["affiliate_count"],
    }


class CustomFieldSerializer(serializers.Serializer):
    """A custom field of the account's affiliates."""

    id = serializers.CharField()
    key = serializers.CharField()
    title = serializers.CharField()
    name = serializers.CharField()
    type = serializers.CharField()
    required = serializers.BooleanField()  # type: ignore[assignment]
    options = serializers.ListField(child=serializers.CharField(), allow_null=True)


def represent_custom_field(row) -> dict:
    """Represent a custom field."""
    return {
        "id": row["slug"],
        "key": row["slug"],
        "title": row["title"],
        "name": row["title"],
        "type": row["type"],
        "required": row["required"],
        "options": row["options"],
    }


class NoteSerializer(serializers.Serializer):
    """A note about an affiliate."""

    id = serializers.CharField()
    note = serializers.CharField()
    created_at = serializers.DateTimeField()


def represent_note(row) -> dict:
    """Represent a note."""
    return {
        "id": row["public_id"],
        "note": row["note"],
        "created_at": row["created_at"],
    }


class PayoutMethodSerializer(serializers.Serializer):
    """A payout method of an affiliate."""

    id = serializers.CharField()
    type = serializers.CharField()
    title = serializers.CharField()
    details = serializers.DictField(child=serializers.CharField())
    primary = serializers.BooleanField()


def represent_payout_method(row) -> dict:
    """Represent a payout method."""
    return {
        "id": row["kind"],
        "type": row["kind"],
        "title": PayoutMethodKind(row["kind"]).label,
        "details": row["details"],
        "primary": row["is_primary"],
    }
