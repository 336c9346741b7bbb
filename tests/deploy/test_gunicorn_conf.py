"""gunicorn settings: redacted log, refused starts, no trusted proxies."""

import json
import logging
import os
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from gunicorn.config import Config

from affiliate_site import env
from affiliate_site.reference import render_reference
from tests.command_line import ROOT

CONF = Path(__file__).resolve().parents[2] / "deploy" / "gunicorn.conf.py"


@pytest.fixture
def log(caplog, monkeypatch):
    monkeypatch.setattr(env, "LOG_FORMAT", "console")
    log = runpy.run_path(str(CONF))["RedactingLogger"](Config())
    log.error_log.addHandler(caplog.handler)
    yield log
    log.error_log.removeHandler(caplog.handler)


def test_redacts_invalid_http_requests(log, caplog):
    log.warning("Invalid request from ip=203.0.113.7: Invalid HTTP Header: 'X-Api-Key k'")

    assert caplog.messages == ["Rejected a request that is not valid HTTP."]


def test_redacts_address_of_failed_requests(log, caplog):
    address = "/1.6/customers/?customer_id=secret"
    log.exception("Error handling request %s", address)  # noqa: LOG004 - as gunicorn calls it

    assert caplog.messages == ["Error handling a request"]


def test_keeps_other_messages(log, caplog):
    log.error_log.setLevel(logging.INFO)

    log.warning("Worker (pid:%s) was sent SIGKILL!", 7)

    assert caplog.messages == ["Worker (pid:7) was sent SIGKILL!"]


def test_writes_json_where_the_site_does(log, monkeypatch):
    monkeypatch.setattr(env, "LOG_FORMAT", "json")
    log.setup(log.cfg)
    (handler,) = [item for item in log.error_log.handlers if hasattr(item, "_gunicorn")]
    record = log.error_log.makeRecord(
        "gunicorn.error", logging.INFO, "", 0, "Up: %s", ("8000",), None
    )

    line = json.loads(handler.format(record))

    assert (line["event"], line["level"]) == ("Up: 8000", "info")


def start(monkeypatch, **result):
    """Run the hook of the start after checks with this result; return its lines."""
    lines = []

    def write(text, values):
        lines.append(text % values)

    server = SimpleNamespace(log=SimpleNamespace(error=write, info=write))
    on_starting = runpy.run_path(str(CONF))["on_starting"]
    done = SimpleNamespace(**{"stdout": "", "stderr": "", "returncode": 1} | result)
    monkeypatch.setattr(subprocess, "run", lambda *args, **options: done)
    on_starting(server)
    return lines


def test_starts_if_all_checks_pass_and_names_the_database(monkeypatch):
    check = {"name": "database", "status": "ok", "detail": "SQLite", "advice": ""}
    stdout = json.dumps({"checks": [check | {"name": "static_files"}, check]})

    assert start(monkeypatch, stdout=stdout, returncode=0) == ["Database: SQLite"]


@pytest.mark.parametrize("result", [{"stdout": '{"checks": []}'}, {"stderr": "Bad"}])
def test_refuses_to_start_if_the_checks_fail(monkeypatch, result):
    with pytest.raises(SystemExit) as error:
        start(monkeypatch, **result)

    assert error.value.code == 1


def test_renders_the_reference_before_the_workers_start(monkeypatch):
    monkeypatch.setattr("gc.freeze", lambda: None)
    render_reference.cache_clear()

    runpy.run_path(str(CONF))["when_ready"](None)

    assert render_reference.cache_info().currsize == 1


@pytest.mark.integration
@pytest.mark.parametrize(
    ("variables", "code", "expected"),
    [
        ({}, 1, "migrations: unapplied migrations -> run manage.py migrate"),
        ({"PGBOUNCER": "perhaps"}, 78, "PGBOUNCER must be on or off, not 'perhaps'"),
    ],
    ids=["not migrated", "odd variable"],
)
def test_says_in_one_line_why_it_does_not_start(tmp_path, variables, code, expected):
    (tmp_path / "empty.sqlite3").touch()
    process = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "gunicorn", "-c", str(CONF), "--bind", "127.0.0.1:0"],
        cwd=ROOT,
        env=os.environ
        | {
            "DATABASE_URL": f"sqlite:///{tmp_path}/empty.sqlite3",
            "SECRET_KEY": "of-this-test-only",
            "LOG_FORMAT": "json",
        }
        | variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    lines = process.stderr.splitlines()

    assert (process.returncode, process.stdout) == (code, "")
    assert lines[-1].count(f"Startup refused: {expected}") == 1
    assert process.stderr.count("Startup refused") == 1
    if not variables:
        assert all(json.loads(line) for line in lines)


def test_lines_show_the_process(log):
    """The site's own logging must leave the record what gunicorn's format reads."""
    record = log.error_log.makeRecord("gunicorn", logging.INFO, "", 0, "Up", (), None)

    line = logging.Formatter(log.error_fmt).format(record)

    assert f"[{os.getpid()}]" in line


def test_trusts_no_proxy_headers():
    conf = runpy.run_path(str(CONF))
    config = Config()
    for name in ("forwarded_allow_ips", "secure_scheme_headers"):
        config.set(name, conf[name])

    assert config.forwarded_allow_ips == []
    assert config.secure_scheme_headers == {}
