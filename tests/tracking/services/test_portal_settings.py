"""The settings of the portal: off by default, and logged without their values."""

from datetime import date

import pytest

from accounts.errors import InvalidSetting
from tests.conftest import NOW
from tracking.models.portal import OrderIds, PortalSettings
from tracking.services.portal_settings import (
    find_next_payout_day,
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


@pytest.mark.parametrize(
    ("payout_day", "today", "expected"),
    [
        (1, date(2026, 11, 25), date(2026, 12, 1)),
        (25, date(2026, 11, 25), date(2026, 11, 25)),
        (24, date(2026, 12, 31), date(2027, 1, 24)),
        (28, date(2027, 1, 29), date(2027, 2, 28)),
        (None, date(2026, 11, 25), None),
    ],
)
def test_finds_the_next_day_of_payments(payout_day, today, expected):
    settings = PortalSettings(payout_day=payout_day)
    assert find_next_payout_day(settings, today=today) == expected


@pytest.mark.parametrize("day", [0, 29])
def test_refuses_a_day_that_some_month_does_not_have(account, day):
    with pytest.raises(InvalidSetting, match="The day must be from 1 to 28"):
        update_portal_settings(account, changes={"payout_day": day}, at=NOW)


@pytest.mark.parametrize(
    "name", ["a@b.example", "=?utf-8?q?evil?=", "Harbor\nBcc: x", "Har\u202ebor"]
)
def test_refuses_a_sender_that_shows_as_another(account, name):
    with pytest.raises(InvalidSetting, match="The sender must be one line without @"):
        update_portal_settings(account, changes={"sender_name": name}, at=NOW)
    assert get_portal_settings(account).sender_name is None
    update_portal_settings(account, changes={"sender_name": "Häfen & Co"}, at=NOW)
    assert get_portal_settings(account).sender_name == "Häfen & Co"
