"""`make release`: what it refuses, and what the archive holds."""

import hashlib
import subprocess
import sys
import tarfile

import pytest

from tests.command_line import ROOT

PROJECT = '[project]\nversion = "{}"\n'
CHANGELOG = "# Changelog\n\n## 0.2.0 - 2026-03-04\n\n- A lamp.\n"


@pytest.fixture
def checkout(tmp_path):
    """A committed project of version 0.2.0."""
    (tmp_path / "pyproject.toml").write_text(PROJECT.format("0.2.0"))
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    (tmp_path / ".gitignore").write_text("dist/\n")
    run_git(tmp_path, "init", "--quiet")
    commit(tmp_path)
    return tmp_path


def run_git(directory, *arguments):
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(  # noqa: S603 - our own command
        ["git", *identity, *arguments],  # noqa: S607
        cwd=directory,
        check=True,
        capture_output=True,
    )


def commit(directory):
    run_git(directory, "add", ".")
    run_git(directory, "commit", "--quiet", "--message", "Change")


def release(directory):
    return subprocess.run(  # noqa: S603 - our own command
        [sys.executable, str(ROOT / ".ci/release")],
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
    )


def test_builds_the_same_archive_each_time(checkout):
    archive = checkout / "dist" / "affiliate-site-0.2.0.tar.gz"

    digests = set()
    for _ in range(2):
        process = release(checkout)
        assert (process.returncode, process.stderr) == (0, "")
        digests.add(hashlib.sha256(archive.read_bytes()).hexdigest())

    (digest,) = digests
    assert process.stdout.splitlines()[1:] == [digest, "Next: git tag 0.2.0"]
    checksum = (checkout / "dist" / f"{archive.name}.sha256").read_text()
    assert checksum == f"{digest}  {archive.name}\n"
    with tarfile.open(archive) as content:
        names = {name for name in content.getnames() if name.count("/") == 1}
    folder = "affiliate-site-0.2.0"
    files = (".gitignore", "CHANGELOG.md", "pyproject.toml")
    assert names == {f"{folder}/{name}" for name in files}


def test_refuses_uncommitted_changes(checkout):
    (checkout / "new.py").touch()

    process = release(checkout)

    assert process.returncode == 1
    assert process.stderr.startswith("No release: there are uncommitted changes")
    assert not (checkout / "dist").exists()


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("0.2", "version 0.2 in pyproject.toml is not like 1.2.3"),
        ("0.3.0", "CHANGELOG.md has no section `## 0.3.0 - YYYY-MM-DD`"),
    ],
)
def test_refuses_a_version_that_is_not_described(checkout, version, expected):
    (checkout / "pyproject.toml").write_text(PROJECT.format(version))
    commit(checkout)

    assert expected in release(checkout).stderr


def test_refuses_a_version_of_an_earlier_commit(checkout):
    run_git(checkout, "tag", "0.2.0")
    assert release(checkout).returncode == 0
    (checkout / "lamp.py").touch()
    commit(checkout)

    assert "0.2.0 is released already: raise the version" in release(checkout).stderr
