"""gunicorn settings: redacted log, no trusted proxies."""

import logging
import os
import runpy
from pathlib import Path

import pytest
from gunicorn.config import Config

CONF = Path(__file__).resolve().parents[2] / "deploy" / "gunicorn.conf.py"


@pytest.fixture
def log(caplog):
    log = runpy.run_path(str(CONF))["RedactingLogger"](Config())
    log.error_log.addHandler(caplog.handler)
    yield log
    log.error_log.removeHandler(caplog.handler)


def test_redacts_invalid_http_requests(log, caplog):
    log.warning(
        "Invalid request from ip=203.0.113.7: Invalid HTTP Header: 'X-Api-Key k'"
    )

    assert caplog.messages == ["Rejected a request that is not valid HTTP."]


def test_redacts_address_of_failed_requests(log, caplog):
    address = "/1.6/customers/?customer_id=secret"
    log.exception("Error handling request %s", address)  # noqa: LOG004 - as gunicorn calls it

    assert caplog.messages == ["Error handling a request"]


def test_keeps_other_messages(log, caplog):
    log.error_log.setLevel(logging.INFO)

    log.warning("Worker (pid:%s) was sent SIGKILL!", 7)

    assert caplog.messages == ["Worker (pid:7) was sent SIGKILL!"]


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
