"""Objects that are nested in other answers."""

from django_countries import countries

from affiliate_site.api.representations.base import (
    Nested,
    Representation,
    Text,
    Time,
)
from tracking.referral_links import build_referral_link


class ProgramSummaryRepresentation(Representation):
    """A summary of a program."""

    id = Text("slug", example="tea-circle")
    title = Text(example="Tea Circle")
    currency = Text(example="EUR")


class AffiliateSummaryRepresentation(Representation):
    """A summary of an affiliate, also of a deleted one."""

    id = Text("slug", example="noraweld")
    firstname = Text(example="Nora")
    lastname = Text(example="Weld")


class ClickSummaryRepresentation(Representation):
    """A summary of a click."""

    created_at = Time(example="2026-05-06T18:20:11+00:00")
    referrer = Text(null=True, example="https://leaves.example.org/oolong")
    landing_page = Text(null=True, example="https://tea.example.net/?ref=n4k2x8p")


class CompanyRepresentation(Representation):
    """A company."""

    name = Text("company_name", null=True, example="Leaves Weekly")
    description = Text("company_description", null=True)


class CountryRepresentation(Representation):
    """An ISO 3166-1 country."""

    code = Text("country", example="FI")
    name = Text("country", function=countries.name, example="Finland")


class AddressRepresentation(Representation):
    """A postal address."""

    address = Text(example="Kaivokatu 12")
    address_two = Text(null=True)
    postal_code = Text(example="00100")
    city = Text(example="Helsinki")
    state = Text(null=True)
    country = Nested(CountryRepresentation)


def build_numbered_id(number: int, hex_digits: str) -> str:
    """Return the id of an asset or source, such as `3-5fd01a`."""
    return f"{number}-{hex_digits}"


class ReferralLinkRepresentation(Representation):
    """The referral link of an affiliate or prospect for a program."""

    link = Text(
        "program__landing_page",
        "code__code",
        function=build_referral_link,
        example="https://tea.example.net/?ref=n4k2x8p",
    )
    asset_id = Text("asset__id", "asset__hex", function=build_numbered_id, example="3-5fd01a")
    source_id = Text("source__id", "source__hex", function=build_numbered_id, example="41-9c27be")
