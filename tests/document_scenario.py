"""Self-billing as tests switch it on: settings, tax data, tax rules, settled runs."""

from datetime import date, timedelta
from decimal import Decimal

from payouts.models.documents import SupplierKind
from payouts.services.payout_answers import PayoutResult, ResultState
from payouts.services.payout_results import apply_payout_results
from payouts.services.payout_settings import update_payout_settings
from payouts.services.tax_data import set_tax_data, set_tax_rule
from tests.payout_scenario import CONFIRMED_AT, get_lines

AT = CONFIRMED_AT + timedelta(days=3)
ISSUER = {
    "payer_name": "Acme GmbH",
    "payer_iban": "DE89370400440532013000",
    "payer_street": "Hauptstr.",
    "payer_building": "5",
    "payer_postal_code": "10115",
    "payer_city": "Berlin",
    "payer_country": "DE",
    "payer_vat_id": "DE 136 695 976",
}


def switch_on(account, **changes):
    settings = ISSUER | {"documents_from": date(2026, 1, 1)} | changes
    update_payout_settings(account, changes=settings, at=AT)


def set_taxes(account, *slugs, consented_on=date(2026, 3, 1), **values):
    values = {
        "kind": SupplierKind.BUSINESS,
        "country": "AT",
        "vat_id": "ATU12345675",
    } | values
    for slug in slugs:
        set_tax_data(account, affiliate_id=slug, consented_on=consented_on, at=AT, **values)


def set_rule(account, rate="19", *, kind=SupplierKind.BUSINESS, **values):
    return set_tax_rule(account, kind=kind, rate=Decimal(rate), at=AT, **values)


def settle(run, *, at=AT, state=ResultState.SETTLED):
    results = [PayoutResult(it.payment.public_id, state) for it in get_lines(run)]
    return apply_payout_results(run.account, results, at=at)


def bill(payment, first_day, last_day):
    """Store a document of a payment that bills these days."""
    return payment.account.documents.create(
        kind="self_billing",
        year=2026,
        number=1,
        label="SB-2026-00001",
        affiliate=payment.affiliate,
        payment=payment,
        issued_on=AT.date(),
        first_day=first_day,
        last_day=last_day,
        currency=payment.currency,
        net=payment.amount,
        vat=0,
        total=payment.amount,
        vat_rate=0,
        issuer={},
        supplier={},
    )
