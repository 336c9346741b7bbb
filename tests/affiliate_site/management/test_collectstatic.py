"""`collectstatic`: only what has changed, and whose the files are."""

from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from tests.command_line import run_command

DONE = "The static files are collected already."


@pytest.fixture
def folder(settings, tmp_path):
    settings.STATIC_ROOT = tmp_path / "static"
    return settings.STATIC_ROOT


def test_collects_once(folder, settings):
    assert "copied" in run_command("collectstatic", "--noinput")
    assert run_command("collectstatic", "--noinput").strip() == DONE

    assert "copied" in run_command("collectstatic", "--noinput", "--clear")
    backend = settings.STORAGES["staticfiles"]
    settings.STORAGES = {"staticfiles": backend | {"OPTIONS": {}}}
    assert run_command("collectstatic", "--noinput").strip() != DONE


def test_collects_again_if_the_folder_is_gone(folder):
    run_command("collectstatic", "--noinput")
    (folder / ".collected").unlink()

    assert run_command("collectstatic", "--noinput").strip() != DONE


def test_names_whose_the_files_are(folder, monkeypatch):
    def refuse(*arguments, **options):
        raise PermissionError(13, "Permission denied", str(folder / "a.css"))

    folder.mkdir()
    monkeypatch.setattr(Path, "unlink", refuse)

    with pytest.raises(CommandError, match=r"belongs to .* chown -R"):
        call_command("collectstatic", interactive=False)
