"""Which characters can be printed: docs/operations.md, section 1."""

import subprocess
from types import SimpleNamespace

import pytest

from payouts import fonts
from payouts.fonts import find_unprintable, list_printable


@pytest.fixture
def listed(monkeypatch):
    """What fontconfig answers, which a test sets; by default Latin and Cyrillic."""
    answer = SimpleNamespace(stdout=b"20-7e a0-17f\n400-45f 1f33f\n", error=None)

    def run(command, **options):
        assert command == ["/bin/fc-list", "--format", "%{charset}\n"]
        assert (options["check"], options["timeout"]) == (True, 10)
        if answer.error:
            raise answer.error
        return answer

    monkeypatch.setattr(fonts.subprocess, "run", run)
    monkeypatch.setattr(fonts.shutil, "which", lambda name: f"/bin/{name}")
    list_printable.cache_clear()
    yield answer
    list_printable.cache_clear()


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("Mina Kessler", ""),
        ("Łódź, Жанна \U0001f33f", ""),
        ("李明 Li, 李", "李明"),
        ("ไท", "ไท"),
        ("Mina\u200d\ufe0f\u2028\xa0\x07", ""),  # nothing to see
    ],
)
def test_names_each_character_that_no_font_has(listed, text, missing):
    assert find_unprintable(text) == missing


@pytest.mark.parametrize(
    "error",
    [
        subprocess.TimeoutExpired("fc-list", 10),
        subprocess.CalledProcessError(1, "fc-list"),
        OSError("cannot start"),
    ],
)
def test_knows_nothing_without_an_answer(listed, error):
    listed.error = error
    assert find_unprintable("李") == ""


def test_knows_nothing_without_fontconfig(listed, monkeypatch):
    monkeypatch.setattr(fonts.shutil, "which", lambda name: None)
    assert find_unprintable("李") == ""


def test_asks_again_after_a_while(listed, monkeypatch):
    times = iter([1, 200, 301])
    monkeypatch.setattr(fonts, "monotonic", lambda: next(times))
    assert find_unprintable("李") == "李"
    listed.stdout += b"674e"
    assert find_unprintable("李") == "李"
    assert find_unprintable("李") == ""


def test_the_fonts_of_this_machine_print_latin_letters():
    list_printable.cache_clear()
    assert find_unprintable("Ærøskøbing, Łódź, Saint-Étienne") == ""
