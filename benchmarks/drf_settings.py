"""Settings of the textbook DRF application: the same database, DRF's defaults."""

from affiliate_site.settings import *  # noqa: F403

INSTALLED_APPS = [
    "payouts",
    "tracking",
    "accounts",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "rest_framework",
]
ROOT_URLCONF = "benchmarks.drf_server"
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.common.CommonMiddleware",
]
REST_FRAMEWORK = {
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_PAGINATION_CLASS": "rest_framework.pagination.PageNumberPagination",
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "PAGE_SIZE": 25,
}
