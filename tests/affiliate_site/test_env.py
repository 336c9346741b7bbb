"""Operations, 2: every variable of the environment; an odd value stops the start."""

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


@pytest.fixture
def start(monkeypatch):
    """What a start with this environment alone knows: `start(DEBUG="on").DEBUG`."""

    def run(**variables):
        for name in list(os.environ):
            if name not in ("PATH", "HOME", "TMPDIR", "LANG"):
                monkeypatch.delenv(name)
        for name, value in ({"SECRET_KEY": SECRET} | variables).items():
            if value is not None:
                monkeypatch.setenv(name, value)
        started = SimpleNamespace(**runpy.run_path(env.__file__))
        started.DATABASE = started.database()  # as settings.py does
        return started

    return run


ODD = [
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
    ("DATABASE_URL", "affiliates"),
    ("DATABASE_URL", "postgres//db/affiliates"),
    ("DATABASE_URL", "cassandra://db/affiliates"),
    ("DATABASE_URL", "mysql://user:pass@db/affiliates"),
    ("DATABASE_URL", "postgres://db:port/affiliates"),
    ("EMAIL_URL", "nonsense"),
    ("EMAIL_URL", "imap://user:pass@mail.example.net"),
    ("EMAIL_URL", "smtp://mail.example.net:port"),
    ("WEBHOOK_ALLOWED_HOSTS", "127.0.0.1"),
    ("WEBHOOK_ALLOWED_HOSTS", "http://127.0.0.1:9000"),
    ("WEBHOOK_ALLOWED_HOSTS", "127.0.0.1:99999"),
    ("WEBHOOK_ALLOWED_HOSTS", "::1:9000"),
]


@pytest.mark.parametrize(("name", "value"), ODD)
def test_refuses_an_odd_value_by_the_variables_name(start, name, value):
    with pytest.raises(ImproperlyConfigured) as refusal:
        start(**{name: value})

    assert name in str(refusal.value)


@pytest.mark.parametrize("name", ["SECRET_KEY", "DATABASE_URL"])
def test_repeats_no_secret_in_the_refusal(start, name):
    with pytest.raises(ImproperlyConfigured) as refusal:
        start(**{name: "example", "DATABASE_URL": "odd://merchant:canary@db"})

    assert "canary" not in str(refusal.value)


DEFAULTS = {
    "DEBUG": False,
    "SECRET_KEY_FALLBACKS": [],
    "ALLOWED_HOSTS": ["127.0.0.1", "localhost", "[::1]"],
    "PUBLIC_URL": "http://127.0.0.1:8000",
    "TRUSTED_PROXY_COUNT": 0,
    "PGBOUNCER": False,
    "STAFF_OTP": False,
    "WEB_CONCURRENCY": 2,
    "WEB_THREADS": 4,
    "LOG_LEVEL": "INFO",
    "CSRF_TRUSTED_ORIGINS": ["http://127.0.0.1:8000"],
    "EMAIL": {"EMAIL_BACKEND": "django.core.mail.backends.dummy.EmailBackend"},
    "WEBHOOK_ALLOWED_HOSTS": frozenset(),
}


def test_knows_a_default_for_each_variable(start):
    started = vars(start())

    assert {name: started[name] for name in DEFAULTS} == DEFAULTS


READ = [
    ("DEBUG", "on", "DEBUG", True),
    ("DEBUG", "ON", "DEBUG", True),
    ("DEBUG", "true", "DEBUG", True),
    ("DEBUG", "1", "DEBUG", True),
    ("DEBUG", "off", "DEBUG", False),
    ("DEBUG", "0", "DEBUG", False),
    ("PGBOUNCER", " on ", "PGBOUNCER", True),
    ("STAFF_OTP", "on", "STAFF_OTP", True),
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


def test_reads_the_address_of_a_mail_server(start):
    mail = start(EMAIL_URL="smtp+tls://post:pw@mail.example.net:587").EMAIL

    assert mail["EMAIL_BACKEND"] == "django.core.mail.backends.smtp.EmailBackend"
    assert (mail["EMAIL_HOST"], mail["EMAIL_PORT"]) == ("mail.example.net", 587)
    assert (mail["EMAIL_HOST_USER"], mail["EMAIL_USE_TLS"]) == ("post", True)


@pytest.mark.parametrize(("variable", "value", "name", "read"), READ)
def test_reads_a_value(start, variable, value, name, read):
    started = vars(start(**{variable: value}))

    assert started[name] == read


def test_lets_a_wildcard_pass_in_development(start):
    started = start(DEBUG="on", ALLOWED_HOSTS="*")

    assert started.ALLOWED_HOSTS == ["*"]


# The database and its secret


def test_reads_the_address_of_a_database(start):
    found = start(DATABASE_URL=POSTGRES).DATABASE

    assert found["ENGINE"] == "django.db.backends.postgresql"
    assert found["NAME"] == "affiliates"
    assert found["USER"] == "merchant"
    assert found["PASSWORD"] == "pw"
    assert found["HOST"] == "db.example.net"
    assert found["PORT"] == 5433


def test_embeds_a_database_by_default(start):
    started = start()

    assert started.DATABASE_IS_EMBEDDED is True
    assert started.DATABASE["ENGINE"] == "django.db.backends.sqlite3"
    assert started.DATABASE["NAME"] == str(env.VAR / "db.sqlite3")


@pytest.mark.parametrize("value", [None, "", "  "], ids=["unset", "empty", "blank"])
def test_wants_a_secret_for_a_database_of_ones_own(start, value):
    with pytest.raises(ImproperlyConfigured, match="SECRET_KEY"):
        start(DATABASE_URL=POSTGRES, SECRET_KEY=value)


def test_makes_a_secret_once_for_the_embedded_database(monkeypatch, tmp_path):
    monkeypatch.setattr(env, "VAR", tmp_path / "var")

    made, kept = env.kept_secret_key(), env.kept_secret_key()

    assert made == kept
    assert len(made) >= 50
    assert stat.S_IMODE((tmp_path / "var").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "var" / "secret_key").stat().st_mode) == 0o600


# NAME_FILE


@pytest.mark.parametrize(
    ("name", "content", "read"),
    [
        ("SECRET_KEY", f"{SECRET}\n", SECRET),
        ("DATABASE_URL", f"{POSTGRES}\n", POSTGRES),
    ],
)
def test_reads_a_secret_from_a_file(start, tmp_path, name, content, read):
    file = tmp_path / "secret"
    file.write_text(content)

    started = start(**{f"{name}_FILE": str(file), "SECRET_KEY": SECRET, name: None})

    assert vars(started)[name] == read


@pytest.mark.parametrize("name", ["SECRET_KEY", "DATABASE_URL"])
@pytest.mark.parametrize(
    "make",
    [
        lambda path: path / "missing",
        lambda path: path,
        lambda path: "a\\b/c",
    ],
    ids=["missing", "a folder", "odd"],
)
def test_refuses_a_file_that_cannot_be_read(start, tmp_path, name, make):
    with pytest.raises(ImproperlyConfigured, match=f"{name}_FILE"):
        start(**{f"{name}_FILE": str(make(tmp_path))})


@pytest.mark.parametrize("name", ["SECRET_KEY", "DATABASE_URL"])
def test_refuses_a_file_that_is_no_text(start, tmp_path, name):
    file = tmp_path / "secret"
    file.write_bytes(b"\xff\xfe\x00")

    with pytest.raises(ImproperlyConfigured, match=f"{name}_FILE"):
        start(**{f"{name}_FILE": str(file)})


def test_refuses_an_example_in_a_file_too(start, tmp_path):
    file = tmp_path / "secret"
    file.write_text("changeme\n")

    with pytest.raises(ImproperlyConfigured, match="SECRET_KEY"):
        start(SECRET_KEY=None, SECRET_KEY_FILE=str(file))


@pytest.mark.parametrize(
    "name", ["DEBUG", "ALLOWED_HOSTS", "PUBLIC_URL", "WEB_THREADS", "LOG_LEVEL"]
)
def test_reads_only_secrets_from_files(start, tmp_path, name):
    file = tmp_path / "value"
    file.write_text("odd")

    started = vars(start(**{f"{name}_FILE": str(file)}))

    assert started[name] == DEFAULTS[name]


def test_refuses_an_extra_that_is_not_installed(start, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    with pytest.raises(ImproperlyConfigured, match=r"STAFF_OTP .* django-otp"):
        start(STAFF_OTP="on")
    assert not start().STAFF_OTP


# The start itself


def test_stops_the_start_with_one_line_that_names_the_variable():
    ended = subprocess.run(  # noqa: S603 - our own manage.py
        [sys.executable, str(env.ROOT / "manage.py"), "check"],
        env=os.environ | {"WEB_THREADS": "many"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode != 0
    assert "WEB_THREADS" in ended.stderr.strip().splitlines()[-1]
