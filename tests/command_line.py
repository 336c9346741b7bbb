"""Commands as an operator runs them: in this process, or as one of its own."""

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Told:
    """What a command wrote: to standard output, to standard error; its exit code."""

    out: str
    err: str = ""
    code: int = 0


def run(name: str, *arguments: str) -> str:
    """Run a command that succeeds and is silent on standard error; its output."""
    out, err, stray = io.StringIO(), io.StringIO(), io.StringIO()
    with redirect_stderr(stray):
        call_command(name, *arguments, stdout=out, stderr=err)
    assert err.getvalue() + stray.getvalue() == ""
    return out.getvalue()


def run_json(name: str, *arguments: str) -> dict:
    """The one object that `--json` writes, on one line."""
    out = run(name, *arguments, "--json")
    assert out.endswith("\n")
    assert out.count("\n") == 1
    found = json.loads(out)
    assert isinstance(found, dict)
    return found


def refusal(name: str, *arguments: str) -> str:
    """Run a command that cannot be done: exit 1, nothing on standard output."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.raises(CommandError) as refused:
        call_command(name, *arguments, stdout=out, stderr=err)
    assert refused.value.returncode == 1
    assert out.getvalue() == ""
    reason = str(refused.value)
    assert reason.strip()
    assert len(reason.splitlines()) == 1
    return reason


def is_refused_as_wrong(name: str, *arguments: str) -> bool:
    """Does the command stop at its arguments: exit 2, before anything is done?"""
    err = io.StringIO()
    command = [name, *arguments]
    with redirect_stderr(err), pytest.raises((SystemExit, CommandError)) as stopped:
        from_command_line(command)
    code = getattr(stopped.value, "code", None) or stopped.value.returncode
    return code == 2


def from_command_line(command: list[str]) -> None:
    """As `manage.py` does it: wrong arguments leave by SystemExit(2)."""
    from django.core.management import ManagementUtility

    ManagementUtility(["manage.py", *command]).execute()


def database_url() -> str:
    """The address of the test database, for another process."""
    database = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{database['NAME']}"
    password = f":{database['PASSWORD']}" if database["PASSWORD"] else ""
    place = f"{database['HOST']}:{database['PORT'] or 5432}"
    return f"postgres://{database['USER']}{password}@{place}/{database['NAME']}"


def environment() -> dict[str, str]:
    """The environment of a process that works on the test database."""
    return os.environ | {
        "DATABASE_URL": database_url(),
        "DJANGO_SETTINGS_MODULE": "affiliate_site.settings",
        "SECRET_KEY": settings.SECRET_KEY,
        "LOG_FORMAT": "json",
    }


def manage(*command: str, text: str = "") -> Told:
    """Run `manage.py` as a process of its own; ask for `committed`."""
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "manage.py", *command],
        cwd=ROOT,
        env=environment(),
        input=text,
        text=True,
        capture_output=True,
        check=False,
        timeout=60,
    )
    return Told(out=done.stdout, err=done.stderr, code=done.returncode)
