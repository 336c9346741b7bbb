"""Environment variables: defaults, parsing, errors at startup."""

import os
import runpy
import stat
import subprocess
import sys
from types import SimpleNamespace

import pytest
from django.core.exceptions import ImproperlyConfigured

from affiliate_site import env

POSTGRES = "postgres://merchant:pw@db.example.net:5433/affiliates"
SECRET = "a-secret-that-is-long-enough-to-be-believed-in"
KEY = "dGVzdHMtb25seS10ZXN0cy1vbmx5LXRlc3RzLW9ubHk="
PLUS = "++++" * 10 + "//8="
PLUS_IN_URLS = "----" * 10 + "__8="
REQUIRED = {"SECRET_KEY": SECRET, "ENCRYPTION_KEYS": KEY}


@pytest.fixture
def load_env(monkeypatch):
    """Load env.py with these variables only: `load_env(DEBUG="on").DEBUG`."""

    def load(**variables):
        for name in list(os.environ):
            if name not in ("PATH", "HOME", "TMPDIR", "LANG"):
                monkeypatch.delenv(name)
        for name, value in (REQUIRED | variables).items():
            if value is not None:
                monkeypatch.setenv(name, value)
        loaded = SimpleNamespace(**runpy.run_path(env.__file__))
        # As settings.py does.
        loaded.DATABASE = loaded.get_database_settings()
        loaded.REPLICA = loaded.get_replica_settings()
        return loaded

    return load


INVALID = [
    ("DATABASE_REPLICA_URL", POSTGRES),  # SQLite has none
    ("REDIS_URL", "redis.example.net:6379"),
    ("REDIS_URL", "https://redis.example.net"),
    ("REDIS_URL", "redis://"),
    ("REDIS_URL", "redis://[example"),
    ("REDIS_URL", "unix://"),
    ("SENTRY_DSN", "sentry.example.net"),
    ("SENTRY_DSN", "https://sentry.example.net/1"),
    ("DEBUG", "maybe"),
    ("DEBUG", "2"),
    ("PGBOUNCER", "transaction"),
    ("PGBOUNCER", "ön"),
    ("STAFF_OTP", "maybe"),
    ("TRUSTED_PROXY_COUNT", "-1"),
    ("TRUSTED_PROXY_COUNT", "one"),
    ("TRUSTED_PROXY_COUNT", "1.0"),
    ("TRUSTED_PROXY_COUNT", "²"),
    ("WEB_CONCURRENCY", "0"),
    ("WEB_CONCURRENCY", "many"),
    ("WEB_CONCURRENCY", "\uff12"),
    ("WEB_THREADS", "0"),
    ("WEB_THREADS", "4 threads"),
    ("LOG_LEVEL", "LOUD"),
    ("LOG_FORMAT", "xml"),
    ("PUBLIC_URL", "aff.example.net"),
    ("PUBLIC_URL", "ftp://aff.example.net"),
    ("PUBLIC_URL", "//aff.example.net"),
    ("PUBLIC_URL", "https://"),
    ("PUBLIC_URL", "https://:443"),
    ("PUBLIC_URL", "https://aff.example.net:port"),
    ("PUBLIC_URL", "https://aff.example.net:99999"),
    ("PUBLIC_URL", "https://aff.example.net/shop"),
    ("PUBLIC_URL", "https://aff.example.net?shop"),
    ("PUBLIC_URL", "https://aff.example.net#shop"),
    ("PUBLIC_URL", "https://user:pass@aff.example.net"),
    ("ALLOWED_HOSTS", "*"),
    ("ALLOWED_HOSTS", "aff.example.net,*"),
    ("ALLOWED_HOSTS", ".example.net"),
    ("ALLOWED_HOSTS", "*.example.net"),
    ("SECRET_KEY", "changeme"),
    ("SECRET_KEY", "Change-Me"),
    ("SECRET_KEY", "secret"),
    ("SECRET_KEY", "example"),
    ("ENCRYPTION_KEYS", "changeme"),
    ("ENCRYPTION_KEYS", f"{KEY},short"),
    ("ENCRYPTION_KEYS", KEY[:-8]),
    ("DATABASE_URL", "affiliates"),
    ("DATABASE_URL", "postgres//db/affiliates"),
    ("DATABASE_URL", "cassandra://db/affiliates"),
    ("DATABASE_URL", "mysql://user:pass@db/affiliates"),
    ("DATABASE_URL", "postgres://db:port/affiliates"),
    ("DATABASE_URL", "postgres://db.example.net"),
    ("DATABASE_URL", "sqlite:///"),
    ("SECRET_KEY", os.fsdecode(b"\xe9" * 50)),
    ("CSRF_TRUSTED_ORIGINS", "aff.example.net"),
    ("CSRF_TRUSTED_ORIGINS", "https://aff.example.net,*"),
    ("EMAIL_URL", "nonsense"),
    ("EMAIL_URL", "imap://user:pass@mail.example.net"),
    ("EMAIL_URL", "smtp://mail.example.net:port"),
    ("WEBHOOK_ALLOWED_HOSTS", "127.0.0.1"),
    ("WEBHOOK_ALLOWED_HOSTS", "http://127.0.0.1:9000"),
    ("WEBHOOK_ALLOWED_HOSTS", "127.0.0.1:99999"),
    ("WEBHOOK_ALLOWED_HOSTS", "::1:9000"),
]


@pytest.mark.parametrize(("name", "value"), INVALID)
def test_rejects_invalid_value_and_names_the_variable(load_env, name, value):
    with pytest.raises(ImproperlyConfigured) as error:
        load_env(**{name: value})

    assert name in str(error.value)


@pytest.mark.parametrize("name", ["SECRET_KEY", "ENCRYPTION_KEYS", "DATABASE_URL"])
def test_does_not_repeat_secrets_in_the_error(load_env, name):
    with pytest.raises(ImproperlyConfigured) as error:
        load_env(**{name: "example", "DATABASE_URL": "odd://merchant:canary@db"})

    assert "canary" not in str(error.value)


DEFAULTS = {
    "DEBUG": False,
    "SECRET_KEY_FALLBACKS": [],
    "ALLOWED_HOSTS": ["127.0.0.1", "localhost", "[::1]"],
    "PUBLIC_URL": "http://127.0.0.1:8000",
    "TRUSTED_PROXY_COUNT": 0,
    "PGBOUNCER": False,
    "STAFF_OTP": True,
    "WEB_CONCURRENCY": 2,
    "WEB_THREADS": 4,
    "LOG_LEVEL": "INFO",
    "CSRF_TRUSTED_ORIGINS": ["http://127.0.0.1:8000"],
    "EMAIL": {"EMAIL_BACKEND": "django.core.mail.backends.dummy.EmailBackend"},
    "WEBHOOK_ALLOWED_HOSTS": frozenset(),
}


def test_has_default_for_each_variable(load_env):
    loaded = vars(load_env())

    assert {name: loaded[name] for name in DEFAULTS} == DEFAULTS


VALID = [
    ("DEBUG", "on", "DEBUG", True),
    ("DEBUG", "ON", "DEBUG", True),
    ("DEBUG", "true", "DEBUG", True),
    ("DEBUG", "1", "DEBUG", True),
    ("DEBUG", "off", "DEBUG", False),
    ("DEBUG", "0", "DEBUG", False),
    ("PGBOUNCER", " on ", "PGBOUNCER", True),
    ("STAFF_OTP", "on", "STAFF_OTP", True),
    ("STAFF_OTP", "off", "STAFF_OTP", False),
    ("TRUSTED_PROXY_COUNT", "2", "TRUSTED_PROXY_COUNT", 2),
    ("WEB_CONCURRENCY", "1", "WEB_CONCURRENCY", 1),
    ("WEB_THREADS", "16", "WEB_THREADS", 16),
    ("LOG_LEVEL", "WARNING", "LOG_LEVEL", "WARNING"),
    ("LOG_FORMAT", "json", "LOG_FORMAT", "json"),
    ("LOG_FORMAT", "console", "LOG_FORMAT", "console"),
    ("PUBLIC_URL", "https://aff.example.net", "BEHIND_TLS", True),
    ("PUBLIC_URL", "http://aff.example.net:8000", "BEHIND_TLS", False),
    ("PUBLIC_URL", "http://[::1]:8000", "PUBLIC_URL", "http://[::1]:8000"),
    (
        "PUBLIC_URL",
        "https://aff.example.net/",
        "PUBLIC_URL",
        "https://aff.example.net",
    ),
    (
        "ALLOWED_HOSTS",
        "aff.example.net, localhost,",
        "ALLOWED_HOSTS",
        ["aff.example.net", "localhost"],
    ),
    (
        "SECRET_KEY_FALLBACKS",
        "older, oldest",
        "SECRET_KEY_FALLBACKS",
        ["older", "oldest"],
    ),
    ("SECRET_KEY", f" {SECRET} ", "SECRET_KEY", SECRET),
    ("ENCRYPTION_KEYS", f" {KEY}, {PLUS},", "ENCRYPTION_KEYS", [KEY, PLUS_IN_URLS]),
    (
        "WEBHOOK_ALLOWED_HOSTS",
        "127.0.0.1:9000, [::1]:80, Hooks.internal:8443",
        "WEBHOOK_ALLOWED_HOSTS",
        {"127.0.0.1:9000", "[::1]:80", "hooks.internal:8443"},
    ),
    (
        "CSRF_TRUSTED_ORIGINS",
        "https://a.example.net,https://b.example.net",
        "CSRF_TRUSTED_ORIGINS",
        ["https://a.example.net", "https://b.example.net"],
    ),
]


def test_parses_email_url(load_env):
    mail = load_env(EMAIL_URL="smtp+tls://post:pw@mail.example.net:587").EMAIL

    assert mail["EMAIL_BACKEND"] == "django.core.mail.backends.smtp.EmailBackend"
    assert (mail["EMAIL_HOST"], mail["EMAIL_PORT"]) == ("mail.example.net", 587)
    assert (mail["EMAIL_HOST_USER"], mail["EMAIL_USE_TLS"]) == ("post", True)


@pytest.mark.parametrize(("variable", "value", "name", "expected"), VALID)
def test_parses_values(load_env, variable, value, name, expected):
    loaded = vars(load_env(**{variable: value}))

    assert loaded[name] == expected


def test_allows_wildcard_host_with_debug(load_env):
    loaded = load_env(DEBUG="on", ALLOWED_HOSTS="*")

    assert loaded.ALLOWED_HOSTS == ["*"]


# Database and secret key


def test_parses_database_url(load_env):
    database = load_env(DATABASE_URL=POSTGRES).DATABASE

    assert database["ENGINE"] == "django.db.backends.postgresql"
    assert database["NAME"] == "affiliates"
    assert database["USER"] == "merchant"
    assert database["PASSWORD"] == "pw"
    assert database["HOST"] == "db.example.net"
    assert database["PORT"] == 5433


def test_replica_is_a_postgresql_of_a_postgresql(load_env):
    assert load_env(DATABASE_URL=POSTGRES).REPLICA is None
    loaded = load_env(DATABASE_URL=POSTGRES, DATABASE_REPLICA_URL=f"{POSTGRES}_copy")
    assert loaded.REPLICA["NAME"] == "affiliates_copy"
    message = "DATABASE_REPLICA_URL must be postgres"
    with pytest.raises(ImproperlyConfigured, match=message):
        load_env(DATABASE_URL=POSTGRES, DATABASE_REPLICA_URL="sqlite:///copy.sqlite3")


@pytest.mark.parametrize(
    "url",
    [
        "redis://127.0.0.1",
        "rediss://user:pw@redis.example.net:6380/2",
        "unix:///run/redis.sock?db=1",
    ],
)
def test_reads_the_address_of_redis(load_env, tmp_path, url):
    (tmp_path / "redis").write_text(f"{url}\n")

    assert load_env().REDIS_URL == ""
    assert url == load_env(REDIS_URL=url).REDIS_URL
    assert url == load_env(REDIS_URL_FILE=str(tmp_path / "redis")).REDIS_URL


def test_redis_needs_its_package(load_env, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    with pytest.raises(ImproperlyConfigured, match="redis is not installed"):
        load_env(REDIS_URL="redis://127.0.0.1")


def test_errors_and_traces_are_sent_only_where_they_are_asked_for(load_env):
    loaded = load_env()
    assert (loaded.SENTRY_DSN, loaded.IS_TRACING_ON) == ("", False)

    dsn, collector = "https://key@sentry.example.net/1", "http://127.0.0.1:4318"
    loaded = load_env(SENTRY_DSN=dsn, OTEL_EXPORTER_OTLP_ENDPOINT=collector)
    assert (dsn, True) == (loaded.SENTRY_DSN, loaded.IS_TRACING_ON)


def test_reads_the_settings_of_a_mail_provider(load_env, monkeypatch):
    loaded = load_env(ANYMAIL_PROVIDER="postmark", ANYMAIL_POSTMARK_SERVER_TOKEN="t0")
    assert loaded.EMAIL == {
        "EMAIL_BACKEND": "anymail.backends.postmark.EmailBackend",
        "ANYMAIL": {"PROVIDER": "postmark", "POSTMARK_SERVER_TOKEN": "t0"},
    }
    with pytest.raises(ImproperlyConfigured, match="one that django-anymail knows"):
        load_env(ANYMAIL_PROVIDER="pigeons")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImproperlyConfigured, match="must be installed"):
        load_env(ANYMAIL_PROVIDER="postmark")


@pytest.mark.parametrize("name", ["SENTRY_DSN", "OTEL_EXPORTER_OTLP_ENDPOINT"])
def test_reports_and_traces_need_their_packages(load_env, monkeypatch, name):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    with pytest.raises(ImproperlyConfigured, match="is not installed"):
        load_env(**{name: "https://key@sentry.example.net/1"})


def test_uses_sqlite_by_default(load_env):
    loaded = load_env()

    assert loaded.DATABASE_IS_EMBEDDED is True
    assert loaded.DATABASE["ENGINE"] == "django.db.backends.sqlite3"
    assert loaded.DATABASE["NAME"] == str(env.VAR_DIR / "db.sqlite3")


@pytest.mark.parametrize("value", [None, "", "  "], ids=["unset", "empty", "blank"])
def test_requires_secret_key_with_database_url(load_env, value):
    with pytest.raises(ImproperlyConfigured, match="SECRET_KEY"):
        load_env(DATABASE_URL=POSTGRES, SECRET_KEY=value)


@pytest.mark.parametrize("value", [None, " , "], ids=["unset", "blank"])
def test_requires_encryption_keys_with_database_url(load_env, value):
    with pytest.raises(ImproperlyConfigured, match="openssl rand -base64 32"):
        load_env(DATABASE_URL=POSTGRES, ENCRYPTION_KEYS=value)


def test_make_run_makes_keys_for_any_database(load_env, monkeypatch, tmp_path):
    assert not load_env(DATABASE_URL=POSTGRES).MAKES_KEYS
    assert load_env(DATABASE_URL=POSTGRES, MAKE_KEYS="on").MAKES_KEYS
    assert load_env().MAKES_KEYS


@pytest.mark.parametrize(
    ("name", "get_key"),
    [
        ("secret_key", env.get_secret_key),
        ("encryption_key", lambda: env.get_encryption_keys()[0]),
    ],
)
def test_creates_keys_once_for_sqlite(monkeypatch, tmp_path, name, get_key):
    monkeypatch.setattr(env, "VAR_DIR", tmp_path / "var")
    monkeypatch.setattr(env, "MAKES_KEYS", True)
    for variable in REQUIRED:
        monkeypatch.delenv(variable)

    first, second = get_key(), get_key()

    assert first == second
    assert len(first) >= 44
    assert stat.S_IMODE((tmp_path / "var").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "var" / name).stat().st_mode) == 0o600


# NAME_FILE


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("SECRET_KEY", f"{SECRET}\n", SECRET),
        ("ENCRYPTION_KEYS", f"{KEY}\n", [KEY]),
        ("DATABASE_URL", f"{POSTGRES}\n", POSTGRES),
        ("SECRET_KEY_FALLBACKS", "older,\noldest\n", ["older", "oldest"]),
    ],
)
def test_reads_secret_from_file(load_env, tmp_path, name, content, expected):
    file = tmp_path / "secret"
    file.write_text(content)

    loaded = load_env(**{f"{name}_FILE": str(file), name: None})

    assert vars(loaded)[name] == expected


@pytest.mark.parametrize("name", ["SECRET_KEY", "ENCRYPTION_KEYS", "DATABASE_URL"])
@pytest.mark.parametrize(
    "get_path",
    [
        lambda path: path / "missing",
        lambda path: path,
        lambda path: "a\\b/c",
    ],
    ids=["missing", "a folder", "invalid"],
)
def test_rejects_unreadable_secret_file(load_env, tmp_path, name, get_path):
    with pytest.raises(ImproperlyConfigured, match=f"{name}_FILE"):
        load_env(**{f"{name}_FILE": str(get_path(tmp_path))})


@pytest.mark.parametrize("name", ["SECRET_KEY", "ENCRYPTION_KEYS", "DATABASE_URL"])
def test_rejects_binary_secret_file(load_env, tmp_path, name):
    file = tmp_path / "secret"
    file.write_bytes(b"\xff\xfe\x00")

    with pytest.raises(ImproperlyConfigured, match=f"{name}_FILE"):
        load_env(**{f"{name}_FILE": str(file)})


def test_rejects_example_secret_in_file(load_env, tmp_path):
    file = tmp_path / "secret"
    file.write_text("changeme\n")

    with pytest.raises(ImproperlyConfigured, match="SECRET_KEY"):
        load_env(SECRET_KEY=None, SECRET_KEY_FILE=str(file))


@pytest.mark.parametrize(
    "name", ["DEBUG", "ALLOWED_HOSTS", "PUBLIC_URL", "WEB_THREADS", "LOG_LEVEL"]
)
def test_reads_only_secrets_from_files(load_env, tmp_path, name):
    file = tmp_path / "value"
    file.write_text("invalid")

    loaded = vars(load_env(**{f"{name}_FILE": str(file)}))

    assert loaded[name] == DEFAULTS[name]


def test_a_missing_package_switches_nothing_off(load_env, monkeypatch):
    """An environment that lacks it does not start, instead of asking for no codes."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    assert load_env().STAFF_OTP


# Startup


def test_startup_fails_with_one_line_that_names_the_variable():
    process = subprocess.run(  # noqa: S603 - our own manage.py
        [sys.executable, str(env.BASE_DIR / "manage.py"), "check"],
        env=os.environ | {"WEB_THREADS": "many"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert process.returncode != 0
    assert "WEB_THREADS" in process.stderr.strip().splitlines()[-1]
