"""Which e-mail addresses are accepted and equal, and which names mail can come from."""

import unicodedata
from contextlib import suppress

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

ENCODED_WORD = "=?"  # mail programs decode it: another address than limits compare
MAX_FOLDED_LENGTH = 762  # of the columns: 254 characters, of which one can become three


def validate_address(text: str) -> None:
    """Raise `ValidationError` unless the text is an address, however it is read."""
    validate_email(text)
    try:
        encode_domain(text)
    except UnicodeError:
        is_valid = False
    else:
        is_valid = ENCODED_WORD not in text
    if not is_valid:
        raise ValidationError(validate_email.message, code=validate_email.code)


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

    A domain that cannot be encoded is folded as text. Longer ones than any address are
    cut.
    """
    folded = text[:MAX_FOLDED_LENGTH].casefold()
    if folded.isascii():
        return folded
    local, at, domain = folded.rpartition("@")
    folded = unicodedata.normalize("NFKC", local).casefold() + at + domain
    with suppress(UnicodeError):
        folded = encode_domain(folded).casefold()
    return folded[:MAX_FOLDED_LENGTH]


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
