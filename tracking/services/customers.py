"""Customers: registered, made by a sale, renamed, canceled, removed."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from accounts.ids import new_id
from accounts.models.accounts import Account
from accounts.services.events import note
from tracking.attribution import REGISTERING, Clues, Order
from tracking.errors import (
    CustomerNotFound,
    DuplicateCustomer,
    InvalidCustomerStatus,
    InvalidStatus,
    StatusIsKept,
)
from tracking.models.customers import INITIAL, Customer, Status
from tracking.models.prospects import PromotionMethod
from tracking.services.attribution import Finding, keep_decision, weigh
from tracking.services.clicks import first_address
from tracking.services.looking import LookAgain, looking_again
from tracking.services.prospects import promoted
from tracking.services.warnings import warnings_about

PRESENT = "removed_at IS NULL"


@dataclass(frozen=True)
class Registration:
    """A customer of the caller's, and who brought it."""

    customer_id: str
    clues: Clues
    status: str = Status.NEW
    meta_data: dict[str, str] = field(default_factory=dict)
    user_agent: str | None = None
    ip: str | None = None
    ignore_cookie_age: bool = False
    order: Order = REGISTERING


@looking_again
def register(account: Account, *, registration: Registration, at: datetime) -> Customer:
    """Make a customer that belongs to whom the clues name, for ever."""
    with transaction.atomic():
        finding = weigh(
            account,
            clues=registration.clues,
            order=registration.order,
            at=at,
            ignore_cookie_age=registration.ignore_cookie_age,
        )
        finding.verdict.require_clue()
        if registration.status not in INITIAL:
            raise InvalidStatus(status=registration.status)
        if finding.verdict.fault:
            refuse_duplicate(account, registration.customer_id)
        finding.verdict.require_earner()
        finding.verdict.require_fresh_click()
        finding = promoted(account, finding, by=PromotionMethod.CUSTOMER, at=at)
        customer = _customer(
            account,
            finding,
            customer_id=registration.customer_id,
            status=registration.status,
            first_status=registration.status,
            click=finding.deciding_click,
            meta_data=registration.meta_data,
            user_agent=registration.user_agent,
            ip=first_address(registration.ip),
            created_at=at,
        )
        if not _insert(account, customer):
            raise DuplicateCustomer(customer_id=registration.customer_id)
        keep_decision(account, finding, about=customer)
        note(account, "customer.created", customer, at=at)
    return customer


def buyer(
    account: Account, finding: Finding, *, customer_id: str | None, at: datetime
) -> Customer | None:
    """The customer of a sale: known, or made by it; paying from now on.

    Of two sales of one new customer at once the second is told to look again: the
    customer then belongs to whom the first one named.
    """
    if customer_id is None:
        return None
    customer = finding.customer
    if customer is None:
        customer = _customer(
            account,
            finding,
            customer_id=customer_id,
            status=Status.PAYING,
            first_status=Status.NEW,
            click=finding.deciding_click,
            created_at=at,
        )
        if not _insert(account, customer):
            raise LookAgain
        note(account, "customer.created", customer, at=at)
        return customer
    # Locked: who is forgotten at this moment leaves no trace on a later sale.
    locked = _locked(account, customer.public_id)
    if locked is None:
        raise LookAgain
    _set_status(account, locked, Status.PAYING, at)
    return locked


def rename(
    account: Account,
    *,
    customer: Customer,
    customer_id: str | None,
    meta_data: dict[str, str] | None,
    at: datetime,
) -> Customer:
    """Change the caller's id or replace the meta data; None: not sent."""
    values: dict[str, Any] = {}
    if customer_id is not None and customer_id != customer.customer_id:
        values["customer_id"] = customer_id
    if meta_data is not None and meta_data != customer.meta_data:
        values["meta_data"] = meta_data
    if not values:
        return customer
    try:
        with transaction.atomic():
            if not customer.change(expecting={"removed_at": None}, **values):
                raise CustomerNotFound  # removed at this moment
            note(account, "customer.updated", customer, at=at, fields=sorted(values))
    except IntegrityError:
        if customer_id is not None:
            refuse_duplicate(account, customer_id)
        raise
    return customer


def cancel(account: Account, *, public_id: str, at: datetime) -> Customer:
    """Mark a customer canceled; repeating it gives the same."""
    return _move(account, public_id, to_canceled=True, at=at)


def restore(account: Account, *, public_id: str, at: datetime) -> Customer:
    """Un-cancel: paying if there is a sale, else the status it began with."""
    return _move(account, public_id, to_canceled=False, at=at)


def follow_up_customer(
    account: Account,
    *,
    customer: Customer,
    status: str | None,
    meta_data: dict[str, str] | None,
    at: datetime,
) -> Customer:
    """What a shop tells of its customer later: canceled or not, other meta data."""
    if status is not None and status not in Status.values:
        raise InvalidCustomerStatus(status=status)
    with transaction.atomic():
        locked = _locked(account, customer.public_id)
        if locked is None:
            raise CustomerNotFound
        if status is not None:
            _set_status(account, locked, _followed(account, locked, status), at)
        if meta_data is not None and meta_data != locked.meta_data:
            locked.change(meta_data=meta_data)
            note(account, "customer.updated", locked, at=at, fields=["meta_data"])
    return locked


def customer_known_as(account: Account, customer_id: str) -> Customer:
    """The account's present customer with this id of the caller's."""
    customer = account.customers.present().filter(customer_id=customer_id).first()
    if customer is None:
        raise CustomerNotFound
    return customer


def remove(account: Account, *, public_id: str, at: datetime) -> None:
    """Forget a customer; its sales stay, its `customer_id` may be used again."""
    with transaction.atomic():
        customer = _locked(account, public_id)
        if customer is None:
            raise CustomerNotFound
        note(account, "customer.deleted", customer, at=at)  # as it was last
        customer.change(
            removed_at=at, customer_id="", meta_data={}, user_agent=None, ip=None
        )
        sales = account.conversions.filter(customer=customer)
        list(sales.select_for_update(no_key=True).order_by("id").values_list("id"))
        sales.update(user_agent=None, ip=None)


def customer_named(account: Account, public_id: str) -> Customer:
    """The account's present customer with this `cu_` id."""
    customer = account.customers.present().filter(public_id=public_id).first()
    if customer is None:
        raise CustomerNotFound
    return customer


def refuse_duplicate(account: Account, customer_id: str) -> None:
    """Stop here if the account has a customer with this id."""
    if account.customers.present().filter(customer_id=customer_id).exists():
        raise DuplicateCustomer(customer_id=customer_id)


def _customer(account: Account, finding: Finding, **values: object) -> Customer:
    return Customer(
        account=account,
        public_id=new_id("cu"),
        program=finding.program,
        affiliate=finding.affiliate,
        warnings=warnings_about(
            finding.affiliate, customer_id=str(values["customer_id"])
        ),
        **values,
    )


def _insert(account: Account, customer: Customer) -> bool:
    return account.customers.insert_unless_taken(
        customer, on=("account", "customer_id"), among=PRESENT
    )


def _move(
    account: Account, public_id: str, *, to_canceled: bool, at: datetime
) -> Customer:
    with transaction.atomic():
        customer = _locked(account, public_id)
        if customer is None:
            raise CustomerNotFound
        status = Status.CANCELED.value if to_canceled else _restored(account, customer)
        _set_status(account, customer, status, at)
    return customer


def _locked(account: Account, public_id: str) -> Customer | None:
    rows = account.customers.present().select_for_update(no_key=True)
    return rows.filter(public_id=public_id).first()


def _set_status(
    account: Account, customer: Customer, status: str, at: datetime
) -> None:
    """Write a status, and the diary's line, where it is another one."""
    was = customer.status
    if was != status:
        customer.change(status=status)
        note(account, "customer.updated", customer, at=at, status=[was, str(status)])


def _followed(account: Account, customer: Customer, status: str) -> str:
    """Where a customer goes that is told to have this status; contract 4."""
    if status == Status.CANCELED:
        return status
    if customer.status == Status.CANCELED:
        return _restored(account, customer)
    if customer.status != status:
        raise StatusIsKept(was=customer.status, status=status)
    return status


def _restored(account: Account, customer: Customer) -> str:
    if customer.status != Status.CANCELED:
        return customer.status
    bought = account.conversions.present().filter(customer=customer).exists()
    return Status.PAYING.value if bought else customer.first_status
