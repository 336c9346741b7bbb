"""Clicks and customers."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from accounts.compiled_queries import compiled
from accounts.models.accounts import Account
from affiliate_site.api.representations.base import (
    AlwaysNull,
    Choice,
    List,
    Nested,
    Representation,
    Text,
    TextMap,
    Time,
)
from affiliate_site.api.representations.nested import (
    AffiliateSummaryRepresentation,
    ClickSummaryRepresentation,
    ProgramSummaryRepresentation,
)
from affiliate_site.user_agents import parse_user_agent
from tracking.models.clicks import Click
from tracking.models.customers import Customer, CustomerStatus


def build_user_agent_reader(name: str) -> Callable[[str | None], str | None]:
    """Return a function from a user agent's text to a part of it, such as its OS."""
    return lambda user_agent: parse_user_agent(user_agent or "")[name]


class ClickDetailsRepresentation(Representation):
    """Referrer, landing page and device of a visitor."""

    referrer = Text(null=True, example="https://leaves.example.org/oolong")
    landing_page = Text(null=True, example="https://tea.example.net/?ref=n4k2x8p")
    browser = Text(
        "user_agent",
        function=build_user_agent_reader("browser"),
        null=True,
        example="Firefox 131",
    )
    os = Text(
        "user_agent",
        function=build_user_agent_reader("os"),
        null=True,
        example="Linux",
    )
    platform = Text(
        "user_agent",
        function=build_user_agent_reader("platform"),
        null=True,
        example="Linux",
    )
    device = Text("user_agent", function=build_user_agent_reader("device"), null=True)


class CreatedClickRepresentation(Representation):
    """A new click."""

    id = Text("public_id", function=str, example="01935c2a-7b1e-7c44-9a63-5e0d1f2b8c97")


class GeolocationRepresentation(Representation):
    """The location of a visitor; always null in this version."""

    country = Text(null=True)
    city = Text(null=True)


class ClickRepresentation(Representation):
    """A click."""

    model = Click

    id = Text("public_id", function=str, example="01935c2a-7b1e-7c44-9a63-5e0d1f2b8c97")
    created_at = Time(example="2026-05-06T18:20:11+00:00")
    meta_data = TextMap(example={"subid1": "may-letter"})
    details = Nested(ClickDetailsRepresentation)
    geolocation = AlwaysNull(GeolocationRepresentation)
    affiliate = Nested(AffiliateSummaryRepresentation, "affiliate", null=True)
    program = Nested(ProgramSummaryRepresentation, "program")


@compiled
def click_by_public_id(account: Account, public_id: UUID) -> Any:
    """The click with this id."""
    rows = Click.objects.of(account)
    return ClickRepresentation.select(rows.filter(public_id=public_id))


class CustomerRepresentation(Representation):
    """A customer."""

    model = Customer

    id = Text("public_id", example="cu_Tq4mR8sLx2Vb7NcD")
    customer_id = Text(example="member-2041")
    status = Choice(choices=CustomerStatus.values, example="paying")
    created_at = Time(example="2026-05-06T19:00:00+00:00")
    click = Nested(ClickSummaryRepresentation, "click", null=True)
    program = Nested(ProgramSummaryRepresentation, "program")
    affiliate = Nested(AffiliateSummaryRepresentation, "affiliate")
    affiliate_meta_data = TextMap("click__meta_data", null=True, example={"subid1": "may-letter"})
    meta_data = TextMap(example={"plan": "monthly"})
    warnings = List(null=True)


@compiled
def customer_by_public_id(account: Account, public_id: str) -> Any:
    """The customer with this id, unless it is deleted."""
    rows = Customer.objects.of(account).not_deleted()
    return CustomerRepresentation.select(rows.filter(public_id=public_id))
