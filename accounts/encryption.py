"""Columns that the database holds encrypted, with the keys of `ENCRYPTION_KEYS`."""

import hashlib
import hmac
import json
from functools import cache
from typing import TYPE_CHECKING, Any

from cryptography.fernet import Fernet, MultiFernet
from django.conf import settings
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

if TYPE_CHECKING:
    JSONFieldBase = models.JSONField[Any, Any]
else:
    JSONFieldBase = models.JSONField


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
    key = settings.ENCRYPTION_KEYS[0].encode()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


class EncryptedJSONField(JSONFieldBase):
    """JSON stored as one encrypted string. Other JSON is from before the encryption.

    The database can neither filter nor sort by it.
    """

    description = "Encrypted JSON"

    def get_prep_value(self, value: Any) -> Any:
        if value is None:
            return None
        text = json.dumps(value, ensure_ascii=False, sort_keys=True)
        return get_cipher().encrypt(text.encode()).decode()

    def from_db_value(
        self, value: Any, expression: Any, connection: BaseDatabaseWrapper
    ) -> Any:
        value = super().from_db_value(value, expression, connection)
        if isinstance(value, str):
            value = json.loads(get_cipher().decrypt(value.encode()))
        return value
