"""What affiliates say about their taxes in the portal, and what documents miss."""

from datetime import datetime

from accounts.models.accounts import Account
from payouts.models.documents import SupplierKind, TaxData
from payouts.services.documents import (
    DocumentProblem,
    find_billing_settings,
    list_problems,
)
from payouts.services.tax_data import load_taxes, set_tax_data
from tracking.models.affiliates import Affiliate
from tracking.services.portal_access import confirm_password


def issues_documents(account: Account) -> bool:
    """Return whether the account issues self-billing documents."""
    return account.payout_settings.exclude(documents_from=None).exists()


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


def pays_with_documents_only(account: Account, *, at: datetime) -> bool:
    """Return whether payments wait for their documents."""
    settings = find_billing_settings(account, account.get_day(at))
    return settings is not None and settings.requires_documents


def list_own_problems(affiliate: Affiliate) -> list[DocumentProblem]:
    """Return what documents of an affiliate lack; empty if the account issues none."""
    account = affiliate.account
    settings = account.payout_settings.exclude(documents_from=None).first()
    if settings is None:
        return []
    country = settings.payer_country
    taxes = load_taxes(account, [affiliate.pk], payer_country=country)
    return list_problems(affiliate, settings, taxes)
