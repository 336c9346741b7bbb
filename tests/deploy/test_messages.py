"""`make messages-difference` names what is not translated, and changes nothing."""

import shutil
import subprocess
import sys

import pytest

from tests.command_line import ROOT, build_environment

FOLDERS = ("accounts", "tracking", "payouts", "affiliate_site", "templates", "locale")

pytestmark = [
    pytest.mark.engine_independent,
    pytest.mark.skipif(shutil.which("xgettext") is None, reason="gettext is missing"),
]


@pytest.fixture
def copy(tmp_path):
    shutil.copy(ROOT / "manage.py", tmp_path)
    for folder in (*FOLDERS, ".ci"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    return tmp_path


def run(folder, *arguments):
    return subprocess.run(  # noqa: S603 - our own command
        [sys.executable, ".ci/messages", *arguments],
        cwd=folder,
        env=build_environment(),
        capture_output=True,
        text=True,
    )


def test_names_what_is_not_translated(copy):
    checked = run(copy, "--check")
    assert (checked.returncode, checked.stderr) == (0, "")
    template = copy / "templates" / "portal" / "sign_in.html"
    template.write_text(f'{template.read_text()}{{% translate "Fresh paint" %}}')
    catalog = copy / "locale" / "de" / "LC_MESSAGES" / "django.po"
    before = catalog.read_bytes()

    checked = run(copy, "--check")

    assert checked.returncode == 1
    assert "locale/de/LC_MESSAGES/django.po: outdated: run make messages" in (checked.stderr)
    assert catalog.read_bytes() == before
    assert run(copy).returncode == 0
    assert catalog.read_bytes() != before
    checked = run(copy, "--check")
    assert checked.returncode == 1
    assert "translate after make messages: 'Fresh paint'" in checked.stderr
