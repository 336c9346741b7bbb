"""Identifiers that others see: made here, guessed nowhere."""

import re
import secrets
import string
import time
import uuid
import zlib

ALPHABET = string.ascii_uppercase + string.ascii_lowercase + string.digits
BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,63}", re.ASCII)


def random_text(length: int, alphabet: str = ALPHABET) -> str:
    """Random characters of the alphabet, from the system's own source."""
    return "".join(secrets.choice(alphabet) for _ in range(length))


def new_id(prefix: str) -> str:
    """`cu_` and sixteen random letters and digits."""
    return f"{prefix}_{random_text(16)}"


def new_hex(digits: int) -> str:
    """Random lower-case hex digits."""
    return secrets.token_hex(digits)[:digits]


def time_ordered_uuid() -> uuid.UUID:
    """A version 7 UUID: the newest lie together in an index (RFC 9562, 5.7)."""
    milliseconds = time.time_ns() // 1_000_000
    number = (milliseconds << 80) | secrets.randbits(80)
    number &= ~(0xF << 76) & ~(0x3 << 62)
    return uuid.UUID(int=number | (7 << 76) | (2 << 62))


def base62(number: int, width: int) -> str:
    """A number in base 62, zero-padded on the left."""
    digits = ""
    while number:
        number, digit = divmod(number, 62)
        digits = BASE62[digit] + digits
    return digits.rjust(width, BASE62[0])


def checksum(text: str) -> str:
    """Six base62 characters of CRC32: a typing error shows without a database."""
    return base62(zlib.crc32(text.encode()), 6)


NUMBERED = re.compile(r"([1-9][0-9]{0,17})-([0-9a-f]{6})", re.ASCII)


def numbered(text: str) -> tuple[int, str] | None:
    """The number and the hex digits of `4-b81d20`; None for any other text."""
    match = NUMBERED.fullmatch(text)
    return (int(match[1]), match[2]) if match else None
