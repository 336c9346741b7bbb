"""Test values for the environment: SQLite in a file, or what DATABASE_URL names."""

import atexit
import os
import shutil
import tempfile

os.environ.setdefault("SECRET_KEY", "a-secret-for-tests-alone-that-signs-nothing-real")
os.environ.setdefault("LOG_FORMAT", "json")
# Who has no device notices nothing of it.
os.environ.setdefault("STAFF_OTP", "on")

from affiliate_site.settings import *  # noqa: F403
from affiliate_site.settings import DATABASES, INSTALLED_APPS

if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # A file: the one in memory has no WAL, and other processes cannot see it.
    folder = tempfile.mkdtemp(prefix="affiliate-site-tests-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    DATABASES["default"]["TEST"] = {"NAME": f"{folder}/test.sqlite3"}
    # An order that nobody asked for is nobody's to rely on: PostgreSQL keeps none.
    options = DATABASES["default"]["OPTIONS"]
    commands = f"{options['init_command']} PRAGMA reverse_unordered_selects=ON;"
    DATABASES["default"]["OPTIONS"] = {**options, "init_command": commands}

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

# Nothing has been collected before the tests run.
STORAGES = {
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}

INSTALLED_APPS = [*INSTALLED_APPS, "django_migration_linter"]  # for `make check`

# A client of the tests begins with a look at every collected file, otherwise.
WHITENOISE_AUTOREFRESH = True
