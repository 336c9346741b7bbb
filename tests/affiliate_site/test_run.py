"""`make run`: banner, examples, startup."""

import json
import os
import re
import shutil
import socket
import subprocess

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client
from django.utils import timezone

from affiliate_site import run
from affiliate_site.demo import loading as demo_module

ADDRESS = "http://127.0.0.1:9000"


@pytest.fixture
def demo(demo_file):
    return demo_module.load_demo(scale=1, at=timezone.now())


def parse_curl_arguments(line):
    """Return the arguments that the shell passes to curl."""
    script = 'curl() { printf "%s\\0" "$@"; }; ' + line
    shell = [shutil.which("bash"), "-c", script]
    process = subprocess.run(shell, capture_output=True, check=True)  # noqa: S603
    return process.stdout.decode().split("\0")[:-1]


def run_curl_line(line):
    """Send the request of a curl command; return the response."""
    arguments = parse_curl_arguments(line)
    name, _, key = arguments[arguments.index("-H") + 1].partition(": ")
    url = next(argument for argument in arguments if argument.startswith("http"))
    path = url.removeprefix(ADDRESS)
    if "-d" not in arguments:
        return Client().get(path, headers={name: key})
    body = arguments[arguments.index("-d") + 1]
    content_type = "application/x-www-form-urlencoded"  # as curl sends every body
    return Client().post(path, body, content_type=content_type, headers={name: key})


def test_prints_addresses_credentials_and_examples(demo):
    lines = run.render_banner(ADDRESS).splitlines()

    assert lines[:8] == [
        "Affiliate Site is ready",
        "  API          http://127.0.0.1:9000/1.6/",
        f"  Key          {demo.key}",
        "  Back office  http://127.0.0.1:9000/admin/login/"
        f"?account={demo.account}   {demo.email}   {demo.password}",
        f"   as finance  finance@example.org   {demo.finance_password}",
        "  Affiliates   http://127.0.0.1:9000/partners/demo/"
        f"   ada@notes.example.org   {demo.affiliate_password}",
        "  Reference    http://127.0.0.1:9000/docs/",
        "  Guide        http://127.0.0.1:9000/docs/guide/",
    ]
    assert [line[:15] for line in lines[8:]] == ["  Try          ", " " * 15] + [" " * 15] * 2


def test_printed_examples_work_in_their_order(demo):
    lines = [line[15:] for line in run.render_banner(ADDRESS).splitlines()[8:]]

    programs, click, conversion, conversions = (run_curl_line(line) for line in lines)

    assert [row["id"] for row in programs.json()] == [
        "harbor-lamps-us",
        "harbor-lamp-partners",
    ]
    assert list(click.json()) == ["id"]
    assert re.fullmatch(r"try-[0-9]{10}", conversion.json()["external_id"])
    assert b'"amount":49.9,' in conversion.content
    assert conversions.json()[0] == conversion.json()


def test_prints_only_addresses_without_demo(account, demo, monkeypatch):
    monkeypatch.setattr(demo_module, "CREDENTIALS_FILE", demo_module.VAR_DIR / "none.json")

    assert run.render_banner(ADDRESS).splitlines() == [
        "Affiliate Site is ready",
        "  API          http://127.0.0.1:9000/1.6/",
        "  Back office  http://127.0.0.1:9000/admin/",
        "  Reference    http://127.0.0.1:9000/docs/",
        "  Guide        http://127.0.0.1:9000/docs/guide/",
    ]


def test_reports_used_port_in_one_line():
    with socket.create_server(("127.0.0.1", 0)) as used:
        port = str(used.getsockname()[1])

        with pytest.raises(SystemExit) as error:
            run.ensure_port_free("127.0.0.1", port)

    assert error.value.code.startswith(f"Cannot serve on 127.0.0.1:{port}: ")
    assert "\n" not in error.value.code


@pytest.mark.parametrize("port", ["http", "-1", "70000"])
def test_rejects_invalid_port(port):
    with pytest.raises(SystemExit, match="Cannot serve on"):
        run.ensure_port_free("127.0.0.1", port)


@pytest.fixture(autouse=True)
def own_environment(monkeypatch):
    """`run.main` sets variables, which no later test may find."""
    monkeypatch.setattr(os, "environ", os.environ.copy())


def test_prepares_database_prints_banner_then_serves(demo, monkeypatch, capsys):
    steps = []
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    for name in ("PUBLIC_URL", "BIND", "MAKE_KEYS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOST", "127.0.0.1")
    monkeypatch.setenv("PORT", port)
    monkeypatch.setattr(run.django, "setup", lambda: steps.append("setup"))
    monkeypatch.setattr(run, "call_command", lambda name, **_: steps.append(name))
    monkeypatch.setattr(run.os, "execv", lambda path, argv: steps.append(argv[1:]))

    run.main()

    assert steps == ["setup", "migrate", "collectstatic", list(run.GUNICORN_ARGUMENTS)]
    assert f"http://127.0.0.1:{port}/1.6/" in capsys.readouterr().out
    assert os.environ["PUBLIC_URL"] == f"http://127.0.0.1:{port}"
    assert os.environ["BIND"] == f"127.0.0.1:{port}"
    assert os.environ["MAKE_KEYS"] == "on"  # on PostgreSQL, too


def test_an_invalid_variable_is_one_line(monkeypatch):
    def refuse():
        raise ImproperlyConfigured("DATABASE_URL must be postgres://…")

    monkeypatch.setenv("PORT", "0")
    monkeypatch.setattr(run.django, "setup", refuse)

    with pytest.raises(SystemExit, match="Cannot serve: DATABASE_URL must be"):
        run.main()


def test_shows_credentials_that_cannot_be_stored(db, monkeypatch):
    """In the image, files outside of volumes cannot be written."""

    def refuse(credentials):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(demo_module, "save_credentials", refuse)
    monkeypatch.setattr(demo_module, "CREDENTIALS_FILE", demo_module.VAR_DIR / "none.json")
    first, second = (demo_module.load_demo(scale=1, at=timezone.now()) for _ in range(2))

    assert (first.account, second.account) == ("demo", "demo")
    assert first.key != second.key


def test_stores_demo_credentials(demo):
    stored = json.loads(demo_module.CREDENTIALS_FILE.read_text())

    assert stored == {
        "account": "demo",
        "key": demo.key,
        "referral_code": demo.referral_code,
        "email": demo.email,
        "password": demo.password,
        "finance_email": "finance@example.org",
        "finance_password": demo.finance_password,
        "affiliate_email": "ada@notes.example.org",
        "affiliate_password": demo.affiliate_password,
    }
