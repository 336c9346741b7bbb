"""Generate and parse the identifiers that appear in the API."""

import re
import secrets
import string
import time
import uuid
import zlib

ALPHANUMERIC = string.ascii_uppercase + string.ascii_lowercase + string.digits
BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
SLUG_PATTERN = re.compile(r"[a-z0-9][a-z0-9-]{0,63}", re.ASCII)


def generate_random_text(length: int, alphabet: str = ALPHANUMERIC) -> str:
    """Return cryptographically random characters of the alphabet."""
    return "".join(secrets.choice(alphabet) for _ in range(length))


def generate_public_id(prefix: str) -> str:
    """Return the prefix, `_` and 16 random letters and digits, e.g. `cu_…`."""
    return f"{prefix}_{generate_random_text(16)}"


def generate_hex(digits: int) -> str:
    """Return random lower-case hex digits."""
    return secrets.token_hex(digits)[:digits]


def generate_uuid7() -> uuid.UUID:
    """Return a version 7 UUID, which is ordered by time (RFC 9562, section 5.7)."""
    milliseconds = time.time_ns() // 1_000_000
    number = (milliseconds << 80) | secrets.randbits(80)
    number &= ~(0xF << 76) & ~(0x3 << 62)
    return uuid.UUID(int=number | (7 << 76) | (2 << 62))


def encode_base62(number: int, width: int) -> str:
    """Encode a number in base 62, zero-padded on the left."""
    digits = ""
    while number:
        number, digit = divmod(number, 62)
        digits = BASE62[digit] + digits
    return digits.rjust(width, BASE62[0])


def calculate_checksum(text: str) -> str:
    """Return the CRC32 of the text as six base62 characters."""
    return encode_base62(zlib.crc32(text.encode()), 6)


NUMBERED_ID_PATTERN = re.compile(r"([1-9][0-9]{0,17})-([0-9a-f]{6})", re.ASCII)


def parse_numbered_id(text: str) -> tuple[int, str] | None:
    """Parse an ID like `4-b81d20` into number and hex digits; None for other texts."""
    match = NUMBERED_ID_PATTERN.fullmatch(text)
    return (int(match[1]), match[2]) if match else None
