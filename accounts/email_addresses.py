"""Which e-mail addresses are accepted and equal, and which names mail can come from."""

import re
import unicodedata  # noqa: TID251 - `fold_email` cuts first
from contextlib import suppress

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

ENCODED_WORD = "=?"  # mail programs decode it: another address than limits compare
# The same mailbox in other words: quotes, escapes, and the number of a host.
OTHER_SPELLINGS = (ENCODED_WORD, '"', "\\", "[", "]")
ESCAPED = re.compile(r"\\(.)", re.DOTALL)
MAX_FOLDED_LENGTH = 762  # of the columns: 254 characters, of which one can become three


def validate_address(text: str) -> None:
    """Raise `ValidationError` unless the text is an address, however it is read."""
    validate_email(text)
    try:
        encoded = encode_domain(text)
    except UnicodeError:
        encoded = ""
    validate_email(encoded)
    if has_other_spellings(text):
        raise ValidationError(validate_email.message, code=validate_email.code)


def has_other_spellings(text: str) -> bool:
    """Whether a mail program reads another address than the text shows.

    Letters before the domain that are not ASCII are sent as encoded words.
    """
    local, _, _ = text.rpartition("@")
    return not local.isascii() or any(each in text for each in OTHER_SPELLINGS)


def encode_domain(text: str) -> str:
    """Return an address with its domain in ASCII, as mail is sent; other text as is.

    Raises `UnicodeError` for a domain that cannot be written so.
    """
    local, at, domain = text.rpartition("@")
    if domain.isascii():
        return text
    return f"{local}{at}{domain.encode('idna').decode('ascii')}" if at else text


def fold_email(text: str) -> str:
    """Return what is equal for all spellings of an address, also of its domain.

    A quoted name, which older rows may have, loses its quotes. A domain that cannot be
    encoded is folded as text. Longer ones than any address are cut.
    """
    folded = unquote_name(text[:MAX_FOLDED_LENGTH].casefold())
    if folded.isascii():
        return folded
    local, at, domain = folded.rpartition("@")
    folded = unicodedata.normalize("NFKC", local).casefold() + at + domain
    with suppress(UnicodeError):
        folded = encode_domain(folded).casefold()
    return folded[:MAX_FOLDED_LENGTH]


def unquote_name(text: str) -> str:
    """Return an address without quotes around what is before its domain."""
    local, at, domain = text.rpartition("@")
    if at and len(local) > 1 and local[0] == local[-1] == '"':
        return ESCAPED.sub(r"\1", local[1:-1]) + at + domain
    return text


def list_spellings(text: str) -> set[str]:
    """Return a folded text as it is, as `fold_email`, and with its domain decoded."""
    folded = fold_email(text)
    local, at, domain = folded.rpartition("@")
    spellings = {text.casefold(), folded}
    with suppress(UnicodeError):
        spellings.add(f"{local}{at}{domain.encode('ascii').decode('idna')}")
    return spellings


def clean_sender_name(text: str) -> str:
    """Return a name without what makes another address of it, or hides letters."""
    visible = (each for each in text if unicodedata.category(each) not in {"Cf", "Cc"})
    return "".join(visible).replace(ENCODED_WORD, "").replace("@", " ")
