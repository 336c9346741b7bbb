"""A server whose fonts have Latin letters only."""

from payouts import fonts

LATIN = b"\1" * 0x250 + bytes(fonts.LAST_CODE + 1 - 0x250)


def use_latin_fonts(monkeypatch):
    monkeypatch.setattr(fonts, "list_printable", lambda period: LATIN)
