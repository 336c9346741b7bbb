"""Settings: one file, the same for everyone; differences come from env.py."""

from affiliate_site import env
from affiliate_site.backoffice.look import ACCOUNT_LINKS, LOOK
from affiliate_site.logs import configure

DEBUG = env.DEBUG
SECRET_KEY = env.SECRET_KEY
SECRET_KEY_FALLBACKS = env.SECRET_KEY_FALLBACKS
ALLOWED_HOSTS = env.ALLOWED_HOSTS
PUBLIC_URL = env.PUBLIC_URL
TRUSTED_PROXY_COUNT = env.TRUSTED_PROXY_COUNT
DEMO = env.DEMO
WEBHOOK_ALLOWED_HOSTS = env.WEBHOOK_ALLOWED_HOSTS

BACK_OFFICE = "GuardedBackOffice" if env.STAFF_OTP else "BackOffice"
INSTALLED_APPS = [
    "affiliate_site.apps.AffiliateSite",
    "payouts",
    "tracking",
    "accounts",
    "unfold.apps.BasicAppConfig",  # before the admin, whose templates it takes over
    f"affiliate_site.apps.{BACK_OFFICE}",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",
]

MIDDLEWARE = [
    "affiliate_site.middleware.FirstAnswer",
    "affiliate_site.logs.RequestLog",
    "affiliate_site.middleware.CrossOrigin",
    "affiliate_site.middleware.AddressRepair",
    "affiliate_site.middleware.TransportSecurity",
    "affiliate_site.middleware.StaticFiles",
    "affiliate_site.middleware.Sessions",
    "affiliate_site.middleware.Slashes",
    "affiliate_site.middleware.Forgeries",
    "affiliate_site.middleware.SignIns",
    "affiliate_site.middleware.Messages",
]

ROOT_URLCONF = "affiliate_site.urls"
WSGI_APPLICATION = "affiliate_site.wsgi.application"
APPEND_SLASH = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [env.ROOT / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "libraries": {"landmarks": "affiliate_site.backoffice.landmarks"},
        },
    }
]


# Databases: one rule for both engines, a transaction that fails is a transaction
# that never was, and a 2xx means that it is on disk.

SQLITE = {
    "transaction_mode": "IMMEDIATE",
    "timeout": 20,
    "init_command": (
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;"
    ),
}
TIME_LIMITS = (
    "-c statement_timeout=10s -c lock_timeout=3s"
    " -c idle_in_transaction_session_timeout=15s"
)
POSTGRESQL = {
    "options": TIME_LIMITS,
    "server_side_binding": True,
    "prepare_threshold": 5,
    "connect_timeout": 3,
}

DATABASES = {"default": env.database()}
DATABASE = DATABASES["default"]
if DATABASE["ENGINE"] == "django.db.backends.sqlite3":
    DATABASE |= {"OPTIONS": SQLITE, "CONN_MAX_AGE": None}
elif env.PGBOUNCER:
    # A pooler in transaction mode keeps no session: nothing may rely on one.
    DATABASE |= {"OPTIONS": {}, "DISABLE_SERVER_SIDE_CURSORS": True}
else:
    # One connection a thread, kept and asked for its health before it is used. A pool
    # waits seconds for each connection that a restart of the server has killed.
    DATABASE |= {
        "OPTIONS": POSTGRESQL,
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": True,
    }


# Time, language, text: UTC and the spec's English, whatever a caller prefers.

USE_TZ = True
TIME_ZONE = "UTC"
USE_I18N = False
LANGUAGE_CODE = "en"
FORMAT_MODULE_PATH = "affiliate_site.formats"  # of the back office; not of the API

# The back office, and signing in to it.

UNFOLD: dict = LOOK

if env.STAFF_OTP:
    INSTALLED_APPS += ["django_otp", "django_otp.plugins.otp_totp"]
    UNFOLD = LOOK | {"ACCOUNT": {"navigation": ACCOUNT_LINKS}}
    OTP_TOTP_ISSUER = LOOK["SITE_TITLE"]

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["affiliate_site.roles.ByRole"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}", "OPTIONS": options}
    for name, options in (
        ("MinimumLengthValidator", {"min_length": 10}),
        ("UserAttributeSimilarityValidator", {"user_attributes": ["email"]}),
        ("CommonPasswordValidator", {}),
        ("NumericPasswordValidator", {}),
    )
]
LOGIN_URL = "admin:login"
LOGIN_REDIRECT_URL = "admin:index"
SESSION_COOKIE_AGE = 8 * 3600
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_NAME = "__Host-session" if env.BEHIND_TLS else "session"
CSRF_COOKIE_NAME = "__Host-csrf" if env.BEHIND_TLS else "csrf"
CSRF_COOKIE_HTTPONLY = True
CSRF_TRUSTED_ORIGINS = env.CSRF_TRUSTED_ORIGINS

PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]


# The door.

DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 1000

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["affiliate_site.api.authentication.KeyHeader"],
    "DEFAULT_PERMISSION_CLASSES": ["affiliate_site.api.permissions.PlanAndRole"],
    "DEFAULT_RENDERER_CLASSES": ["affiliate_site.api.rendering.ExactJSON"],
    "DEFAULT_PARSER_CLASSES": ["affiliate_site.api.parsing.StrictJSON"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "affiliate_site.api.rendering.AlwaysJSON",
    "DEFAULT_SCHEMA_CLASS": "affiliate_site.api.schema.DeclaredSchema",
    "EXCEPTION_HANDLER": "affiliate_site.api.errors.answer_failure",
    "UNAUTHENTICATED_USER": None,
    "URL_FORMAT_OVERRIDE": None,
}

CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"},
    "floods": {"BACKEND": "affiliate_site.floods.CountingCache"},
}
RATELIMIT_USE_CACHE = "floods"
RATELIMIT_IP_META_KEY = "affiliate_site.floods.address"


# Security headers of every answer are constants in middleware.py; these belong to TLS.

SECURE_SSL_REDIRECT = env.BEHIND_TLS
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if env.BEHIND_TLS else 0
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = env.BEHIND_TLS
if env.TRUSTED_PROXY_COUNT:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

SILENCED_SYSTEM_CHECKS = [
    "security.W001",  # SecurityMiddleware is there, wrapped: TransportSecurity
    "security.W002",  # X-Frame-Options is set by FirstAnswer, on every answer
    "security.W003",  # CsrfViewMiddleware is there, wrapped: Forgeries
    "security.W005",  # subdomains are not ours to decide about
    "security.W021",  # nor is the preload list
]


# The two plugs through which the floors below get what only the roof knows: what
# receivers of an event are told, and how a second factor is taken away.

EVENT_BODY = "affiliate_site.webhooks.bodies.render"
DROP_SECOND_FACTOR = (
    "affiliate_site.backoffice.second_factor.drop" if env.STAFF_OTP else ""
)


# Notices to the owners of an account.

vars().update(env.EMAIL)
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env.DEFAULT_FROM_EMAIL


# Files that a page needs, and the description of the API.

STATIC_URL = "/static/"
STATIC_ROOT = env.ROOT / "staticfiles"
STORAGES = {
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}
STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.AppDirectoriesFinder"]

SPECTACULAR_SETTINGS = {
    "TITLE": "Affiliate Site",
    "DESCRIPTION": "The affiliate program API, version 1.6.",
    "VERSION": "1.6",
    "OAS_VERSION": "3.1.1",
    "SCHEMA_PATH_PREFIX": r"/1\.[67]",
    "COMPONENT_SPLIT_PATCH": False,
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "POSTPROCESSING_HOOKS": ["affiliate_site.api.schema.add_shared_answers"],
    "ENABLE_DJANGO_DEPLOY_CHECK": True,
}

LOGGING_CONFIG = None
configure(level=env.LOG_LEVEL, console=env.LOG_FORMAT == "console")
