"""Webhook payloads: the changed object as the API shows it at that moment.

Rules: docs/api-contract.md, section 6.1.
"""

from collections.abc import Sequence
from typing import Any

from accounts.exact_json import format_decimal, serialize_exact_json
from accounts.models.accounts import Account, TenantModel
from accounts.services.outbox import EventPayload
from affiliate_site.api.representations.affiliates import (
    AffiliateRepresentation,
    EnrollmentEventRepresentation,
    ProspectRepresentation,
)
from affiliate_site.api.representations.base import Representation
from affiliate_site.api.representations.conversions import (
    AlertRepresentation,
    CommissionRepresentation,
    ConversionRepresentation,
    PaymentRepresentation,
)
from affiliate_site.api.representations.tracking import CustomerRepresentation
from payouts.models.alerts import Alert
from payouts.models.commissions import Commission
from payouts.models.payments import Payment
from tracking.models.affiliates import Affiliate
from tracking.models.conversions import Conversion
from tracking.models.customers import Customer
from tracking.models.enrollments import Enrollment
from tracking.models.prospects import Prospect
from tracking.money import ZERO

QUERY_BATCH_SIZE = 1000  # ids per statement; every database supports this number


def render_payloads(account: Account, subjects: Sequence[TenantModel]) -> list[EventPayload]:
    """Render one payload per subject, in their order; all subjects have one type."""
    representation, render = PAYLOADS[type(subjects[0])]
    return [
        render(answer)
        for start in range(0, len(subjects), QUERY_BATCH_SIZE)
        for answer in represent_subjects(
            representation, account, subjects[start : start + QUERY_BATCH_SIZE]
        )
    ]


def represent_subjects(
    representation: type[Representation],
    account: Account,
    subjects: Sequence[TenantModel],
) -> list[dict[str, Any]]:
    """Return the representation of each subject, as the API answers it."""
    pks = sorted(subject.pk for subject in subjects)
    rows = representation.rows_by_pk.all(account=account, pks=pks)
    rows_by_pk = dict(zip(pks, rows, strict=True))
    return representation.represent_all([rows_by_pk[subject.pk] for subject in subjects], account)


def render_payload(answer: dict[str, Any]) -> EventPayload:
    """Render the payload of an object that no affiliate's postback receives."""
    return EventPayload(serialize_exact_json(answer))


def render_conversion_payload(conversion: dict[str, Any]) -> EventPayload:
    """Render the payload of a conversion, with macros for its affiliate's postbacks."""
    affiliate = conversion["affiliate"]["id"]
    own_commissions = [
        commission
        for commission in conversion["commissions"]
        if commission["affiliate"]["id"] == affiliate
    ]
    return EventPayload(
        serialize_exact_json(conversion),
        affiliate,
        get_conversion_macros(conversion, own_commissions),
    )


def render_customer_payload(customer: dict[str, Any]) -> EventPayload:
    macros = {"customer.id": customer["id"]} | get_click_macros(customer)
    return EventPayload(serialize_exact_json(customer), customer["affiliate"]["id"], macros)


def get_conversion_macros(representation: dict, own_commissions: list[dict]) -> dict[str, str]:
    """Return the values of macros in postback URLs (docs/api-contract.md, section 4).

    `own_commissions` are the commissions of the affiliate who receives the postback.
    Their comments are left out: pages write them, and an address has little room.
    """
    uncommented = [commission | {"comment": None} for commission in own_commissions]
    customer = representation["customer"]
    return {
        "commission_amount": format_decimal(
            sum((commission["amount"] for commission in own_commissions), ZERO)
        ),
        "currency": own_commissions[0]["currency"]
        if own_commissions
        else representation["program"]["currency"],
        "conversion.id": str(representation["id"]),
        "conversion.external_id": representation["external_id"] or "",
        "conversion.amount": format_decimal(representation["amount"]),
        "conversion.commissions": serialize_exact_json(uncommented).decode(),
        "customer.id": customer["id"] if customer else "",
    } | get_click_macros(representation)


def get_click_macros(representation: dict) -> dict[str, str]:
    """Return the macros for the click's meta data, which come from the link."""
    values = representation["affiliate_meta_data"] or {}
    return {"click_subid": values.get("subid1", "")} | {
        f"conversion.click.meta_data[{name}]": value for name, value in values.items()
    }


PAYLOADS: dict[type[TenantModel], tuple[type[Representation], Any]] = {
    Affiliate: (AffiliateRepresentation, render_payload),
    Enrollment: (EnrollmentEventRepresentation, render_payload),
    Prospect: (ProspectRepresentation, render_payload),
    Customer: (CustomerRepresentation, render_customer_payload),
    Conversion: (ConversionRepresentation, render_conversion_payload),
    Commission: (CommissionRepresentation, render_payload),
    Payment: (PaymentRepresentation, render_payload),
    Alert: (AlertRepresentation, render_payload),
}
