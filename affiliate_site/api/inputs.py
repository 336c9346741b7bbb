"""Objects and lists of objects that requests carry.

In a body `null` means "not sent", so a field never sees it unless it allows it.
"""

from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from affiliate_site.api.errors import MISSING, Flaw
from affiliate_site.api.fields import (
    NOT_BLANK,
    TOO_MANY,
    WRONG_TYPE,
    OwnRules,
)


class Input(serializers.Serializer):
    """What an operation reads: unknown fields are ignored, `null` is not sent.

    `aliases` leads from other spellings (`click.id` is the `id` inside `click`) to
    the proper ones; the proper name counts when both are sent. Of the fields in
    `one_of`, one must be sent.
    """

    aliases: dict[str, str] = {}
    one_of: tuple[str, ...] = ()
    default_error_messages = {"required": MISSING}

    def run_validation(self, data=serializers.empty):
        if data is None and not self.allow_null:
            raise Flaw(WRONG_TYPE, type="object")
        return super().run_validation(data)

    def to_internal_value(self, data):
        if not isinstance(data, dict):
            raise Flaw(WRONG_TYPE, type="object")
        self.read_now = self.sent(data)  # what the other fields of this object say
        return super().to_internal_value(self.read_now)

    @property
    def schema(self) -> dict:
        """What its JSON Schema says besides its fields."""
        if not self.one_of:
            return {}
        return {
            "anyOf": [
                {"required": [name], "properties": {name: NOT_BLANK}}
                for name in self.one_of
            ]
        }

    def validate(self, said):
        if self.one_of and not any(said.get(name) for name in self.one_of):
            raise ValidationError({self.one_of[0]: Flaw(MISSING).detail})
        return said

    def sent(self, data: dict) -> dict:
        """What is read of the data."""
        return self.named(data)

    def named(self, data: dict) -> dict:
        """The fields that carry something, under their proper names."""
        found = {
            name: value
            for name, value in data.items()
            if name in self.fields and self.says_something(name, value)
        }
        for alias, name in self.aliases.items():
            value = value_at(data, alias)
            whole, _, part = name.partition(".")
            if whole not in found and value is not None:
                found[whole] = {part: value} if part else value
        return found

    def says_something(self, name: str, value) -> bool:
        field = self.fields[name]
        if value is None:
            return field.allow_null
        # An object in which nothing is sent is not sent itself.
        if isinstance(field, Input) and isinstance(value, dict):
            return bool(field.named(value))
        return True


def each_of(declaration, items: list, *, most: int, **context) -> list[dict]:
    """An array of objects, each as its declaration reads it; or all their flaws."""
    if not items:
        raise Flaw(MISSING)
    if len(items) > most:
        raise Flaw(TOO_MANY, limit=most)
    read, flaws = [], {}
    for number, item in enumerate(items):
        try:
            read.append(declaration(context=context).run_validation(item))
        except ValidationError as flaw:
            flaws[f"[{number}]"] = flaw.detail
    if flaws:
        raise ValidationError(flaws)
    return read


def value_at(data, path: str):
    """`click.id` in an object of objects; None when it is not there."""
    for step in path.split("."):
        data = data.get(step) if isinstance(data, dict) else None
    return data


class Items(OwnRules, serializers.ListField):
    """A list of objects, of a bounded length; an empty one is not sent."""

    def __init__(self, *, child, most, **kwargs):
        super().__init__(child=child, max_length=most, **kwargs)
        self.most = most

    def to_internal_value(self, data):
        if not isinstance(data, list):
            raise Flaw(WRONG_TYPE, type="array")
        if len(data) > self.most:
            raise Flaw(TOO_MANY, limit=self.most)
        return self.run_child_validation(data)
