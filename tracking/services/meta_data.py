"""Meta data of a customer: replaced whole, or one key at a time under the row's lock.

Written once for every kind of row that carries it.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.db import models, transaction

from accounts.models.accounts import Account, Owned
from accounts.services.events import note
from tracking.errors import MetaDataKeyNotFound, OddKey, TooManyKeys
from tracking.meta_data import MOST_KEYS, MetaDataFlaw, checked_key

Rows = models.QuerySet[Any]
MetaData = dict[str, str]


def replace(
    account: Account,
    rows: Rows,
    missing: type[Exception],
    *,
    data: MetaData,
    at: datetime,
) -> MetaData:
    """Forget all keys, keep these."""
    return _rewrite(account, rows, missing, lambda kept: data, at)


def set_key(
    account: Account,
    rows: Rows,
    missing: type[Exception],
    *,
    key: str,
    value: str,
    at: datetime,
) -> MetaData:
    """Create or overwrite one key; an odd one is refused, and an eleventh."""
    try:
        checked_key(key)
    except MetaDataFlaw as flaw:
        raise OddKey(flaw.text, flaw.template) from None

    def with_key(kept: MetaData) -> MetaData:
        if key not in kept and len(kept) >= MOST_KEYS:
            raise TooManyKeys(limit=MOST_KEYS)
        return {**kept, key: value}

    return _rewrite(account, rows, missing, with_key, at)


def forget_key(
    account: Account, rows: Rows, missing: type[Exception], *, key: str, at: datetime
) -> MetaData:
    """Remove one key."""

    def without(kept: MetaData) -> MetaData:
        if key not in kept:
            raise MetaDataKeyNotFound
        return {name: value for name, value in kept.items() if name != key}

    return _rewrite(account, rows, missing, without, at)


def _rewrite(
    account: Account,
    rows: Rows,
    missing: type[Exception],
    rule: Callable[[MetaData], MetaData],
    at: datetime,
) -> MetaData:
    with transaction.atomic():
        row: Owned | None = rows.select_for_update(no_key=True).first()
        if row is None:
            raise missing
        kept: MetaData = row.meta_data  # type: ignore[attr-defined]
        data = rule(kept)
        if data != kept:
            row.change(meta_data=data)
            kind = f"{row._meta.model_name}.updated"
            note(account, kind, row, at=at, fields=["meta_data"])
    return data
