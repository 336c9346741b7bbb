"""API keys of clients and signing secrets of pages."""

import hashlib
import hmac
import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from django.db import OperationalError, transaction
from django.db.models import QuerySet

from accounts.compiled_queries import compiled
from accounts.errors import ApiKeyNotFound, SigningSecretNotFound, TooManySigningSecrets
from accounts.ids import calculate_checksum, generate_random_text
from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from accounts.models.api_keys import ApiKey, SigningSecret
from accounts.services.accounts import validate_name
from accounts.services.changes import log_event

KEY_PREFIX = "aff_live_"
KEY_PATTERN = re.compile(r"aff_live_[0-9A-Za-z]{49}", re.ASCII)
MIN_LAST_USED_INTERVAL = timedelta(minutes=1)


def create_api_key(account: Account, *, name: str, role: str, at: datetime) -> tuple[ApiKey, str]:
    """Create a key and return it with its text, which is not stored.

    `name` is a label; it may be empty.
    """
    if name:
        validate_name("The label", name, path="name")
    with transaction.atomic():
        while True:
            text = _generate_key()
            key = ApiKey(
                account=account,
                digest=calculate_digest(text),
                prefix=text[:PREFIX_LENGTH],
                name=name,
                role=role,
                created_at=at,
            )
            # Only three characters of a prefix are random: retry until it is unique.
            if account.api_keys.insert_or_ignore(key, unique_fields=("account", "prefix")):
                break
        log_event(account, "api_key.created", key, at=at, role=role)
    return key, text


def find_api_key(text: str) -> ApiKey | None:
    """Return the active key with this text, with its account and plan, or None.

    The checksum in the text rejects typing errors without a database query.
    """
    if not KEY_PATTERN.fullmatch(text) or calculate_checksum(text[:-6]) != text[-6:]:
        return None
    return active_key_by_digest.first(digest=calculate_digest(text))


@compiled
def active_key_by_digest(digest: str) -> QuerySet[ApiKey]:
    """The key with this digest, if it is not revoked, with its account and plan."""
    return (
        ApiKey.objects.across_accounts()
        .select_related("account__plan")
        .filter(digest=digest, revoked_at=None)
    )


def record_api_key_use(key: ApiKey, *, at: datetime) -> None:
    """Record the use of a key at most once a minute; database errors are ignored."""
    if key.last_used_at is None or key.last_used_at < at - MIN_LAST_USED_INTERVAL:
        with suppress(OperationalError):
            key.update_row(last_used_at=at)


def revoke_api_key(account: Account, *, prefix: str, at: datetime) -> ApiKey:
    """Revoke the key with this prefix; idempotent."""
    key = get_or_raise(account.api_keys, ApiKeyNotFound(prefix=prefix), prefix=prefix)
    with transaction.atomic():
        if key.update_row(expected={"revoked_at": None}, revoked_at=at):
            log_event(account, "api_key.revoked", key, at=at)
    return key


def calculate_digest(text: str) -> str:
    """Return the stored digest of a key; 256 random bits need no slow hash."""
    return hashlib.sha256(text.encode()).hexdigest()


def _generate_key() -> str:
    body = KEY_PREFIX + generate_random_text(43)
    return body + calculate_checksum(body)


PREFIX = "sign_"
PREFIX_LENGTH = 12
MAX_VALID_SECRETS = 2  # the old and the new one while a shop changes over


def create_signing_secret(account: Account, *, at: datetime) -> SigningSecret:
    """Create a secret beside a valid one; raise `TooManySigningSecrets` for a third."""
    with transaction.atomic():
        account.lock_row()
        valid = account.signing_secrets.filter(revoked_at=None)
        if valid.count() >= MAX_VALID_SECRETS:
            prefix = valid.earliest("id").prefix
            raise TooManySigningSecrets(prefix=prefix)
        text = PREFIX + generate_random_text(43)
        secret = account.signing_secrets.create(
            secret=text, prefix=text[:PREFIX_LENGTH], created_at=at
        )
        log_event(account, "signing_secret.created", secret, at=at)
    return secret


def revoke_signing_secret(account: Account, *, prefix: str, at: datetime) -> SigningSecret:
    """Revoke the secret with this prefix: its signatures are refused; idempotent."""
    error = SigningSecretNotFound(prefix=prefix)
    secret = get_or_raise(account.signing_secrets, error, prefix=prefix)
    with transaction.atomic():
        if secret.update_row(expected={"revoked_at": None}, revoked_at=at):
            log_event(account, "signing_secret.revoked", secret, at=at)
    return secret


def has_valid_signature(account: Account, lines: Sequence[str], signature: str) -> bool:
    """Is this the hex HMAC-SHA256 of the lines, by a valid secret of the account?"""
    secrets = account.signing_secrets.filter(revoked_at=None)
    return any(
        hmac.compare_digest(calculate_signature(secret, lines).encode(), signature.encode())
        for secret in secrets.values_list("secret", flat=True)
        if signature.isascii()
    )


def calculate_signature(secret: str, lines: Sequence[str]) -> str:
    """Return the hex HMAC-SHA256 of the lines, joined by line feeds."""
    return hmac.digest(secret.encode(), "\n".join(lines).encode(), "sha256").hex()
