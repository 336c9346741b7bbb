"""Check the values of an account's file as their fields and services check them.

A file is foreign: its digests only show that nobody changed it by mistake.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any, NamedTuple
from zoneinfo import available_timezones

import orjson
from django.conf import settings
from django.contrib.auth.hashers import identify_hasher
from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator
from django.db import models

from accounts.audit_details import IDS, find_odd_detail
from accounts.email_addresses import fold_email, validate_address
from accounts.errors import DomainError
from accounts.models.webhooks import POSTBACK_EVENTS, WEBHOOK_EVENTS
from accounts.services.accounts import detect_media_type, validate_settings
from accounts.services.outbox import MACRO_PATTERN, validate_macros
from accounts.services.webhooks import validate_event_names, validate_url
from affiliate_site.creative_images import FILE_NAME, MEDIA_TYPES
from affiliate_site.moving.account_references import SUBJECTS
from affiliate_site.moving.account_tables import LEFT_OUT_ROWS, list_tables
from affiliate_site.moving.json_shapes import SHAPES, check_shape
from payouts.services.payout_settings import validate_payer
from payouts.services.run_selection import METHODS
from tracking.money import get_currency
from tracking.services.account_settings import validate_email_keys
from tracking.services.connections import validate_settings as validate_mapping
from tracking.services.connections import validate_shop_url
from tracking.services.portal_settings import (
    validate_payout_day,
    validate_sender_name,
)
from tracking.services.programs import validate_program

YEARS = range(1970, 2200)  # of times and days: others overflow when days are added
INTEGERS = {
    models.PositiveSmallIntegerField: range(2**15),
    models.PositiveIntegerField: range(2**31),
    models.BigIntegerField: range(-(2**53), 2**53),  # what JavaScript reads
}
# Of columns with these names, in each table.
PATTERNS = {
    "country": re.compile(r"([A-Z]{2})?"),
    "hex": re.compile(r"[0-9a-f]{6}"),
    **dict.fromkeys(("log_id", "public_id"), re.compile(r"[A-Za-z0-9_-]{1,32}")),
    "slug": re.compile(r"[A-Za-z0-9_-]{1,255}"),
    "identifier": re.compile(r"[A-Za-z0-9_-]{1,255}"),
    # Other programs' old links have more characters than ours.
    "code": re.compile(r"[^\x00-\x20\x7f-\xa0\u2000-\u200f\u2028-\u202f<>\"'\\]+"),
}
HASH_COSTS = ("time_cost", "memory_cost", "parallelism", "iterations")
# What values of a file raise that no exporter writes.
VALUE_ERRORS = (
    *(ValueError, TypeError, AttributeError, KeyError, OverflowError, RecursionError),
    ValidationError,
)
Check = Callable[[Any], object]


class RowCheck(NamedTuple):
    """What a table checks: functions by attribute, and one of the whole row."""

    columns: tuple[tuple[str, str, Check], ...]  # name, attribute, function
    whole: Check | None


@cache
def get_row_check(label: str) -> RowCheck:
    """Return the checks of a table, which are built once."""
    return RowCheck(
        tuple(
            (name, column.field.attname, check)
            for name, column in list_tables()[label].columns.items()
            if not column.target
            for check in _list_checks(label, name, column.field)
        ),
        ROW_CHECKS.get(label),
    )


def clean_row(label: str, row: dict[str, Any]) -> None:
    """Raise `ValueError` for the first value that no form and no service stores."""
    check = get_row_check(label)
    where = ""
    try:
        for where, attribute, check_value in check.columns:  # noqa: B007 - in the error
            if (value := row[attribute]) is not None:
                check_value(value)
        where = ""
        if check.whole is not None:
            check.whole(row)
    except (DomainError, *VALUE_ERRORS) as error:
        text = error.text if isinstance(error, DomainError) else describe(error)
        raise ValueError(f"{where}: {text}" if where else text) from error


def describe(error: Exception) -> str:
    """Return one line about what a value of a file raised."""
    text = error.messages[0] if isinstance(error, ValidationError) else str(error)
    return (text.splitlines() or [type(error).__name__])[0]


def _list_checks(label: str, name: str, column: Any) -> Iterator[Check]:
    """Yield what the field, its type and its name ask of a value."""
    if column.choices:
        blank = {""} if column.blank else set()
        yield _expect_one_of({value for value, _ in column.flatchoices} | blank)
    if isinstance(column, models.JSONField):
        yield partial(check_shape, shape=SHAPES[f"{label}.{name}"])
    for kinds, build in CHECKS_BY_TYPE:
        if isinstance(column, kinds):
            yield from build(name, column)
            return


def _list_integer_checks(name: str, column: Any) -> Iterator[Check]:
    for kind, allowed in INTEGERS.items():
        if isinstance(column, kind):
            yield _expect_one_of(allowed)


def _list_text_checks(name: str, column: Any) -> Iterator[Check]:
    yield _refuse_zero_bytes
    if name in PATTERNS:
        yield _expect_match(PATTERNS[name])
    if name in TEXT_CHECKS:
        yield TEXT_CHECKS[name]
    yield from _list_validators(name, column)


def _list_validators(name: str, column: Any) -> Iterator[Check]:
    """Yield those of the field but the one that the reading of texts includes."""
    return (it for it in column.validators if type(it) is not MaxLengthValidator)


def _expect_one_of(allowed: Any) -> Check:
    def check(value: Any) -> None:
        if value not in allowed:
            raise ValueError(f"{value!r} is not one of the values that are allowed")

    return check


def _expect_match(pattern: re.Pattern[str]) -> Check:
    def check(value: str) -> None:
        if not pattern.fullmatch(value):
            raise ValueError(f"{value!r} is not written like {pattern.pattern}")

    return check


def _check_currency(value: str) -> None:
    if value and get_currency(value) != value:
        raise ValueError(f"{value!r} is not in capital letters")


def _check_address(value: str) -> None:
    if value:
        validate_address(value)


def _check_time_zone(value: str) -> None:
    _expect_one_of(available_timezones())(value)


def _check_language(value: str) -> None:
    _expect_one_of({"", *dict(settings.LANGUAGES)})(value)


def _check_year(value: Any) -> None:
    if value.year not in YEARS:
        raise ValueError(f"the year {value.year} is not from 1970 to 2199")


def _refuse_zero_bytes(value: str) -> None:
    if "\x00" in value:
        raise ValueError("a text without zero bytes expected")


def check_password_hash(encoded: str) -> None:
    """Refuse hashes that take longer than our own; of unknown kinds none fits."""
    try:
        hasher = identify_hasher(encoded)
    except ValueError:
        return
    costs = hasher.decode(encoded)
    if any(costs.get(it, 0) > getattr(hasher, it, 0) for it in HASH_COSTS):
        raise ValueError("the hash of a password costs more than ours")


def _check_account(row: dict[str, Any]) -> None:
    validate_settings(row)
    validate_email_keys(row["customer_email_keys"])


def _check_logo(row: dict[str, Any]) -> None:
    if detect_media_type(row["image"]) != row["media_type"]:
        raise ValueError("media_type: not the type of the image")


def _check_creative(row: dict[str, Any]) -> None:
    name, media_type = row["file_name"], row["media_type"]
    if not name and not media_type:
        return
    if not FILE_NAME.fullmatch(name) or MEDIA_TYPES[name[33:]] != media_type:
        raise ValueError("file_name: not the name of an image of this media type")


def _check_connection(row: dict[str, Any]) -> None:
    validate_mapping(row["settings"])
    if address := row["settings"].get("shop_url"):
        validate_shop_url(row["kind"], address)


def _check_user(row: dict[str, Any]) -> None:
    if row["email"] != fold_email(row["email"]):
        raise ValueError("email: not in the spelling that is compared")


def _check_log_entry(row: dict[str, Any]) -> None:
    kind, _, name = row["subject"].partition(":")
    if kind in SUBJECTS and not (name.isdecimal() and name.isascii() and int(name) in IDS):
        raise ValueError(f"subject: {row['subject']!r} names no row")
    if name := find_odd_detail(row["details"]):
        raise ValueError(f"details: {name} is not what is logged")


def _check_mail(row: dict[str, Any]) -> None:
    if row["kind"] in LEFT_OUT_ROWS["tracking.Mail"]["kind__in"]:
        raise ValueError(f"kind: {row['kind']!r} has a link that is not moved")


def _check_webhook(row: dict[str, Any]) -> None:
    url, is_postback = row["url"], bool(row["affiliate"])
    validate_url(MACRO_PATTERN.sub("!", url) if is_postback else url)
    if is_postback:
        validate_macros(url)
    allowed = POSTBACK_EVENTS if is_postback else WEBHOOK_EVENTS
    validate_event_names(row["events"], allowed=allowed)


def _check_delivery(row: dict[str, Any]) -> None:
    if row["body"] and not isinstance(orjson.loads(row["body"]), dict):
        raise ValueError("body: not a JSON object")


def _check_portal(row: dict[str, Any]) -> None:
    validate_payout_day(row["payout_day"])
    validate_sender_name(row["sender_name"] or "")


def _check_run(row: dict[str, Any]) -> None:
    for method in row["basis"]["methods"]:
        _expect_one_of(METHODS)(method)


TEXT_CHECKS: dict[str, Check] = {
    "time_zone": _check_time_zone,
    "password": check_password_hash,
    "language": _check_language,
    **dict.fromkeys(("currency", "default_currency", "into_currency"), _check_currency),
    **dict.fromkeys(("email", "contact_email"), _check_address),
}
CHECKS_BY_TYPE: tuple[tuple[Any, Callable[[str, Any], Iterator[Check]]], ...] = (
    (models.DateField, lambda name, column: iter([_check_year])),  # times, too
    (models.IntegerField, _list_integer_checks),
    ((models.CharField, models.TextField), _list_text_checks),
    (models.Field, _list_validators),
)
# What the services check of a row.
ROW_CHECKS: dict[str, Check] = {
    "accounts.Account": _check_account,
    "accounts.Logo": _check_logo,
    "accounts.AuditLogEntry": _check_log_entry,
    "accounts.Delivery": _check_delivery,
    "accounts.User": _check_user,
    "accounts.WebhookEndpoint": _check_webhook,
    "payouts.PayoutRun": _check_run,
    "payouts.PayoutSettings": validate_payer,
    "tracking.Connection": _check_connection,
    "tracking.Creative": _check_creative,
    "tracking.Mail": _check_mail,
    "tracking.PortalSettings": _check_portal,
    "tracking.Program": validate_program,
}
