"""QR codes as SVG, always black on white."""

from io import BytesIO

import segno
from django.utils.safestring import SafeString, mark_safe

MAX_LINK_BYTES = 2331  # capacity of a QR code at error correction level M


def is_encodable(text: str) -> bool:
    """Whether a text fits into a QR code."""
    return len(text.encode()) <= MAX_LINK_BYTES


def render_inline_svg(text: str) -> SafeString:
    """An `<svg>` element without a label; the page adds one."""
    svg = create_qr_code(text).svg_inline(light="#fff", omitsize=True, lineclass=None)
    return mark_safe(svg)  # noqa: S308 - only numbers, no text of the link


def render_svg_file(text: str) -> bytes:
    """An SVG file with the text as its title."""
    file = BytesIO()
    title = text if text.isprintable() else None  # XML allows no control characters
    create_qr_code(text).save(file, kind="svg", light="#fff", scale=8, title=title)
    return file.getvalue()


def create_qr_code(text: str) -> segno.QRCode:
    """A QR code at error correction level M, readable with 15 % of it damaged."""
    return segno.make_qr(text, error="m", boost_error=False)
