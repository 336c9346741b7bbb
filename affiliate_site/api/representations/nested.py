"""Representations that are nested in others."""

from django_countries import countries
from rest_framework import serializers

from affiliate_site.links import build_referral_link


class ProgramSummarySerializer(serializers.Serializer):
    """A summary of a program."""

    id = serializers.CharField()
    title = serializers.CharField()
    currency = serializers.CharField()


def represent_program_summary(row) -> dict:
    """Represent the columns `program__…`."""
    return {
        "id": row["program__slug"],
        "title": row["program__title"],
        "currency": row["program__currency"],
    }


class AffiliateSummarySerializer(serializers.Serializer):
    """A summary of an affiliate, also of a deleted one."""

    id = serializers.CharField()
    firstname = serializers.CharField()
    lastname = serializers.CharField()


def represent_affiliate_summary(row) -> dict | None:
    """Represent the columns `affiliate__…`; None for a click of a prospect."""
    if row["affiliate__slug"] is None:
        return None
    return {
        "id": row["affiliate__slug"],
        "firstname": row["affiliate__firstname"],
        "lastname": row["affiliate__lastname"],
    }


class ClickSummarySerializer(serializers.Serializer):
    """A summary of a click."""

    created_at = serializers.DateTimeField()
    referrer = serializers.CharField(allow_null=True)
    landing_page = serializers.CharField(allow_null=True)


def represent_click_summary(row) -> dict | None:
    """Represent the columns `click__…`; None without a click."""
    if row["click__created_at"] is None:
        return None
    return {
        "created_at": row["click__created_at"],
        "referrer": row["click__referrer"],
        "landing_page": row["click__landing_page"],
    }


class CompanySerializer(serializers.Serializer):
    """A company."""

    name = serializers.CharField(allow_null=True)
    description = serializers.CharField(allow_null=True)


def represent_company(row, prefix: str = "") -> dict | None:
    """Represent the columns `company_…`; None if all are null."""
    name = row[f"{prefix}company_name"]
    description = row[f"{prefix}company_description"]
    if name is None and description is None:
        return None
    return {"name": name, "description": description}


class CountrySerializer(serializers.Serializer):
    """An ISO 3166-1 country."""

    code = serializers.CharField()
    name = serializers.CharField()


def represent_country(code: str) -> dict:
    """Represent a country by its code and English name."""
    return {"code": code, "name": countries.name(code)}


class AddressSerializer(serializers.Serializer):
    """A postal address."""

    address = serializers.CharField()
    address_two = serializers.CharField(allow_null=True)
    postal_code = serializers.CharField()
    city = serializers.CharField()
    state = serializers.CharField(allow_null=True)
    country = CountrySerializer()


def represent_address(row, prefix: str = "") -> dict | None:
    """Represent the address columns; None without an address."""
    if row[f"{prefix}address"] is None:
        return None
    return {
        "address": row[f"{prefix}address"],
        "address_two": row[f"{prefix}address_two"],
        "postal_code": row[f"{prefix}postal_code"],
        "city": row[f"{prefix}city"],
        "state": row[f"{prefix}state"],
        "country": represent_country(row[f"{prefix}country"]),
    }


class ReferralLinkSerializer(serializers.Serializer):
    """The referral link of an affiliate or prospect for a program."""

    link = serializers.CharField()
    asset_id = serializers.CharField()
    source_id = serializers.CharField()


def represent_referral_link(row) -> dict:
    """Represent the link of an enrollment or a prospect."""
    return {
        "link": build_referral_link(row["program__landing_page"], row["code__code"]),
        "asset_id": f"{row['asset__id']}-{row['asset__hex']}",
        "source_id": f"{row['source__id']}-{row['source__hex']}",
    }
