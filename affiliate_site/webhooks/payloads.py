"""Webhook payloads: the changed object as the API shows it at that moment.

Rules: docs/api-contract.md, section 6.1.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from accounts.exact_json import format_decimal, serialize_exact_json
from accounts.models.accounts import Account, TenantModel
from accounts.services.outbox import EventPayload
from affiliate_site.api.representations.affiliates import (
    represent_affiliate,
    represent_enrollment,
    represent_prospect,
)
from affiliate_site.api.representations.conversions import (
    represent_commission,
    represent_conversions,
    represent_payment,
)
from affiliate_site.api.representations.nested import represent_program_summary
from affiliate_site.api.representations.tracking import represent_customer
from payouts.models.commissions import Commission
from payouts.models.payments import Payment
from tracking.models.affiliates import Affiliate
from tracking.models.conversions import Conversion
from tracking.models.customers import Customer
from tracking.models.enrollments import Enrollment
from tracking.models.prospects import Prospect
from tracking.money import ZERO

QUERY_BATCH_SIZE = 1000  # ids per statement; every database supports this number

Rows = list[dict[str, Any]]


def render_payloads(
    account: Account, subjects: Sequence[TenantModel]
) -> list[EventPayload]:
    """Render one payload per subject, in their order; all subjects have one type."""
    render, get_queryset = PAYLOAD_RENDERERS[type(subjects[0])]
    return [
        payload
        for start in range(0, len(subjects), QUERY_BATCH_SIZE)
        for payload in render(
            account,
            get_representation_rows(
                get_queryset(account), subjects[start : start + QUERY_BATCH_SIZE]
            ),
        )
    ]


def get_representation_rows(queryset: Any, subjects: Sequence[TenantModel]) -> Rows:
    """Return the columns that the API shows of each subject."""
    pks = sorted(subject.pk for subject in subjects)
    rows = queryset.filter(pk__in=pks).order_by("pk").for_representation()
    rows_by_pk = dict(zip(pks, rows, strict=True))
    return [rows_by_pk[subject.pk] for subject in subjects]


def render_conversion_payloads(account: Account, rows: Rows) -> Iterator[EventPayload]:
    """Render conversions, with the macros of their affiliates' postbacks."""
    for conversion in represent_conversions(rows, account):
        affiliate = conversion["affiliate"]["id"]
        own_commissions = [
            commission
            for commission in conversion["commissions"]
            if commission["affiliate"]["id"] == affiliate
        ]
        yield EventPayload(
            serialize_exact_json(conversion),
            affiliate,
            get_conversion_macros(conversion, own_commissions),
        )


def render_customer_payloads(account: Account, rows: Rows) -> Iterator[EventPayload]:
    """Render customers, with the macros of their affiliates' postbacks."""
    for customer in map(represent_customer, rows):
        macros = {"customer.id": customer["id"]} | get_click_macros(customer)
        yield EventPayload(
            serialize_exact_json(customer), customer["affiliate"]["id"], macros
        )


def get_conversion_macros(
    representation: dict, own_commissions: list[dict]
) -> dict[str, str]:
    """Return the macros of affiliates' postbacks (docs/api-contract.md, section 4).

    `own_commissions` are those of the affiliate who receives the postback.
    """
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
        "conversion.commissions": serialize_exact_json(own_commissions).decode(),
        "customer.id": customer["id"] if customer else "",
    } | get_click_macros(representation)


def get_click_macros(representation: dict) -> dict[str, str]:
    """Return the macros of the sub-values in the affiliate's link."""
    values = representation["affiliate_meta_data"] or {}
    return {"click_subid": values.get("subid1", "")} | {
        f"conversion.click.meta_data[{name}]": value for name, value in values.items()
    }


def render_with(
    represent: Callable[..., dict],
) -> Callable[[Account, Rows], Iterator[EventPayload]]:
    """Return a renderer for objects that affiliates' postbacks do not receive."""

    def render(account: Account, rows: Rows) -> Iterator[EventPayload]:
        return (EventPayload(serialize_exact_json(represent(row))) for row in rows)

    return render


def render_commission_payloads(account: Account, rows: Rows) -> Iterator[EventPayload]:
    """Render commissions."""
    return (
        EventPayload(serialize_exact_json(represent_commission(row, account)))
        for row in rows
    )


def represent_enrollment_with_program(row: dict) -> dict:
    """Represent an enrollment together with its program."""
    return represent_enrollment(row) | {"program": represent_program_summary(row)}


# By model: the renderer, and the queryset of an account.
PAYLOAD_RENDERERS: dict[type[TenantModel], tuple[Any, Any]] = {
    Affiliate: (render_with(represent_affiliate), lambda account: account.affiliates),
    Enrollment: (
        render_with(represent_enrollment_with_program),
        lambda account: account.enrollments,
    ),
    Prospect: (render_with(represent_prospect), lambda account: account.prospects),
    Customer: (render_customer_payloads, lambda account: account.customers),
    Conversion: (render_conversion_payloads, lambda account: account.conversions),
    Commission: (render_commission_payloads, lambda account: account.commissions),
    Payment: (render_with(represent_payment), lambda account: account.payments),
}
