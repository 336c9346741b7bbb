"""Which characters the fonts of this server print, as fontconfig lists them.

Pango, which makes the PDFs, takes its fonts from there. What no font has is a box.
"""

import re
import shutil
import subprocess
import unicodedata  # noqa: TID251 - categories of single characters
from functools import lru_cache
from time import monotonic

PROGRAM = "fc-list"
PACKAGES = "fonts-noto-core fonts-noto-cjk fonts-noto-color-emoji"
TIMEOUT_SECONDS = 10
KEPT_SECONDS = 300  # a font that is installed counts after this time
RANGE = re.compile(rb"(?<![0-9a-f])([0-9a-f]{1,6})(?:-([0-9a-f]{1,6}))?(?![0-9a-f])")
LAST_CODE = 0x10FFFF
VARIATION_SELECTORS = range(0xFE00, 0xFE10)


def find_unprintable(text: str) -> str:
    """Return the characters of a text that no font has, each once.

    Without the program that lists fonts nobody can know, and nothing is returned.
    """
    if text.isascii():
        return ""
    printable = list_printable(int(monotonic() // KEPT_SECONDS))
    return "".join(
        each
        for each in dict.fromkeys(text)
        if printable and is_visible(each) and not printable[ord(each)]
    )


@lru_cache(maxsize=1)
def list_printable(_period: int = 0) -> bytes:
    """For each code of Unicode, whether a font has it; empty if nobody can know."""
    program = shutil.which(PROGRAM)
    if program is None:
        return b""
    command = [program, "--format", "%{charset}\n"]
    try:
        done = subprocess.run(  # noqa: S603
            command, capture_output=True, check=True, timeout=TIMEOUT_SECONDS
        )
    except (OSError, subprocess.SubprocessError):
        return b""
    found = bytearray(LAST_CODE + 1)
    for start, end in set(RANGE.findall(done.stdout)):
        first, last = int(start, 16), min(int(end or start, 16), LAST_CODE)
        found[first : last + 1] = b"\1" * (last + 1 - first)
    return bytes(found)


def is_visible(character: str) -> bool:
    """Return whether a character needs a glyph: spaces and controls need none."""
    category = unicodedata.category(character)
    return (
        category[0] != "Z"
        and category not in ("Cc", "Cf")
        and ord(character) not in VARIATION_SELECTORS
    )
