"""The package audit of CI: it fails on known vulnerabilities only."""

import json
import subprocess
import sys

import pytest

from tests.command_line import ROOT

SAFE = {"name": "lamp", "version": "1.0", "vulns": []}
SKIPPED = {"name": "shade", "skip_reason": "Dependency not found on PyPI"}
VULNERABLE = {
    "name": "wick",
    "version": "2.0",
    "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.1"], "aliases": []}],
}
NONE, ONE = "0 packages have known vulnerabilities", "1 packages have known"


@pytest.mark.parametrize(
    ("packages", "code", "expected"),
    [
        ([SAFE], 0, [NONE]),
        ([SAFE, SKIPPED], 0, ["warning: 1 of 2 packages were not audited", NONE]),
        ([SKIPPED, VULNERABLE], 1, ["wick 2.0: PYSEC-1, fixed in 2.1", ONE]),
        (None, 0, ["warning: nothing was audited"]),
    ],
    ids=["safe", "skipped", "vulnerable", "no registry"],
)
def test_fails_on_known_vulnerabilities_only(packages, code, expected):
    report = "" if packages is None else json.dumps({"dependencies": packages})

    process = subprocess.run(
        [sys.executable, ".ci/audit"],
        cwd=ROOT,
        input=report,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (process.returncode, process.stderr) == (code, "")
    for text in expected:
        assert text in process.stdout
