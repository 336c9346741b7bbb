"""A whole account moves between two running services, and the import is killed."""

import subprocess
import sys

import pytest
from django.db import connection

from tests.command_line import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.integration]
SECONDS = 1200  # an upper limit for slow machines


def test_both_sides_answer_the_same():
    command = [sys.executable, "-m", "benchmarks.moving", "--engine", connection.vendor]
    command += ["--affiliates", "50", "--conversions", "1000", "--changes", "100"]
    result = subprocess.run(  # noqa: S603 - our own command
        command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "MISSED" not in result.stdout
