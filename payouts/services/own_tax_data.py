"""What affiliates say about their taxes in the portal, and what documents miss."""

from datetime import date, datetime

from accounts.models.accounts import Account
from payouts.models.documents import SupplierKind, TaxData
from payouts.models.runs import PayoutSettings
from payouts.services.documents import DocumentProblem, list_problems
from payouts.services.tax_data import load_taxes, set_tax_data
from tracking.models.affiliates import Affiliate
from tracking.services.portal_access import confirm_password


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
