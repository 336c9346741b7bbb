"""What a page tells of its visitor. What is odd counts as unknown: nobody learns here
which accounts, codes, coupons or customers there are."""

from rest_framework import serializers

from accounts.models.accounts import Account
from affiliate_site import floods
from affiliate_site.api.fields import Currency, Lookup, OwnRules, Text
from affiliate_site.api.inputs import Input, Items
from affiliate_site.api.maps import MetaData
from affiliate_site.api.sales import (
    MOST_PARTS,
    InCurrency,
    PartInput,
    SaleAmount,
)
from tracking.attribution import Clues
from tracking.services.clicks import Visit
from tracking.services.visitors import first_known_coupon

LONGEST_AGENT = 1000
MOST_COUPONS = 20


class Coupons(OwnRules, serializers.ListField):
    """A coupon, or a list of them."""

    def to_internal_value(self, data):
        many = data if isinstance(data, list) else [data]
        return [Lookup().to_internal_value(it) for it in many[:MOST_COUPONS]]


class PageCall(Input):
    """What every call tells."""

    account = Lookup(max_length=64)
    vid = Lookup(required=False)
    meta_data = MetaData(required=False)
    program_group = Lookup(required=False)


class FormerVisit(Input):
    """Of a visit that is odd: who the visitor was before."""

    account = Lookup(max_length=64)
    vid = Lookup()


class PageVisit(PageCall):
    """A visit through a link."""

    referral_code = Lookup(required=False)
    asset_id = Lookup(required=False)
    source_id = Lookup(required=False)
    landing_page = Text(required=False, max_length=2048, cut=True)
    referrer = Text(required=False, max_length=2048, cut=True)


class PageCustomer(PageCall):
    """A customer, new to the shop."""

    customer_id = Text()
    status = Lookup(required=False)
    coupons = Coupons(required=False)


class PageSale(PageCall, InCurrency):
    """A sale, as the page after it tells it."""

    external_id = Text(required=False)
    amount = SaleAmount(required=False)
    currency = Currency(required=False)
    commission_type = Lookup(required=False)
    commissions = Items(child=PartInput(), most=MOST_PARTS, required=False)
    customer_id = Text(required=False)
    coupons = Coupons(required=False)


def visit_of(said: dict, request) -> Visit:
    """A visit as the service takes it; address and user agent are the caller's own."""
    return Visit(
        clues=Clues(
            referral_code=said.get("referral_code") or None,
            asset_id=said.get("asset_id"),
            source_id=said.get("source_id"),
            program_group=said.get("program_group"),
        ),
        referrer=said.get("referrer"),
        landing_page=said.get("landing_page"),
        user_agent=agent_of(request),
        ip=address_of(request),
        meta_data=said.get("meta_data", {}),
    )


def clues_of(account: Account, said: dict, *, customer_id: str | None) -> Clues:
    """Who earned: a known customer, the first known coupon, the visitor's click."""
    return Clues(
        customer_id=customer_id,
        coupon=first_known_coupon(account, said.get("coupons", [])),
        tracking_id=said.get("vid") or None,
        program_group=said.get("program_group"),
    )


def agent_of(request) -> str | None:
    """The visitor's user agent, cut."""
    return request.headers.get("User-Agent", "")[:LONGEST_AGENT] or None


def address_of(request) -> str | None:
    """The visitor's address, where it can be read."""
    address = floods.address(request)
    return None if address == floods.NOWHERE else address
