"""Who pays, of an account, and top-ups of its payout balance."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import transaction
from schwifty import BIC, IBAN
from schwifty.exceptions import SchwiftyException

from accounts.errors import InvalidSetting, run_checks
from accounts.models.accounts import Account
from accounts.services.changes import log_event
from payouts.errors import InvalidPayer, PayoutFeatureRequired
from payouts.models.runs import PayoutRun, PayoutSettings
from payouts.services.ledger import open_ledger_session
from payouts.services.tax_data import normalize_vat_id
from tracking.errors import AmountTooLarge
from tracking.money import get_currency, round_and_check_amount

# The names in a run's `payer`, and the columns of the settings.
PAYER_COLUMNS = {
    name: f"payer_{name}"
    for name in (
        *("name", "iban", "bic"),
        *("street", "building", "postal_code", "city", "country"),
    )
}


def get_payout_settings(account: Account) -> PayoutSettings:
    """Return the settings of an account; unsaved defaults before the first change."""
    row = account.payout_settings.first()
    return row or PayoutSettings(account=account)


def build_payer(settings: PayoutSettings) -> dict[str, str]:
    """Return the payer as a payout run keeps it."""
    return {name: getattr(settings, it) for name, it in PAYER_COLUMNS.items()}


def get_payer(run: PayoutRun) -> dict[str, str]:
    """Return the payer of a run; the present one if none was known when confirmed."""
    if run.payer.get("iban"):
        return dict(run.payer)
    return build_payer(get_payout_settings(run.account))


def update_payout_settings(
    account: Account, *, changes: Mapping[str, Any], at: datetime
) -> PayoutSettings:
    """Change who pays. Raises `InvalidPayer`; the audit log gets names, not values."""
    changes = dict(changes)
    run_checks(
        lambda: validate_payer(changes),
        lambda: _normalize_vat_id(account, changes),
    )
    with transaction.atomic():
        account.payout_settings.insert_or_ignore(
            PayoutSettings(account=account), unique_fields=("account",)
        )
        row = account.payout_settings.select_for_update(no_key=True).get()
        fields = sorted(it for it in changes if getattr(row, it) != changes[it])
        if fields:
            row.update_row(**{name: changes[name] for name in fields})
            log_event(account, "payout_settings.updated", row, at=at, fields=fields)
    return row


def validate_payer(changes: dict[str, Any]) -> None:
    """Normalize bank details; raise `InvalidPayer`, or an `ErrorList` of these."""
    run_checks(
        lambda: _normalize(changes, "payer_iban", IBAN, "an IBAN"),
        lambda: _normalize(changes, "payer_bic", BIC, "a BIC"),
        lambda: _ensure_address_complete(changes),
        lambda: _ensure_lengths(changes),
    )


def _normalize(changes: dict[str, Any], name: str, number: type[IBAN | BIC], kind: str) -> None:
    """Store an IBAN or BIC without spaces and in capital letters."""
    if not changes.get(name):
        return
    try:
        changes[name] = number(changes[name]).compact
    except SchwiftyException as error:
        raise InvalidPayer(reason=f"This is not {kind}: {error}", path=name) from None


def _normalize_vat_id(account: Account, changes: dict[str, Any]) -> None:
    present = get_payout_settings(account)
    vat_id = changes.get("payer_vat_id", present.payer_vat_id)
    country = changes.get("payer_country", present.payer_country)
    if vat_id and changes.keys() & {"payer_vat_id", "payer_country"}:
        path = "payer_vat_id" if "payer_vat_id" in changes else "payer_country"
        changes["payer_vat_id"] = normalize_vat_id(country, vat_id, path=path)


def _ensure_lengths(changes: Mapping[str, Any]) -> None:
    for field in PayoutSettings._meta.local_concrete_fields:
        limit = field.max_length
        if limit and len(changes.get(field.name) or "") > limit:
            reason = f"At most {limit} characters are possible"
            raise InvalidPayer(reason=reason, path=field.name)


def _ensure_address_complete(changes: Mapping[str, Any]) -> None:
    """Banks take an address with city and country only, or none."""
    parts = {name: changes.get(f"payer_{name}") for name in ("city", "country")}
    has_street = changes.get("payer_street") or changes.get("payer_postal_code")
    missing = [f"payer_{name}" for name, text in parts.items() if not text]
    if missing and (has_street or len(missing) < len(parts)):
        raise InvalidPayer(reason="Banks take an address with city and country", path=missing[0])


def fund_payouts(
    account: Account, *, amount: Decimal, currency: str, at: datetime
) -> tuple[str, Decimal]:
    """Top up the payout balance of an account that has the payout feature."""
    if not account.uses_payouts:
        raise PayoutFeatureRequired(slug=account.slug)
    return top_up_payout_balance(account, amount=amount, currency=currency, at=at)


def top_up_payout_balance(
    account: Account, *, amount: Decimal, currency: str, at: datetime
) -> tuple[str, Decimal]:
    """Add an amount to the payout balance; return the currency and the new balance."""
    currency = get_currency(currency)
    _validate_top_up(amount, currency)
    with (
        transaction.atomic(),
        open_ledger_session(account, [], at=at, funding_currencies=[currency]) as ledger,
    ):
        balance = ledger.post_funding(amount, currency)
        log_event(
            account,
            "payout_balance.topped_up",
            account,
            at=at,
            amount=str(amount),
            currency=currency,
        )
    return currency, balance


def _validate_top_up(amount: Decimal, currency: str) -> None:
    rule = f"above 0, with no more decimals than {currency} has"
    if amount <= 0:
        raise InvalidSetting(setting="The amount", rule=rule)
    try:
        rounded = round_and_check_amount(amount, currency)
    except AmountTooLarge:
        raise InvalidSetting(setting="The amount", rule="shorter") from None
    if rounded != amount:
        raise InvalidSetting(setting="The amount", rule=rule)
