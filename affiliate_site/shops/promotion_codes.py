"""The texts of Stripe's promotion codes: its events have only their IDs."""

import json
from datetime import datetime
from urllib.parse import urlencode

from django.db.models.functions import Lower

from affiliate_site.safe_http import FetchedResponse
from affiliate_site.shops.base import ODDITIES, describe, read_id
from affiliate_site.shops.catching_up import NO_JSON, ODD, Pace, call, get_source
from affiliate_site.shops.sources import StripeSource
from tracking.errors import CatchUpFailed
from tracking.models.shops import Connection
from tracking.services.connections import update_connection

PERMISSION = "Read promotion codes"
MAX_PAGES = 50  # of 100 codes each
ONLY_STRIPE = "Only Stripe has promotion codes whose texts are read."
TOO_MANY = "The shop has more than 5,000 promotion codes: enter their IDs by hand."


def read_promotion_codes(connection: Connection, *, at: datetime, pace: Pace) -> int:
    """Store the IDs of the promotion codes whose text is a code of an affiliate.

    That is a coupon of an affiliate or a code of the shop in the settings, in any case.
    Returns how many there are. Raises `CatchUpFailed`; then nothing is stored.
    """
    source = get_source(connection)
    if not isinstance(source, StripeSource):
        raise CatchUpFailed(what=ONLY_STRIPE)
    found: dict[str, str] = {}
    cursor = ""
    for _ in range(MAX_PAGES):
        query = {"limit": 100} | ({"starting_after": cursor} if cursor else {})
        url = f"{source.url}/v1/promotion_codes?{urlencode(query)}"
        response = call(connection, source, url, pace, permission=PERMISSION)
        codes, cursor = read_codes(response)
        found |= keep_known(connection, codes)
        if not cursor:
            break
    else:
        raise CatchUpFailed(what=TOO_MANY)
    update_connection(
        connection.account,
        connection_id=connection.public_id,
        changes={"settings": connection.reload().settings | {"promotion_codes": found}},
        at=at,
    )
    return len(found)


def read_codes(response: FetchedResponse) -> tuple[dict[str, str], str]:
    """Return the texts of a page of codes by ID, and the cursor of the next page."""
    try:
        answer = json.loads(response.content)
    except (ValueError, RecursionError):
        raise CatchUpFailed(what=NO_JSON) from None
    try:
        items = answer["data"]
        codes = {read_id(item["id"]): read_id(item["code"]) for item in items}
        return codes, list(codes)[-1] if answer["has_more"] and codes else ""
    except ODDITIES as error:
        raise CatchUpFailed(what=ODD.format(what=describe(error))) from error


def keep_known(connection: Connection, codes: dict[str, str]) -> dict[str, str]:
    """Return the codes that are coupons of affiliates, or mapped to one."""
    mapped = {name.strip().casefold() for name in connection.settings.get("coupons", {})}
    lowered = {code.lower() for code in codes.values()}
    coupons = connection.account.coupons.alias(lowered=Lower("code"))
    rows = coupons.filter(lowered__in=lowered).values_list("code", flat=True)
    known = mapped | {code.casefold() for code in rows}
    return {key: code for key, code in codes.items() if code.casefold() in known}
