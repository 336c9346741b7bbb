"""The server's own log says nothing of what a caller sent."""

import logging
import runpy
from pathlib import Path

import pytest
from gunicorn.config import Config

CONF = Path(__file__).resolve().parents[2] / "deploy" / "gunicorn.conf.py"


@pytest.fixture
def log(caplog):
    log = runpy.run_path(str(CONF))["Discreet"](Config())
    log.error_log.addHandler(caplog.handler)
    yield log
    log.error_log.removeHandler(caplog.handler)


def test_says_nothing_of_a_request_that_is_not_http(log, caplog):
    log.warning(
        "Invalid request from ip=203.0.113.7: Invalid HTTP Header: 'X-Api-Key k'"
    )

    assert [it.getMessage() for it in caplog.records] == [
        "A request was refused: it is not HTTP."
    ]


def test_says_nothing_of_the_address_of_a_request_that_failed(log, caplog):
    address = "/1.6/customers/?customer_id=secret"
    log.exception("Error handling request %s", address)  # noqa: LOG004 - gunicorn's way

    assert [it.getMessage() for it in caplog.records] == ["Error handling a request"]


def test_keeps_its_other_words(log, caplog):
    log.error_log.setLevel(logging.INFO)

    log.warning("Worker (pid:%s) was sent SIGKILL!", 7)

    assert [it.getMessage() for it in caplog.records] == [
        "Worker (pid:7) was sent SIGKILL!"
    ]


def test_believes_nobody_about_address_scheme_and_prefix():
    conf = runpy.run_path(str(CONF))
    config = Config()
    for name in ("forwarded_allow_ips", "secure_scheme_headers"):
        config.set(name, conf[name])

    assert config.forwarded_allow_ips == []
    assert config.secure_scheme_headers == {}
