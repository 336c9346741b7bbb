"""Fields that are maps: text by keys that the caller chose."""

from typing import ClassVar

from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from affiliate_site.api.errors import Flaw, bracketed
from affiliate_site.api.fields import (
    TOO_LONG,
    TOO_MANY,
    WRONG_TYPE,
    OwnRules,
    text_of,
)
from tracking.meta_data import (
    LONGEST_KEY,
    LONGEST_VALUE,
    MOST_KEYS,
    MetaDataFlaw,
    OddMetaData,
    checked,
    checked_value,
)

MOST_CHOICES = 50
LONGEST_ANSWER = 5000
MOST_DETAILS = 20
LONGEST_DETAIL_KEY = 64
LONGEST_DETAIL = 255


class MetaDataValue(OwnRules, serializers.CharField):
    """One value of meta data; it may be empty."""

    schema: ClassVar = {"type": "string", "maxLength": LONGEST_VALUE}

    def to_internal_value(self, data):
        try:
            return checked_value("", data)
        except MetaDataFlaw as flaw:
            raise ValidationError(detail_of(flaw)) from None


class MetaData(OwnRules, serializers.DictField):
    """String keys to string values; numbers and booleans are taken as text."""

    schema: ClassVar = {
        "type": "object",
        "maxProperties": MOST_KEYS,
        "propertyNames": {
            "minLength": 1,
            "maxLength": LONGEST_KEY,
            "pattern": r"""^[^":{}\]\\'/&]*$""",
        },
        "additionalProperties": MetaDataValue.schema,
    }

    def to_internal_value(self, data):
        try:
            return checked(object_of(data))
        except OddMetaData as odd:
            raise ValidationError(
                {bracketed(flaw.key): detail_of(flaw) for flaw in odd.flaws}
                if odd.flaws[0].key is not None
                else detail_of(odd.flaws[0])
            ) from None


class CustomFields(OwnRules, serializers.DictField):
    """Values of custom fields: text, or a list of texts for a multiple choice; null
    clears one."""

    one: ClassVar = {"type": "string", "maxLength": LONGEST_ANSWER}
    schema: ClassVar = {
        "type": "object",
        "additionalProperties": {
            "oneOf": [
                one,
                {"type": "array", "items": one, "maxItems": MOST_CHOICES},
                {"type": "null"},
            ]
        },
    }

    def to_internal_value(self, data):
        return read_each(
            object_of(data),
            lambda key, value: (key, None if value is None else self.answer(value)),
        )

    def answer(self, value):
        if not isinstance(value, list):
            return fitting(value, LONGEST_ANSWER)
        if len(value) > MOST_CHOICES:
            raise Flaw(TOO_MANY, limit=MOST_CHOICES)
        read, flaws = [], {}
        for number, each in enumerate(value):
            try:
                read.append(fitting(each, LONGEST_ANSWER))
            except Flaw as flaw:
                flaws[number] = flaw.detail
        if flaws:
            raise ValidationError(flaws)
        return read


class Details(OwnRules, serializers.DictField):
    """What a payment needs to know, as the caller names it; null is not sent."""

    schema: ClassVar = {
        "type": "object",
        "maxProperties": MOST_DETAILS,
        "propertyNames": {"maxLength": LONGEST_DETAIL_KEY},
        "additionalProperties": {"type": "string", "maxLength": LONGEST_DETAIL},
    }

    def to_internal_value(self, data):
        if len(object_of(data)) > MOST_DETAILS:
            raise Flaw(TOO_MANY, limit=MOST_DETAILS)
        return read_each(
            {key: value for key, value in data.items() if value is not None},
            lambda key, value: (
                fitting(key, LONGEST_DETAIL_KEY),
                fitting(value, LONGEST_DETAIL),
            ),
        )


def read_each(data: dict, read) -> dict:
    """Each pair as `read` gives it back; or the flaws of all, by their keys."""
    pairs, flaws = [], {}
    for key, value in data.items():
        try:
            pairs.append(read(key, value))
        except ValidationError as flaw:
            flaws[bracketed(key)] = flaw.detail
    if flaws:
        raise ValidationError(flaws)
    return dict(pairs)


def object_of(data) -> dict:
    """A JSON object as sent."""
    if not isinstance(data, dict):
        raise Flaw(WRONG_TYPE, type="object")
    return data


def fitting(value, longest: int) -> str:
    """Text of a bearable length."""
    text = text_of(value)
    if len(text) > longest:
        raise Flaw(TOO_LONG, limit=longest)
    return text


def detail_of(flaw: MetaDataFlaw):
    """A flaw of meta data, as DRF carries it."""
    return Flaw(flaw.template, **flaw.values).detail
