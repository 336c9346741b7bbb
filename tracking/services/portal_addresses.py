"""IP addresses from which affiliates apply and sign in, by which risk rules know them.

Only their digests are stored. They are keyed by `ENCRYPTION_KEYS` and have the account
in them, so those of two accounts cannot be compared.
"""

import ipaddress
from datetime import datetime, timedelta

from django.db import transaction

from accounts.encryption import list_blind_indexes
from accounts.models.accounts import Account
from tracking.models.affiliates import Affiliate
from tracking.services.portal_links import lock_affiliate
from tracking.services.retention import anonymize_ip

ADDRESS_RETENTION = timedelta(days=90)  # after the last use
MAX_ADDRESSES = 50  # of an affiliate, beside that which opened the account
USE_INTERVAL = timedelta(hours=1)  # a second use within it is not recorded
PREFIX_LENGTHS = {4: 32, 6: 64}  # a customer of a provider has a whole /64


def list_address_digests(account: Account, address: str | None) -> list[str]:
    """Return the digests of an IP address by each key, the first key's first.

    There are none of an address that `prune` has shortened, nor of one that is not
    public: behind a proxy that hides its clients, all of them seem to have it.
    """
    if not address:
        return []
    ip = ipaddress.ip_address(address)
    ip = getattr(ip, "ipv4_mapped", None) or ip
    if not ip.is_global or anonymize_ip(str(ip)) == str(ip):
        return []
    network = ipaddress.ip_network((ip, PREFIX_LENGTHS[ip.version]), strict=False)
    return list_blind_indexes(f"portal address\n{account.pk}\n{network}")


def calculate_address_digest(account: Account, address: str | None) -> str | None:
    """Return the digest to store, if there is one."""
    return next(iter(list_address_digests(account, address)), None)


def record_opening(affiliate: Affiliate, digest: str | None, *, at: datetime) -> None:
    """Record from which address a new affiliate applied, if it has a digest."""
    if digest is not None:
        affiliate.account.portal_addresses.create(
            affiliate=affiliate,
            digest=digest,
            opened_account=True,
            first_used_at=at,
            last_used_at=at,
        )


def record_address(affiliate: Affiliate, address: str, *, at: datetime) -> None:
    """Record that an affiliate signs in from an address, unless it did so just before.

    The oldest beyond `MAX_ADDRESSES` are deleted. A removed affiliate is left as it is.
    """
    digest = calculate_address_digest(affiliate.account, address)
    own = affiliate.account.portal_addresses.filter(affiliate=affiliate)
    recent = own.filter(digest=digest, last_used_at__gt=at - USE_INTERVAL)
    if digest is None or recent.exists():
        return
    with transaction.atomic():
        is_removed = lock_affiliate(affiliate) is None
        if is_removed or own.filter(digest=digest).update(last_used_at=at):
            return
        own.create(
            account=affiliate.account,
            affiliate=affiliate,
            digest=digest,
            first_used_at=at,
            last_used_at=at,
        )
        others = own.filter(opened_account=False).order_by("-last_used_at", "-pk")
        if oldest := list(others.values_list("pk", flat=True)[MAX_ADDRESSES:]):
            own.filter(pk__in=oldest).delete()
