"""How affiliates change their own payout methods in the portal.

A stolen session must not redirect money: each change asks for the password.
"""

from collections.abc import Mapping
from datetime import datetime

from accounts.errors import run_checks
from payouts.errors import PayoutMethodIncomplete, PayoutMethodNotFound
from payouts.models.payments import PayoutMethod, PayoutMethodKind
from payouts.payout_details import find_problems, normalize_details
from payouts.services.payout_methods import remove_payout_method, set_payout_method
from tracking.models.affiliates import Affiliate
from tracking.services.portal_access import confirm_password

# Affiliates enter these; the company can set the others.
OWN_KINDS = (PayoutMethodKind.BANK, PayoutMethodKind.PAYPAL, PayoutMethodKind.WISE)


def list_own_methods(affiliate: Affiliate) -> list[PayoutMethod]:
    """Return the payout methods of an affiliate, the primary one first."""
    rows = affiliate.account.payout_methods.filter(affiliate=affiliate)
    return list(rows.order_by("-is_primary", "id"))


def get_own_method(affiliate: Affiliate, kind: str) -> PayoutMethod:
    """Return a payout method of an affiliate; raise `PayoutMethodNotFound`."""
    rows = affiliate.account.payout_methods.filter(affiliate=affiliate, kind=kind)
    method: PayoutMethod | None = rows.first()
    if method is None:
        raise PayoutMethodNotFound
    return method


def set_own_method(
    affiliate: Affiliate,
    *,
    kind: str,
    details: Mapping[str, str],
    is_primary: bool = False,
    password: str,
    at: datetime,
) -> None:
    """Add a payout method, or replace its details.

    Raises `PayoutMethodNotFound`, and together `PayoutMethodIncomplete` and
    `WrongPassword`.
    """
    if kind not in OWN_KINDS:
        raise PayoutMethodNotFound
    details = normalize_details(kind, details)
    problems = find_problems(kind, details)

    def check_details() -> None:
        if problems:
            raise PayoutMethodIncomplete(problems)

    def confirm_and_save() -> None:
        with confirm_password(affiliate, password) as locked:
            if not problems:
                set_payout_method(
                    locked.account,
                    affiliate_id=locked.slug,
                    kind=kind,
                    details=details,
                    is_primary=is_primary,
                    at=at,
                )

    run_checks(check_details, confirm_and_save)


def make_own_method_primary(
    affiliate: Affiliate, *, kind: str, password: str, at: datetime
) -> None:
    """Pay by this method first. Raises `WrongPassword` and `PayoutMethodNotFound`."""
    with confirm_password(affiliate, password) as locked:
        get_own_method(locked, kind)
        set_payout_method(
            locked.account,
            affiliate_id=locked.slug,
            kind=kind,
            details=None,
            is_primary=True,
            at=at,
        )


def remove_own_method(affiliate: Affiliate, *, kind: str, password: str, at: datetime) -> None:
    """Remove a method. Raises `WrongPassword` and `PayoutMethodNotFound`."""
    with confirm_password(affiliate, password) as locked:
        remove_payout_method(locked.account, affiliate_id=locked.slug, kind=kind, at=at)
