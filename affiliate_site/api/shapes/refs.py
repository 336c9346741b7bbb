"""Small shapes that stand inside others."""

from django_countries import countries
from rest_framework import serializers

from affiliate_site.links import referral_link


class ProgramRefShape(serializers.Serializer):
    """A program, in short."""

    id = serializers.CharField()
    title = serializers.CharField()
    currency = serializers.CharField()


def program_ref_shape(row) -> dict:
    """From columns `program__…`."""
    return {
        "id": row["program__slug"],
        "title": row["program__title"],
        "currency": row["program__currency"],
    }


class AffiliateRefShape(serializers.Serializer):
    """An affiliate, in short; readable after the affiliate is deleted."""

    id = serializers.CharField()
    firstname = serializers.CharField()
    lastname = serializers.CharField()


def affiliate_ref_shape(row) -> dict | None:
    """From columns `affiliate__…`; None for a prospect's click."""
    if row["affiliate__slug"] is None:
        return None
    return {
        "id": row["affiliate__slug"],
        "firstname": row["affiliate__firstname"],
        "lastname": row["affiliate__lastname"],
    }


class ClickRefShape(serializers.Serializer):
    """A click, in short."""

    created_at = serializers.DateTimeField()
    referrer = serializers.CharField(allow_null=True)
    landing_page = serializers.CharField(allow_null=True)


def click_ref_shape(row) -> dict | None:
    """From columns `click__…`; None without a click."""
    if row["click__created_at"] is None:
        return None
    return {
        "created_at": row["click__created_at"],
        "referrer": row["click__referrer"],
        "landing_page": row["click__landing_page"],
    }


class CompanyShape(serializers.Serializer):
    """A company."""

    name = serializers.CharField(allow_null=True)
    description = serializers.CharField(allow_null=True)


def company_shape(row, of: str = "") -> dict | None:
    """From columns `company_…`; None when nothing was given."""
    name, description = row[f"{of}company_name"], row[f"{of}company_description"]
    if name is None and description is None:
        return None
    return {"name": name, "description": description}


class CountryShape(serializers.Serializer):
    """A country of ISO 3166-1."""

    code = serializers.CharField()
    name = serializers.CharField()


def country_shape(code: str) -> dict:
    """The code and its English name."""
    return {"code": code, "name": countries.name(code)}


class AddressShape(serializers.Serializer):
    """A postal address."""

    address = serializers.CharField()
    address_two = serializers.CharField(allow_null=True)
    postal_code = serializers.CharField()
    city = serializers.CharField()
    state = serializers.CharField(allow_null=True)
    country = CountryShape()


def address_shape(row, of: str = "") -> dict | None:
    """From an affiliate's columns; None when nothing was given."""
    if row[f"{of}address"] is None:
        return None
    return {
        "address": row[f"{of}address"],
        "address_two": row[f"{of}address_two"],
        "postal_code": row[f"{of}postal_code"],
        "city": row[f"{of}city"],
        "state": row[f"{of}state"],
        "country": country_shape(row[f"{of}country"]),
    }


class ReferralLinkShape(serializers.Serializer):
    """An affiliate's link into a program."""

    link = serializers.CharField()
    asset_id = serializers.CharField()
    source_id = serializers.CharField()


def referral_link_shape(row) -> dict:
    """From the columns of an enrolment or a prospect."""
    source = f"{row['source__id']}-{row['source__hex']}"
    return {
        "link": referral_link(row["program__landing_page"], row["code__code"]),
        "asset_id": f"{row['asset__id']}-{row['asset__hex']}",
        "source_id": source,
    }
