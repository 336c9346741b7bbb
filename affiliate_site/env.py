"""Every variable of the environment: its name, its type, its default, its meaning.

An odd value stops the start with the variable's name. Secrets may also be
given as `NAME_FILE`, the path of a file that holds the value.
"""

import os
import re
import secrets
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured

ROOT = Path(__file__).resolve().parent.parent
VAR = ROOT / "var"
EXAMPLE_SECRETS = ("changeme", "change-me", "secret", "example")
ORIGIN = re.compile(r"https?://(\[[0-9a-f:]+\]|[\w.-]+)(:[0-9]{1,5})?", re.ASCII)
HOST_AND_PORT = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+):[0-9]{1,5}", re.ASCII)
HIGHEST_PORT = 65535
MAIL_SERVERS = ("smtp://", "smtps://", "smtp+tls://", "smtp+ssl://")
ENGINES = ("postgres://", "postgresql://", "sqlite:///")
ON = ("on", "true", "1", "yes")
OFF = ("off", "false", "0", "no", "")


def text(name: str, default: str = "") -> str:
    """The variable without outer white space; empty means not set."""
    return os.environ.get(name, "").strip() or default


def secret(name: str) -> str:
    """The variable, or the content of the file that `NAME_FILE` names."""
    path = text(f"{name}_FILE")
    if not path:
        return text(name)
    try:
        return Path(path).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ImproperlyConfigured(f"{name}_FILE cannot be read: {error}") from error


def switch(name: str) -> bool:
    """`on` or `off`, off by default."""
    value = text(name).lower()
    if value not in ON + OFF:
        raise ImproperlyConfigured(f"{name} must be on or off, not {value!r}")
    return value in ON


def extra(name: str, package: str, module: str) -> bool:
    """`on` or `off`; on needs a package that is not installed by itself."""
    is_on = switch(name)
    if is_on and find_spec(module) is None:
        raise ImproperlyConfigured(f"{name} is on, but {package} is not installed")
    return is_on


def number(name: str, default: int, *, least: int) -> int:
    """A whole number of at least `least`."""
    value = text(name, str(default))
    if not (value.isascii() and value.isdigit() and int(value) >= least):
        raise ImproperlyConfigured(
            f"{name} must be a whole number, {least} or more, not {value!r}"
        )
    return int(value)


def one_of(name: str, default: str, choices: tuple[str, ...]) -> str:
    """One of the words listed."""
    value = text(name, default)
    if value not in choices:
        raise ImproperlyConfigured(
            f"{name} must be one of {', '.join(choices)}, not {value!r}"
        )
    return value


def words(name: str, default: str = "") -> list[str]:
    """A comma separated list."""
    return [word.strip() for word in text(name, default).split(",") if word.strip()]


def kept_secret_key() -> str:
    """The embedded default's own secret: made once, kept in `var/`, mode 0600."""
    path = VAR / "secret_key"
    VAR.mkdir(mode=0o700, exist_ok=True)
    try:
        with open(path, "x", opener=private) as file:
            file.write(secrets.token_urlsafe(50))
    except FileExistsError:
        pass
    return path.read_text().strip()


def private(path: str, flags: int) -> int:
    """Open a file that only its owner may read."""
    return os.open(path, flags, mode=0o600)


def public_url() -> str:
    """Scheme and host that links are built from when no request is at hand."""
    value = text("PUBLIC_URL", "http://127.0.0.1:8000").rstrip("/")
    if not ORIGIN.fullmatch(value) or not is_port(value.rpartition(":")[2]):
        raise ImproperlyConfigured(
            f"PUBLIC_URL must be http(s)://host[:port], not {value!r}"
        )
    return value


def is_port(ending: str) -> bool:
    """Whatever stands behind the last colon: a host, or a port that exists."""
    return not ending.isdigit() or 0 < int(ending) <= HIGHEST_PORT


def email() -> dict[str, Any]:
    """How notices are sent; without `EMAIL_URL` none are."""
    if not EMAIL_URL:
        return {"EMAIL_BACKEND": "django.core.mail.backends.dummy.EmailBackend"}
    try:
        if not EMAIL_URL.startswith(MAIL_SERVERS):
            raise ValueError("another scheme")
        return dict(environ.Env.email_url_config(EMAIL_URL))
    except (ValueError, ImproperlyConfigured):
        # Not chained: what the address holds, its password too, is nobody's business.
        raise ImproperlyConfigured(
            "EMAIL_URL must be smtp+tls://user:pass@host:port, smtp+ssl:// or smtp://"
        ) from None


def hosts_with_ports(name: str) -> frozenset[str]:
    """A comma separated list of `host:port`, an IPv6 host in brackets."""
    listed = frozenset(word.lower() for word in words(name))
    for word in sorted(listed):
        if not HOST_AND_PORT.fullmatch(word) or not is_port(word.rpartition(":")[2]):
            raise ImproperlyConfigured(
                f"{name} must list host:port, comma separated, not {word!r}"
            )
    return listed


def secret_key() -> str:
    """The signing key: given, or kept in `var/` for the embedded database."""
    value = secret("SECRET_KEY")
    if value.lower() in EXAMPLE_SECRETS:
        raise ImproperlyConfigured("SECRET_KEY still has an example value")
    if value:
        return value
    if DATABASE_IS_EMBEDDED or DEBUG:
        return kept_secret_key()
    raise ImproperlyConfigured(
        "SECRET_KEY is empty: it is required when DATABASE_URL is set"
    )


def allowed_hosts() -> list[str]:
    """Exact host names; a wildcard is for development only."""
    hosts = words("ALLOWED_HOSTS", "127.0.0.1,localhost,[::1]")
    if not DEBUG and any(host.startswith((".", "*")) for host in hosts):
        raise ImproperlyConfigured("ALLOWED_HOSTS must hold exact names, no wildcard")
    return hosts


def database() -> dict[str, Any]:
    """The connection that `DATABASE_URL` names, as Django wants it."""
    try:
        if not DATABASE_URL.startswith(ENGINES):
            raise ValueError("another scheme")
        return environ.Env.db_url_config(DATABASE_URL)
    except (ValueError, ImproperlyConfigured):
        # Not chained: what the address holds, its password too, is nobody's business.
        raise ImproperlyConfigured(
            "DATABASE_URL must be postgres://user:pass@host:port/name"
            " or sqlite:///<path>"
        ) from None


DEBUG = switch("DEBUG")
DATABASE_IS_EMBEDDED = not secret("DATABASE_URL")
DATABASE_URL = secret("DATABASE_URL") or f"sqlite:///{VAR / 'db.sqlite3'}"
SECRET_KEY = secret_key()
SECRET_KEY_FALLBACKS = words("SECRET_KEY_FALLBACKS")
ALLOWED_HOSTS = allowed_hosts()
PUBLIC_URL = public_url()
CSRF_TRUSTED_ORIGINS = words("CSRF_TRUSTED_ORIGINS", PUBLIC_URL)
BEHIND_TLS = PUBLIC_URL.startswith("https://")
TRUSTED_PROXY_COUNT = number("TRUSTED_PROXY_COUNT", 0, least=0)
PGBOUNCER = switch("PGBOUNCER")
DEMO = switch("DEMO")
STAFF_OTP = extra("STAFF_OTP", "django-otp", "django_otp")
EMAIL_URL = text("EMAIL_URL")
EMAIL = email()
DEFAULT_FROM_EMAIL = text("DEFAULT_FROM_EMAIL", "affiliate-site@localhost")
WEBHOOK_ALLOWED_HOSTS = hosts_with_ports("WEBHOOK_ALLOWED_HOSTS")
WEB_CONCURRENCY = number("WEB_CONCURRENCY", 2, least=1)
WEB_THREADS = number("WEB_THREADS", 4, least=1)
LOG_LEVEL = one_of("LOG_LEVEL", "INFO", ("DEBUG", "INFO", "WARNING", "ERROR"))
LOG_FORMAT = one_of(
    "LOG_FORMAT", "console" if sys.stderr.isatty() else "json", ("console", "json")
)
