"""Encrypted columns: encrypt them by the first key, check that keys decrypt them."""

import json
from collections.abc import Callable
from typing import Any

from django.apps import apps
from django.db import models, transaction
from django.db.models.functions import Cast

from accounts.db_compat import BATCH_SIZE
from accounts.encryption import (
    TOKEN_PREFIX,
    EncryptedJSONField,
    EncryptedTextField,
    decrypt,
    is_encrypted_by_first_key,
)
from payouts.models.payments import PayoutMethod
from payouts.services.payout_methods import calculate_method_index


def list_encrypted_columns() -> list[tuple[type[models.Model], str]]:
    """Return models with the names of their encrypted fields."""
    return [
        (model, field.name)
        for model in apps.get_models()
        for field in model._meta.local_concrete_fields
        if isinstance(field, EncryptedJSONField | EncryptedTextField)
    ]


def rotate_encryption(*, is_dry_run: bool, on_batch: Callable[[int], object]) -> dict[str, int]:
    """Encrypt every value by the first key; return the numbers of changed values.

    They are by column: `payouts.PayoutMethod.details`. Each batch is a transaction that
    locks its rows, so that others may write meanwhile; a second run changes nothing.
    `on_batch` gets the numbers of values that were read. Raises `WrongEncryptionKey`.
    """
    return {
        f"{model._meta.label}.{name}": _rotate_column(
            model, name, is_dry_run=is_dry_run, on_batch=on_batch
        )
        for model, name in list_encrypted_columns()
    }


def count_encrypted_values() -> int:
    """Return how many values `rotate_encryption` reads."""
    return sum(_list_values(model, name).count() for model, name in list_encrypted_columns())


def has_values_to_rotate(limit: int) -> bool:
    """Return whether the oldest or newest values need `rotate_encryption`.

    Of each column, twice `limit` values are read. Raises `WrongEncryptionKey`.
    """
    found = [
        _needs_rotation(stored)
        for model, name in list_encrypted_columns()
        for order in ("pk", "-pk")
        for _, stored in _list_values(model, name).order_by(order)[:limit]
    ]
    return any(found)


def _rotate_column(
    model: type[models.Model],
    name: str,
    *,
    is_dry_run: bool,
    on_batch: Callable[[int], object],
) -> int:
    count, last_pk = 0, 0
    while True:
        with transaction.atomic():
            rows = _list_values(model, name).filter(pk__gt=last_pk).order_by("pk")
            batch = list(rows.select_for_update(no_key=True)[:BATCH_SIZE])
            old = [pk for pk, stored in batch if _needs_rotation(stored)]
            if not is_dry_run:
                _rewrite(model, name, old)
        count += len(old)
        on_batch(len(batch))
        if len(batch) < BATCH_SIZE:
            return count
        last_pk = batch[-1][0]


def _list_values(model: type[models.Model], name: str) -> models.QuerySet[Any, Any]:
    """Return primary keys and values as they are stored, without empty ones, which no
    key encrypts."""
    is_json = isinstance(model._meta.get_field(name), EncryptedJSONField)
    empty: tuple[Any, ...] = ({}, []) if is_json else ("",)
    rows: models.QuerySet[Any, Any] = model._base_manager.all()
    for value in empty:
        rows = rows.exclude(**{name: value})
    stored = Cast(name, models.TextField())
    rows = rows.annotate(stored_value=stored)
    return rows.values_list("pk", "stored_value")


def _rewrite(model: type[models.Model], name: str, pks: list[int]) -> None:
    for row in model._base_manager.filter(pk__in=pks).order_by("pk"):
        values = {name: getattr(row, name)}
        if isinstance(row, PayoutMethod):
            values["blind_index"] = calculate_method_index(row.kind, row.details)
        model._base_manager.filter(pk=row.pk).update(**values)


def _needs_rotation(stored: str) -> bool:
    """Whether another key, or none, encrypted a text or a JSON text."""
    token = json.loads(stored) if stored.startswith('"') else stored
    if not token.startswith(TOKEN_PREFIX):
        return True
    if is_encrypted_by_first_key(token):
        return False
    decrypt(token)
    return True
