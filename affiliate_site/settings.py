"""Settings of every deployment; the differences come from the environment (env.py)."""

from typing import Any

from affiliate_site import env
from affiliate_site.backoffice import theme
from affiliate_site.operations.logs import configure_logging

DEBUG = env.DEBUG
SECRET_KEY = env.SECRET_KEY
SECRET_KEY_FALLBACKS = env.SECRET_KEY_FALLBACKS
ENCRYPTION_KEYS = env.ENCRYPTION_KEYS
ALLOWED_HOSTS = env.ALLOWED_HOSTS
BASE_DIR = env.BASE_DIR
PGBOUNCER = env.PGBOUNCER
PUBLIC_URL = env.PUBLIC_URL
TRUSTED_PROXY_COUNT = env.TRUSTED_PROXY_COUNT
DEMO = env.DEMO
WEBHOOK_ALLOWED_HOSTS = env.WEBHOOK_ALLOWED_HOSTS

BACK_OFFICE_CONFIG = "TwoFactorBackOfficeConfig" if env.STAFF_OTP else "BackOfficeConfig"
INSTALLED_APPS = [
    "affiliate_site.apps.AffiliateSiteConfig",
    "payouts",
    "tracking",
    "accounts",
    "unfold.apps.BasicAppConfig",  # before the admin: it overrides its templates
    f"affiliate_site.apps.{BACK_OFFICE_CONFIG}",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "django_otp",  # its tables stay while STAFF_OTP is off
    "django_otp.plugins.otp_totp",
]

MIDDLEWARE = [
    "affiliate_site.middleware.ResponseHeadersMiddleware",
    "affiliate_site.operations.logs.RequestLogMiddleware",
    "affiliate_site.middleware.CorsMiddleware",
    "affiliate_site.middleware.PathNormalizationMiddleware",
    "affiliate_site.middleware.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "affiliate_site.middleware.SessionMiddleware",
    "affiliate_site.middleware.CommonMiddleware",
    "affiliate_site.middleware.CsrfViewMiddleware",
    "affiliate_site.middleware.AuthenticationMiddleware",
    "affiliate_site.middleware.MessageMiddleware",
]

METRICS_TOKEN = env.METRICS_TOKEN
if METRICS_TOKEN:
    MIDDLEWARE.insert(1, "affiliate_site.operations.metrics.MetricsMiddleware")

SENTRY_DSN = env.SENTRY_DSN
if SENTRY_DSN:
    MIDDLEWARE.insert(1, "affiliate_site.operations.error_reports.ErrorReportMiddleware")
if env.IS_TRACING_ON:
    MIDDLEWARE.insert(1, "affiliate_site.operations.tracing.OpenTelemetryMiddleware")

ROOT_URLCONF = "affiliate_site.urls"
WSGI_APPLICATION = "affiliate_site.wsgi.application"
APPEND_SLASH = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "libraries": {
                "list_cells": "affiliate_site.backoffice.lists.cells",
                "portal_formats": "affiliate_site.portal.formats",
            },
        },
    }
]


# Databases. A 2xx response means that the data is on disk, on both engines.

SQLITE_OPTIONS = {
    "transaction_mode": "IMMEDIATE",
    "timeout": 20,
    "init_command": ("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;"),
}
# Seconds on PostgreSQL. The limit of statements applies to requests only (wsgi.py).
TIME_LIMITS = {
    "lock_timeout": 3,
    "idle_in_transaction_session_timeout": 15,
    "statement_timeout": 10,
}
# Just-in-time compilation adds 0.1 s to a statement that the planner thinks is long.
POSTGRESQL_SETTINGS = (
    f"-c lock_timeout={TIME_LIMITS['lock_timeout']}s"
    " -c idle_in_transaction_session_timeout="
    f"{TIME_LIMITS['idle_in_transaction_session_timeout']}s"
    " -c statement_timeout=0 -c jit=off"
)
# Without these, a server that is gone without a word is noticed after minutes.
NETWORK_OPTIONS = {
    "connect_timeout": 3,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,  # milliseconds
}
POSTGRESQL_OPTIONS = NETWORK_OPTIONS | {
    "options": POSTGRESQL_SETTINGS,
    "server_side_binding": True,
    "prepare_threshold": 5,
}


def configure_postgresql(database: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a connection to PostgreSQL."""
    if PGBOUNCER:
        # PgBouncer in transaction mode has no sessions: no cursors, no session
        # settings. The time limits are settings of the role, without which gunicorn
        # does not start.
        return database | {
            "ENGINE": "affiliate_site.postgresql",
            "OPTIONS": NETWORK_OPTIONS | database.get("OPTIONS", {}),
            "DISABLE_SERVER_SIDE_CURSORS": True,
        }
    # One persistent connection per thread with health checks. A pool would wait seconds
    # for each connection that a server restart has closed.
    return database | {
        "ENGINE": "affiliate_site.postgresql",
        "OPTIONS": POSTGRESQL_OPTIONS | database.get("OPTIONS", {}),
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": True,
    }


DATABASES = {"default": env.get_database_settings()}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    DATABASES["default"] |= {"OPTIONS": SQLITE_OPTIONS, "CONN_MAX_AGE": None}
else:
    DATABASES["default"] = configure_postgresql(DATABASES["default"])
if replica := env.get_replica_settings():
    DATABASES["replica"] = configure_postgresql(replica)
    DATABASE_ROUTERS = ["accounts.replica.ReplicaRouter"]


# Time and language: always UTC and English, as the API 1.6 specification words it. The
# back office shows moments in the time zone of the account. Only the portal has other
# languages: without LocaleMiddleware its pages and mails choose theirs.

USE_TZ = True
TIME_ZONE = "UTC"
USE_I18N = True
LANGUAGE_CODE = "en"
LANGUAGES = [
    ("en", "English"),
    ("de", "Deutsch"),
    ("fr", "Français"),
    ("es", "Español"),
]
LANGUAGE_COOKIE_NAME = "language"
LOCALE_PATHS = [BASE_DIR / "locale"]
FORMAT_MODULE_PATH = "affiliate_site.formats"  # of the back office; not of the API

# Back office and sign-in.

UNFOLD: dict[str, Any] = theme.UNFOLD

STAFF_OTP = env.STAFF_OTP
if STAFF_OTP:
    UNFOLD = UNFOLD | {"ACCOUNT": {"navigation": theme.ACCOUNT_LINKS}}
    OTP_TOTP_ISSUER = UNFOLD["SITE_TITLE"]

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["affiliate_site.roles.RoleBackend"]
DJANGO_VALIDATORS = "django.contrib.auth.password_validation"
MIN_PASSWORD_LENGTH = 10  # that staff and affiliates choose
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": name, "OPTIONS": options}
    for name, options in (
        (
            f"{DJANGO_VALIDATORS}.MinimumLengthValidator",
            {"min_length": MIN_PASSWORD_LENGTH},
        ),
        ("accounts.services.staff.EmailSimilarityValidator", {}),
        (f"{DJANGO_VALIDATORS}.CommonPasswordValidator", {}),
        (f"{DJANGO_VALIDATORS}.NumericPasswordValidator", {}),
    )
]
LOGIN_URL = "admin:login"
LOGIN_REDIRECT_URL = "admin:index"
SESSION_COOKIE_AGE = 8 * 3600
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_NAME = "__Host-session" if env.BEHIND_TLS else "session"
CSRF_COOKIE_NAME = "__Host-csrf" if env.BEHIND_TLS else "csrf"
CSRF_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "affiliate_site.http_errors.csrf_failure"
CSRF_TRUSTED_ORIGINS = env.CSRF_TRUSTED_ORIGINS

PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]


# Requests and responses of the API.

DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024
# A longer body is received and dropped, so that the client reads the answer and keeps
# its connection; after the answer to one above this size the connection is closed.
RECEIVED_BODY_MAX_SIZE = 10 * 1024 * 1024
FORM_MAX_SIZE = 3_000_000  # of staff, with a file; the proxies in deploy/ take as much
DATA_UPLOAD_MAX_NUMBER_FIELDS = 1000

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["affiliate_site.api.access.ApiKeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["affiliate_site.api.access.PlanAndRolePermission"],
    "DEFAULT_RENDERER_CLASSES": ["affiliate_site.api.renderers.ExactJSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["affiliate_site.api.parsing.StrictJSONParser"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": ("affiliate_site.api.renderers.JSONContentNegotiation"),
    "DEFAULT_SCHEMA_CLASS": "affiliate_site.api.schema.ViewSetAutoSchema",
    "EXCEPTION_HANDLER": "affiliate_site.api.errors.exception_handler",
    "UNAUTHENTICATED_USER": None,
    "URL_FORMAT_OVERRIDE": None,
}

CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"},
    "rate_limits": {"BACKEND": "affiliate_site.throttling.RateLimitCache"},
}
REDIS_URL = env.REDIS_URL  # of the counters; without one they are in the database
RATELIMIT_USE_CACHE = "rate_limits"
RATELIMIT_IP_META_KEY = "affiliate_site.throttling.get_client_ip"


# TLS. The security headers of every response are constants in middleware.py.

SECURE_SSL_REDIRECT = env.BEHIND_TLS
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if env.BEHIND_TLS else 0
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = env.BEHIND_TLS
if env.TRUSTED_PROXY_COUNT:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

SILENCED_SYSTEM_CHECKS = [
    "security.W001",  # SecurityMiddleware is installed, limited to some paths
    "security.W002",  # X-Frame-Options is set by ResponseHeadersMiddleware
    "security.W003",  # CsrfViewMiddleware is installed, limited to the back office
    "security.W005",  # HSTS for subdomains is a decision of the operator
    "security.W021",  # the HSTS preload list too
    "auth.W004",  # e-mail addresses are unique per account, which the backend handles
]


# Functions that lower layers call by dotted path, since they must not import this one:
# webhook payloads, the removal of a second factor, a metric, and reports of errors.

EVENT_PAYLOAD_RENDERER = "affiliate_site.webhooks.payloads.render_payloads"
SECOND_FACTOR_REMOVER = (
    "affiliate_site.backoffice.second_factor.delete_second_factor" if env.STAFF_OTP else ""
)
RATE_LIMIT_FALLBACK_COUNTER = (
    "affiliate_site.operations.metrics.count_rate_limit_fallback" if METRICS_TOKEN else ""
)
COMMAND_FAILURE_REPORTER = (
    "affiliate_site.operations.error_reports.report_command_failure" if SENTRY_DSN else ""
)


# E-mail to the owners of an account.

vars().update(env.EMAIL)
if "ANYMAIL" in env.EMAIL:
    INSTALLED_APPS += ["anymail"]
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env.DEFAULT_FROM_EMAIL


# Images of creatives, which are part of a backup.

CREATIVES_DIR = env.CREATIVES_DIR

# Applications at the portal: the dotted path of a function that gets the request and
# returns why it is refused, or an empty text.

PORTAL_CHALLENGE = env.PORTAL_CHALLENGE


# Static files and the OpenAPI document.

STATIC_URL = "/static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
STORAGES = {
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.AppDirectoriesFinder"]

SPECTACULAR_SETTINGS = {
    "TITLE": "Affiliate Site",
    "VERSION": "1.6",
    "OAS_VERSION": "3.1.1",
    "SCHEMA_PATH_PREFIX": r"/1\.[67]",
    "COMPONENT_SPLIT_PATCH": False,
    "SERVE_INCLUDE_SCHEMA": False,
    "POSTPROCESSING_HOOKS": [
        "affiliate_site.api.schema.add_shared_components",
        "affiliate_site.api.openapi_descriptions.describe_document",
    ],
    "ENABLE_DJANGO_DEPLOY_CHECK": True,
}

LOGGING_CONFIG = None
configure_logging(level=env.LOG_LEVEL, console=env.LOG_FORMAT == "console")
