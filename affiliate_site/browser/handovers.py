"""Visitors who go from one host of a shop to another one, which has cookies of its own.

The script adds a signed parameter to the link, and the other page hands it in. The
signature bounds how long and between which hosts it counts. Who sent the visitor stays
a claim, as a cookie is.
"""

import re
from collections.abc import Iterable
from datetime import timedelta
from typing import TypeGuard

from django.core.signing import BadSignature, SignatureExpired, TimestampSigner

from accounts.models.accounts import Account
from affiliate_site.links import list_shop_hosts

LIFETIME = timedelta(minutes=2)
MAX_HOSTS = 10  # of a page
TRACKING_ID = re.compile(r"[0-9a-f]{1,64}", re.ASCII)
# Why a handover does not count: it is old, or of no page that the program names.
EXPIRED = "expired_handover"
REFUSED = "refused_handover"


class InvalidHandover(Exception):
    """A handover that does not count; its text is the reason."""


def is_tracking_id(text: object) -> TypeGuard[str]:
    """Whether this could be the value of a visitor's cookie."""
    return isinstance(text, str) and bool(TRACKING_ID.fullmatch(text))


def sign_handovers(
    slug: str, tracking_id: object, *, source: str, targets: object
) -> dict[str, str]:
    """Return the parameter for each host to which the page on the host `source` links.

    Nothing is read, so it says nothing of what exists: it is checked when it is used.
    """
    if not is_tracking_id(tracking_id) or not isinstance(targets, list):
        return {}
    hosts = [host for host in targets[:MAX_HOSTS] if isinstance(host, str)]
    value = f"{tracking_id}~{source}"
    return {host: _get_signer(slug, host).sign(value) for host in hosts}


def read_handover(account: Account, text: str, *, target: str) -> str:
    """Return the tracking ID of a handover to the host `target`.

    Raises `InvalidHandover`: the signature must be of the last two minutes, and one
    program must name both hosts.
    """
    try:
        value = _get_signer(account.slug, target).unsign(text, max_age=LIFETIME)
    except SignatureExpired:
        raise InvalidHandover(EXPIRED) from None
    except BadSignature:
        raise InvalidHandover(REFUSED) from None
    tracking_id, _, source = value.partition("~")
    if not is_one_shop(account, {source, target}):
        raise InvalidHandover(REFUSED)
    return tracking_id


def is_one_shop(account: Account, hosts: Iterable[str]) -> bool:
    """Whether a program of the account names all hosts."""
    programs = account.programs.values_list("landing_page", "shop_hosts").order_by()
    return any(set(list_shop_hosts(*row)).issuperset(hosts) for row in programs)


def _get_signer(slug: str, target: str) -> TimestampSigner:
    return TimestampSigner(salt=f"browser.handovers {slug} {target}")
