"""`make run`: what it prints works as it is copied."""

import json
import os
import re
import shutil
import socket
import subprocess

import pytest
from django.test import Client
from django.utils import timezone

from affiliate_site import demo as story
from affiliate_site import run

ADDRESS = "http://127.0.0.1:9000"


@pytest.fixture
def demo(db, tmp_path, monkeypatch):
    monkeypatch.setattr(story, "VAR", tmp_path)
    monkeypatch.setattr(story, "KEPT", tmp_path / "demo.json")
    return story.load(scale=1, at=timezone.now())


def arguments_of(line):
    """What the shell hands to curl."""
    script = 'curl() { printf "%s\\0" "$@"; }; ' + line
    shell = [shutil.which("bash"), "-c", script]
    done = subprocess.run(shell, capture_output=True, check=True)  # noqa: S603
    return done.stdout.decode().split("\0")[:-1]


def sent(line):
    """The answer to a curl line, as the service gives it."""
    words = arguments_of(line)
    name, _, key = words[words.index("-H") + 1].partition(": ")
    path = next(it for it in words if it.startswith("http")).removeprefix(ADDRESS)
    if "-d" not in words:
        return Client().get(path, headers={name: key})
    body = words[words.index("-d") + 1]
    form = "application/x-www-form-urlencoded"  # what curl says of any body
    return Client().post(path, body, content_type=form, headers={name: key})


def test_prints_where_it_is_and_how_to_try_it(demo):
    lines = run.banner(ADDRESS).splitlines()

    assert lines[:5] == [
        "Affiliate Site is ready",
        "  API          http://127.0.0.1:9000/1.6/",
        f"  Key          {demo.key}",
        f"  Back office  http://127.0.0.1:9000/admin/   {demo.email}   {demo.password}",
        "  Reference    http://127.0.0.1:9000/docs/",
    ]
    assert [line[:15] for line in lines[5:]] == ["  Try          ", " " * 15] + [
        " " * 15
    ] * 2


def test_prints_lines_that_work_as_they_are_copied_and_in_their_order(demo):
    lines = [line[15:] for line in run.banner(ADDRESS).splitlines()[5:]]

    programs, click, sale, sales = (sent(line) for line in lines)

    assert [row["id"] for row in programs.json()] == ["harbor-lamp-partners"]
    assert list(click.json()) == ["id"]
    assert re.fullmatch(r"try-[0-9]{10}", sale.json()["external_id"])
    assert b'"amount":49.9,' in sale.content
    assert sales.json()[0] == sale.json()


def test_prints_only_addresses_where_there_is_no_demo(account, demo, monkeypatch):
    monkeypatch.setattr(story, "KEPT", story.VAR / "none.json")

    assert run.banner(ADDRESS).splitlines() == [
        "Affiliate Site is ready",
        "  API          http://127.0.0.1:9000/1.6/",
        "  Back office  http://127.0.0.1:9000/admin/",
        "  Reference    http://127.0.0.1:9000/docs/",
    ]


def test_refuses_a_port_that_is_taken_in_one_line():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])

        with pytest.raises(SystemExit) as refusal:
            run.refuse_taken("127.0.0.1", port)

    assert refusal.value.code.startswith(f"Cannot serve on 127.0.0.1:{port}: ")
    assert "\n" not in refusal.value.code


@pytest.mark.parametrize("port", ["http", "-1", "70000"])
def test_refuses_a_port_that_is_none(port):
    with pytest.raises(SystemExit, match="Cannot serve on"):
        run.refuse_taken("127.0.0.1", port)


def test_prepares_the_database_before_it_speaks_and_serves_last(
    demo, monkeypatch, capsys
):
    acts = []
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    for name in ("PUBLIC_URL", "BIND"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOST", "127.0.0.1")
    monkeypatch.setenv("PORT", port)
    monkeypatch.setattr(run.django, "setup", lambda: acts.append("setup"))
    monkeypatch.setattr(run, "call_command", lambda name, **how: acts.append(name))
    monkeypatch.setattr(run.os, "execv", lambda path, words: acts.append(words[1:]))

    run.main()

    assert acts == ["setup", "migrate", "collectstatic", list(run.SERVER)]
    assert f"http://127.0.0.1:{port}/1.6/" in capsys.readouterr().out
    assert os.environ["PUBLIC_URL"] == f"http://127.0.0.1:{port}"
    assert os.environ["BIND"] == f"127.0.0.1:{port}"


def test_keeps_the_demo_readable_for_its_owner_alone(demo):
    kept = json.loads(story.KEPT.read_text())

    assert kept == {
        "account": "demo",
        "key": demo.key,
        "referral_code": demo.referral_code,
        "email": demo.email,
        "password": demo.password,
    }
