"""What affiliates say about their taxes in the portal, and what documents miss."""

from datetime import datetime

from django.db.models import Exists

from accounts.models.accounts import Account
from payouts.models.documents import TaxData
from payouts.services.documents import DocumentProblem
from payouts.services.tax_data import set_tax_data
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
    is_business: bool,
    country: str,
    vat_id: str,
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
            is_business=is_business,
            country=country,
            vat_id=vat_id,
            consented_on=(consented_on or account.get_day(at))
            if has_consented
            else None,
            at=at,
        )


def find_document_obstacle(affiliate: Affiliate) -> str:
    """Return what the affiliate has to enter for documents; empty if nothing is missing
    or the account issues none."""
    data = affiliate.account.tax_data.filter(affiliate=affiliate)
    rows = affiliate.account.payout_settings.exclude(documents_from=None)
    consented = data.exclude(consented_on=None)
    found = rows.values_list(Exists(data), Exists(consented)).first()
    if found is None:
        return ""
    has_data, has_consented = found
    if not has_data:
        return DocumentProblem.NO_TAX_DATA
    if not has_consented:
        return DocumentProblem.NO_CONSENT
    has_address = all((affiliate.address, affiliate.city, affiliate.country))
    return "" if has_address else DocumentProblem.NO_ADDRESS
