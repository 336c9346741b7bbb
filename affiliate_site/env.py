"""Environment variables: names, types, defaults, validation.

An invalid value stops the process with a message that names the variable. Secrets can
also be passed as `NAME_FILE`, the path of a file that contains the value.
django-environ parses the URLs only; its other readers are too lenient: they take an
unknown word for off and an empty value for a value, they resolve `$NAME` to another
variable, and they read every variable from a file.
"""

import os
import re
import secrets
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit  # noqa: TID251 - variables of the operator

import environ
from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured

BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = BASE_DIR / "var"
EXAMPLE_SECRETS = ("changeme", "change-me", "secret", "example")
ORIGIN = re.compile(r"https?://(\[[0-9a-f:]+\]|[\w.-]+)(:[0-9]{1,5})?", re.ASCII)
SENTRY_DSN_PATTERN = re.compile(r"https?://\w+(:\w+)?@[\w.-]+(:[0-9]+)?/[\w./-]+")
HOST_AND_PORT = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+):[0-9]{1,5}", re.ASCII)
MAX_PORT = 65535
MIN_TOKEN_LENGTH = 16
EMAIL_SCHEMES = ("smtp://", "smtps://", "smtp+tls://", "smtp+ssl://")
POSTGRESQL_SCHEMES = ("postgres://", "postgresql://")
REDIS_SCHEMES = ("redis", "rediss", "unix")
DATABASE_SCHEMES = (*POSTGRESQL_SCHEMES, "sqlite:///")
TRUE_VALUES = ("on", "true", "1", "yes")
FALSE_VALUES = ("off", "false", "0", "no", "")


def get_text(name: str, default: str = "") -> str:
    """Return the variable without outer white space; empty means not set."""
    value = os.environ.get(name, "").strip()
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ImproperlyConfigured(f"{name} is not valid UTF-8") from None
    return value or default


def get_secret(name: str) -> str:
    """Return the variable, or the content of the file at the path `NAME_FILE`."""
    path = get_text(f"{name}_FILE")
    if not path:
        return get_text(name)
    try:
        return Path(path).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ImproperlyConfigured(f"{name}_FILE cannot be read: {error}") from error


def get_boolean(name: str, *, is_on: bool = False) -> bool:
    """Read `on` or `off`; `is_on` is the default."""
    value = get_text(name, "on" if is_on else "").lower()
    if value not in TRUE_VALUES + FALSE_VALUES:
        raise ImproperlyConfigured(f"{name} must be on or off, not {value!r}")
    return value in TRUE_VALUES


def get_metrics_token() -> str:
    """Return the token of `/metrics`, which is off without one."""
    token = get_secret("METRICS_TOKEN")
    if token and len(token) < MIN_TOKEN_LENGTH:
        raise ImproperlyConfigured(
            f"METRICS_TOKEN must have at least {MIN_TOKEN_LENGTH} characters"
        )
    if token and find_spec("prometheus_client") is None:
        raise ImproperlyConfigured("METRICS_TOKEN is set, but prometheus-client is not installed")
    return token


def get_redis_url() -> str:
    """Return the address of Redis, which is not used without one."""
    url = get_secret("REDIS_URL")
    if not url:
        return ""
    if find_spec("redis") is None:
        raise ImproperlyConfigured("REDIS_URL is set, but redis is not installed")
    try:
        parts = urlsplit(url)
        server = parts.path if parts.scheme == "unix" else parts.hostname
    except ValueError:
        server = None
    if not server or parts.scheme not in REDIS_SCHEMES:
        # Not chained: the original message may contain the password.
        raise ImproperlyConfigured(
            "REDIS_URL must be redis://:password@host:port/number, rediss:// or unix://"
        )
    return url


def get_sentry_dsn() -> str:
    """Return the address of Sentry, to which nothing is sent without one."""
    dsn = get_secret("SENTRY_DSN")
    if dsn and find_spec("sentry_sdk") is None:
        raise ImproperlyConfigured("SENTRY_DSN is set, but sentry-sdk is not installed")
    if dsn and not SENTRY_DSN_PATTERN.fullmatch(dsn):
        raise ImproperlyConfigured("SENTRY_DSN must be https://key@host/project")
    return dsn


def is_tracing_on() -> bool:
    """Return whether traces are sent; the exporter reads the address itself."""
    is_on = bool(get_text("OTEL_EXPORTER_OTLP_ENDPOINT"))
    if is_on and find_spec("opentelemetry") is None:
        raise ImproperlyConfigured(
            "OTEL_EXPORTER_OTLP_ENDPOINT is set, but opentelemetry-sdk is not installed"
        )
    return is_on


def get_integer(name: str, default: int, *, minimum: int) -> int:
    """Read a whole number, `minimum` or more."""
    value = get_text(name, str(default))
    if not (value.isascii() and value.isdigit() and int(value) >= minimum):
        raise ImproperlyConfigured(
            f"{name} must be a whole number, {minimum} or more, not {value!r}"
        )
    return int(value)


def get_choice(name: str, default: str, choices: tuple[str, ...]) -> str:
    """Read one of `choices`."""
    value = get_text(name, default)
    if value not in choices:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(choices)}, not {value!r}")
    return value


def get_list(name: str, default: str = "") -> list[str]:
    """Read a comma-separated list."""
    return [item.strip() for item in get_text(name, default).split(",") if item.strip()]


def get_or_create_key(file_name: str, generate: Callable[[], str]) -> str:
    """Return a key of the embedded database, stored in `var/` (mode 0600)."""
    path = VAR_DIR / file_name
    VAR_DIR.mkdir(mode=0o700, exist_ok=True)
    try:
        with open(path, "x", opener=open_private_file) as file:
            file.write(generate())
    except FileExistsError:
        pass
    return path.read_text().strip()


def open_private_file(path: str, flags: int) -> int:
    """Open a file with mode 0600."""
    return os.open(path, flags, mode=0o600)


def get_public_url() -> str:
    """Return scheme and host for links that are built outside a request."""
    value = get_text("PUBLIC_URL", "http://127.0.0.1:8000").rstrip("/")
    if not ORIGIN.fullmatch(value) or not is_valid_port(value.rpartition(":")[2]):
        raise ImproperlyConfigured(f"PUBLIC_URL must be http(s)://host[:port], not {value!r}")
    return value


def is_valid_port(text: str) -> bool:
    """Check the part after the last colon: not a number (a host), or a valid port."""
    return not text.isdigit() or 0 < int(text) <= MAX_PORT


def get_trusted_origins() -> list[str]:
    """Read origins, by default that of `PUBLIC_URL`."""
    origins = get_list("CSRF_TRUSTED_ORIGINS", PUBLIC_URL)
    for origin in origins:
        if not ORIGIN.fullmatch(origin):
            raise ImproperlyConfigured(
                f"CSRF_TRUSTED_ORIGINS must list http(s)://host[:port], not {origin!r}"
            )
    return origins


def get_email_settings() -> dict[str, Any]:
    """Return the settings of the mail server, or of the API of a mail provider.

    Without `EMAIL_URL` and `ANYMAIL_PROVIDER` no mail is sent.
    """
    if provider := get_text("ANYMAIL_PROVIDER"):
        backend = f"anymail.backends.{provider}"
        if find_spec("anymail") is None or find_spec(backend) is None:
            raise ImproperlyConfigured(
                "ANYMAIL_PROVIDER must be one that django-anymail knows, such as"
                " postmark, and django-anymail must be installed"
            )
        names = {it.removesuffix("_FILE") for it in os.environ if it[:8] == "ANYMAIL_"}
        options = {name.removeprefix("ANYMAIL_"): get_secret(name) for name in names}
        return {"EMAIL_BACKEND": f"{backend}.EmailBackend", "ANYMAIL": options}
    if not EMAIL_URL:
        return {"EMAIL_BACKEND": "django.core.mail.backends.dummy.EmailBackend"}
    try:
        if not EMAIL_URL.startswith(EMAIL_SCHEMES):
            raise ValueError("another scheme")
        return dict(environ.Env.email_url_config(EMAIL_URL))
    except (ValueError, ImproperlyConfigured):
        # Not chained: the original message contains the URL and its password.
        raise ImproperlyConfigured(
            "EMAIL_URL must be smtp+tls://user:pass@host:port, smtp+ssl:// or smtp://"
        ) from None


def get_hosts_with_ports(name: str) -> frozenset[str]:
    """Read a comma-separated list of `host:port`, IPv6 hosts in brackets."""
    hosts = frozenset(host.lower() for host in get_list(name))
    for host in sorted(hosts):
        if not HOST_AND_PORT.fullmatch(host) or not is_valid_port(host.rpartition(":")[2]):
            raise ImproperlyConfigured(f"{name} must list host:port, comma separated, not {host!r}")
    return hosts


def get_secret_key() -> str:
    """Return the signing key; it is generated as `MAKES_KEYS` allows."""
    value = get_secret("SECRET_KEY")
    if value.lower() in EXAMPLE_SECRETS:
        raise ImproperlyConfigured("SECRET_KEY still has an example value")
    if value:
        return value
    if MAKES_KEYS:
        return get_or_create_key("secret_key", lambda: secrets.token_urlsafe(50))
    raise ImproperlyConfigured("SECRET_KEY is empty: it is required when DATABASE_URL is set")


def get_encryption_keys() -> list[str]:
    """Return the keys of encrypted columns: the first encrypts, all decrypt."""
    keys = [key.strip() for key in get_secret("ENCRYPTION_KEYS").split(",")]
    keys = [key for key in keys if key]
    if not keys and MAKES_KEYS:
        keys = [get_or_create_key("encryption_key", generate_encryption_key)]
    if not keys:
        raise ImproperlyConfigured(
            "ENCRYPTION_KEYS is empty: it is required when DATABASE_URL is set."
            " Make one with: openssl rand -base64 32"
        )
    for key in keys:
        try:
            Fernet(key.replace("+", "-").replace("/", "_"))
        except ValueError:
            raise ImproperlyConfigured(
                "ENCRYPTION_KEYS must list base64 texts of 32 random bytes each"
            ) from None
    return [key.replace("+", "-").replace("/", "_") for key in keys]


def generate_encryption_key() -> str:
    """Return a new key of encrypted columns."""
    return Fernet.generate_key().decode()


def get_allowed_hosts() -> list[str]:
    """Read exact host names; wildcards are allowed with `DEBUG` only."""
    hosts = get_list("ALLOWED_HOSTS", "127.0.0.1,localhost,[::1]")
    if not DEBUG and any(host.startswith((".", "*")) for host in hosts):
        raise ImproperlyConfigured("ALLOWED_HOSTS must hold exact names, no wildcard")
    return hosts


def get_database_settings() -> dict[str, Any]:
    """Convert `DATABASE_URL` to the settings of Django's connection."""
    return parse_database_url(
        DATABASE_URL,
        DATABASE_SCHEMES,
        "DATABASE_URL must be postgres://user:pass@host:port/name or sqlite:///<path>",
    )


def get_replica_settings() -> dict[str, Any] | None:
    """Convert `DATABASE_REPLICA_URL`, if it is set, to the settings of a connection."""
    url = get_secret("DATABASE_REPLICA_URL")
    if not url:
        return None
    if not DATABASE_URL.startswith(POSTGRESQL_SCHEMES):
        raise ImproperlyConfigured(
            "DATABASE_REPLICA_URL needs PostgreSQL: SQLite has no replicas. Unset it,"
            " or set DATABASE_URL to the PostgreSQL server that is copied"
        )
    return parse_database_url(
        url,
        POSTGRESQL_SCHEMES,
        "DATABASE_REPLICA_URL must be postgres://user:pass@host:port/name",
    )


def parse_database_url(url: str, schemes: tuple[str, ...], message: str) -> dict[str, Any]:
    """Return the settings of a connection, or raise ImproperlyConfigured."""
    try:
        if not url.startswith(schemes):
            raise ValueError("another scheme")
        database: dict[str, Any] = environ.Env.db_url_config(url)
        if database["NAME"] in ("", ":memory:"):
            raise ValueError("no database")
        return database
    except (ValueError, ImproperlyConfigured):
        # Not chained: the original message contains the URL and its password.
        raise ImproperlyConfigured(message) from None


DEBUG = get_boolean("DEBUG")
DATABASE_IS_EMBEDDED = not get_secret("DATABASE_URL")
DATABASE_URL = get_secret("DATABASE_URL") or f"sqlite:///{VAR_DIR / 'db.sqlite3'}"
# Keys in `var/` are those of one machine: `make run` allows them for any database.
MAKES_KEYS = DATABASE_IS_EMBEDDED or DEBUG or get_boolean("MAKE_KEYS")
SECRET_KEY = get_secret_key()
SECRET_KEY_FALLBACKS = get_secret("SECRET_KEY_FALLBACKS").replace(",", " ").split()
ENCRYPTION_KEYS = get_encryption_keys()
ALLOWED_HOSTS = get_allowed_hosts()
PUBLIC_URL = get_public_url()
CSRF_TRUSTED_ORIGINS = get_trusted_origins()
BEHIND_TLS = PUBLIC_URL.startswith("https://")
CREATIVES_DIR = Path(get_text("CREATIVES_DIR") or VAR_DIR / "creatives")
TRUSTED_PROXY_COUNT = get_integer("TRUSTED_PROXY_COUNT", 0, minimum=0)
PGBOUNCER = get_boolean("PGBOUNCER")
DEMO = get_boolean("DEMO")
STAFF_OTP = get_boolean("STAFF_OTP", is_on=True)
METRICS_TOKEN = get_metrics_token()
REDIS_URL = get_redis_url()
SENTRY_DSN = get_sentry_dsn()
IS_TRACING_ON = is_tracing_on()
EMAIL_URL = get_text("EMAIL_URL")
EMAIL = get_email_settings()
DEFAULT_FROM_EMAIL = get_text("DEFAULT_FROM_EMAIL", "affiliate-site@localhost")
PORTAL_CHALLENGE = get_text("PORTAL_CHALLENGE")
WEBHOOK_ALLOWED_HOSTS = get_hosts_with_ports("WEBHOOK_ALLOWED_HOSTS")
WEB_CONCURRENCY = get_integer("WEB_CONCURRENCY", 2, minimum=1)
WEB_THREADS = get_integer("WEB_THREADS", 4, minimum=1)
LOG_LEVEL = get_choice("LOG_LEVEL", "INFO", ("DEBUG", "INFO", "WARNING", "ERROR"))
LOG_FORMAT = get_choice(
    "LOG_FORMAT", "console" if sys.stderr.isatty() else "json", ("console", "json")
)
