"""The command blocks of operations.md, scaling.md and privacy.md that need no machine of
their own run as they stand there; other tests run those of a machine."""

import os
import re
import secrets
import shlex
import subprocess
import sys

import pytest
from django.db import connection

from tests.command_line import ROOT

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(connection.vendor != "sqlite", reason="has its own databases"),
]
# `manage` as operations.md defines it, and the services that a block stops and starts.
PRELUDE = f"""
manage() {{ (cd {ROOT} && exec {shlex.quote(sys.executable)} manage.py "$@"); }}
systemctl() {{ :; }}
"""


@pytest.fixture
def environment(tmp_path):
    return build_environment(tmp_path / "source.sqlite3")


def build_environment(database):
    return os.environ | {
        "DATABASE_URL": f"sqlite:///{database}",
        "SECRET_KEY": secrets.token_hex(32),
        "ENCRYPTION_KEYS": "dGVzdHMtb25seS10ZXN0cy1vbmx5LXRlc3RzLW9ubHk=",
        "DJANGO_SETTINGS_MODULE": "affiliate_site.settings",
        "LOG_LEVEL": "ERROR",
    }


def find_block(document, beginning):
    """The block that begins so; its lines are indented, or between fences."""
    text = (ROOT / "docs" / document).read_text()
    found = [
        block
        for block in re.findall(r"```sh\n(.*?)```|\n\n((?:    [^\n]+\n)+)", text, re.DOTALL)
        if (block[0] or block[1]).strip().startswith(beginning)
    ]
    ((fenced, indented),) = found
    return fenced or re.sub(r"(?m)^    ", "", indented)


def run(commands, environment, directory):
    process = subprocess.run(  # noqa: S603 - commands of our own documents
        ["/bin/bash", "-eu", "-c", PRELUDE + commands],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


SALE = """
from accounts.models.accounts import Account
from tests.program_scenario import ProgramScenario
print(ProgramScenario(Account.objects.get(slug="acme")).create_conversion("10").pk)
"""


@pytest.fixture
def conversion(environment, tmp_path):
    """The ID of a sale of the account `acme`."""
    run("manage migrate --verbosity=0", environment, tmp_path)
    run("manage create_account acme --name Acme", environment, tmp_path)
    out = run(f"manage shell --verbosity=0 -c {shlex.quote(SALE)}", environment, tmp_path)
    return out.split()[-1]


def test_backs_up_and_restores(environment, conversion, tmp_path):
    file = tmp_path / "backup.sqlite3"
    # The other lines of the first block use `var`, which belongs to who runs the tests.
    lines = find_block("operations.md", "manage backup ").splitlines()
    (to_file,) = (line for line in lines if "FILE" in line)
    restore = find_block("operations.md", "systemctl stop affiliate-site.socket")
    for commands in (to_file, restore):
        run(commands.replace("FILE", str(file)), environment, tmp_path)

    assert "1 transfer" in run("manage check_ledger", environment, tmp_path)


def test_moves_an_account(environment, conversion, tmp_path):
    target = build_environment(tmp_path / "target.sqlite3")
    run("manage migrate --verbosity=0", target, tmp_path)
    block = find_block("scaling.md", "manage lock_account acme").replace("1042", conversion)
    block = block.replace("acme.jsonl", str(tmp_path / "acme.jsonl"))
    at_source, moving, *at_target = block.strip().splitlines()

    run(at_source, environment, tmp_path)
    for line in (moving, moving.replace(" --dry-run", ""), *at_target):
        run(line, target, tmp_path)

    assert "acme" in run("manage list_accounts", target, tmp_path)


def test_erases_again_after_a_restore(environment, conversion, tmp_path):
    (tmp_path / "erased-ids.txt").write_text("nobody\nminakessler\n")
    block = find_block("privacy.md", "while read -r ID").replace("ACCOUNT", "acme")
    # A shell that ends at the first error is not what the document is read in.
    run(f"set +e\n{block}\ntrue", environment, tmp_path)

    shown = run("manage export_person acme erased-1", environment, tmp_path)
    assert "minakessler" not in shown
