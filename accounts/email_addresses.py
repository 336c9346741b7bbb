"""Which e-mail addresses are accepted, and which names mail can come from."""

import unicodedata

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

ENCODED_WORD = "=?"  # mail programs decode it: another address than limits compare


def validate_address(text: str) -> None:
    """Raise `ValidationError` unless the text is an address, however it is read."""
    validate_email(text)
    if ENCODED_WORD in text:
        raise ValidationError("An encoded word is no address.")


def clean_sender_name(text: str) -> str:
    """Return a name without what makes another address of it, or hides letters."""
    visible = (each for each in text if unicodedata.category(each) not in {"Cf", "Cc"})
    return "".join(visible).replace(ENCODED_WORD, "").replace("@", " ")
