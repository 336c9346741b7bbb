"""What a tracking call reads: the clues to who earned, spelled once for all of them."""

from affiliate_site.api.fields import Input, Lookup, QueryFlag, Text, is_blank, value_at
from tracking.attribution import Clues
from tracking.errors import NoClue


class LinkInput(Input):
    """The two kinds of link: a referral code, or an asset with a source."""

    referral_code = Lookup(required=False)
    asset_id = Lookup(required=False)
    source_id = Lookup(required=False)


class ClueInput(LinkInput):
    """Every clue; one is enough, the highest decides."""

    aliases = {"visitor_id": "tracking_id", "click.id": "click_id"}

    coupon = Lookup(required=False)
    click_id = Lookup(required=False)
    tracking_id = Lookup(required=False)
    program_group = Lookup(required=False)


class ClientInput(Input):
    """The visitor's client; what is odd is kept as nothing."""

    user_agent = Text(required=False, max_length=1000, cut=True)
    ip = Text(required=False, max_length=1000, cut=True)


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
