"""Upkeep: attempts forgotten, addresses cut short and user agents dropped in time."""

import ipaddress
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.db import models, transaction
from django.db.models import Q

from accounts.models.accounts import Account
from accounts.services.upkeep import BATCH, delete_in_batches

ATTEMPTS_KEPT_FOR = timedelta(hours=1)
TRACES_KEPT_FOR = timedelta(days=90)
KEPT_BITS = {4: 24, 6: 48}
# 198.51.100.0, or three groups at most and nothing behind them: 2001:db8:1::
A_NETWORK = r"^[0-9.]+[.]0$|^(:|([0-9a-f]+:){1,3}):$"


def prune_attempts(accounts: Iterable[Account], *, at: datetime, dry_run: bool) -> int:
    """Forget failed attempts that delay nobody any more."""
    return sum(
        delete_in_batches(
            account.conversion_attempts.filter(failed_at__lte=at - ATTEMPTS_KEPT_FOR),
            dry_run=dry_run,
        )
        for account in accounts
    )


def cut_traces(accounts: Iterable[Account], *, at: datetime, dry_run: bool) -> int:
    """Cut addresses of old clicks, customers and sales to a network, and drop their
    user agents."""
    before = at - TRACES_KEPT_FOR
    return sum(
        _cut(rows.filter(created_at__lte=before), dry_run=dry_run)
        for account in accounts
        for rows in (
            account.clicks.all(),
            account.customers.all(),
            account.conversions.all(),
        )
    )


def network(address: str) -> str:
    """An address cut to its /24 or, of IPv6, /48."""
    whole = ipaddress.ip_address(address)
    bits = KEPT_BITS[whole.version]
    cut = ipaddress.ip_network(f"{whole}/{bits}", strict=False)
    return str(cut.network_address)


def _cut(rows: models.QuerySet[Any], *, dry_run: bool) -> int:
    whole = Q(ip__isnull=False) & ~Q(ip__regex=A_NETWORK)
    traced = rows.filter(whole | Q(user_agent__isnull=False))
    if dry_run:
        return traced.count()
    done = 0
    while some := list(traced.order_by("pk").values_list("pk", "ip")[:BATCH]):
        by_address: dict[str | None, list[int]] = {}
        for number, address in some:
            by_address.setdefault(address, []).append(number)
        with transaction.atomic():
            for address, numbers in by_address.items():
                cut = network(address) if address else None
                rows.filter(pk__in=numbers).update(ip=cut, user_agent=None)
        done += len(some)
    return done
