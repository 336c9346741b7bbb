"""What a tracking call reads: the clues to who earned, spelled once for all of them."""

from typing import ClassVar

from rest_framework import serializers

from affiliate_site.api.fields import (
    Lookup,
    OwnRules,
    QueryFlag,
    Text,
    is_blank,
)
from affiliate_site.api.inputs import Input, value_at
from tracking.attribution import Clues
from tracking.errors import NoClue

ALIASES = {"visitor_id": "tracking_id", "click.id": "click_id"}


class Clue(Lookup):
    """One way to say who earned; the highest that is sent decides."""

    def __init__(self, **kwargs):
        super().__init__(required=False, **kwargs)


class UserAgent(Text):
    """The visitor's; too long, it is cut."""

    def __init__(self, **kwargs):
        super().__init__(required=False, max_length=1000, cut=True, **kwargs)


class Hearsay(OwnRules, serializers.CharField):
    """What the caller says of a visitor: an odd value is nothing, never an error."""

    schema: ClassVar = {"type": "string"}

    def __init__(self, **kwargs):
        super().__init__(required=False, **kwargs)

    def run_validation(self, data=serializers.empty):
        return data if isinstance(data, str) else self.nothing(data)

    def nothing(self, data):
        if data is serializers.empty:
            raise serializers.SkipField
        return ""


class TrackingQuery(Input):
    """The query of a tracking call."""

    override_max_cookie_time = QueryFlag(required=False)


CLUES = ("coupon", "referral_code", "click_id", "asset_id", "source_id", "tracking_id")


def clues_of(said: dict, customer_id: str | None = None) -> Clues:
    """The clues among the fields that were read."""
    sent = {name: said.get(name) for name in (*CLUES, "program_group")}
    return Clues(customer_id=customer_id, **sent)


def demand(body: dict, *names: str) -> None:
    """Refuse a body without these; on tracking the message stands alone."""
    for name in names:
        if is_missing(value_at(body, name)):
            raise NoClue


def is_missing(value) -> bool:
    """Not sent, or blank."""
    return value is None or is_blank(value)
