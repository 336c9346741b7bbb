"""Custom fields: create, change and delete."""

import pytest

from accounts.errors import InvalidSetting, InvalidSlug
from tests.conftest import NOW
from tracking.errors import CustomFieldNotFound, DuplicateCustomField
from tracking.services.custom_fields import (
    create_custom_field,
    delete_custom_field,
    update_custom_field,
)


def add_field(account, **values):
    defaults = {"slug": "website", "title": "Your website", "type": "url"}
    return create_custom_field(account, at=NOW, **(defaults | values))


def test_creates_changes_and_deletes(account):
    field = add_field(account, type="select", options=["S", "L"], slug="size")

    update_custom_field(
        account,
        pk=field.pk,
        changes={"title": "Size", "options": ["S", "M", "L"], "required": True},
        at=NOW,
    )

    stored = account.field_definitions.get()
    assert (stored.title, stored.options, stored.required) == (
        *("Size", ["S", "M", "L"]),
        True,
    )
    delete_custom_field(account, pk=field.pk, at=NOW)
    assert not account.field_definitions.exists()
    assert [entry.kind for entry in account.audit_log.order_by("pk")] == [
        "custom_field.created",
        "custom_field.updated",
        "custom_field.deleted",
    ]
    with pytest.raises(CustomFieldNotFound):
        delete_custom_field(account, pk=field.pk, at=NOW)


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"slug": "Your Website"}, InvalidSlug),
        ({"title": " "}, InvalidSetting),
        ({"title": "x" * 256}, InvalidSetting),
        ({"type": "select"}, InvalidSetting),
        ({"options": ["S"]}, InvalidSetting),
        ({"type": "select", "options": ["S", "S"]}, InvalidSetting),
        ({"type": "select", "options": [str(i) for i in range(51)]}, InvalidSetting),
        ({"type": "select", "options": ["x" * 256]}, InvalidSetting),
    ],
)
def test_refuses_an_invalid_field(account, values, error):
    with pytest.raises(error):
        add_field(account, **values)

    assert not account.field_definitions.exists()


def test_ids_are_unique_in_an_account(account, other_account):
    add_field(account)
    add_field(other_account)

    with pytest.raises(DuplicateCustomField):
        add_field(account)
