"""What affiliates do themselves in the portal: payout methods, tax data, deletion.

A stolen session must not redirect money: each change of a payout method asks for the
password.
"""

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal

from accounts.errors import run_checks
from accounts.models.accounts import Account
from accounts.services.changes import log_event
from accounts.services.notifications import send_to_owners
from payouts.errors import PayoutMethodIncomplete, PayoutMethodNotFound
from payouts.models.documents import SupplierKind, TaxData
from payouts.models.payments import PayoutMethod, PayoutMethodKind
from payouts.models.runs import PayoutLineState, PayoutSettings
from payouts.payout_details import find_problems, normalize_details
from payouts.services.documents import DocumentProblem, list_problems
from payouts.services.payables import get_amounts_due
from payouts.services.payout_methods import remove_payout_method, set_payout_method
from payouts.services.payout_runs import list_unanswered_runs
from payouts.services.tax_data import load_taxes, set_tax_data
from tracking.models.affiliates import Affiliate
from tracking.money import format_amount
from tracking.services.affiliates import delete_affiliate
from tracking.services.portal_access import confirm_password, sign_out_everywhere

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


def find_document_settings(account: Account) -> PayoutSettings | None:
    """Return the settings of an account that issues self-billing documents."""
    return account.payout_settings.exclude(documents_from=None).first()


def find_own_tax_data(affiliate: Affiliate) -> TaxData | None:
    """Return the tax data of an affiliate, if there are any."""
    row: TaxData | None = affiliate.account.tax_data.filter(affiliate=affiliate).first()
    return row


def set_own_tax_data(
    affiliate: Affiliate,
    *,
    kind: SupplierKind,
    country: str,
    vat_id: str,
    tax_number: str,
    legal_name: str,
    has_consented: bool,
    password: str,
    at: datetime,
) -> None:
    """Set the tax data of an affiliate, who agrees to self-billing today or does not.

    An earlier consent keeps its day. Raises `WrongPassword` and `InvalidTaxData`.
    """
    account = affiliate.account
    with confirm_password(affiliate, password) as locked:
        earlier = account.tax_data.filter(affiliate=locked).first()
        consented_on = earlier.consented_on if earlier else None
        set_tax_data(
            account,
            affiliate_id=locked.slug,
            kind=kind,
            country=country,
            vat_id=vat_id,
            tax_number=tax_number,
            legal_name=legal_name,
            consented_on=(consented_on or account.get_day(at)) if has_consented else None,
            at=at,
        )


def pays_with_documents_only(settings: PayoutSettings, day: date) -> bool:
    """Return whether payments of a day wait for their documents."""
    starts_on = settings.documents_from
    return settings.requires_documents and starts_on is not None and starts_on <= day


def list_own_problems(affiliate: Affiliate, settings: PayoutSettings) -> list[DocumentProblem]:
    """Return what documents of an affiliate lack."""
    country = settings.payer_country
    taxes = load_taxes(affiliate.account, [affiliate.pk], payer_country=country)
    return list_problems(affiliate, settings, taxes)


ASK_AGAIN_AFTER = timedelta(days=1)


def sum_open_amounts(affiliate: Affiliate, *, at: datetime) -> dict[str, Decimal]:
    """Sum what is due, on hold, pending or on its way, by currency."""
    account = affiliate.account
    amounts = get_amounts_due(account, [affiliate.pk], at=at)
    totals = {
        currency: amounts[pk, currency].payable + amounts[pk, currency].pending
        for pk, currency in amounts
        if amounts[pk, currency].payable or amounts[pk, currency].pending
    }
    lines = account.payout_lines.filter(affiliate=affiliate, state=PayoutLineState.UNKNOWN)
    for line in lines.order_by("id"):
        totals[line.currency] = totals.get(line.currency, 0) + line.net_amount
    return dict(sorted(totals.items()))


def delete_own_account(affiliate: Affiliate, *, password: str, at: datetime) -> None:
    """Delete an affiliate who has nothing open; else ask the company for it.

    `deletion_asked_at` is set then, and `deleted_at` if nothing is open. The owners get
    a mail, about a request once a day. Raises `WrongPassword`.
    """
    account = affiliate.account
    with confirm_password(affiliate, password, locks_hierarchy=True) as locked:
        amounts = sum_open_amounts(locked, at=at)
        name = f"{locked.firstname} {locked.lastname}".strip()
        if not amounts:
            locked.update_row(deletion_asked_at=at)
            delete_affiliate(account, affiliate_id=locked.slug, at=at)
            sign_out_everywhere(locked)
            send_to_owners(
                account,
                subject=f"{locked.slug} has left",
                text=(
                    f"{name} ({locked.slug}) deleted their account in the portal."
                    " Nothing was open.\n\nTheir data is kept. Erase it in the back"
                    " office as soon as you need it no more, for example for the"
                    " books.\n"
                ),
            )
            return
        asked_at = locked.deletion_asked_at
        if asked_at is not None and at - asked_at < ASK_AGAIN_AFTER:
            return
        locked.update_row(deletion_asked_at=at)
        log_event(account, "affiliate.deletion_asked", locked, at=at)
        listed = [format_amount(amount, key) for key, amount in amounts.items()]
        runs = ", ".join(list_unanswered_runs(account, [locked.pk]))
        unanswered = f"The bank has not answered yet about {runs}. " if runs else ""
        send_to_owners(
            account,
            subject=f"{locked.slug} asks to be removed",
            text=(
                f"{name} ({locked.slug}) asked in the portal to be removed.\n\nStill"
                f" open: {', '.join(listed)}. {unanswered}Pay or disapprove it first,"
                " then remove the affiliate in the back office.\n"
            ),
        )
