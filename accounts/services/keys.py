"""API keys: issued once, recognised at every request, revoked for good."""

import hashlib
import re
from contextlib import suppress
from datetime import datetime, timedelta

from django.db import OperationalError, transaction

from accounts.errors import UnknownKey
from accounts.ids import checksum, random_text
from accounts.models.accounts import Account
from accounts.models.keys import ApiKey
from accounts.services.accounts import refuse_long
from accounts.services.events import note

BEGINNING = "aff_live_"
FORM = re.compile(r"aff_live_[0-9A-Za-z]{49}", re.ASCII)
PREFIX_LENGTH = 12
TOUCH_PAUSE = timedelta(minutes=1)


def issue(
    account: Account, *, name: str, role: str, at: datetime
) -> tuple[ApiKey, str]:
    """Make a key; its text is handed out this once and kept nowhere."""
    refuse_long("The label", name)
    with transaction.atomic():
        while True:
            text = _new_text()
            key = ApiKey(
                account=account,
                digest=digest_of(text),
                prefix=text[:PREFIX_LENGTH],
                name=name,
                role=role,
                created_at=at,
            )
            # Twelve characters show three random ones: drawn again until they are free.
            if account.api_keys.insert_unless_taken(key, on=("account", "prefix")):
                break
        note(account, "api_key.issued", key, at=at, role=role)
    return key, text


def recognise(text: str) -> ApiKey | None:
    """The key with this text, its account and plan beside it; None when there is none.

    A typing error is refused without asking the database.
    """
    if not FORM.fullmatch(text) or checksum(text[:-6]) != text[-6:]:
        return None
    return (
        ApiKey.objects.select_related("account__plan")
        .filter(digest=digest_of(text), revoked_at=None)
        .first()
    )


def touch(key: ApiKey, *, at: datetime) -> None:
    """Remember that the key was used; at most once a minute, and as well as it goes."""
    if key.last_used_at is None or key.last_used_at < at - TOUCH_PAUSE:
        with suppress(OperationalError):
            key.change(last_used_at=at)


def revoke(account: Account, *, prefix: str, at: datetime) -> ApiKey:
    """Refuse the key from the next request on; repeating it changes nothing."""
    key = account.api_keys.filter(prefix=prefix).first()
    if key is None:
        raise UnknownKey(prefix=prefix)
    with transaction.atomic():
        if key.change(expecting={"revoked_at": None}, revoked_at=at):
            note(account, "api_key.revoked", key, at=at)
    return key


def digest_of(text: str) -> str:
    """What is stored of a key: 256 random bits need no slow hash."""
    return hashlib.sha256(text.encode()).hexdigest()


def _new_text() -> str:
    body = BEGINNING + random_text(43)
    return body + checksum(body)
