"""What a worker can do about affiliates: a click, a parent, a removal."""

from datetime import UTC, datetime

from tracking.attribution import Clues
from tracking.services.affiliates import remove_affiliate
from tracking.services.clicks import Visit, record_click
from tracking.services.placement import put_below

AT = datetime(2026, 3, 4, 9, 15, 27, tzinfo=UTC)


def click(account, **clues):
    """A visit through somebody's link."""
    record_click(account, visit=Visit(clues=Clues(**clues)), at=AT)


def place(account, *, affiliate_id, parent):
    """One affiliate below another."""
    put_below(account, affiliate_id=affiliate_id, parent=parent, at=AT)


def remove(account, *, affiliate_id):
    """An affiliate gone."""
    remove_affiliate(account, affiliate_id=affiliate_id, at=AT)


AFFILIATE_ACTS = {"click": click, "place": place, "remove": remove}
