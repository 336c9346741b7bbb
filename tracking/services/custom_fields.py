"""Custom fields of an account's affiliates: the questions of its sign-up forms."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from accounts.errors import InvalidSetting, InvalidSlug
from accounts.ids import SLUG_PATTERN
from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from accounts.services.accounts import validate_length, validate_name
from accounts.services.changes import log_event
from tracking.errors import CustomFieldNotFound, DuplicateCustomField
from tracking.models.affiliates import CustomField, FieldType

CHOICE_TYPES = (FieldType.SELECT, FieldType.MULTISELECT)
MAX_OPTIONS = 50


def create_custom_field(
    account: Account,
    *,
    slug: str,
    title: str,
    type: str,
    required: bool = False,
    options: Sequence[str] = (),
    at: datetime,
) -> CustomField:
    """Create a field; its slug is the key of its value and stays."""
    if not SLUG_PATTERN.fullmatch(slug):
        raise InvalidSlug(slug=slug, path="slug")
    validate_field(title, type, options)
    try:
        with transaction.atomic():
            field = account.field_definitions.create(
                slug=slug,
                title=title,
                type=type,
                required=required,
                options=list(options) or None,
            )
            log_event(account, "custom_field.created", field, at=at, type=type)
    except IntegrityError:
        if account.field_definitions.filter(slug=slug).exists():
            raise DuplicateCustomField(slug=slug) from None
        raise
    return field


def update_custom_field(
    account: Account, *, pk: int, changes: Mapping[str, Any], at: datetime
) -> CustomField:
    """Set title, `required` and options; values that affiliates gave stay."""
    with transaction.atomic():
        field = get_custom_field(account, pk)
        columns = dict(changes)
        if "options" in columns:
            columns["options"] = list(columns["options"] or ()) or None
        values = {name: value for name, value in columns.items() if value != getattr(field, name)}
        validate_field(
            values.get("title", field.title),
            field.type,
            values.get("options", field.options) or (),
        )
        if values:
            logged = {name: [getattr(field, name), values[name]] for name in values}
            field.update_row(**values)
            log_event(account, "custom_field.updated", field, at=at, **logged)
    return field


def delete_custom_field(account: Account, *, pk: int, at: datetime) -> None:
    """Delete a field; the values that affiliates gave are kept, but not asked for."""
    with transaction.atomic():
        field = get_custom_field(account, pk)
        log_event(account, "custom_field.deleted", field, at=at)
        account.field_definitions.filter(pk=field.pk).delete()


def get_custom_field(account: Account, pk: int) -> CustomField:
    """Get and lock a field; raise `CustomFieldNotFound`."""
    return get_or_raise(account.field_definitions, CustomFieldNotFound, lock=True, pk=pk)


def validate_field(title: str, field_type: str, options: Sequence[str]) -> None:
    """Raise `InvalidSetting` if the title or the options are invalid."""
    validate_name("The title", title, path="title")
    if field_type in CHOICE_TYPES and not options:
        rule = "given, one per line: the type is a choice"
        raise InvalidSetting(setting="The options", rule=rule, path="options")
    if field_type not in CHOICE_TYPES and options:
        rule = "empty: the type is not a choice"
        raise InvalidSetting(setting="The options", rule=rule, path="options")
    if len(options) > MAX_OPTIONS or len(set(options)) < len(options):
        rule = f"different from each other, {MAX_OPTIONS} at most"
        raise InvalidSetting(setting="The options", rule=rule, path="options")
    for option in options:
        validate_length("An option", option, path="options")
