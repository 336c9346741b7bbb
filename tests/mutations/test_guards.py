"""Each guard has a test that fails when the guard is removed (docs/reliability.md)."""

import json
import os
import subprocess
import sys

import pytest

from tests.command_line import ROOT
from tests.mutations.guards import GUARDS
from tests.mutations.plugin import RESULT


@pytest.mark.slow
@pytest.mark.django_db
def test_a_test_notices_each_removed_guard(tmp_path):
    guards = [guard for guard in GUARDS if guard.is_testable]
    command = [sys.executable, "-m", "pytest", "-n0", "-q", "-p", "no:cacheprovider"]
    process = subprocess.run(  # noqa: S603 - our own command
        [*command, "-p", "tests.mutations.plugin", *{guard.test for guard in guards}],
        cwd=ROOT,
        env=os.environ | {RESULT: str(tmp_path / "result")},
        capture_output=True,
        text=True,
        check=False,
    )

    result = json.loads((tmp_path / "result").read_text())
    expected = {guard.name: [True, True] for guard in guards}
    assert result == expected, process.stdout[-2000:]
