"""Test settings: SQLite in a file, or the database of DATABASE_URL."""

import atexit
import os
import shutil
import tempfile

os.environ.setdefault("SECRET_KEY", "a-secret-for-tests-only-that-signs-nothing-real")
os.environ.setdefault("ENCRYPTION_KEYS", "dGVzdHMtb25seS10ZXN0cy1vbmx5LXRlc3RzLW9ubHk=")
os.environ.setdefault("LOG_FORMAT", "json")
# Users without a device are not affected.
os.environ.setdefault("STAFF_OTP", "on")
if "CREATIVES_DIR" not in os.environ:  # servers and workers share it
    os.environ["CREATIVES_DIR"] = tempfile.mkdtemp(prefix="creatives-")
    atexit.register(shutil.rmtree, os.environ["CREATIVES_DIR"], ignore_errors=True)

from psycopg._preparing import PrepareManager

from affiliate_site.settings import *  # noqa: F403
from affiliate_site.settings import DATABASES, INSTALLED_APPS

if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # A file, because an in-memory database has no WAL and one process only.
    folder = tempfile.mkdtemp(prefix="affiliate-site-tests-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    DATABASES["default"]["TEST"] = {"NAME": f"{folder}/test.sqlite3"}
    # Detect code that relies on row order without ORDER BY, as on PostgreSQL.
    options = DATABASES["default"]["OPTIONS"]
    commands = f"{options['init_command']} PRAGMA reverse_unordered_selects=ON;"
    DATABASES["default"]["OPTIONS"] = {**options, "init_command": commands}
else:
    # psycopg forgets its prepared statements at a rollback, which ends each test; to
    # parse and plan them again would take a fifth of the CPU time of all tests.
    PrepareManager._should_discard = lambda *results: False
    PrepareManager.prepared_max = 10_000
    options = DATABASES["default"]["OPTIONS"]
    commands = options.get("options", "")
    DATABASES["default"]["OPTIONS"] = {
        **options,
        "options": f"{commands} -c plan_cache_mode=force_generic_plan",
        "prepare_threshold": 1,
    }

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

# collectstatic does not run before the tests.
STORAGES = {"staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}

# For `make check`, and for tests of bounces.
INSTALLED_APPS = [*INSTALLED_APPS, "django_migration_linter", "anymail"]

# Otherwise each test client would scan all collected files.
WHITENOISE_AUTOREFRESH = True
