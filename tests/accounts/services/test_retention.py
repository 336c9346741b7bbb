"""The exact moments at which rows expire (docs/reliability.md, section 8)."""

from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session

from accounts.models.api_keys import RateWindow
from accounts.services.changes import log_event
from accounts.services.retention import (
    delete_expired_deliveries,
    delete_expired_idempotency_keys,
    delete_expired_rate_windows,
    delete_expired_sessions,
)
from accounts.services.webhooks import create_webhook
from tests.conftest import NOW

DAY = timedelta(days=1)
MONTH = 30 * DAY
MICROSECOND = timedelta(microseconds=1)

BOUNDARY = pytest.mark.parametrize(
    ("age", "is_deleted"),
    [(MICROSECOND, True), (0 * MICROSECOND, True), (-MICROSECOND, False)],
    ids=["just-after", "exact-end", "just-before"],
)


@BOUNDARY
def test_deletes_rate_windows_after_a_day(db, age, is_deleted):
    window = RateWindow.objects.create(subject="key", started_at=NOW - DAY - age, hits=1)

    delete_expired_rate_windows(at=NOW, dry_run=False)

    assert RateWindow.objects.filter(pk=window.pk).exists() is not is_deleted


@BOUNDARY
def test_deletes_idempotency_keys_after_24_hours(account, age, is_deleted):
    account.idempotency_keys.create(
        key="k", fingerprint="f", status=200, body=b"{}", created_at=NOW - DAY - age
    )

    delete_expired_idempotency_keys(account, at=NOW, dry_run=False)

    assert account.idempotency_keys.exists() is not is_deleted


@BOUNDARY
def test_deletes_sessions_when_they_expire(db, age, is_deleted):
    session = Session.objects.create(session_key="s", session_data="", expire_date=NOW - age)

    delete_expired_sessions(at=NOW, dry_run=False)

    assert Session.objects.filter(pk=session.pk).exists() is not is_deleted


@BOUNDARY
@pytest.mark.parametrize("column", ["attempted_at", "disabled_at", "created_at"])
def test_deletes_deliveries_after_30_days(account, column, age, is_deleted):
    """All times of a delivery that is not due any more are older, except one."""
    times = dict.fromkeys(("attempted_at", "disabled_at", "created_at"), NOW - 2 * MONTH)
    times[column] = NOW - MONTH - age
    endpoint = create_webhook(account, url="https://hooks.example.net/", at=NOW)
    if column == "disabled_at":
        endpoint.update_row(disabled_at=times["disabled_at"])
    account.deliveries.create(
        endpoint=endpoint,
        event=log_event(account, "account.locked", account, at=NOW),
        message_id="evt",
        created_at=times["created_at"],
        attempted_at=None if column == "disabled_at" else times["attempted_at"],
        due_at=NOW if column == "disabled_at" else None,
    )

    delete_expired_deliveries(account, at=NOW, dry_run=False)

    assert account.deliveries.exists() is not is_deleted
