"""Meta data of any model that has it: replace all of it or change one key.

Each function locks the row that `rows` selects and raises `not_found_error` without it.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.db import models, transaction

from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from accounts.services.changes import record_change
from tracking.errors import InvalidMetaDataKey, MetaDataKeyNotFound, TooManyMetaDataKeys
from tracking.meta_data import MAX_KEYS, MetaDataFieldError, validate_key

Rows = models.QuerySet[Any]
MetaData = dict[str, str]


def replace_meta_data(
    account: Account,
    rows: Rows,
    not_found_error: type[Exception],
    *,
    data: MetaData,
    at: datetime,
) -> MetaData:
    """Replace all keys."""
    return _update_meta_data(account, rows, not_found_error, lambda current: data, at)


def set_meta_data_key(
    account: Account,
    rows: Rows,
    not_found_error: type[Exception],
    *,
    key: str,
    value: str,
    at: datetime,
) -> MetaData:
    """Create or overwrite one key.

    Raises `InvalidMetaDataKey` and `TooManyMetaDataKeys`.
    """
    try:
        validate_key(key)
    except MetaDataFieldError as error:
        raise InvalidMetaDataKey(error.text, error.template) from None

    def add_key(current: MetaData) -> MetaData:
        if key not in current and len(current) >= MAX_KEYS:
            raise TooManyMetaDataKeys(limit=MAX_KEYS)
        return {**current, key: value}

    return _update_meta_data(account, rows, not_found_error, add_key, at)


def delete_meta_data_key(
    account: Account,
    rows: Rows,
    not_found_error: type[Exception],
    *,
    key: str,
    at: datetime,
) -> MetaData:
    """Remove one key; raise `MetaDataKeyNotFound`."""

    def remove_key(current: MetaData) -> MetaData:
        if key not in current:
            raise MetaDataKeyNotFound
        return {name: value for name, value in current.items() if name != key}

    return _update_meta_data(account, rows, not_found_error, remove_key, at)


def _update_meta_data(
    account: Account,
    rows: Rows,
    not_found_error: type[Exception],
    transform: Callable[[MetaData], MetaData],
    at: datetime,
) -> MetaData:
    with transaction.atomic():
        row = get_or_raise(rows, not_found_error, lock=True)
        current: MetaData = row.meta_data
        data = transform(current)
        if data != current:
            row.update_row(meta_data=data)
            kind = f"{row._meta.model_name}.updated"
            record_change(account, kind, row, at=at, fields=["meta_data"])
    return data
