"""Recovery codes: each replaces the device of a second factor once.

They have 79 random bits and are stored as digests. A user has them only together with
a device.
"""

import hashlib
import hmac
from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from accounts.ids import generate_random_text
from accounts.models.users import User
from accounts.services.staff import lock_user, log_second_factor_change

NUMBER_OF_CODES = 10
ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"  # without 0, o, 1, i and l
CODE_LENGTH = 16
GROUP_LENGTH = 4


def create_recovery_codes(user: User, *, at: datetime) -> list[str]:
    """Replace the recovery codes of a user; return the new ones."""
    codes, digests = generate_codes()
    with transaction.atomic():
        lock_user(user)
        _store_digests(user, digests)
        log_second_factor_change(user, "staff.second_factor_codes_created", at=at)
    return codes


def use_recovery_code(user: User, code: str, *, at: datetime) -> bool:
    """Use up a recovery code; return whether it was valid."""
    if not is_recovery_code(code):
        return False
    with transaction.atomic():
        stored = lock_user(user)
        others = remove_recovery_code(stored.recovery_codes, code)
        if others is None:
            return False
        _store_digests(user, others)
        log_second_factor_change(user, "staff.second_factor_code_used", at=at)
    return True


def delete_recovery_codes(user: User) -> None:
    """Delete the recovery codes of a user whose device is removed."""
    _store_digests(user, [])


def generate_codes() -> tuple[list[str], list[str]]:
    """Return new codes, and the digests to store."""
    codes = [generate_random_text(CODE_LENGTH, ALPHABET) for _ in range(NUMBER_OF_CODES)]
    return [format_code(code) for code in codes], [*map(calculate_digest, codes)]


def is_recovery_code(code: str) -> bool:
    """Whether a code has the form of a recovery code."""
    return len(normalize_code(code)) == CODE_LENGTH


def remove_recovery_code(digests: Sequence[str], code: str) -> list[str] | None:
    """Return the digests of the other codes; None if the code is none of them."""
    digest = calculate_digest(normalize_code(code))
    others = [each for each in digests if not hmac.compare_digest(each, digest)]
    return others if len(others) < len(digests) else None


def normalize_code(code: str) -> str:
    """Remove what people add to a code when they copy it."""
    return "".join(code.split()).replace("-", "").lower()


def format_code(code: str) -> str:
    """Group a code: `abcd-efgh-jkmn-pqrs`."""
    starts = range(0, CODE_LENGTH, GROUP_LENGTH)
    return "-".join(code[start : start + GROUP_LENGTH] for start in starts)


def calculate_digest(code: str) -> str:
    """Return the stored digest of a code; 79 random bits need no slow hash."""
    return hashlib.sha256(code.encode()).hexdigest()


def _store_digests(user: User, digests: list[str]) -> None:
    User.objects.filter(pk=user.pk).update(recovery_codes=digests)
    user.recovery_codes = digests
