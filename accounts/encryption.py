"""Columns that the database holds encrypted, with the keys of `ENCRYPTION_KEYS`."""

import hashlib
import hmac
import json
from functools import cache
from typing import TYPE_CHECKING, Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

if TYPE_CHECKING:
    JSONFieldBase = models.JSONField[Any, Any]
    TextFieldBase = models.TextField[Any, Any]
else:
    JSONFieldBase, TextFieldBase = models.JSONField, models.TextField

TOKEN_PREFIX = "gAAAA"  # noqa: S105 - of Fernet's version and the first bytes of the time


@cache
def _build_cipher(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(key) for key in keys])


def get_cipher() -> MultiFernet:
    """Return the cipher: the first key encrypts, all keys decrypt."""
    return _build_cipher(tuple(settings.ENCRYPTION_KEYS))


def calculate_blind_index(text: str) -> str:
    """Return an HMAC by which equal texts are found without being decrypted.

    It depends on the first key: `rotate_encryption` calculates it again.
    """
    return list_blind_indexes(text)[0]


def list_blind_indexes(text: str) -> list[str]:
    """Return the HMAC of a text by each key, the first key's first."""
    return [
        hmac.new(key.encode(), text.encode(), hashlib.sha256).hexdigest()
        for key in settings.ENCRYPTION_KEYS
    ]


class WrongEncryptionKey(ImproperlyConfigured):
    """No key decrypts what is stored: a key of `ENCRYPTION_KEYS` is missing."""

    def __init__(self) -> None:
        super().__init__(
            "None of ENCRYPTION_KEYS decrypts what is stored: add the key that was used"
            " when it was written (deploy/env.example)"
        )


def encrypt(text: str) -> str:
    """Return a token, which is encrypted by the first key."""
    return get_cipher().encrypt(text.encode()).decode()


def decrypt(token: str) -> str:
    """Return the text of a token; raise `WrongEncryptionKey` if no key fits."""
    try:
        return get_cipher().decrypt(token.encode()).decode()
    except InvalidToken:
        raise WrongEncryptionKey from None


def is_encrypted_by_first_key(token: str) -> bool:
    """Return whether `rotate_encryption` has nothing to do with a token."""
    try:
        Fernet(settings.ENCRYPTION_KEYS[0]).decrypt(token.encode())
    except InvalidToken:
        return False
    return True


class EncryptedJSONField(JSONFieldBase):
    """JSON stored as one encrypted string. Other JSON is from before the encryption.

    The database can neither filter nor sort by it. What is empty is not encrypted.
    """

    description = "Encrypted JSON"

    def get_prep_value(self, value: Any) -> Any:
        if not value:
            return value
        return encrypt(json.dumps(value, ensure_ascii=False))

    def from_db_value(self, value: Any, expression: Any, connection: BaseDatabaseWrapper) -> Any:
        value = super().from_db_value(value, expression, connection)
        return json.loads(decrypt(value)) if isinstance(value, str) else value


class EncryptedTextField(TextFieldBase):
    """Text stored encrypted. Text that is no token is from before the encryption.

    The database can neither filter nor sort by it. What is empty is not encrypted.
    """

    description = "Encrypted text"

    def get_prep_value(self, value: Any) -> Any:
        return encrypt(value) if value else value

    def from_db_value(self, value: Any, expression: Any, connection: BaseDatabaseWrapper) -> Any:
        return decrypt(value) if value and value.startswith(TOKEN_PREFIX) else value
