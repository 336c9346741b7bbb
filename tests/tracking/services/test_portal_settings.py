"""The settings of the portal: off by default, and logged without their values."""

from tests.conftest import NOW
from tracking.models.portal import OrderIds
from tracking.services.portal_settings import (
    get_portal_settings,
    update_portal_settings,
)


def list_logged_fields(account):
    entries = account.audit_log.filter(kind="portal.set").order_by("id")
    return [entry.details["fields"] for entry in entries]


def test_is_off_by_default(account):
    settings = get_portal_settings(account)
    assert settings.pk is None
    assert (settings.is_on, settings.is_open, settings.welcome_text) == (
        False,
        False,
        "",
    )
    assert settings.order_ids == OrderIds.LAST_FOUR


def test_logs_what_changed_without_the_values(account, other_account):
    changes = {"is_on": True, "welcome_text": "Welcome aboard"}
    update_portal_settings(account, changes=changes, at=NOW)
    update_portal_settings(account, changes=changes, at=NOW)
    update_portal_settings(account, changes={"order_ids": OrderIds.NONE}, at=NOW)
    settings = get_portal_settings(account)
    assert (settings.is_on, settings.order_ids) == (True, OrderIds.NONE)
    assert list_logged_fields(account) == [["is_on", "welcome_text"], ["order_ids"]]
    assert "aboard" not in str(list(account.audit_log.values()))
    assert not get_portal_settings(other_account).is_on
