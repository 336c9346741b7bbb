"""Fields that are maps with keys chosen by the caller."""

from typing import Any, ClassVar

from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from affiliate_site.api.errors import FieldError, format_map_key
from affiliate_site.api.fields import (
    TOO_LONG,
    TOO_MANY_ITEMS,
    WRONG_TYPE,
    ApiFieldMixin,
    coerce_to_text,
)
from tracking.meta_data import (
    MAX_KEY_LENGTH,
    MAX_KEYS,
    MAX_VALUE_LENGTH,
    InvalidMetaData,
    MetaDataFieldError,
    normalize_value,
    validate_meta_data,
)

MAX_SELECTED_OPTIONS = 50
MAX_CUSTOM_FIELD_VALUE_LENGTH = 5000
MAX_PAYOUT_DETAILS = 20
MAX_PAYOUT_DETAIL_KEY_LENGTH = 64
MAX_PAYOUT_DETAIL_LENGTH = 255


class MetaDataValueField(ApiFieldMixin, serializers.CharField):
    """One meta data value; it may be empty."""

    schema: ClassVar = {"type": "string", "maxLength": MAX_VALUE_LENGTH}

    def to_internal_value(self, data):
        try:
            return normalize_value("", data)
        except MetaDataFieldError as error:
            raise ValidationError(convert_meta_data_error(error)) from None


class MetaDataField(ApiFieldMixin, serializers.DictField):
    """Meta data: string keys and values; numbers and booleans become text.

    `[]` counts as `{}`: PHP encodes an empty map so.
    """

    schema: ClassVar = {
        "type": "object",
        "maxProperties": MAX_KEYS,
        "propertyNames": {
            "type": "string",
            "minLength": 1,
            "maxLength": MAX_KEY_LENGTH,
            "pattern": r"""^[^":{}\]\\'/&]*$""",
        },
        "additionalProperties": MetaDataValueField.schema,
    }

    def to_internal_value(self, data):
        try:
            return validate_meta_data({} if data == [] else ensure_json_object(data))
        except InvalidMetaData as invalid:
            raise ValidationError(
                {
                    format_map_key(error.key): convert_meta_data_error(error)
                    for error in invalid.errors
                    if error.key is not None
                }
                or convert_meta_data_error(invalid.errors[0])
            ) from None


class CustomFieldValuesField(ApiFieldMixin, serializers.DictField):
    """Custom field values: text, or a list of texts for a multiple choice; null clears
    a value.
    """

    single_value_schema: ClassVar = {
        "type": "string",
        "maxLength": MAX_CUSTOM_FIELD_VALUE_LENGTH,
    }
    value_schema: ClassVar = {
        "oneOf": [
            single_value_schema,
            {
                "type": "array",
                "items": single_value_schema,
                "maxItems": MAX_SELECTED_OPTIONS,
            },
            {"type": "null"},
        ]
    }
    schema: ClassVar = {
        "type": "object",
        "additionalProperties": {"$ref": "#/components/schemas/CustomFieldInput"},
    }

    def to_internal_value(self, data):
        return parse_pairs(
            ensure_json_object(data),
            lambda key, value: (
                key,
                None if value is None else self.parse_value(value),
            ),
        )

    def parse_value(self, value):
        if not isinstance(value, list):
            return limit_text(value, MAX_CUSTOM_FIELD_VALUE_LENGTH)
        if len(value) > MAX_SELECTED_OPTIONS:
            raise FieldError(TOO_MANY_ITEMS, limit=MAX_SELECTED_OPTIONS)
        options: list[str] = []
        errors: dict[Any, Any] = {}  # by index
        for index, option in enumerate(value):
            try:
                options.append(limit_text(option, MAX_CUSTOM_FIELD_VALUE_LENGTH))
            except FieldError as error:
                errors[index] = error.detail
        if errors:
            raise ValidationError(errors)
        return options


class PayoutDetailsField(ApiFieldMixin, serializers.DictField):
    """Payout details, such as an IBAN; null means not sent."""

    schema: ClassVar = {
        "type": "object",
        "maxProperties": MAX_PAYOUT_DETAILS,
        "propertyNames": {
            "type": "string",
            "maxLength": MAX_PAYOUT_DETAIL_KEY_LENGTH,
        },
        "additionalProperties": {
            "type": "string",
            "maxLength": MAX_PAYOUT_DETAIL_LENGTH,
        },
    }

    def to_internal_value(self, data):
        if len(ensure_json_object(data)) > MAX_PAYOUT_DETAILS:
            raise FieldError(TOO_MANY_ITEMS, limit=MAX_PAYOUT_DETAILS)
        return parse_pairs(
            {key: value for key, value in data.items() if value is not None},
            lambda key, value: (
                limit_text(key, MAX_PAYOUT_DETAIL_KEY_LENGTH),
                limit_text(value, MAX_PAYOUT_DETAIL_LENGTH),
            ),
        )


def parse_pairs(data: dict, parse_pair) -> dict:
    """Apply `parse_pair(key, value)` to every pair; raise the errors of all keys."""
    pairs, errors = [], {}
    for key, value in data.items():
        try:
            pairs.append(parse_pair(key, value))
        except ValidationError as error:
            errors[format_map_key(key)] = error.detail
    if errors:
        raise ValidationError(errors)
    return dict(pairs)


def ensure_json_object(data) -> dict:
    """Return a JSON object unchanged; raise FieldError for another type."""
    if not isinstance(data, dict):
        raise FieldError(WRONG_TYPE, type="object")
    return data


def limit_text(value, max_length: int) -> str:
    """Return the value as text; raise FieldError above `max_length` characters."""
    text = coerce_to_text(value)
    if len(text) > max_length:
        raise FieldError(TOO_LONG, limit=max_length)
    return text


def convert_meta_data_error(error: MetaDataFieldError):
    """Return a meta data error as the detail of a FieldError."""
    return FieldError(error.template, **error.params).detail
