"""Base classes for the objects and lists of objects in requests.

In a body `null` means "not sent", so it reaches a field only with `allow_null`.
"""

import copy

from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from affiliate_site.api.errors import MISSING_PARAMETER, FieldError
from affiliate_site.api.fields import (
    NOT_BLANK_SCHEMA,
    TOO_MANY_ITEMS,
    WRONG_TYPE,
    ApiFieldMixin,
    is_blank,
)


class InputSerializer(serializers.Serializer):
    """Base class of request serializers; unknown fields are ignored.

    `aliases` maps other names (`click.id` is the `id` inside `click`) to the canonical
    ones, which take precedence when both are sent. At least one of the fields in
    `any_of` must be sent. With `max_items` a body may be an array of that length.

    Validation copies only the fields that are sent or required, and shallowly; DRF's
    `fields`, a deep copy of all of them, serves the OpenAPI document.
    """

    aliases: dict[str, str] = {}
    any_of: tuple[str, ...] = ()
    max_items: int | None = None
    default_error_messages = {"required": MISSING_PARAMETER}

    def run_validation(self, data=serializers.empty):
        if data is None and not self.allow_null:
            raise FieldError(WRONG_TYPE, type="object")
        is_empty, data = self.validate_empty_values(data)
        return data if is_empty else self.validate(self.to_internal_value(data))

    def to_internal_value(self, data):
        if not isinstance(data, dict):
            raise FieldError(WRONG_TYPE, type="object")
        self.sent_values = self.normalize_input(data)  # for fields that read others
        validated, errors = {}, {}
        for name, declared in self._declared_fields.items():
            if name not in self.sent_values and not declared.required:
                continue
            field = copy.copy(declared)
            field.bind(name, self)
            try:
                validated[name] = field.run_validation(
                    self.sent_values.get(name, serializers.empty)
                )
            except serializers.SkipField:
                pass
            except ValidationError as error:
                errors[name] = error.detail
        if errors:
            raise ValidationError(errors)
        return validated

    @property
    def schema(self) -> dict:
        """Return the JSON Schema beyond that of the fields."""
        if not self.any_of:
            return {}
        component = type(self).__name__.removesuffix("InputSerializer")
        return {
            "anyOf": [
                {
                    "title": f"{component}By{name.title().replace('_', '')}",
                    "required": [name],
                    "properties": {name: {"type": "string", **NOT_BLANK_SCHEMA}},
                }
                for name in self.any_of
            ]
        }

    def validate(self, attrs):
        if self.any_of and not any(attrs.get(name) for name in self.any_of):
            raise ValidationError({self.any_of[0]: FieldError(MISSING_PARAMETER).detail})
        return attrs

    def normalize_input(self, data: dict) -> dict:
        """Return the values to validate, by canonical field name."""
        return self.resolve_aliases(data)

    def resolve_aliases(self, data: dict) -> dict:
        """Return the sent values under their canonical field names."""
        resolved = {
            name: value
            for name, value in data.items()
            if name in self._declared_fields and self.is_sent(name, value)
        }
        for alias, name in self.aliases.items():
            value = find_nested_value(data, alias)
            field_name, _, nested_name = name.partition(".")
            if field_name not in resolved and value is not None:
                resolved[field_name] = {nested_name: value} if nested_name else value
        return resolved

    def is_sent(self, name: str, value) -> bool:
        field = self._declared_fields[name]
        if value is None:
            return field.allow_null
        if is_blank(value) and getattr(field, "ignore_blank", False):
            return False
        # An object without sent values counts as not sent.
        if isinstance(field, InputSerializer) and isinstance(value, dict):
            return bool(field.resolve_aliases(value))
        return True


def validate_each(serializer_class, items: list, **context) -> list[dict]:
    """Validate an array of objects; raise ValidationError with the errors of all."""
    if not items:
        raise FieldError(MISSING_PARAMETER)
    if len(items) > serializer_class.max_items:
        raise FieldError(TOO_MANY_ITEMS, limit=serializer_class.max_items)
    validated, errors = [], {}
    for index, item in enumerate(items):
        try:
            validated.append(serializer_class(context=context).run_validation(item))
        except ValidationError as error:
            errors[f"[{index}]"] = error.detail
    if errors:
        raise ValidationError(errors)
    return validated


def find_nested_value(data, path: str):
    """Return the value at a path such as `click.id`, or None."""
    for step in path.split("."):
        data = data.get(step) if isinstance(data, dict) else None
    return data


class ObjectListField(ApiFieldMixin, serializers.ListField):
    """A list of at most `max_items` objects."""

    def __init__(self, *, child, max_items, **kwargs):
        super().__init__(child=child, max_length=max_items, **kwargs)
        self.max_items = max_items

    def bind(self, field_name, parent):
        super().bind(field_name, parent)
        self.child = copy.copy(self.child)
        self.child.parent = self  # type: ignore[assignment]  # as DRF does

    def to_internal_value(self, data):
        if not isinstance(data, list):
            raise FieldError(WRONG_TYPE, type="array")
        if len(data) > self.max_items:
            raise FieldError(TOO_MANY_ITEMS, limit=self.max_items)
        return self.run_child_validation(data)
