"""The management command `prune`: delete expired rows and anonymize old ones."""

from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.core.management.base import CommandError
from django.utils import timezone

from accounts.models.accounts import Account
from accounts.models.api_keys import RateWindow
from accounts.services import retention
from accounts.services.accounts import update_settings
from accounts.services.changes import log_event
from accounts.services.command_runs import get_command_runs
from accounts.services.webhooks import create_webhook
from payouts.services.commissions import approve_commission
from payouts.services.statistics import load_statistics
from payouts.services.stored_days import find_stored_days
from tests.command_line import run_command, run_json_command
from tests.ledger_checks import assert_ledger_consistent, snapshot_account
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario
from tracking.models.shops import RefusalReason
from tracking.services.connections import count_refusal, create_connection
from tracking.services.failed_page_calls import record_failed_page_call
from tracking.services.portal_settings import update_portal_settings

DAY = timedelta(days=1)
MINUTE = timedelta(minutes=1)
MONTH = timedelta(days=30)
NOTHING = {
    "rate_windows": 0,
    "attempts": 0,
    "failed_page_calls": 0,
    "idempotency_keys": 0,
    "invitations": 0,
    "deliveries": 0,
    "mails": 0,
    "shop_events": 0,
    "refused_requests": 0,
    "table_uploads": 0,
    "scenarios": 0,
    "portal": 0,
    "changed_days": 0,
    "sign_ins": 0,
    "visitors": 0,
    "refused_claims": 0,
    "clicks": 0,
    "traces": 0,
    "erased": 0,
}


@pytest.fixture(autouse=True)
def pruned(db):
    """Delete rows that tests with real commits have left; the command counts all."""
    RateWindow.objects.all().delete()
    run_command("prune")


@pytest.fixture
def expired_rows(account, other_account):
    """One expired row and one that is not, of each kind and in each account."""
    now = timezone.now()
    for number, age in enumerate((MINUTE, -MINUTE)):
        started_at = now - DAY - age
        RateWindow.objects.create(subject=f"key {number}", started_at=started_at, hits=1)
    for owner, prefix in ((account, ""), (other_account, "zz-marker-")):
        connection = create_connection(owner, kind="stripe", at=now)
        for number, age in enumerate((MINUTE, -MINUTE)):
            count_refusal(connection, RefusalReason.TIME, at=now - (31 - number) * DAY)
            owner.conversion_attempts.create(
                origin="api",
                external_id=f"order-{number}",
                failed_at=now - timedelta(days=30) - age,
                reason="",
            )
            record_failed_page_call(
                owner,
                reason="invalid_amount",
                page=f"https://shop.example.net/{number}",
                at=now - (91 - number) * DAY,
            )
            owner.idempotency_keys.create(
                key=f"k-{number}",
                fingerprint="f",
                status=200,
                body=b"{}",
                created_at=now - DAY - age,
            )
            scenario = ProgramScenario(owner, f"program-{number}", prefix=prefix, email=None)
            click = scenario.create_click(at=now - 90 * DAY - age)
            click.update_row(ip="192.0.2.7", user_agent="Harbor/1")
            owner.visitors.create(
                tracking_id=f"v-{number}", click=click, created_at=now - 400 * DAY - age
            )
    yield account
    assert_ledger_consistent(account, other_account)


def list_values(rows, *columns):
    return list(rows.order_by(columns[0]).values_list(*columns))


def list_remaining(account):
    """List an identifying column of the remaining rows of each kind."""
    clicks = account.clicks.order_by("created_at")
    return {
        "windows": list_values(RateWindow.objects, "subject"),
        "attempts": list_values(account.conversion_attempts, "external_id"),
        "failed_page_calls": list_values(account.failed_page_calls, "page"),
        "refused_requests": account.refused_requests.count(),
        "idempotency_keys": list_values(account.idempotency_keys, "key"),
        "visitors": list_values(account.visitors, "tracking_id"),
        "clicks": list(clicks.values_list("ip", "user_agent")),
    }


EXPIRED = {
    "rate_windows": 1,
    "attempts": 2,
    "failed_page_calls": 2,
    "idempotency_keys": 2,
    "invitations": 0,
    "deliveries": 0,
    "mails": 0,
    "shop_events": 0,
    "refused_requests": 2,
    "table_uploads": 0,
    "scenarios": 0,
    "portal": 0,
    "changed_days": 0,
    "sign_ins": 0,
    "visitors": 2,
    "refused_claims": 0,
    "clicks": 0,
    "traces": 2,
    "erased": 0,
}


def test_deletes_expired_rows_only(expired_rows, other_account):
    assert run_json_command("prune") == EXPIRED
    for account in (expired_rows, other_account):
        assert list_remaining(account) == {
            "windows": [("key 1",)],
            "attempts": [("order-1",)],
            "failed_page_calls": [("https://shop.example.net/1",)],
            "refused_requests": 1,
            "idempotency_keys": [("k-1",)],
            "visitors": [("v-1",)],
            "clicks": [("192.0.2.0", None), ("192.0.2.7", "Harbor/1")],
        }
    assert run_json_command("prune") == NOTHING


def test_dry_run_changes_nothing(expired_rows):
    before = snapshot_account(expired_rows), list_remaining(expired_rows)

    assert run_json_command("prune", "--dry-run") == EXPIRED
    assert (snapshot_account(expired_rows), list_remaining(expired_rows)) == before


def test_prints_a_line_per_kind(expired_rows):
    assert run_command("prune").splitlines() == [
        f"{kind}: {count}" for kind, count in EXPIRED.items()
    ]


def test_deletes_in_batches(expired_rows, monkeypatch, capture_queries):
    monkeypatch.setattr(retention, "DELETE_BATCH_SIZE", 2)
    yesterday = timezone.now() - DAY
    RateWindow.objects.bulk_create(
        RateWindow(subject=f"old {number}", started_at=yesterday, hits=1) for number in range(4)
    )

    with capture_queries() as queries:
        counts = run_json_command("prune")

    deletions = [
        query["sql"]
        for query in queries.captured_queries
        if query["sql"].startswith("DELETE") and "ratewindow" in query["sql"]
    ]
    assert counts["rate_windows"] == 5
    assert len(deletions) == 3


def test_deletes_nothing_in_an_empty_database(db):
    assert run_json_command("prune") == NOTHING


def test_a_deleted_idempotency_key_can_be_used_again(expired_rows, api, account):
    run_command("prune")

    response = api.post(
        "/affiliates/",
        {"firstname": "Mina", "lastname": "Kessler"},
        **{"Idempotency-Key": "k-0"},
    )

    assert response.status_code == 200
    assert "Idempotent-Replayed" not in response


def test_deletes_deliveries_30_days_after_they_finished(account):
    """Pending deliveries are kept unless their endpoint was disabled 30 days ago."""
    now = timezone.now()
    enabled, long_disabled, recently_disabled = (
        create_webhook(account, url=f"https://hooks.example.net/{number}", at=now)
        for number in range(3)
    )
    long_disabled.update_row(disabled_at=now - MONTH - MINUTE)
    recently_disabled.update_row(disabled_at=now - MONTH + MINUTE)
    for endpoint, attempted_at, due_at in (
        (enabled, now - MONTH - MINUTE, None),
        (enabled, now - MONTH + MINUTE, None),
        (enabled, None, now),
        (long_disabled, None, now),
        (recently_disabled, None, now),
    ):
        account.deliveries.create(
            endpoint=endpoint,
            event=log_event(account, "account.locked", account, at=now),
            message_id=f"evt_{account.deliveries.count()}",
            created_at=now - 2 * MONTH,
            attempted_at=attempted_at,
            due_at=due_at,
        )

    assert run_json_command("prune", "--dry-run")["deliveries"] == 2
    assert run_json_command("prune")["deliveries"] == 2

    remaining = account.deliveries.order_by("id").values_list("message_id", flat=True)
    assert list(remaining) == ["evt_1", "evt_2", "evt_4"]


def test_deletes_expired_sessions(account):
    now = timezone.now()
    for key, expires_at in (("old", now - MINUTE), ("new", now + MINUTE)):
        Session.objects.create(session_key=key, session_data="", expire_date=expires_at)

    assert run_json_command("prune")["sign_ins"] == 1

    assert Session.objects.get().session_key == "new"


def test_recalculates_stale_days(account, other_account):
    scenario, later = ProgramScenario(account), timezone.now()
    day = CONVERSION_CREATED_AT.date()
    conversion = scenario.create_conversion("100")
    load_statistics(account, [day, day + DAY], at=later)
    ProgramScenario(other_account, prefix="zz-").create_conversion("1")
    load_statistics(other_account, [day], at=later)
    commission = scenario.get_commission(conversion)
    approve_commission(account, commission_id=commission.pk, at=later)

    assert run_json_command("prune", "--dry-run")["changed_days"] == 1
    assert run_json_command("prune")["changed_days"] == 1

    assert account.stale_days.count() == 0
    (stats,) = account.daily_stats.filter(day=day, conversions=1)
    assert (stats.commissions_approved, stats.commissions_pending) == (10, None)
    assert account.daily_stats.filter(day=day + DAY).count() == 1
    assert other_account.daily_stats.filter(conversions=1).count() == 1


def test_stores_the_recent_days_of_the_present_zone(account, other_account):
    """A page would otherwise count months of days after a change of the zone."""
    now = timezone.now()
    for owner, prefix in ((account, ""), (other_account, "zz-")):
        scenario = ProgramScenario(owner, prefix=prefix)
        scenario.create_conversion("100", at=now - 100 * DAY)
    run_command("prune", "--dry-run")
    assert not account.daily_stats.exists()

    run_command("prune")
    update_settings(account, changes={"time_zone": "Asia/Kolkata"}, at=now)
    run_command("prune")

    account.refresh_from_db()
    days = [account.get_day(now - number * DAY) for number in range(2, 101)]
    assert find_stored_days(account, days).keys() == set(days)
    other_days = other_account.daily_stats.filter(time_zone="UTC").values("day")
    assert other_days.distinct().count() >= len(days)


def test_deletes_marks_of_days_without_statistics(account):
    scenario, later = ProgramScenario(account), timezone.now()
    commission = scenario.get_commission(scenario.create_conversion("100"))
    approve_commission(account, commission_id=commission.pk, at=later)

    assert run_json_command("prune")["changed_days"] == 1

    assert not account.stale_days.exists()


def test_queues_mail_about_new_sales(account, scenario, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    update_portal_settings(account, changes={"is_on": True}, at=timezone.now())
    affiliate = scenario.mina.affiliate
    affiliate.update_row(email="mina@notes.example", notices={"new_sales": True})
    scenario.create_conversion("100", at=timezone.now() - DAY)
    run_json_command("prune", "--dry-run")
    assert not account.mails.exists()
    for _ in range(2):
        run_json_command("prune")
    mail = account.mails.get()
    assert mail.kind == "new_sales"
    assert f"/partners/{account.slug}/sales/\n" in mail.text


def test_an_error_of_one_account_is_logged_and_the_others_go_on(account, other_account, caplog):
    """A time zone that nobody knows: what a foreign file may have brought."""
    Account.objects.filter(pk=account.pk).update(time_zone="Mars/Base")
    ran_at = get_command_runs()["prune"]
    now = timezone.now()
    for own in (account, other_account):
        own.conversion_attempts.create(external_id="x", failed_at=now - 31 * DAY)

    with pytest.raises(CommandError, match=rf"not for all accounts.*: {account.slug}$"):
        run_command("prune")

    assert not other_account.conversion_attempts.exists()
    assert not account.conversion_attempts.exists()
    assert f"prune failed for {account.slug}" in caplog.text
    assert f"failed for {other_account.slug}" not in caplog.text
    assert get_command_runs()["prune"] == ran_at
