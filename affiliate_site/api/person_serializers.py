"""Request serializers of affiliates and prospects."""

from typing import ClassVar

from django_countries import countries

from affiliate_site.api.errors import FieldError
from affiliate_site.api.fields import (
    EmailField,
    QueryBooleanField,
    TextField,
    TrimmedTextField,
)
from affiliate_site.api.input_serializers import InputSerializer
from affiliate_site.api.map_fields import CustomFieldValuesField, MetaDataField
from tracking.models.affiliates import ADDRESS_COLUMNS
from tracking.services.affiliates import PersonData


class CompanyInputSerializer(InputSerializer):
    """A company; every field is optional."""

    name = TextField(required=False)
    description = TextField(required=False, max_length=1000)


class CountryCodeField(TrimmedTextField):
    """An ISO 3166-1 alpha-2 code in any case."""

    base_schema_extra: ClassVar = {"pattern": "^[A-Za-z]{2}$"}

    def to_internal_value(self, data):
        code = super().to_internal_value(data)
        if not code.isascii() or code.upper() not in countries:
            raise FieldError("Unknown country")
        return code.upper()


class CountryInputSerializer(InputSerializer):
    """A country; a plain string is read as its code."""

    code = CountryCodeField()

    def to_internal_value(self, data):
        is_code = isinstance(data, str)
        return super().to_internal_value({"code": data} if is_code else data)


class AddressInputSerializer(InputSerializer):
    """A complete postal address."""

    address = TextField()
    address_two = TextField(required=False)
    postal_code = TextField()
    city = TextField()
    state = TextField(required=False)
    country = CountryInputSerializer()

    def normalize_input(self, data):
        """Take a missing country for an empty one: the error then names its code."""
        return {"country": {}} | self.resolve_aliases(data)


class PersonNameInputSerializer(InputSerializer):
    """Name and e-mail address of a person."""

    firstname = TextField()
    lastname = TextField()
    email = EmailField(required=False)


class PersonDetailsInputSerializer(InputSerializer):
    """Optional details of a person."""

    company = CompanyInputSerializer(required=False)
    address = AddressInputSerializer(required=False)
    custom_fields = CustomFieldValuesField(required=False)
    meta_data = MetaDataField(required=False)


class PersonInputSerializer(PersonNameInputSerializer, PersonDetailsInputSerializer):
    """A new affiliate or prospect; the names are required."""


class AffiliateUpdateSerializer(InputSerializer):
    """Changes of an affiliate; null clears `company` or `address`."""

    firstname = TextField(required=False, reject_blank=True)
    lastname = TextField(required=False, reject_blank=True)
    email = EmailField(required=False)
    company = CompanyInputSerializer(required=False, allow_null=True)
    address = AddressInputSerializer(required=False, allow_null=True)
    custom_fields = CustomFieldValuesField(required=False)
    meta_data = MetaDataField(required=False)


def build_person_data(data: dict) -> PersonData:
    """Build the service's input from validated data."""
    return PersonData(
        firstname=data["firstname"],
        lastname=data["lastname"],
        email=data.get("email"),
        company=build_company_columns(data.get("company")),
        address=build_address_columns(data.get("address")),
        custom_fields=data.get("custom_fields", {}),
        meta_data=data.get("meta_data", {}),
    )


def build_affiliate_changes(data: dict) -> dict:
    """Map validated changes to the columns of an affiliate."""
    builders = {"company": build_company_columns, "address": build_address_columns}
    changes = {name: value for name, value in data.items() if name not in builders}
    for name, build_columns in builders.items():
        if name in data:
            changes |= build_columns(data[name])
    return changes


def build_company_columns(company: dict | None) -> dict[str, str | None]:
    """Return every column of a company; None clears them."""
    company = company or {}
    return {f"company_{name}": company.get(name) for name in ("name", "description")}


def build_address_columns(address: dict | None) -> dict[str, str | None]:
    """Return every column of an address; None clears them."""
    address = address or {}
    columns = {name: address.get(name) for name in ADDRESS_COLUMNS}
    return columns | {"country": address["country"]["code"] if address else None}


def wants_welcome_mail(request) -> bool:
    """Whether the query asks for mail to the new affiliate; no other value is wrong."""
    value = request.query_params.get("send_welcome_email", "")
    return QueryBooleanField.BOOLEAN_VALUES.get(value.lower(), False)
