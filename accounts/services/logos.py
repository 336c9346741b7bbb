"""The logo of an account."""

from datetime import datetime

from django.db import transaction

from accounts.errors import InvalidSetting
from accounts.models.accounts import Account
from accounts.models.logos import Logo
from accounts.services.audit_log import log_event

MAX_LOGO_BYTES = 20_000  # a page repeats it in up to six QR codes
MEDIA_TYPES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg"}


def set_logo(account: Account, *, image: bytes | None, at: datetime) -> Logo | None:
    """Replace the logo of an account, or remove it if `image` is None.

    Raises `InvalidSetting` unless it is a PNG or JPEG of at most `MAX_LOGO_BYTES`: an
    SVG could contain scripts.
    """
    new = None
    if image is not None:
        new = Logo(account=account, media_type=detect_media_type(image), image=image)
    with transaction.atomic():
        list(Account.objects.select_for_update(no_key=True).filter(pk=account.pk))
        old = account.logos.first()
        if old is None and new is None:
            return None
        account.logos.all().delete()
        if new is not None:
            new.save()
        change = [None if logo is None else str(logo) for logo in (old, new)]
        log_event(account, "account.settings_changed", account, at=at, logo=change)
    return new


def detect_media_type(image: bytes) -> str:
    """The media type that a picture begins like."""
    types = (type for start, type in MEDIA_TYPES.items() if image.startswith(start))
    media_type = next(types, "")
    if not media_type or len(image) > MAX_LOGO_BYTES:
        raise InvalidSetting(
            setting="The logo",
            rule=f"a PNG or JPEG of at most {MAX_LOGO_BYTES:,} bytes",
            path="logo",
        )
    return media_type
