"""Secrets that sign page calls: create, revoke, verify (docs/tracking-trust.md)."""

import hmac
from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from accounts.errors import SigningSecretNotFound, TooManySigningSecrets
from accounts.ids import generate_random_text
from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from accounts.models.signing_secrets import SigningSecret
from accounts.services.audit_log import log_event

PREFIX = "sign_"
PREFIX_LENGTH = 12
MAX_VALID_SECRETS = 2  # the old and the new one while a shop changes over


def create_signing_secret(account: Account, *, at: datetime) -> SigningSecret:
    """Create a secret beside a valid one; raise `TooManySigningSecrets` for a third."""
    with transaction.atomic():
        list(Account.objects.select_for_update(no_key=True).filter(pk=account.pk))
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


def revoke_signing_secret(
    account: Account, *, prefix: str, at: datetime
) -> SigningSecret:
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
        hmac.compare_digest(calculate_signature(secret, lines), signature)
        for secret in secrets.values_list("secret", flat=True)
        if signature.isascii()
    )


def calculate_signature(secret: str, lines: Sequence[str]) -> str:
    """Sign lines, joined by line feeds."""
    return hmac.digest(secret.encode(), "\n".join(lines).encode(), "sha256").hex()
