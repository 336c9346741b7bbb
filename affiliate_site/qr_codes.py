"""QR codes as SVG: dark on white, links with the color and the logo of the account."""

from base64 import b64encode
from dataclasses import dataclass
from io import BytesIO

import segno
from django.utils.safestring import SafeString, mark_safe

from accounts.services.accounts import find_logo

MAX_LINK_BYTES = 2331  # capacity of a QR code at error correction level M
MAX_LINK_BYTES_WITH_LOGO = 1273  # at level H
LOGO_SHARE = 0.22  # of the width; level H reads with 30 % of the area damaged
FILE_SCALE = 8  # pixels of a module in a file


@dataclass(frozen=True)
class QrStyle:
    """How a QR code looks."""

    color: str = "#000"
    logo: str = ""  # `data:` URL of a picture in its middle


PLAIN = QrStyle()


def get_link_style(account) -> QrStyle:
    logo = find_logo(account)
    url = f"data:{logo[0]};base64,{b64encode(logo[1]).decode()}" if logo else ""
    return QrStyle(account.link_color, url)


def is_encodable(text: str) -> bool:
    """Whether a text fits into a QR code."""
    return len(text.encode()) <= MAX_LINK_BYTES


def render_inline_svg(text: str, style: QrStyle = PLAIN) -> SafeString:
    """An `<svg>` element without a label; the page adds one."""
    code = create_qr_code(text, style)
    svg = code.svg_inline(dark=style.color, light="#fff", omitsize=True, lineclass=None)
    return mark_safe(add_logo(svg, code, style))  # noqa: S308 - nothing of the link


def render_svg_file(text: str, style: QrStyle = PLAIN) -> bytes:
    """An SVG file with the text as its title."""
    file, code = BytesIO(), create_qr_code(text, style)
    title = text if text.isprintable() else None  # XML allows no control characters
    code.save(file, kind="svg", dark=style.color, light="#fff", scale=FILE_SCALE, title=title)
    return add_logo(file.getvalue().decode(), code, style, scale=FILE_SCALE).encode()


def create_qr_code(text: str, style: QrStyle) -> segno.QRCode:
    """A QR code that is readable with 15 % of it damaged, with a logo 30 %."""
    level = "h" if has_logo(text, style) else "m"
    return segno.make_qr(text, error=level, boost_error=False)


def has_logo(text: str, style: QrStyle) -> bool:
    """Whether the logo is shown: a very long link leaves no room for it."""
    return bool(style.logo) and len(text.encode()) <= MAX_LINK_BYTES_WITH_LOGO


def add_logo(svg: str, code: segno.QRCode, style: QrStyle, *, scale: int = 1) -> str:
    """Draw the logo on a white square in the middle."""
    if code.error != "H":
        return svg
    width = code.symbol_size(scale)[0]
    size = round(width * LOGO_SHARE, 2)
    start = round((width - size) / 2, 2)
    box = f'x="{start}" y="{start}" width="{size}" height="{size}"'
    picture = f'<rect {box} fill="#fff"/><image {box} href="{style.logo}"/>'
    return svg.replace("</svg>", f"{picture}</svg>")
