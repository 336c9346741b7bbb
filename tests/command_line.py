"""Running management commands, in this process or in a subprocess."""

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
PROCESS_SECONDS = 240  # an upper limit for slow machines


@dataclass(frozen=True)
class CommandResult:
    """Output, error output and exit code of a command."""

    stdout: str
    stderr: str = ""
    exit_code: int = 0


def run_command(name: str, *arguments: str) -> str:
    """Run a command that succeeds without error output; return its output."""
    out, err, sys_stderr = io.StringIO(), io.StringIO(), io.StringIO()
    with redirect_stderr(sys_stderr):
        call_command(name, *arguments, stdout=out, stderr=err)
    assert err.getvalue() + sys_stderr.getvalue() == ""
    return out.getvalue()


def run_json_command(name: str, *arguments: str) -> dict:
    """Return the object that `--json` prints on one line."""
    out = run_command(name, *arguments, "--json")
    assert out.endswith("\n")
    assert out.count("\n") == 1
    result = json.loads(out)
    assert isinstance(result, dict)
    return result


def run_failing_command(name: str, *arguments: str) -> str:
    """Run a command that fails with exit code 1 and no output; return the error."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.raises(CommandError) as error:
        call_command(name, *arguments, stdout=out, stderr=err)
    assert error.value.returncode == 1
    assert out.getvalue() == ""
    message = str(error.value)
    assert message.strip()
    assert len(message.splitlines()) == 1
    return message


def is_usage_error(name: str, *arguments: str) -> bool:
    """Return whether the command rejects its arguments with exit code 2."""
    err = io.StringIO()
    command = [name, *arguments]
    with redirect_stderr(err), pytest.raises((SystemExit, CommandError)) as error:
        execute_command_line(command)
    code = getattr(error.value, "code", None) or error.value.returncode
    return code == 2


def execute_command_line(command: list[str]) -> None:
    """Run a command as `manage.py` does: invalid arguments raise SystemExit(2)."""
    from django.core.management import ManagementUtility

    ManagementUtility(["manage.py", *command]).execute()


def get_database_url() -> str:
    """Return the URL of the test database, for another process."""
    database = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{database['NAME']}"
    password = f":{database['PASSWORD']}" if database["PASSWORD"] else ""
    host = f"{database['HOST']}:{database['PORT'] or 5432}"
    return f"postgres://{database['USER']}{password}@{host}/{database['NAME']}"


def build_environment() -> dict[str, str]:
    """Return the environment of a process that uses the test database."""
    return os.environ | {
        "DATABASE_URL": get_database_url(),
        "DJANGO_SETTINGS_MODULE": "affiliate_site.settings",
        "SECRET_KEY": settings.SECRET_KEY,
        "ENCRYPTION_KEYS": ",".join(settings.ENCRYPTION_KEYS),
        "LOG_FORMAT": "json",
    }


def run_manage_py(*command: str, text: str = "", database: Path | None = None) -> CommandResult:
    """Run `manage.py` in a subprocess, on the test database (the test needs the fixture
    `committed_db`) or on an SQLite file."""
    other = {"DATABASE_URL": f"sqlite:///{database}"} if database else {}
    process = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "manage.py", *command],
        cwd=ROOT,
        env=build_environment() | other,
        input=text,
        text=True,
        capture_output=True,
        check=False,
        timeout=PROCESS_SECONDS,
    )
    return CommandResult(stdout=process.stdout, stderr=process.stderr, exit_code=process.returncode)
