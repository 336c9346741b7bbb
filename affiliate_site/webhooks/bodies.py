"""What receivers are told of a change: the thing as the API shows it at that moment."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from accounts.exact_json import exact_json, plain
from accounts.models.accounts import Account, Owned
from accounts.services.outbox import Telling
from affiliate_site.api.shapes.people import (
    affiliate_shape,
    enrolment_shape,
    prospect_shape,
)
from affiliate_site.api.shapes.refs import program_ref_shape
from affiliate_site.api.shapes.sales import (
    commission_shape,
    conversion_shapes,
    payment_shape,
)
from affiliate_site.api.shapes.visitors import customer_shape
from payouts.models.commissions import Commission
from payouts.models.payments import Payment
from tracking.models.affiliates import Affiliate
from tracking.models.conversions import Conversion
from tracking.models.customers import Customer
from tracking.models.enrolments import Enrolment
from tracking.models.prospects import Prospect
from tracking.money import NOUGHT

AT_ONCE = 1000  # rows that one statement names: every database takes so many

Rows = list[dict[str, Any]]


def render(account: Account, subjects: Sequence[Owned]) -> list[Telling]:
    """What is told of each subject, in their order; all are of one kind."""
    tell, rows = TELLERS[type(subjects[0])]
    return [
        telling
        for first in range(0, len(subjects), AT_ONCE)
        for telling in tell(
            account, shown(rows(account), subjects[first : first + AT_ONCE])
        )
    ]


def shown(rows: Any, subjects: Sequence[Owned]) -> Rows:
    """The columns that the API shows of each subject."""
    numbers = sorted(subject.pk for subject in subjects)
    found = rows.filter(pk__in=numbers).order_by("pk").as_shown()
    by_number = dict(zip(numbers, found, strict=True))
    return [by_number[subject.pk] for subject in subjects]


def conversions(account: Account, rows: Rows) -> Iterator[Telling]:
    """With what the postbacks of the affiliate that sold can be told."""
    for shape in conversion_shapes(rows, account):
        affiliate = shape["affiliate"]["id"]
        own = [it for it in shape["commissions"] if it["affiliate"]["id"] == affiliate]
        yield Telling(exact_json(shape), affiliate, macros_of_sale(shape, own))


def customers(account: Account, rows: Rows) -> Iterator[Telling]:
    """With what the postbacks of the customer's affiliate can be told."""
    for shape in map(customer_shape, rows):
        macros = {"customer.id": shape["id"]} | macros_of_click(shape)
        yield Telling(exact_json(shape), shape["affiliate"]["id"], macros)


def macros_of_sale(shape: dict, own: list[dict]) -> dict[str, str]:
    """Contract 4, its end; `own`: the commissions of the affiliate who is told."""
    customer = shape["customer"]
    return {
        "commission_amount": plain(sum((it["amount"] for it in own), NOUGHT)),
        "currency": own[0]["currency"] if own else shape["program"]["currency"],
        "conversion.id": str(shape["id"]),
        "conversion.external_id": shape["external_id"] or "",
        "conversion.amount": plain(shape["amount"]),
        "conversion.commissions": exact_json(own).decode(),
        "customer.id": customer["id"] if customer else "",
    } | macros_of_click(shape)


def macros_of_click(shape: dict) -> dict[str, str]:
    """The sub-values of the affiliate's own link."""
    values = shape["affiliate_meta_data"] or {}
    return {"click_subid": values.get("subid1", "")} | {
        f"conversion.click.meta_data[{name}]": value for name, value in values.items()
    }


def each(shape: Callable[..., dict]) -> Callable[[Account, Rows], Iterator[Telling]]:
    """A thing that a shape shows row by row, and that no postback is told of."""

    def tell(account: Account, rows: Rows) -> Iterator[Telling]:
        return (Telling(exact_json(shape(row))) for row in rows)

    return tell


def commissions(account: Account, rows: Rows) -> Iterator[Telling]:
    """Commissions, standing alone."""
    return (Telling(exact_json(commission_shape(row, account))) for row in rows)


def membership(row: dict) -> dict:
    """An affiliate in a program, and the program."""
    return enrolment_shape(row) | {"program": program_ref_shape(row)}


TELLERS: dict[type[Owned], tuple[Any, Any]] = {
    Affiliate: (each(affiliate_shape), lambda account: account.affiliates),
    Enrolment: (each(membership), lambda account: account.enrolments),
    Prospect: (each(prospect_shape), lambda account: account.prospects),
    Customer: (customers, lambda account: account.customers),
    Conversion: (conversions, lambda account: account.conversions),
    Commission: (commissions, lambda account: account.commissions),
    Payment: (each(payment_shape), lambda account: account.payments),
}
