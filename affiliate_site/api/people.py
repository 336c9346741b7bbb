"""What is read about a person, spelled once for affiliates and prospects."""

from typing import ClassVar

from django_countries import countries

from affiliate_site.api.errors import Flaw
from affiliate_site.api.fields import Email, Lookup, Text
from affiliate_site.api.inputs import Input
from affiliate_site.api.maps import CustomFields, MetaData
from tracking.models.people import ADDRESS
from tracking.services.affiliates import Application


class CompanyInput(Input):
    """A company, all optional."""

    name = Text(required=False)
    description = Text(required=False, max_length=1000)


class CountryCode(Lookup):
    """An alpha-2 code, any case."""

    form: ClassVar = {"pattern": "^[A-Za-z]{2}$"}

    def to_internal_value(self, data):
        code = super().to_internal_value(data)
        if not code.isascii() or code.upper() not in countries:
            raise Flaw("Unknown country")
        return code.upper()


class CountryInput(Input):
    """A country; a plain string is taken as its code."""

    code = CountryCode()

    def to_internal_value(self, data):
        is_code = isinstance(data, str)
        return super().to_internal_value({"code": data} if is_code else data)


class AddressInput(Input):
    """A postal address: whole, or not at all."""

    address = Text()
    address_two = Text(required=False)
    postal_code = Text()
    city = Text()
    state = Text(required=False)
    country = CountryInput()

    def sent(self, data):
        return {"country": {}} | self.named(data)


class NameInput(Input):
    """What somebody is called."""

    firstname = Text()
    lastname = Text()
    email = Email(required=False)


class DetailsInput(Input):
    """What else is known about somebody."""

    company = CompanyInput(required=False)
    address = AddressInput(required=False)
    custom_fields = CustomFields(required=False)
    meta_data = MetaData(required=False)


class PersonInput(NameInput, DetailsInput):
    """Who somebody is."""


class PersonChange(Input):
    """What may change about somebody: company and address as a whole, null clears."""

    firstname = Text(required=False, filled=True)
    lastname = Text(required=False, filled=True)
    email = Email(required=False)
    company = CompanyInput(required=False, allow_null=True)
    address = AddressInput(required=False, allow_null=True)
    custom_fields = CustomFields(required=False)
    meta_data = MetaData(required=False)


def application_of(said: dict) -> Application:
    """What was read, as the service takes it."""
    return Application(
        firstname=said["firstname"],
        lastname=said["lastname"],
        email=said.get("email"),
        company=company_columns(said.get("company")),
        address=address_columns(said.get("address")),
        custom_fields=said.get("custom_fields", {}),
        meta_data=said.get("meta_data", {}),
    )


def changes_of(said: dict) -> dict:
    """What was read of a change, as columns."""
    whole = {"company": company_columns, "address": address_columns}
    changes = {name: value for name, value in said.items() if name not in whole}
    for name, columns_of in whole.items():
        if name in said:
            changes |= columns_of(said[name])
    return changes


def company_columns(company: dict | None) -> dict[str, str | None]:
    """The columns of a company, all of them; None: no company."""
    company = company or {}
    return {f"company_{name}": company.get(name) for name in ("name", "description")}


def address_columns(address: dict | None) -> dict[str, str | None]:
    """The columns of an address, all of them; None: no address."""
    address = address or {}
    columns = {name: address.get(name) for name in ADDRESS}
    return columns | {"country": address["country"]["code"] if address else None}
