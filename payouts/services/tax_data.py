"""What affiliates say about their taxes, and the VAT that an account applies to them.

Nothing is guessed: without data or a rule there is no document.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from django.db import transaction
from django_countries import countries
from stdnum import get_cc_module
from stdnum.eu import vat as eu_vat
from stdnum.exceptions import ValidationError

from accounts.countries import get_country_name
from accounts.db_compat import split_into_batches
from accounts.errors import InvalidInput, raise_errors
from accounts.models.accounts import Account
from accounts.services.changes import log_event
from payouts.errors import InvalidTaxData, InvalidTaxRule, TaxRuleNotFound
from payouts.models.documents import (
    OTHER_EU,
    RequiredNumber,
    SupplierKind,
    TaxData,
    TaxRule,
)
from tracking.money import ZERO
from tracking.services.affiliates import get_affiliate


def normalize_vat_id(country: str, vat_id: str, *, path: str) -> str:
    """Return a VAT ID without spaces; raise `InvalidTaxData` unless its form is right.

    That it was given to anybody is not checked. The IDs of some countries have no form
    that is known here.
    """
    text = " ".join(vat_id.split())
    letters = "EL" if country == "GR" else country
    is_european = country.lower() in eu_vat.MEMBER_STATES
    module = eu_vat if is_european else get_cc_module(country.lower(), "vat")
    if not text or module is None:
        return text
    if is_european and not text.upper().startswith(letters):
        text = letters + text
    try:
        return str(module.validate(text))
    except ValidationError as error:
        raise InvalidTaxData(
            reason=f"This is not a VAT ID of {get_country_name(country)}: {error}",
            path=path,
        ) from None


def is_well_formed(country: str, vat_id: str) -> bool:
    """Return whether there is a VAT ID, in a form of the country, if one is known."""
    try:
        return bool(normalize_vat_id(country, vat_id, path="vat_id"))
    except InvalidTaxData:
        return False


def set_tax_data(
    account: Account,
    *,
    affiliate_id: str,
    kind: SupplierKind,
    country: str,
    vat_id: str = "",
    tax_number: str = "",
    legal_name: str = "",
    consented_on: date | None,
    at: datetime,
) -> TaxData:
    """Set the tax data of an affiliate; the audit log gets no values.

    `legal_name` is the name on documents, if it is another one than the affiliate's;
    `consented_on` is the day on which the affiliate agreed to self-billing. Raises
    `AffiliateNotFound` and `InvalidTaxData`.
    """
    if country not in countries:
        raise InvalidTaxData(reason="This is not a country", path="country")
    if vat_id and kind == SupplierKind.PRIVATE:
        reason = "Private persons have no VAT ID"
        raise InvalidTaxData(reason=reason, path="vat_id")
    vat_id = normalize_vat_id(country, vat_id, path="vat_id")
    if vat_id and account.payout_settings.filter(payer_vat_id=vat_id).exists():
        reason = "This is the VAT ID of your own company"
        raise InvalidTaxData(reason=reason, path="vat_id")
    if consented_on and consented_on > account.get_day(at):
        reason = "The day of consent is yet to come"
        raise InvalidTaxData(reason=reason, path="consented_on")
    with transaction.atomic():
        affiliate = get_affiliate(account, affiliate_id, lock=True)
        values = {
            **kind.columns,
            "country": country,
            "vat_id": vat_id,
            "tax_number": " ".join(tax_number.split()),
            "legal_name": " ".join(legal_name.split()),
            "consented_on": consented_on,
            "changed_at": at,
        }
        row, _ = account.tax_data.update_or_create(
            account=account, affiliate=affiliate, defaults=values
        )
        log_event(account, "tax_data.set", affiliate, at=at)
    return row


def set_tax_rule(
    account: Account,
    *,
    kind: SupplierKind,
    country: str = "",
    rate: Decimal,
    sentence: str = "",
    required_number: str = "",
    withholding_rate: Decimal = ZERO,
    at: datetime,
) -> TaxRule:
    """Set the VAT of a kind of suppliers in a country.

    `country` may be `OTHER_EU`; "" means all others. The rates are in percent. Without
    VAT the sentence says why. Raises `InvalidTaxRule`.
    """
    errors: list[InvalidInput] = []
    for path, each in (("rate", rate), ("withholding_rate", withholding_rate)):
        if not 0 <= each < 100 or each * 100 % 1:
            reason = "The rate must be from 0 to under 100 with at most two decimals"
            errors.append(InvalidTaxRule(reason=reason, path=path))
    if not rate and not sentence:
        reason = "Say why there is no VAT, such as: Reverse charge"
        errors.append(InvalidTaxRule(reason=reason, path="sentence"))
    needs_vat_id = required_number == RequiredNumber.REVERSE_CHARGE
    if needs_vat_id and rate:
        reason = "With reverse charge there is no VAT on the document: enter 0"
        errors.append(InvalidTaxRule(reason=reason, path="rate"))
    if kind == SupplierKind.PRIVATE and required_number not in (*("", RequiredNumber.TAX_NUMBER),):
        reason = "Private persons have no VAT ID"
        errors.append(InvalidTaxRule(reason=reason, path="required_number"))
    raise_errors(errors)
    with transaction.atomic():
        account.lock_row()
        rule, _ = account.tax_rules.update_or_create(
            account=account,
            **kind.columns,
            country=country,
            defaults={
                "rate": rate,
                "sentence": sentence,
                "required_number": required_number,
                "withholding_rate": withholding_rate,
            },
        )
        more = {"withholding": f"{withholding_rate:f}"} if withholding_rate else {}
        log_event(account, "tax_rule.set", rule, at=at, rate=f"{rate:f}", **more)
    return rule


def remove_tax_rule(account: Account, *, pk: int, at: datetime) -> None:
    """Remove a tax rule. Documents stay as they are. Raises `TaxRuleNotFound`."""
    with transaction.atomic():
        account.lock_row()
        rule = account.tax_rules.filter(pk=pk).first()
        if rule is None:
            raise TaxRuleNotFound
        log_event(account, "tax_rule.removed", rule, at=at)
        account.tax_rules.filter(pk=pk).delete()


@dataclass(frozen=True)
class Taxes:
    """The tax data of affiliates, by primary key, and the rules of their account."""

    data: dict[int, TaxData]
    rules: dict[tuple[SupplierKind, str], TaxRule]
    payer_country: str

    def find_rule(self, affiliate_id: int) -> TaxRule | None:
        """Return the rule of the affiliate's country, else the one of other countries
        of the EU, if it is one, else the one of all others."""
        data = self.data[affiliate_id]
        kind, home = data.supplier_kind, self.payer_country
        is_other_eu = data.country != home and all(
            it.lower() in eu_vat.MEMBER_STATES for it in (data.country, home)
        )
        countries = (data.country, *([OTHER_EU] if is_other_eu else []), "")
        found = (self.rules.get((kind, country)) for country in countries)
        return next(filter(None, found), None)


def load_taxes(account: Account, affiliate_ids: Iterable[int], *, payer_country: str) -> Taxes:
    """Return the tax data of these affiliates, and all rules."""
    data = {
        row.affiliate_id: row
        for batch in split_into_batches(sorted(set(affiliate_ids)))
        for row in account.tax_data.filter(affiliate__in=batch)
    }
    rules = {(it.supplier_kind, it.country): it for it in account.tax_rules.all()}
    return Taxes(data, rules, payer_country)
