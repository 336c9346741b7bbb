"""`manage.py doctor`: each check with what it accepts, warns about and refuses."""

import json
import re
from collections import namedtuple
from datetime import timedelta
from types import SimpleNamespace

import httpx
import pytest
from django.core import signing
from django.core.management import CommandError
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client, override_settings
from django.utils import timezone
from django_otp.plugins.otp_totp.models import TOTPDevice

from accounts.append_only import get_trigger_names
from accounts.models.accounts import Account
from accounts.models.audit_log import AuditLogEntry, CommandRun
from accounts.models.users import User
from accounts.models.webhooks import WebhookEndpoint
from accounts.replica import UnusableReplica
from accounts.services.command_runs import (
    WORKER_NAME,
    get_command_runs,
    record_command_run,
)
from accounts.services.staff import create_staff_user
from accounts.services.webhooks import create_webhook
from affiliate_site.operations import (
    database_checks,
    doctor,
    feature_checks,
    health,
)
from payouts.services.scenarios import create_scenario
from payouts.services.statistics import store_past_days
from payouts.statistics import Period
from tests.command_line import (
    run_command,
    run_json_command,
    run_manage_py,
)
from tests.conftest import NOW
from tests.factories.tracking import AffiliateFactory
from tests.program_scenario import ProgramScenario
from tracking.services.connections import create_connection
from tracking.services.inbox import Envelope, store_event
from tracking.services.mails import queue_mail

Disk = namedtuple("Disk", "total used free")
STRONG_SECRET = "k3-Fq" * 12
NIGHTLY = ("prune", "grant_bonuses", "check_ledger")


@pytest.fixture(autouse=True)
def installation(settings, monkeypatch):
    """Settings of an installation that is in order."""
    monkeypatch.setattr(health, "_migrated", set())
    settings.SECRET_KEY = STRONG_SECRET
    settings.PUBLIC_URL = "https://aff.example.net"
    settings.ALLOWED_HOSTS = ["aff.example.net", "testserver"]
    settings.TRUSTED_PROXY_COUNT = 1
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.DEFAULT_FROM_EMAIL = "post@aff.example.net"
    disk = Disk(total=1000, used=500, free=500)
    monkeypatch.setattr("shutil.disk_usage", lambda path: disk)
    archived_at = timezone.now() - timedelta(minutes=1)
    archiver = ("on", archived_at, None)
    monkeypatch.setattr(database_checks, "read_archiver", lambda: archiver)
    monkeypatch.setattr(feature_checks, "find_unprintable", lambda text: "")
    return settings


@pytest.fixture
def nightly_runs(db):
    """Nightly commands, and the worker, which webhooks of other tests may need."""
    for name in (*NIGHTLY, "backup", WORKER_NAME):
        record_command_run(name, at=timezone.now())


@pytest.fixture
def no_runs(db):
    """Forget what tests of other processes have committed."""
    CommandRun.objects.all().delete()


def get_finding(name, at=None, **options):
    return doctor.run_doctor(at=at or timezone.now(), **options)[name]


def get_status(name, at=None):
    return get_finding(name, at).status


def test_finds_nothing_wrong_with_an_installation_in_order(nightly_runs, scenario):
    scenario.create_conversion("100")
    for _ in store_past_days(scenario.account, at=timezone.now()):
        pass

    lines = run_command("doctor").splitlines()
    result = run_json_command("doctor")

    assert [line.split(":")[0].split() for line in lines] == [
        ["OK", name] for name in doctor.CHECKS
    ]
    assert result["ok"] is True
    assert [list(check) for check in result["checks"]] == [
        ["name", "status", "detail", "advice"]
    ] * len(lines)
    assert {check["status"] for check in result["checks"]} == {"ok"}
    assert {check["advice"] for check in result["checks"]} == {""}


def test_exits_with_1_and_says_what_to_do(nightly_runs, installation, capsys):
    installation.DEBUG = True

    for arguments in [(), ("--json",)]:
        with pytest.raises(SystemExit) as error:
            run_command("doctor", *arguments)
        assert error.value.code == 1


def test_a_warning_is_no_failure(nightly_runs, installation):
    installation.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"

    assert "warning  email: not configured" in run_command("doctor")
    assert run_json_command("doctor")["ok"] is True


def test_startup_runs_only_what_must_hold(db):
    names = [check["name"] for check in run_json_command("doctor", "--startup")["checks"]]

    assert sorted(names) == sorted(doctor.STARTUP_CHECKS)


SETTINGS = [
    ("secret_key", {"SECRET_KEY": "short"}, "failure"),
    ("secret_key", {"SECRET_KEY_FALLBACKS": ["short"]}, "failure"),
    ("debug", {"DEBUG": True}, "failure"),
    ("public_url", {"PUBLIC_URL": "http://aff.example.net"}, "failure"),
    ("public_url", {"TRUSTED_PROXY_COUNT": 0}, "failure"),
    ("public_url", {"ALLOWED_HOSTS": ["other.example.net"]}, "failure"),
    (
        "public_url",
        {"PUBLIC_URL": "http://127.0.0.1:8000", "ALLOWED_HOSTS": ["127.0.0.1"]},
        "warning",
    ),
    (
        "public_url",
        {"PUBLIC_URL": "http://[::1]:8000", "ALLOWED_HOSTS": ["[::1]"]},
        "warning",
    ),
    (
        "email",
        {"EMAIL_BACKEND": "django.core.mail.backends.dummy.EmailBackend"},
        "warning",
    ),
    ("email", {"DEFAULT_FROM_EMAIL": "affiliate-site@localhost"}, "warning"),
]


@pytest.mark.engine_independent
def test_judges_settings(subtests):
    for name, changes, status in SETTINGS:
        with subtests.test(name, **changes), override_settings(**changes):
            finding = doctor.CHECKS[name](NOW)
            assert finding.status == status
            assert finding.advice


def test_reports_a_failing_system_check(monkeypatch):
    from django.core import checks

    error = checks.Error("Nothing works.", hint="Mend it.", id="affiliate_site.E999")
    monkeypatch.setattr(checks, "run_checks", lambda **options: [error])

    assert doctor.check_settings(NOW) == doctor.Finding(
        "failure", "affiliate_site.E999: Nothing works.", "Mend it."
    )


def test_misses_static_files_that_were_not_collected(monkeypatch, settings, tmp_path):
    settings.STATIC_ROOT = tmp_path
    settings.STORAGES = {
        "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"}
    }

    finding = doctor.check_static_files(NOW)

    assert finding.status == "failure"
    assert finding.advice == "run manage.py collectstatic --noinput"


def test_warns_about_a_disk_that_fills_up(monkeypatch):
    statuses = []
    for free in (200, 100, 40):
        disk = Disk(total=1000, used=1000 - free, free=free)
        monkeypatch.setattr("shutil.disk_usage", lambda path, disk=disk: disk)
        statuses.append(doctor.check_disk(NOW).status)

    full = "failure" if connection.vendor == "sqlite" else "warning"
    assert statuses == ["ok", "warning", full]


def test_leaves_out_what_needs_an_absent_database(db, monkeypatch):
    def fail(*args):
        raise OperationalError("connection refused")

    with monkeypatch.context() as patch:
        patch.setattr(connection, "ensure_connection", fail)
        findings = doctor.run_doctor(at=NOW)

    assert findings["database"] == doctor.Finding(
        "failure",
        "OperationalError: connection refused",
        "check DATABASE_URL and the log of the database",
    )
    assert list(findings)[-2:] == ["database", "redis"]


def test_refuses_an_old_database(db, monkeypatch):
    monkeypatch.setitem(database_checks.MIN_VERSIONS, connection.vendor, (99,))

    assert get_finding("database").detail.endswith("is too old")


def test_leaves_out_what_needs_missing_tables(db):
    MigrationRecorder.Migration.objects.filter(app="accounts").last().delete()

    findings = doctor.run_doctor(at=NOW)

    assert findings["migrations"] == doctor.Finding(
        "failure", "unapplied migrations", "run manage.py migrate"
    )
    assert {"triggers", "ledger", "webhook_worker", *NIGHTLY}.isdisjoint(findings)
    assert "clock" in findings


def test_counts_whom_a_factor_that_is_off_does_not_protect(scenario, settings):
    owner, _ = create_staff_user(
        scenario.account,
        email="owner@harbor.example.org",
        role="owner",
        password=None,
        at=timezone.now(),
    )
    TOTPDevice.objects.create(user=owner, name="Code")
    TOTPDevice.objects.create(user=owner, name="Other")
    finding = feature_checks.check_second_factor(timezone.now())
    assert (finding.status, finding.detail) == (
        "ok",
        "asked of those who have set it up: 1 people",
    )

    settings.STAFF_OTP = False
    finding = feature_checks.check_second_factor(timezone.now())

    assert finding.status == "warning"
    assert "the password alone signs in 1 people" in finding.detail
    TOTPDevice.objects.update(confirmed=False)
    assert feature_checks.check_second_factor(timezone.now()).status == "ok"


def test_misses_the_library_that_prints(monkeypatch):
    assert feature_checks.check_pdf(timezone.now()).status == "ok"
    missing = "\u4e2d\u3042\ud55c"
    monkeypatch.setattr(feature_checks, "find_unprintable", missing.count)
    finding = feature_checks.check_pdf(timezone.now())
    assert (finding.status, finding.detail) == (
        "warning",
        "no font prints Chinese, Japanese, Korean: PDFs with such names are refused",
    )
    monkeypatch.setattr(feature_checks, "list_printable", lambda: b"")
    finding = feature_checks.check_pdf(timezone.now())
    assert (finding.status, finding.advice) == (
        "warning",
        "apt-get install fontconfig",
    )
    monkeypatch.setattr(feature_checks, "find_weasyprint", lambda: None)

    finding = feature_checks.check_pdf(timezone.now())

    assert (finding.status, "libpango" in finding.advice) == ("warning", True)


def test_misses_a_directory_for_banners(settings, tmp_path):
    settings.CREATIVES_DIR = tmp_path / "var" / "creatives"
    assert doctor.check_creatives(NOW).status == "ok"
    (tmp_path / "var").write_text("")
    finding = doctor.check_creatives(NOW)
    assert finding.status == "warning"
    assert finding.detail == f"{settings.CREATIVES_DIR} cannot be written"


@pytest.mark.skipif(connection.vendor != "sqlite", reason="needs SQLite")
def test_refuses_a_volatile_sqlite(committed_db):
    connection.ensure_connection()
    connection.connection.execute("PRAGMA synchronous = OFF")
    try:
        assert get_status("durability") == "failure"
    finally:
        connection.connection.execute("PRAGMA synchronous = FULL")


@pytest.mark.skipif(connection.vendor != "postgresql", reason="needs PostgreSQL")
def test_refuses_a_volatile_postgresql(db):
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL synchronous_commit = off")

    assert get_status("durability") == "failure"


@pytest.mark.skipif(connection.vendor != "postgresql", reason="needs PostgreSQL")
def test_wants_time_limits_of_the_role_behind_pgbouncer(db, settings):
    assert get_status("time_limits") == "ok"
    settings.PGBOUNCER = True
    # The WSGI module, which other tests import, sets it for all later sessions.
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")

    finding = get_finding("time_limits")

    assert finding.status == "failure"
    assert "SET statement_timeout = '10s';" in finding.advice
    assert "lock_timeout" not in finding.advice


def test_finds_a_missing_trigger_and_a_table_that_accepts_changes(scenario):
    scenario.create_conversion("100")
    table = AuditLogEntry._meta.db_table
    suffix = "" if connection.vendor == "sqlite" else f" ON {table}"
    with connection.cursor() as cursor:
        for name in get_trigger_names(table):
            cursor.execute(f"DROP TRIGGER {name}{suffix}")
    before = AuditLogEntry.objects.count()

    finding = get_finding("triggers")

    assert finding.status == "failure"
    assert f"{table}_no_update: no trigger" in finding.detail
    assert f"{table} accepts UPDATE" in finding.detail
    assert AuditLogEntry.objects.count() == before


@pytest.mark.parametrize(
    ("mode", "archived", "failed", "status", "detail"),
    [
        ("off", None, None, "warning", "archives no log"),
        ("on", None, None, "warning", "no log was archived"),
        ("on", 40, 50, "warning", "no log was archived since"),
        ("on", 1, 2, "ok", "base backups are not checked"),
        ("always", 2, 1, "failure", "could not be archived"),
        ("on", None, 1, "failure", "could not be archived"),
    ],
)
def test_judges_the_archive(monkeypatch, mode, archived, failed, status, detail):
    times = [hours and NOW - timedelta(hours=hours) for hours in (archived, failed)]
    monkeypatch.setattr(database_checks, "read_archiver", lambda: (mode, *times))

    finding = database_checks.check_archive(NOW)

    assert (finding.status, detail in finding.detail) == (status, True)


@pytest.mark.skipif(connection.vendor == "sqlite", reason="has no archive")
def test_reads_the_archive_of_postgresql(db, monkeypatch):
    monkeypatch.undo()

    assert database_checks.read_archiver()[0] in ("on", "off", "always")


def test_refuses_a_challenge_that_cannot_be_called(db, settings):
    settings.PORTAL_CHALLENGE = "tests.nowhere.check"
    finding = get_finding("settings")
    assert (finding.status, "PORTAL_CHALLENGE" in finding.detail) == ("failure", True)

    settings.PORTAL_CHALLENGE = "django.utils.timezone.now"
    assert get_finding("settings").status == "ok"


def test_compares_the_clock_with_the_database(db, monkeypatch):
    statuses = []
    for seconds in (0, -10, 7200):
        now = timezone.now() + timedelta(seconds=seconds)
        monkeypatch.setattr(database_checks, "get_database_time", lambda now=now: now)
        statuses.append(database_checks.check_clock(NOW).status)

    assert statuses == ["ok", "warning", "failure"]


def test_names_accounts_with_discrepancies(account):
    Account.objects.filter(pk=account.pk).update(discrepancy_count=2)

    assert get_finding("ledger").detail == "discrepancies in harbor"
    assert get_status("ledger") == "failure"


def test_wants_a_worker_only_if_there_are_webhooks(account):
    # Other tests commit webhooks.
    WebhookEndpoint.objects.update(disabled_at=NOW)
    record_command_run("deliver_webhooks", at=NOW - timedelta(days=1))
    assert get_status("webhook_worker", NOW) == "ok"

    create_webhook(account, url="https://hooks.example.net/", at=NOW)

    assert get_status("webhook_worker", NOW) == "failure"
    record_command_run("deliver_webhooks", at=NOW - timedelta(minutes=4))
    assert get_status("webhook_worker", NOW) == "ok"
    assert get_status("webhook_worker", NOW + timedelta(minutes=2)) == "failure"


def test_wants_a_worker_if_events_of_shops_wait(account, no_runs):
    WebhookEndpoint.objects.update(disabled_at=NOW)
    shop = create_connection(account, kind="stripe", at=NOW)
    store_event(shop, Envelope("evt_1", "customer.created", NOW, "{}"), at=NOW)

    assert get_finding("webhook_worker", NOW).detail == (
        "no worker has ever run; 0 deliveries wait, and mails: 0, events of shops: 1, scenarios: 0"
    )


def test_wants_a_worker_and_a_mail_server_if_mail_waits(account, settings):
    WebhookEndpoint.objects.update(disabled_at=NOW)
    record_command_run("deliver_webhooks", at=NOW - timedelta(days=1))
    affiliate = AffiliateFactory(account=account, email="mina@notes.example.org")
    queue_mail(affiliate, kind="payment", about="pa_1", subject="x", text="y", at=NOW)
    finding = get_finding("webhook_worker", NOW)
    assert finding.status == "failure"
    assert finding.detail.startswith("no worker has run since ")
    assert finding.detail.endswith(
        " deliveries wait, and mails: 1, events of shops: 0, scenarios: 0"
    )
    record_command_run("deliver_webhooks", at=NOW)
    assert get_status("webhook_worker", NOW) == "ok"
    account.mails.update(error="no connection: ConnectionRefusedError")
    assert get_finding("webhook_worker", NOW).detail == (
        "mails wait for the mail server: 1; no connection: ConnectionRefusedError"
    )
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    assert get_finding("webhook_worker", NOW).detail == ("mails wait for a mail server: 1")


def test_names_scenarios_that_wait_too_long(scenario, no_runs):
    WebhookEndpoint.objects.update(disabled_at=NOW)
    account, today = scenario.account, NOW.date()
    changes = {"programs": {scenario.program.slug: {"hold_days": 3}}}
    period = Period(today, today)
    row = create_scenario(account, period=period, changes=changes, describe=str, at=NOW)
    assert get_status("webhook_worker", NOW) == "ok"  # its page calculates it
    later = NOW + timedelta(hours=1)

    assert get_finding("webhook_worker", later).detail.endswith("events of shops: 0, scenarios: 1")
    record_command_run("deliver_webhooks", at=later)
    assert get_finding("webhook_worker", later).detail == (
        f"scenarios wait for more than 1:00:00: 1 ({account}/{row})"
    )
    assert get_status("webhook_worker", later - timedelta(seconds=1)) == "ok"


def test_warns_about_nightly_commands_until_they_ran(no_runs):
    for name in (*NIGHTLY, *(["backup"] if connection.vendor == "sqlite" else [])):
        assert get_status(name, NOW) == "warning"
        record_command_run(name, at=NOW)
        assert get_status(name, NOW + timedelta(hours=36)) == "ok"
        assert get_status(name, NOW + timedelta(hours=37)) == "failure"


def test_wants_backups_of_the_embedded_database_only(no_runs):
    expected = "warning" if connection.vendor == "sqlite" else "ok"
    assert get_status("backup") == expected


def test_commands_record_their_success(scenario, no_runs):
    run_command("prune", "--dry-run")
    run_command("check_ledger")
    run_command("check_ledger", "--note", "harbor")
    run_command("grant_bonuses", "harbor")
    assert get_command_runs() == {}

    started = timezone.now()
    run_command("prune")
    run_command("check_ledger", "--note")
    run_command("grant_bonuses")
    run_command("deliver_webhooks", "--once")

    runs = get_command_runs()
    assert set(runs) == {*NIGHTLY, "deliver_webhooks", "watches"}
    assert all(started <= ran_at <= timezone.now() for ran_at in runs.values())


def test_a_failed_run_is_no_success(account, no_runs, monkeypatch):
    def fail(*args, **kwargs):
        raise OperationalError("away")

    command = "payouts.management.commands.grant_bonuses.grant_bonuses"
    monkeypatch.setattr(command, fail)

    with pytest.raises(CommandError, match="harbor"):
        run_command("grant_bonuses")

    assert get_command_runs() == {}


# The probe: `X-Doctor` is signed with the secret key.


def ask_healthz(value, **headers):
    return Client().get("/healthz", headers={"X-Doctor": value, **headers}).json()


def test_shows_a_signed_probe_what_the_service_sees(installation):
    installation.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

    seen = ask_healthz(
        health.sign_probe(),
        **{
            "Host": "aff.example.net",
            "X-Forwarded-For": "192.0.2.1, 203.0.113.9",
            "X-Forwarded-Proto": "https",
        },
    )

    assert seen == {
        "status": "ok",
        "request": {
            "scheme": "https",
            "host": "aff.example.net",
            "address": "203.0.113.9",
        },
    }


def test_shows_nothing_without_a_valid_signature(monkeypatch):
    value = health.sign_probe()
    monkeypatch.setattr(health, "PROBE_SECONDS", -1)
    for invalid in ("", "x", value, signing.dumps("probe"), value[:-1]):
        assert ask_healthz(invalid) == {"status": "ok"}


def answer(monkeypatch, response):
    def get(url, headers, **options):
        answer.headers = headers
        if isinstance(response, Exception):
            raise response
        return response

    monkeypatch.setattr(httpx, "get", get)


def describe(**seen):
    request = {
        "scheme": "https",
        "host": "aff.example.net",
        "address": "203.0.113.9",
    } | seen
    return httpx.Response(200, text=json.dumps({"status": "ok", "request": request}))


PROBES = [
    (describe(), "ok"),
    (describe(scheme="http"), "failure"),
    (describe(host="127.0.0.1:8000"), "failure"),
    (describe(address=doctor.FORGED_ADDRESS), "failure"),
    (httpx.Response(200, text='{"status": "ok"}'), "failure"),
    (httpx.Response(502, text="<html>"), "failure"),
    (httpx.ConnectError("refused"), "failure"),
]


@pytest.mark.engine_independent
def test_compares_what_a_probe_sees(monkeypatch, subtests):
    for response, status in PROBES:
        with subtests.test(response=response):
            answer(monkeypatch, response)
            finding = doctor.check_proxy_headers("https://aff.example.net/readyz")
            assert finding.status == status
            assert bool(finding.advice) == (status != "ok")
    assert answer.headers["X-Forwarded-Proto"] == "http"
    assert answer.headers["X-Forwarded-For"] == doctor.FORGED_ADDRESS


def test_probes_only_if_asked(nightly_runs, monkeypatch):
    answer(monkeypatch, describe())

    assert "proxy_headers" not in run_command("doctor")
    assert "OK       proxy_headers: https://aff.example.net" in run_command(
        "doctor", "--probe", "https://aff.example.net"
    )


@pytest.mark.engine_independent
def test_refuses_a_probe_of_no_url():
    for url in ("aff.example.net", "ftp://aff.example.net", "https://"):
        assert doctor.check_proxy_headers(url).status == "failure"


@pytest.mark.skipif(connection.vendor != "sqlite", reason="about the SQLite file")
def test_names_a_missing_database(tmp_path, db, monkeypatch):
    monkeypatch.setitem(connection.settings_dict, "NAME", tmp_path / "db.sqlite3")

    finding = doctor.check_database(NOW)

    assert finding.status == "failure"
    assert finding.detail == f"there is no {tmp_path}/db.sqlite3"


@pytest.mark.integration
@pytest.mark.engine_independent
def test_does_not_create_a_database(tmp_path):
    """In a process of its own: nothing else of it opens the database either."""
    file = tmp_path / "db.sqlite3"

    result = run_manage_py("doctor", database=file)

    assert result.exit_code == 1
    assert f"failure  database: there is no {file} -> run manage.py migrate" in (result.stdout)
    assert list(tmp_path.iterdir()) == []


# The replica; with a real one: tests/deploy/test_machines.py


def test_days_must_not_wait_long_for_their_statistics(account):
    ProgramScenario(account).create_click(at=NOW - timedelta(days=40))
    assert get_status("statistics", NOW) == "ok"
    assert re.search(r"counted: 4[01]$", get_finding("statistics", NOW).detail)

    finding = get_finding("statistics", NOW + timedelta(days=100))

    assert finding.status == "warning"
    assert re.search(f"counted: {account.slug}: 14[01]$", finding.detail)


@pytest.mark.parametrize(
    ("found", "status", "detail"),
    [
        (512, "ok", "512 bytes behind the primary"),
        (1 << 30, "warning", "1073741824 bytes behind the primary"),
        (UnusableReplica("it is a primary"), "failure", "it is a primary"),
        (OperationalError("refused"), "failure", "OperationalError: refused"),
    ],
)
def test_judges_the_replica(monkeypatch, found, status, detail):
    def get_lag_bytes():
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr(database_checks, "get_lag_bytes", get_lag_bytes)
    databases = SimpleNamespace(DATABASES={"default": {}, "replica": {}})
    monkeypatch.setattr(database_checks, "settings", databases)

    finding = database_checks.check_replica(NOW)

    assert (finding.status, finding.detail) == (status, detail)
    assert bool(finding.advice) is (status != "ok")


def test_names_who_has_the_mailbox_of_another_one(account, other_account, monkeypatch):
    AffiliateFactory(account=account, email_folded="a@x.test")
    assert get_finding("addresses").status == "ok"
    quoted = AffiliateFactory(account=account, email_folded='"a"@x.test')
    AffiliateFactory(account=account, email_folded='"b"@x.test', deleted_at=NOW)
    AffiliateFactory(account=other_account, email_folded="ä@x.test")
    user = User.objects.create(account=other_account, email="a@ä.test", created_at=NOW)

    finding = get_finding("addresses")

    assert (finding.status, finding.detail) == (
        "warning",
        "the mailbox is that of another one, too:"
        f" {account}: affiliate {quoted.pk}; {other_account}: staff user {user.pk}",
    )
    monkeypatch.setattr(database_checks, "MAX_NAMED", 1)
    assert get_finding("addresses").detail.endswith(f"{quoted.pk}; and others")


def test_lists_the_own_hosts_of_portals(account, other_account, settings):
    assert get_finding("portal_hosts").detail == "no portal has one"
    settings.PUBLIC_URL = "https://aff.example.com"
    settings.ALLOWED_HOSTS = ["aff.example.com", "a.example"]
    account.portal_settings.create(host="a.example")
    finding = get_finding("portal_hosts")
    assert (finding.status, finding.detail) == ("ok", f"{account} at a.example")

    # Set before hosts were the operator's.
    for host in ("aff.example.com:8443", "a.example", "b.example"):
        other_account.portal_settings.all().delete()
        other_account.portal_settings.create(host=host)
        finding = get_finding("portal_hosts")
        assert finding.status == "warning"
        assert f"{other_account} at {host}: " in finding.detail
        assert "set_portal_host" in finding.advice
