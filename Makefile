# The targets: `make` lists them. PORT, HOST and DATABASE_URL come from the environment.

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed
PACKAGES := accounts tracking payouts affiliate_site
HOST ?= 127.0.0.1
PORT ?= 8000
export HOST PORT
TEST_WORKERS ?= 2
# The linter takes tables that SQLite rebuilds, and constraints of new tables, for new
# rules about old rows. In these every new column is null or has a default.
LINTED_BY_EYE := 0002_groups_prospects_and_notes 0003_payments_levels_and_bonuses 0003_visitors \
	0006_webhooks

.DEFAULT_GOAL := help
.PHONY: help setup run worker test slow race e2e check lint types imports script bench screenshots openapi lock audit clean

help:  ## lists the targets
	@grep -hE '^[a-z0-9]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9]+):.*## */\1\t/' | expand -t 12

setup: $(STAMP)  ## makes .venv and installs the locked packages

$(STAMP): requirements-dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; this is " + sys.version.split()[0] + ". Try make PYTHON=python3.11")'
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "Python lacks its venv module: apt-get install python3-venv" >&2; exit 1; }
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@echo "Installing the locked packages into $(VENV) ..." >&2
	@$(PY) -m pip install --quiet --disable-pip-version-check --only-binary :all: --require-hashes -r requirements-dev.txt
	@touch $@

run: setup  ## serves the demo on the embedded database: make run PORT=9000
	@exec $(PY) -m affiliate_site.run

worker: setup  ## sends webhooks and postbacks, in the foreground
	@exec $(PY) manage.py deliver_webhooks

test: setup  ## passes the tests, on SQLite or on what DATABASE_URL names
	@env -u DATABASE_URL $(PY) manage.py collectstatic --noinput --verbosity 0
	@$(PY) -m pytest -n $(TEST_WORKERS) -m "not slow"

slow: setup  ## the long runs: races with gunicorn, the state machine
	@env -u DATABASE_URL $(PY) manage.py collectstatic --noinput --verbosity 0
	@$(PY) -m pytest -m slow

e2e: setup  ## the browser tests alone; they skip where there is no Chromium
	@env -u DATABASE_URL $(PY) manage.py collectstatic --noinput --verbosity 0
	@$(PY) -m pytest tests/e2e

race: setup  ## 64 clients post one external_id at once, 200 rounds, against gunicorn
	@env -u DATABASE_URL $(PY) manage.py collectstatic --noinput --verbosity 0
	@$(PY) -m pytest -m slow -s tests/concurrency/test_doubled_sales.py

check: lint imports types  ## everything that needs no test: style, types, laws, migrations
	@$(PY) manage.py makemigrations --check --dry-run
	@DJANGO_SETTINGS_MODULE=tests.settings LOG_LEVEL=ERROR $(PY) manage.py lintmigrations --no-cache \
		--ignore-initial-migrations --project-root-path . --include-apps accounts tracking payouts --quiet ok ignore \
		--ignore-name $(LINTED_BY_EYE)
	@PUBLIC_URL=https://aff.example.net SECRET_KEY=$$($(PY) -c 'import secrets; print(secrets.token_urlsafe(50))') \
		$(PY) manage.py check --deploy --fail-level WARNING
	@$(PY) -m rjsmin <affiliate_site/browser/tap.js | cmp -s - affiliate_site/browser/tap.min.js || { echo "tap.min.js is old: make script" >&2; exit 1; }
	@$(PY) manage.py export_openapi | diff -q - openapi.json >/dev/null || { echo "openapi.json is old: make openapi" >&2; exit 1; }

lint: setup  ## ruff: style and format
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .

types: setup  ## mypy
	@$(VENV)/bin/mypy

imports: setup  ## the import contracts
	@$(VENV)/bin/lint-imports

script: setup  ## writes the committed small form of the browser script
	@$(PY) -m rjsmin <affiliate_site/browser/tap.js >affiliate_site/browser/tap.min.js

bench: setup  ## how the back office grows with the rows of an account
	@env -u DATABASE_URL $(PY) manage.py collectstatic --noinput --verbosity 0
	@$(PY) -m benchmarks.back_office

screenshots: setup  ## the pictures of the back office in docs/
	@env -u DATABASE_URL $(PY) manage.py collectstatic --noinput --verbosity 0
	@$(PY) -m tests.e2e.screenshots

openapi: setup  ## writes the committed openapi.json
	@$(PY) manage.py export_openapi openapi.json

lock: setup  ## makes the lock and its hashed exports anew
	@$(VENV)/bin/uv lock
	@$(VENV)/bin/uv export --frozen --no-emit-project --no-dev --quiet --output-file requirements.txt
	@$(VENV)/bin/uv export --frozen --no-emit-project --quiet --output-file requirements-dev.txt

audit: setup  ## asks for known holes in the locked packages
	@$(VENV)/bin/pip-audit --disable-pip --require-hashes -r requirements-dev.txt

clean:  ## removes .venv and build results, never var/
	@rm -rf $(VENV) staticfiles .mypy_cache .ruff_cache .pytest_cache .hypothesis
