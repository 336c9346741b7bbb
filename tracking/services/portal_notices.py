"""Which mails affiliates want."""

from collections.abc import Mapping

from tracking.models.affiliates import Affiliate
from tracking.models.portal import Notice

OFF_AT_FIRST = {Notice.NEW_SALES}


def wants_notice(affiliate: Affiliate, kind: str) -> bool:
    """Return whether an affiliate wants mail of this kind, one of `Notice`."""
    chosen = affiliate.notices or {}
    return bool(chosen.get(kind, kind not in OFF_AT_FIRST))


def set_notices(affiliate: Affiliate, wanted: Mapping[str, bool]) -> None:
    """Choose which mails an affiliate wants."""
    chosen = {kind: bool(wanted[kind]) for kind in Notice.values if kind in wanted}
    affiliate.update_row(notices=(affiliate.notices or {}) | chosen)
