"""The checks of `manage.py doctor`: is this installation set up and maintained?

Each check returns one `Finding` and changes nothing. gunicorn runs `STARTUP_CHECKS`
before it serves requests.
"""

import os
import shutil
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit  # noqa: TID251 - addresses of the operator

import httpx
from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.contrib.staticfiles.storage import staticfiles_storage
from django.core import checks
from django.db import DatabaseError, InterfaceError, connection
from django.http.request import validate_host

from accounts.encryption import WrongEncryptionKey
from accounts.errors import DomainError
from accounts.models.accounts import Account
from accounts.services.accounts import list_accounts
from accounts.services.command_runs import (
    WORKER_NAME,
    get_command_runs,
    is_worker_alive,
)
from accounts.services.deliveries import count_pending_deliveries, has_enabled_endpoints
from accounts.services.notifications import can_send_mail
from accounts.services.queues import count_waiting_rows
from affiliate_site.operations.account_deletion import check_deletions
from affiliate_site.operations.database_checks import (
    MAX_NIGHTLY_AGE,
    check_addresses,
    check_archive,
    check_clock,
    check_database,
    check_durability,
    check_redis,
    check_replica,
    check_time_limits,
    check_triggers,
    check_unapplied_migrations,
)
from affiliate_site.operations.feature_checks import (
    check_email,
    check_pdf,
    check_second_factor,
)
from affiliate_site.operations.findings import FAILURE, OK, WARNING, Finding
from affiliate_site.operations.health import (
    MIN_FREE_DISK_SHARE,
    PROBE_HEADER,
    sign_probe,
)
from payouts.services.encryption import has_values_to_rotate
from payouts.services.scenarios import LEASE, list_waiting_scenarios
from payouts.services.statistics import list_missing_days
from tracking.models.mails import Mail
from tracking.models.shops import ShopEvent
from tracking.services.mails import find_connection_error
from tracking.services.portal_settings import (
    list_portals_with_host,
    validate_portal_host,
)

LOW_DISK_SHARE = 0.15
LOOPBACK = ("127.0.0.1", "localhost", "::1")
PROBE_TIMEOUT_SECONDS = 5
MAX_SCENARIO_WAIT = timedelta(hours=1)
MAX_SCENARIOS_NAMED = MAX_ACCOUNTS_NAMED = 10
MAX_MISSING_DAYS = 100  # that pages count in time, if they are asked for
MAX_DECRYPTED_VALUES = 500  # the oldest and the newest of each column
FORGED_ADDRESS = "192.0.2.1"  # of nobody (RFC 5737)
SECRET_KEY_CHECKS = ("security.W009", "security.W025")


def run_doctor(
    *, at: datetime, probe_url: str | None = None, only_startup: bool = False
) -> dict[str, Finding]:
    """Run all checks, or only those that must pass before the service starts.

    A check is left out if one that it requires has failed. `probe_url` is an address of
    the service as its clients use it.
    """
    findings: dict[str, Finding] = {}
    for name, check in CHECKS.items():
        if only_startup and name not in STARTUP_CHECKS:
            continue
        required = REQUIRED_CHECKS.get(name)
        if required is None or is_passed(required, findings):
            findings[name] = run_check(check, at)
    if probe_url is not None:
        findings["proxy_headers"] = run_check(check_proxy_headers, probe_url)
    return findings


def is_passed(name: str, findings: dict[str, Finding]) -> bool:
    """Return whether a check has been run and has not failed."""
    return name in findings and findings[name].status != FAILURE


def run_check(check: Callable[[Any], Finding], argument: Any) -> Finding:
    """Run one check; an error of the database or of a file is a failure."""
    try:
        return check(argument)
    except (DatabaseError, InterfaceError, OSError) as error:
        return Finding(
            FAILURE,
            f"{type(error).__name__}: {error}",
            "check DATABASE_URL and the log of the database",
        )


def check_settings(_at: datetime) -> Finding:
    """Run Django's system checks."""
    errors = [
        message
        for message in checks.run_checks()
        if message.is_serious() and not message.is_silenced()
    ]
    if errors:
        return Finding(
            FAILURE,
            "; ".join(f"{error.id}: {error.msg}" for error in errors),
            errors[0].hint or "run manage.py check",
        )
    return Finding(OK, "no system check fails")


def check_secret_key(_at: datetime) -> Finding:
    """Check the strength of SECRET_KEY and of SECRET_KEY_FALLBACKS."""
    messages = checks.run_checks(tags=[checks.Tags.security], include_deployment_checks=True)
    if any(message.id in SECRET_KEY_CHECKS for message in messages):
        return Finding(
            FAILURE,
            "SECRET_KEY or one of SECRET_KEY_FALLBACKS can be guessed",
            "use 50 random characters: python -c"
            " 'import secrets; print(secrets.token_urlsafe(50))'",
        )
    return Finding(OK, "long and random")


def check_encryption_keys(_at: datetime) -> Finding:
    """ENCRYPTION_KEYS must decrypt what is stored; the first should have encrypted."""
    try:
        is_rotation_due = has_values_to_rotate(MAX_DECRYPTED_VALUES)
    except WrongEncryptionKey as error:
        return Finding(
            FAILURE,
            str(error),
            "add it after the first of ENCRYPTION_KEYS, or restore var/encryption_key;"
            " without it, payout methods have to be entered again",
        )
    if is_rotation_due:
        return Finding(
            WARNING,
            "payout methods are not encrypted by the first of ENCRYPTION_KEYS",
            "run manage.py rotate_encryption",
        )
    return Finding(OK, "decrypt what is stored")


def check_debug(_at: datetime) -> Finding:
    """DEBUG must be off: it shows settings and code to everybody."""
    if settings.DEBUG:
        return Finding(FAILURE, "DEBUG is on", "unset DEBUG")
    return Finding(OK, "off")


def check_public_url(_at: datetime) -> Finding:
    """PUBLIC_URL must use https, behind a trusted proxy, and an allowed host."""
    url = urlsplit(settings.PUBLIC_URL)
    host = url.hostname or ""
    allowed = f"[{host}]" if ":" in host else host
    if not validate_host(allowed, settings.ALLOWED_HOSTS):
        return Finding(
            FAILURE,
            f"requests to {settings.PUBLIC_URL} are answered with 400",
            f"add {allowed} to ALLOWED_HOSTS",
        )
    if url.scheme != "https":
        return Finding(
            WARNING if host in LOOPBACK else FAILURE,
            f"{settings.PUBLIC_URL}: keys and passwords travel unencrypted",
            "put a proxy with TLS in front and set PUBLIC_URL=https://...",
        )
    if not settings.TRUSTED_PROXY_COUNT:
        return Finding(
            FAILURE,
            "TRUSTED_PROXY_COUNT is 0: https requests look like http, so that the back"
            " office redirects forever, and all clients share one address",
            "set TRUSTED_PROXY_COUNT to the number of proxies in front",
        )
    return Finding(OK, f"{settings.PUBLIC_URL}, HSTS and Secure cookies are on")


def check_static_files(_at: datetime) -> Finding:
    """Static files must be collected: else pages answer 500."""
    collected = getattr(staticfiles_storage, "hashed_files", None)
    if collected is None:
        return Finding(OK, "served without a manifest")
    missing = [
        path
        for finder in get_finders()
        for path, _storage in finder.list([])
        if path not in collected
    ]
    if missing:
        return Finding(
            FAILURE,
            f"{len(missing)} static files are not collected, for example {missing[0]}",
            "run manage.py collectstatic --noinput",
        )
    return Finding(OK, f"{len(collected)} files are collected")


def check_creatives(_at: datetime) -> Finding:
    """The directory of banners must be writable: else staff cannot add one."""
    directory = settings.CREATIVES_DIR
    existing = next(path for path in (directory, *directory.parents) if path.exists())
    if existing.is_dir() and os.access(existing, os.W_OK | os.X_OK):
        return Finding(OK, f"{directory} can be written")
    advice = "set CREATIVES_DIR to a directory of the service, and make it writable"
    return Finding(WARNING, f"{directory} cannot be written", advice)


def check_ledger_result(_at: datetime) -> Finding:
    """The last `check_ledger --note` must have found nothing."""
    slugs = list(Account.objects.filter(discrepancy_count__gt=0).values_list("slug", flat=True))
    if slugs:
        return Finding(
            FAILURE,
            f"discrepancies in {', '.join(slugs)}",
            "make no payments; run check_ledger and explain each line",
        )
    return Finding(OK, "no known discrepancy")


def check_portal_hosts(_at: datetime) -> Finding:
    """The own hosts of portals must be those that `set_portal_host` accepts."""
    hosts, problems = [], []
    for row in list_portals_with_host():
        hosts.append(f"{row.account.slug} at {row.host}")
        try:
            validate_portal_host(row.account, row.host or "")
        except DomainError as error:
            problems.append(f"{hosts[-1]}: {error.text}")
    if problems:
        return Finding(
            WARNING,
            "; ".join(problems),
            "ask the account, then run manage.py set_portal_host",
        )
    return Finding(OK, ", ".join(hosts) or "no portal has one")


def check_webhook_worker(at: datetime) -> Finding:
    """A worker must run if there are webhooks, postbacks or mails to send, events of
    shops to process, or scenarios to calculate, which pages wait for."""
    mails, events = count_waiting_rows(Mail), count_waiting_rows(ShopEvent)
    scenarios = list_waiting_scenarios(until=at - LEASE)
    if not mails and not events and not scenarios and not has_enabled_endpoints():
        return Finding(OK, "no webhook is enabled and nothing waits, so no worker is needed")
    alive_at = get_command_runs().get(WORKER_NAME)
    if is_worker_alive(alive_at, at=at):
        if mails and not can_send_mail():
            return Finding(WARNING, f"mails wait for a mail server: {mails}", "set EMAIL_URL")
        error = find_connection_error()
        if error:
            detail = f"mails wait for the mail server: {mails}; {error}"
            return Finding(WARNING, detail, "check EMAIL_URL and the mail server")
        if late := [it for it in scenarios if it.created_at <= at - MAX_SCENARIO_WAIT]:
            names = ", ".join(f"{it.account}/{it}" for it in late[:MAX_SCENARIOS_NAMED])
            detail = f"scenarios wait for more than {MAX_SCENARIO_WAIT}: {len(late)} ({names})"
            return Finding(WARNING, detail, "see the worker's log; shorter periods take less")
        return Finding(OK, f"alive at {alive_at:%Y-%m-%d %H:%M} UTC")
    last = f"has run since {alive_at:%Y-%m-%d %H:%M} UTC" if alive_at else "has ever run"
    return Finding(
        FAILURE,
        f"no worker {last}; {count_pending_deliveries()} deliveries wait,"
        f" and mails: {mails}, events of shops: {events}, scenarios: {len(scenarios)}",
        "start affiliate-site-webhooks, which runs manage.py deliver_webhooks",
    )


def check_statistics(at: datetime) -> Finding:
    """The statistics of days that are over should be stored: pages wait for them."""
    numbers = {it.slug: len(list_missing_days(it, at=at)) for it in list_accounts()}
    waiting = {slug: n for slug, n in numbers.items() if n > MAX_MISSING_DAYS}
    if not waiting:
        return Finding(OK, f"days that are over and wait to be counted: {sum(numbers.values()):,}")
    most = sorted(waiting, key=lambda slug: -waiting[slug])[:MAX_ACCOUNTS_NAMED]
    names = ", ".join(f"{slug}: {waiting[slug]:,}" for slug in most)
    return Finding(
        WARNING,
        f"days that are over and wait to be counted: {names}",
        "affiliate-site-webhooks counts them: see its log, or run manage.py prune",
    )


def check_nightly(name: str) -> Callable[[datetime], Finding]:
    """Return the check that a nightly command succeeded within 36 hours."""

    def check(at: datetime) -> Finding:
        if name == "backup" and connection.vendor == "postgresql":
            return check_archive(at)
        ran_at = get_command_runs().get(name)
        if ran_at and at - ran_at <= MAX_NIGHTLY_AGE:
            return Finding(OK, f"succeeded at {ran_at:%Y-%m-%d %H:%M} UTC")
        advice = f"run manage.py {NIGHTLY_COMMANDS[name]} every night: deploy/nightly does"
        if ran_at:
            detail = f"overdue, last success at {ran_at:%Y-%m-%d %H:%M} UTC"
            return Finding(FAILURE, detail, advice)
        return Finding(WARNING, "has never succeeded", advice)

    return check


def check_disk(_at: datetime) -> Finding:
    """Check the disk of the SQLite file, or else of the installation."""
    is_sqlite = connection.vendor == "sqlite"
    name = connection.settings_dict["NAME"] if is_sqlite else settings.BASE_DIR
    disk = shutil.disk_usage(Path(str(name)).parent if is_sqlite else name)
    detail = f"{disk.free / disk.total:.0%} of {disk.total / 1e9:.0f} GB are free"
    if disk.free >= disk.total * LOW_DISK_SHARE:
        return Finding(OK, detail)
    is_full = disk.free < disk.total * MIN_FREE_DISK_SHARE
    advice = "run prune, remove old backups and logs, or enlarge the disk"
    return Finding(FAILURE if is_full and is_sqlite else WARNING, detail, advice)


def check_proxy_headers(url: str) -> Finding:
    """Request the service with forged headers, and compare what it sees."""
    expected = urlsplit(url)
    other_scheme = {"https": "http", "http": "https"}.get(expected.scheme, "")
    if not other_scheme or not expected.netloc:
        return Finding(FAILURE, f"{url} is no URL", "give --probe https://host")
    try:
        response = httpx.get(
            f"{expected.scheme}://{expected.netloc}/healthz",
            headers={
                PROBE_HEADER: sign_probe(),
                "X-Forwarded-For": FORGED_ADDRESS,
                "X-Forwarded-Proto": other_scheme,
            },
            timeout=PROBE_TIMEOUT_SECONDS,
            trust_env=False,  # no proxy of the environment
            verify=httpx.create_ssl_context(),  # with SSL_CERT_FILE
        )
        seen = response.json()["request"]
    except httpx.HTTPError as error:
        return Finding(
            FAILURE,
            f"{url}: {error}",
            "check DNS, TLS and the proxy; SSL_CERT_FILE names a private CA",
        )
    except (ValueError, KeyError, TypeError):
        return Finding(
            FAILURE,
            f"{url} answered {response.status_code}, without what it sees",
            "forward /healthz to this service, with its SECRET_KEY and header X-Doctor",
        )
    return compare_request(seen, scheme=expected.scheme, host=expected.netloc)


def compare_request(seen: dict[str, Any], *, scheme: str, host: str) -> Finding:
    """Compare what the service saw of a request with what was sent."""
    advice = (
        "let the proxy set Host, X-Forwarded-Proto and X-Forwarded-For itself, and set"
        " TRUSTED_PROXY_COUNT to the number of proxies"
    )
    problems = []
    if seen["scheme"] != scheme:
        problems.append(f"scheme {seen['scheme']} instead of {scheme}")
    if seen["host"] != host:
        problems.append(f"host {seen['host']!r} instead of {host!r}")
    if seen["address"] == FORGED_ADDRESS:
        problems.append("clients choose their address themselves")
    if problems:
        return Finding(FAILURE, "; ".join(problems), advice)
    return Finding(
        OK,
        f"{seen['scheme']}://{seen['host']}, asked by {seen['address']}, which must be"
        " an address of this machine",
    )


# Nightly commands, with the arguments that a run needs to be recorded.
NIGHTLY_COMMANDS = {
    "backup": "backup --keep 14",
    "prune": "prune",
    "grant_bonuses": "grant_bonuses",
    "check_ledger": "check_ledger --note",
}

CHECKS: dict[str, Callable[[datetime], Finding]] = {
    "settings": check_settings,
    "secret_key": check_secret_key,
    "debug": check_debug,
    "public_url": check_public_url,
    "email": check_email,
    "pdf": check_pdf,
    "static_files": check_static_files,
    "creatives": check_creatives,
    "disk": check_disk,
    "database": check_database,
    "durability": check_durability,
    "migrations": check_unapplied_migrations,
    "time_limits": check_time_limits,
    "replica": check_replica,
    "redis": check_redis,
    "encryption_keys": check_encryption_keys,
    "triggers": check_triggers,
    "clock": check_clock,
    "ledger": check_ledger_result,
    "second_factor": check_second_factor,
    "portal_hosts": check_portal_hosts,
    "addresses": check_addresses,
    "deletions": check_deletions,
    "webhook_worker": check_webhook_worker,
    "statistics": check_statistics,
    **{name: check_nightly(name) for name in NIGHTLY_COMMANDS},
}
STARTUP_CHECKS = (
    "settings",
    "static_files",
    "database",
    "durability",
    "migrations",
    "time_limits",
)
REQUIRED_CHECKS = {
    **dict.fromkeys(("durability", "migrations", "time_limits", "replica", "clock"), "database"),
    **dict.fromkeys(
        (
            *("encryption_keys", "triggers", "ledger", "second_factor"),
            *("portal_hosts", "addresses", "deletions", "webhook_worker", "statistics"),
            *NIGHTLY_COMMANDS,
        ),
        "migrations",
    ),
}
