# `make` list the targets. PORT, HOST and DATABASE_URL come from the environment.

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed
PACKAGES := accounts tracking payouts affiliate_site
HOST ?= 127.0.0.1
PORT ?= 8000
export HOST PORT
TEST_WORKERS ?= 2
# Half of their time they wait for browsers and other processes.
INTEGRATION_WORKERS ?= 3
CHECKS := types lint imports migrations deployment openapi-difference script-difference messages-difference
# Each target's output in one piece; all targets run, and one failure fails the run.
IN_PARALLEL = $(MAKE) --no-print-directory --keep-going -j2 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)
COMPARE_LOCK = diff -q -I '^\#' $(1) - >/dev/null || { echo "$(1) differs from uv.lock: run make lock" >&2; exit 1; }

.DEFAULT_GOAL := help
.PHONY: help setup run worker static test coverage test-integration slow race e2e check check-all lint types imports migrations deployment script-difference openapi-difference messages-difference openapi-lint lock-difference script messages bench bench-back-office bench-page-calls screenshots openapi lock audit release clean

help:  ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## */\1\t/' | expand -t 20

setup: $(STAMP)  ## create .venv and install the locked packages

# uv takes a tenth of the time, but does not know the settings of pip, such as a mirror.
INSTALL = $(PY) -m pip install --quiet --disable-pip-version-check --no-compile --only-binary :all: --require-hashes

$(STAMP): requirements-dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; this is " + sys.version.split()[0] + ". Try make PYTHON=python3.11")'
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "Python lacks its venv module: apt-get install python3-venv" >&2; exit 1; }
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@echo "Installing the locked packages into $(VENV) ..." >&2
	@sed -n '/^uv==/,/[^\\]$$/p' requirements-dev.txt >$(VENV)/uv.txt
	@$(INSTALL) -r $(VENV)/uv.txt
	@$(PY) -m uv --system-certs pip install --python $(PY) --quiet --only-binary :all: --require-hashes -r requirements-dev.txt || $(INSTALL) -r requirements-dev.txt
	@touch $@

run: setup  ## serve the demo on the embedded database: make run PORT=9000
	@exec $(PY) -m affiliate_site.run

worker: setup  ## send webhooks and postbacks, in the foreground
	@exec $(PY) manage.py deliver_webhooks

static: setup  ## collect the static files, which pages in the tests need
	@env -u DATABASE_URL $(PY) manage.py collectstatic --noinput --verbosity 0

# `load` keeps the order in each worker: tests that commit come after those that expect an
# empty database. A stolen test could come after them.
test: setup static  ## run the tests on SQLite, or on the database of DATABASE_URL
	@$(PY) $(TEST_RUNNER) -m pytest $(TEST_PLUGIN) -n $(TEST_WORKERS) --dist load -m "not slow and not integration"

# The second command prints the table and checks the threshold: with several workers,
# the first one would print what its own process covers.
coverage: TEST_RUNNER := -m slipcover --fail-under 0 --json --out .coverage.json
coverage: TEST_PLUGIN := -p tests.immediate_coverage
coverage: test  ## run the tests with coverage; fail below the threshold of pyproject.toml
	@$(PY) -m slipcover --merge .coverage.json --out .coverage.json

# Collecting the files without such tests would take as long as many of the tests.
INTEGRATION_FILES = $$(grep -rl --include='test_*.py' 'mark\.integration' tests)

test-integration: setup static  ## run browser tests, races, state machine, fuzzing and demo
	@$(PY) -m pytest -n $(INTEGRATION_WORKERS) --dist worksteal -m "integration and not slow" $(INTEGRATION_FILES)

slow: setup static  ## run the long tests, and on PostgreSQL what `make test` leaves to SQLite
	@$(PY) -m pytest -m "slow or engine_independent"

e2e: setup static  ## run only the browser tests; skipped without Chromium
	@$(PY) -m pytest tests/e2e

race: setup static  ## post one external_id from 64 clients at once, 200 rounds
	@$(PY) -m pytest -m slow -s tests/concurrency/test_duplicate_conversions.py

check: setup  ## run all checks: style, types, imports, migrations, deployment, outdated files
	@$(IN_PARALLEL) $(CHECKS)

check-all: setup  ## run all checks, lint openapi.json, compare the lock files and audit the locked packages
	@$(IN_PARALLEL) $(CHECKS) openapi-lint lock-difference audit

lint: setup  ## run ruff: style and format
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .

types: setup  ## run mypy
	@$(VENV)/bin/mypy

imports: setup  ## check the import contracts
	@$(VENV)/bin/lint-imports

# Ignored: a column with a constant default, which PostgreSQL adds without reading rows; SQLite makes
# the table of programs again.
migrations: setup  ## check that migrations are complete and do not block writers
	@$(PY) manage.py makemigrations --check --dry-run
	@DJANGO_SETTINGS_MODULE=tests.settings LOG_LEVEL=ERROR $(PY) manage.py lintmigrations --no-cache \
		--ignore-initial-migrations --project-root-path . --include-apps accounts tracking payouts \
		--ignore-name 0005_program_visibility_and_invitations --quiet ok ignore

deployment: setup  ## run Django's deployment check
	@PUBLIC_URL=https://aff.example.net SECRET_KEY=$$($(PY) -c 'import secrets; print(secrets.token_urlsafe(50))') \
		ENCRYPTION_KEYS=$$(openssl rand -base64 32) \
		$(PY) manage.py check --deploy --fail-level WARNING

script-difference: setup  ## fail if the minified browser script is outdated
	@$(PY) -m rjsmin <affiliate_site/browser/tap.js | cmp -s - affiliate_site/browser/tap.min.js || { echo "tap.min.js is outdated: run make script" >&2; exit 1; }

openapi-difference: setup  ## fail if openapi.json is outdated
	@$(PY) manage.py export_openapi | diff -q - openapi.json >/dev/null || { echo "openapi.json is outdated: run make openapi" >&2; exit 1; }

messages-difference: setup  ## fail if a catalog of translations is outdated or incomplete
	@$(PY) .ci/messages --check

# The variables keep redocly from asking the network for updates.
openapi-lint: export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
openapi-lint: export REDOCLY_TELEMETRY := off
openapi-lint: export REDOCLY_SUPPRESS_UPDATE_NOTICE := true
openapi-lint:  ## lint openapi.json with redocly and spectral, where they are installed
	@if command -v redocly >/dev/null; then redocly lint --config .ci/redocly.yaml openapi.json; else echo "openapi-lint: skipped, @redocly/cli is not installed" >&2; fi
	@if command -v spectral >/dev/null; then spectral lint --ruleset .ci/spectral.yaml --fail-severity warn openapi.json; else echo "openapi-lint: skipped, @stoplight/spectral-cli is not installed" >&2; fi

script: setup  ## minify the browser script
	@$(PY) -m rjsmin <affiliate_site/browser/tap.js >affiliate_site/browser/tap.min.js

messages: setup  ## collect the texts of the portal for translation in locale/
	@$(PY) .ci/messages

bench: setup  ## compare the API with bare SQL, FastAPI and textbook DRF: BENCH_OPTIONS
	@env -u DATABASE_URL $(PY) manage.py collectstatic --noinput --verbosity 0
	@$(PY) -m benchmarks.api $(BENCH_OPTIONS)

bench-back-office: setup  ## measure how the lists of the back office grow with the rows
	@env -u DATABASE_URL $(PY) manage.py collectstatic --noinput --verbosity 0
	@$(PY) -m benchmarks.growth --only-lists

bench-page-calls: setup  ## compare how long page calls take with known and unknown values
	@$(PY) -m benchmarks.page_calls

screenshots: setup  ## take the screenshots of the back office in docs/
	@env -u DATABASE_URL $(PY) manage.py collectstatic --noinput --verbosity 0
	@$(PY) -m tests.e2e.screenshots

openapi: setup  ## write openapi.json
	@$(PY) manage.py export_openapi openapi.json

lock: setup  ## update uv.lock and the hashed requirements
	@$(VENV)/bin/uv lock
	@$(VENV)/bin/uv export --frozen --no-emit-project --no-dev --quiet --output-file requirements.txt
	@$(VENV)/bin/uv export --frozen --no-emit-project --no-dev --all-extras --quiet --output-file deploy/requirements.txt
	@$(VENV)/bin/uv export --frozen --no-emit-project --quiet --output-file requirements-dev.txt

lock-difference: setup  ## fail if uv.lock or the hashed requirements are outdated
	@$(VENV)/bin/uv --system-certs lock --check --quiet
	@$(VENV)/bin/uv export --frozen --no-emit-project --no-dev --quiet | $(call COMPARE_LOCK,requirements.txt)
	@$(VENV)/bin/uv export --frozen --no-emit-project --no-dev --all-extras --quiet | $(call COMPARE_LOCK,deploy/requirements.txt)
	@$(VENV)/bin/uv export --frozen --no-emit-project --quiet | $(call COMPARE_LOCK,requirements-dev.txt)

audit: setup  ## fail on known vulnerabilities of the locked packages
	@$(VENV)/bin/pip-audit --disable-pip --require-hashes -r requirements-dev.txt --format json --progress-spinner off 2>/dev/null | $(PY) .ci/audit

release:  ## build the archive of this version in dist/, from a clean checkout
	@$(PYTHON) .ci/release

clean:  ## remove .venv and build results, never var/
	@rm -rf $(VENV) dist .coverage.json staticfiles .mypy_cache .ruff_cache .pytest_cache .hypothesis
