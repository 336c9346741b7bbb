"""QR codes, drawn here alone: as SVG, black on white everywhere."""

from io import BytesIO

import segno
from django.utils.safestring import SafeString, mark_safe

LONGEST = 2331  # bytes that fit, with a seventh of the picture to spare


def has_room(link: str) -> bool:
    """Does a link fit into a QR code?"""
    return len(link.encode()) <= LONGEST


def inline(link: str) -> SafeString:
    """An `<svg>` for a page; whoever shows it says in words what it is."""
    picture = drawn(link).svg_inline(light="#fff", omitsize=True, lineclass=None)
    return mark_safe(picture)  # noqa: S308 - squares and numbers, nothing of the link


def as_file(link: str) -> bytes:
    """The same as a file of its own, which a printer scales."""
    held = BytesIO()
    title = link if link.isprintable() else None  # XML holds no control characters
    drawn(link).save(held, kind="svg", light="#fff", scale=8, title=title)
    return held.getvalue()


def drawn(link: str) -> segno.QRCode:
    """With a seventh of the picture to spare: labels get scratched."""
    return segno.make_qr(link, error="m", boost_error=False)
