"""Referral codes: whose they are, were or are meant, and new ones.

A code that brought somebody is never another affiliate's: old links and cookies lead
to who placed them. Of codes that are given up only keyed digests stay.
"""

import re
from collections.abc import Iterable
from typing import Any

from django.db.models import Q, QuerySet
from django.db.models.functions import Lower

from accounts.ids import generate_random_text
from accounts.models.accounts import Account
from tracking.models.enrollments import Enrollment, ReferralCode, ReferralCodeAlias
from tracking.models.prospects import Prospect
from tracking.services.former_ids import is_former_id, record_former_id

ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"
LENGTH = 7
REFERRAL_CODE = "referral_code"  # kind of former ID
MAX_MANGLED_LENGTH = 200
# What mails, chats and forms put into links unseen, and add to their end.
INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
NEXT_PARAMETER = re.compile("[?&#]")
PUNCTUATION = " /.,;:!?'\"()<>[]{}*\u2026\u201c\u201d\u2019"


def find_code_owner(
    account: Account, code: str, *, besides: Enrollment | None = None
) -> ReferralCode | ReferralCodeAlias | None:
    """Find the code or alias of another enrollment, or of a prospect."""
    own = Q(enrollment=besides) if besides else Q(pk__in=[])
    return (
        account.referral_codes.filter(code=code).exclude(own).first()
        or account.referral_code_aliases.filter(code=code).exclude(own).first()
    )


def is_code_taken(account: Account, code: str, *, besides: Enrollment | None = None) -> bool:
    """Whether another enrollment or prospect has the code, or has used it before."""
    return find_code_owner(account, code, besides=besides) is not None or was_code_used(
        account, code, besides=besides
    )


def was_code_used(account: Account, code: str, *, besides: Enrollment | None = None) -> bool:
    """Whether another enrollment or prospect has given up the code after its use."""
    code = code.lower()
    if not is_former_id(account, REFERRAL_CODE, code):
        return False
    return besides is None or not is_former_id(account, _name_user(besides), code)


def record_used_codes(enrollment: Enrollment, codes: Iterable[str]) -> None:
    """Record codes that an enrollment is about to lose, if its links brought anybody.

    Links have no code that is only typed in wrong, so such a code stays free.
    """
    account = enrollment.account
    link = {"program": enrollment.program_id, "affiliate": enrollment.affiliate_id}
    for rows in (
        account.clicks,
        account.customers,
        account.conversions,
        account.pruned_click_counts,
    ):
        if rows.filter(**link).exists():
            _record(account, codes, REFERRAL_CODE, _name_user(enrollment))
            return


def record_used_codes_of_prospect(prospect: Prospect, codes: Iterable[str]) -> None:
    """Record codes that a prospect is about to lose, if its links brought anybody."""
    account = prospect.account
    for rows in (account.clicks, account.pruned_click_counts):
        if rows.filter(prospect=prospect).exists():
            _record(account, codes, REFERRAL_CODE)
            return


def _record(account: Account, codes: Iterable[str], *kinds: str) -> None:
    for code in codes:
        for kind in kinds:
            record_former_id(account, kind, code.lower())


def _name_user(enrollment: Enrollment) -> str:
    """Name an enrollment by IDs that it keeps when its account moves."""
    affiliate, program = enrollment.affiliate.slug, enrollment.program.slug
    return f"{REFERRAL_CODE} of {affiliate} in {program}"


def find_meant_code(account: Account, text: str) -> str | None:
    """Find the code that the text of a mangled link means, if there is just one.

    The text may have another case, and what mails and chats add to addresses. SQLite
    ignores the case of ASCII only.
    """
    visible = INVISIBLE.sub("", text[:MAX_MANGLED_LENGTH])
    cleaned = NEXT_PARAMETER.split(visible)[0].strip().rstrip(PUNCTUATION)
    codes = {
        code
        for rows in _list_like(account, cleaned)
        for code in rows.values_list("code", flat=True)[:2]
    }
    if cleaned in codes:
        return cleaned
    return codes.pop() if len(codes) == 1 else None


def is_code_like_another(
    account: Account, code: str, *, enrollment: Enrollment | None = None
) -> bool:
    """Whether a code, in any case, is or was that of another enrollment or prospect."""
    own = Q(enrollment=enrollment) if enrollment else Q(pk__in=[])
    return any(rows.exclude(own).exists() for rows in _list_like(account, code)) or was_code_used(
        account, code, besides=enrollment
    )


def _list_like(account: Account, code: str) -> list[QuerySet[Any]]:
    """The codes and aliases that differ from a code in case at most."""
    tables: list[Any] = [account.referral_codes, account.referral_code_aliases]
    return [table.alias(lowered=Lower("code")).filter(lowered=code.lower()) for table in tables]


def create_referral_code(
    account: Account,
    *,
    enrollment: Enrollment | None = None,
    prospect: Prospect | None = None,
    wanted: str = "",
) -> None:
    """Create a referral code, unique in the account, for an enrollment or a prospect.

    It is `wanted`, else that followed by a number, else random.
    """
    for code in iterate_codes(wanted):
        if wanted and is_code_like_another(account, code):
            continue
        referral_code = ReferralCode(
            account=account, code=code, enrollment=enrollment, prospect=prospect
        )
        if account.referral_codes.insert_or_ignore(
            referral_code, unique_fields=("account", "code")
        ):
            return


def iterate_codes(wanted: str) -> Iterable[str]:
    """Return codes to try, the best first."""
    if wanted:
        yield wanted
        yield from (f"{wanted}{number}" for number in range(2, 10))
    while True:
        yield generate_random_text(LENGTH, ALPHABET)
