"""The tables of an account, and how the values of their columns are written as JSON.

Decimals are texts, times are ISO 8601 with microseconds, bytes are base64. Encrypted
columns are in clear: another installation encrypts them with its own keys.
"""

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from typing import Any
from uuid import UUID

from django.apps import apps
from django.db import models

from accounts.decimals import parse_decimal
from accounts.exact_json import format_decimal
from accounts.models.accounts import Account
from accounts.models.users import User
from tracking.amounts import AmountField
from tracking.services.mails import LINK_REQUESTS, SECRET_MAILS

APPS = ("accounts", "tracking", "payouts")
DECIMAL = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,10})?", re.ASCII)
# Rows that are not exported: mails with one-time links.
LEFT_OUT_ROWS = {"tracking.Mail": {"kind__in": (*SECRET_MAILS, *LINK_REQUESTS)}}

Encode = Callable[[Any], Any]
Decode = Callable[[Any], Any]


@dataclass
class AccountTable:
    """A table of an account: its model, and its exported columns in this order."""

    model: type[models.Model]
    columns: dict[str, "StoredColumn"] = field(default_factory=dict)

    @property
    def label(self) -> str:
        return self.model._meta.label

    def list_rows(self, account: Account) -> models.QuerySet[Any, Any]:
        """Return the account's rows, without those that are left out."""
        if self.model is Account:
            return Account.objects.filter(pk=account.pk)
        rows = self.model._base_manager.filter(account=account)
        return rows.exclude(**LEFT_OUT_ROWS.get(self.label, {"pk": None}))


@dataclass
class StoredColumn:
    """A column; `target` is the table that a foreign key refers to."""

    field: Any
    target: str
    encode: Encode | None
    decode: Decode


@cache
def list_tables() -> dict[str, AccountTable]:
    """Map labels to tables, each after those that it refers to."""
    tables: dict[str, AccountTable] = {}
    for app in APPS:
        for model in sorted(apps.get_app_config(app).get_models(), key=get_label):
            if is_exported(model):
                _add_table(tables, model)
    return tables


def get_label(model: type[models.Model]) -> str:
    return model._meta.label


def is_exported(model: type[models.Model]) -> bool:
    """Whether it has rows of accounts that move with them."""
    belongs_to_account = any(it.related_model is Account for it in model._meta.concrete_fields)
    is_left_out = isinstance(get_left_out(model), str)
    return model is Account or (belongs_to_account and not is_left_out and not model._meta.proxy)


def get_left_out(model: type[models.Model]) -> str | dict[str, str]:
    """Return why a table is not exported, or why some of its columns are not."""
    left_out: str | dict[str, str] = getattr(model, "not_exported", {})
    return left_out


def _add_table(tables: dict[str, AccountTable], model: type[models.Model]) -> None:
    table = AccountTable(model)
    if table.label in tables:
        return
    for column_field in model._meta.concrete_fields:
        if column_field.name in ("id", "account", *get_left_out(model)):
            continue
        column = _build_column(column_field)
        table.columns[column_field.name] = column
        if column.target not in ("", table.label):
            _add_table(tables, apps.get_model(column.target))
    tables[table.label] = table


@cache
def list_unique_columns() -> dict[str, str]:
    """Map tables to the column whose values must differ among all accounts.

    The slug of an account is given to the import, and operators are not exported.
    """
    return {
        table.label: constraint.fields[0]
        for table in list_tables().values()
        for constraint in table.model._meta.constraints
        if isinstance(constraint, models.UniqueConstraint)
        and "account" not in constraint.fields
        and constraint.fields[0] in table.columns
        and table.model not in (Account, User)
    }


def _build_column(column: Any) -> StoredColumn:
    if isinstance(column, models.ForeignKey):
        target: Any = column.related_model
        return StoredColumn(column, target._meta.label, None, _expect(int))
    encode, decode = _find_codec(column)
    return StoredColumn(column, "", encode, decode)


def _find_codec(column: Any) -> tuple[Encode | None, Decode]:
    """Return the functions that write and read a value; None writes it as it is."""
    for kinds, encode, decode in CODECS:
        if isinstance(column, kinds):
            return encode, decode
    return None, _expect(str, getattr(column, "max_length", None))


def _expect(kind: Any, max_length: int | None = None) -> Decode:
    def decode(value: Any) -> Any:
        if type(value) is not kind:
            raise ValueError(f"{kind.__name__} expected")
        if max_length is not None and len(value) > max_length:
            raise ValueError(f"more than {max_length} characters")
        return value

    return decode


def _encode_time(value: datetime) -> str:
    return value.astimezone(UTC).isoformat(timespec="microseconds")


def _decode_time(value: Any) -> datetime:
    time = datetime.fromisoformat(value)
    if time.tzinfo is None:
        raise ValueError("a time needs its offset to UTC")
    return time


def _decode_decimal(value: Any) -> Decimal:
    if not DECIMAL.fullmatch(value):
        raise ValueError("a decimal number as text expected")
    return parse_decimal(value)


def _encode_bytes(value: Iterable[int]) -> str:
    return b64encode(bytes(value)).decode()  # PostgreSQL returns a memoryview


def _decode_bytes(value: Any) -> bytes:
    return b64decode(value, validate=True)


# Functions that write and read the values of types of fields; others are texts.
CODECS: tuple[tuple[Any, Encode | None, Decode], ...] = (
    ((AmountField, models.DecimalField), format_decimal, _decode_decimal),
    (models.DateTimeField, _encode_time, _decode_time),
    (models.DateField, date.isoformat, date.fromisoformat),
    (models.BinaryField, _encode_bytes, _decode_bytes),
    (models.JSONField, None, lambda value: value),
    (models.UUIDField, str, UUID),
    (models.BooleanField, None, _expect(bool)),
    (models.IntegerField, None, _expect(int)),
)
