"""Customers: create, update, cancel and delete."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet

from accounts.compiled_queries import compiled
from accounts.ids import generate_public_id
from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from accounts.services.changes import log_event, mark_stale, record_change
from tracking.attribution import REST_CUSTOMER_ORDER, CandidateOrder, TrackingParameters
from tracking.claims import (
    CONTESTED_CUSTOMER,
    FORMER_CUSTOMER_ID,
    MAX_OPEN_CLAIMS,
    Trust,
    can_mark_customer_paying,
    is_customer_confirmed,
)
from tracking.errors import (
    CustomerNotFound,
    DuplicateCustomer,
    InvalidCustomerStatus,
    InvalidCustomerStatusTransition,
    InvalidInitialCustomerStatus,
    TooManyOpenClaims,
)
from tracking.meta_data import find_email
from tracking.models.affiliates import Affiliate
from tracking.models.clicks import parse_client_ip
from tracking.models.conversions import Conversion, ConversionClaim
from tracking.models.customers import (
    INITIAL_CUSTOMER_STATUSES,
    Customer,
    CustomerStatus,
)
from tracking.models.prospects import PromotionMethod
from tracking.services.attribution import (
    Attribution,
    attribute,
    create_attribution_record,
)
from tracking.services.concurrency import ConcurrentUpdate, retry_on_conflict
from tracking.services.former_ids import ensure_first_use, record_customer_id
from tracking.services.page_storage import (
    BYTES_OF_CLAIM,
    CLAIMS,
    name_owner,
    take_storage,
)
from tracking.services.prospects import promote_winning_prospect
from tracking.services.warnings import find_warnings

NOT_DELETED_SQL = "deleted_at IS NULL"


@compiled
def locked_customer(account: Account, pk: int) -> QuerySet[Customer]:
    """Return the customer with this key, locked until the transaction ends."""
    rows = Customer.objects.of(account).not_deleted()
    return rows.select_for_update(no_key=True, of=("self",)).filter(pk=pk)


@dataclass(frozen=True)
class CustomerData:
    """A new customer, with the tracking parameters that attribute it."""

    customer_id: str
    parameters: TrackingParameters
    status: str = CustomerStatus.NEW
    meta_data: dict[str, str] = field(default_factory=dict)
    user_agent: str | None = None
    ip: str | None = None
    ignore_cookie_age: bool = False
    order: CandidateOrder = REST_CUSTOMER_ORDER
    trust: Trust = Trust.FACT
    is_signed: bool = False  # by a page: the call can be repeated
    extra_warnings: tuple[str, ...] = ()  # stored besides those of `find_warnings`


@retry_on_conflict
def create_customer(account: Account, *, data: CustomerData, at: datetime) -> Customer:
    """Create a customer, attributed permanently to the affiliate of the parameters.

    If an unconfirmed customer has this id, a fact confirms that customer, and a claim
    for another affiliate contests it. Raises `DuplicateCustomer`, `FormerCustomerId`,
    `InvalidInitialCustomerStatus`, and the errors of the attribution.
    """
    with transaction.atomic():
        attribution = attribute(
            account,
            parameters=data.parameters,
            order=data.order,
            at=at,
            ignore_cookie_age=data.ignore_cookie_age,
            trust=data.trust,
        )
        attribution.result.ensure_parameter_sent()
        if data.status not in INITIAL_CUSTOMER_STATUSES:
            raise InvalidInitialCustomerStatus(status=data.status)
        if attribution.result.rejection_reason:
            ensure_customer_id_available(account, data.customer_id, trust=data.trust)
        attribution.result.ensure_affiliate_eligible()
        attribution.result.ensure_cookie_valid()
        attribution = promote_winning_prospect(
            account, attribution, method=PromotionMethod.CUSTOMER, at=at
        )
        customer = _build_customer(
            account,
            attribution,
            customer_id=data.customer_id,
            status=data.status,
            initial_status=data.status,
            click=attribution.winning_click,
            meta_data=data.meta_data,
            user_agent=data.user_agent,
            ip=parse_client_ip(data.ip),
            created_at=at,
            extra_warnings=data.extra_warnings,
        )
        if _insert_customer(account, customer, attribution):
            record_change(account, "customer.created", customer, at=at)
        else:
            customer = _get_claimed_customer(account, data.customer_id)
            if data.trust is Trust.CLAIM:
                if not _contest_customer(account, customer, attribution, at=at):
                    raise DuplicateCustomer(customer_id=data.customer_id)
                return customer
            _confirm_claimed_customer(account, customer, attribution, data, at=at)
            # Read again, because PostgreSQL reorders the keys of `meta_data`.
            rows = account.customers.select_related("program", "affiliate", "click")
            customer = rows.get(pk=customer.pk)
        ensure_first_use(account, data.customer_id, is_signed=data.is_signed)
        create_attribution_record(account, attribution, subject=customer)
        if data.trust is Trust.CLAIM:
            take_storage(
                account,
                CLAIMS,
                owner=name_owner(customer.affiliate_id, None),
                program=customer.program_id,
                row_bytes=BYTES_OF_CLAIM,
                texts=(*data.meta_data, *data.meta_data.values(), data.user_agent),
            )
    return customer


def _get_claimed_customer(account: Account, customer_id: str) -> Customer:
    """Lock the unconfirmed customer with this id; a confirmed one is a duplicate."""
    rows = account.customers.not_deleted().filter(is_confirmed=False)
    duplicate = DuplicateCustomer(customer_id=customer_id)
    return get_or_raise(rows, duplicate, lock=True, customer_id=customer_id)


def _confirm_claimed_customer(
    account: Account,
    customer: Customer,
    attribution: Attribution,
    data: CustomerData,
    *,
    at: datetime,
) -> None:
    """Replace the values of an unconfirmed customer by those of a fact."""
    customer.update_row(
        initial_status=data.status,
        meta_data=data.meta_data,
        user_agent=data.user_agent,
        ip=parse_client_ip(data.ip),
    )
    confirm_customer(account, customer, owner=attribution, at=at)
    if customer.status in INITIAL_CUSTOMER_STATUSES:
        _set_status(account, customer, data.status, at)


def _contest_customer(
    account: Account, customer: Customer, attribution: Attribution, *, at: datetime
) -> bool:
    """Mark an unconfirmed customer as contested by a claim for another affiliate.

    Returns False if the customer is confirmed, or belongs to the claim's affiliate. The
    caller has locked the customer.
    """
    if customer.is_confirmed or customer.affiliate_id == attribution.affiliate.pk:
        return False
    if not customer.is_contested:
        warnings = [*(customer.warnings or ()), CONTESTED_CUSTOMER]
        customer.update_row(warnings=warnings, is_contested=True)
        fields = ["warnings"]
        record_change(account, "customer.updated", customer, at=at, fields=fields)
    return True


def get_or_create_customer(
    account: Account,
    attribution: Attribution,
    *,
    customer_id: str | None,
    is_signed: bool = False,
    warnings: Sequence[str] = (),
    created_at: datetime | None = None,
    at: datetime,
) -> Customer | None:
    """Get or create the customer of a conversion and set its status to paying.

    The caller records the creation. A fact with a tracking parameter of its own
    confirms an unconfirmed customer. Raises `ConcurrentUpdate` if another request has
    created or deleted the customer: the retry attributes the conversion to the
    customer's affiliate. Raises `FormerCustomerId`.
    """
    if customer_id is None:
        return None
    customer = attribution.customer
    if customer is None:
        customer = _build_customer(
            account,
            attribution,
            customer_id=customer_id,
            status=CustomerStatus.PAYING,
            initial_status=CustomerStatus.NEW,
            click=attribution.winning_click,
            created_at=created_at or at,
            extra_warnings=warnings,
        )
        if not _insert_customer(account, customer, attribution):
            raise ConcurrentUpdate
        ensure_first_use(account, customer_id, is_signed=is_signed)
        return customer
    # The lock keeps a concurrent deletion from leaving visitor data on the conversion.
    locked = locked_customer.first(account=account, pk=customer.pk)
    if locked is None or locked.is_confirmed != customer.is_confirmed:
        raise ConcurrentUpdate  # another affiliate may be the customer's by now
    trust = attribution.trust
    if trust is Trust.CLAIM:
        _contest_customer(account, locked, attribution, at=at)
    elif not locked.is_confirmed and attribution.can_confirm_customer:
        ensure_first_use(account, customer_id, is_signed=is_signed)
        confirm_customer(account, locked, owner=attribution, at=at)
    is_canceled = locked.status == CustomerStatus.CANCELED
    if can_mark_customer_paying(trust, is_canceled=is_canceled):
        _set_status(account, locked, CustomerStatus.PAYING, at)
    return locked


def confirm_customer(
    account: Account,
    customer: Customer,
    *,
    owner: Attribution | Conversion | ConversionClaim,
    at: datetime,
) -> None:
    """Make an unconfirmed customer a fact, with program and affiliate of `owner`.

    `created_at` becomes now if program or affiliate change, or if the program pays for
    a limited number of days: the days since the claim do not count. The caller has
    locked the row.
    """
    affiliate, previous = owner.affiliate, customer.affiliate
    decided = (CONTESTED_CUSTOMER, FORMER_CUSTOMER_ID)
    remaining = [it for it in customer.warnings or () if it not in decided]
    values: dict[str, Any] = {
        "is_confirmed": True,
        "is_contested": False,
        "warnings": remaining or None,
    }
    is_other = affiliate.pk != previous.pk or owner.program.pk != customer.program_id
    if is_other:
        values |= {
            "program": owner.program,
            "affiliate": affiliate,
            "click": owner.click,
            "warnings": find_warnings(
                affiliate, buyer=[customer.customer_id, customer.email_folded]
            ),
        }
    if is_other or owner.program.recurring_period_days is not None:
        mark_stale(account, [customer], at)
        values["created_at"] = at
    customer.update_row(**values)
    affiliates = [previous.log_id, affiliate.log_id]
    log_event(account, "customer.confirmed", customer, at=at, affiliate=affiliates)
    if is_other:
        fields = ["affiliate", "program"]
        record_change(account, "customer.updated", customer, at=at, fields=fields)


def update_customer(
    account: Account,
    *,
    customer: Customer,
    customer_id: str | None,
    meta_data: dict[str, str] | None,
    at: datetime,
) -> Customer:
    """Set `customer_id` or replace the meta data; None leaves a value unchanged.

    Raises `DuplicateCustomer`, and `CustomerNotFound` after a concurrent deletion.
    """
    values: dict[str, Any] = {}
    if customer_id is not None and customer_id != customer.customer_id:
        values["customer_id"] = customer_id
    if meta_data is not None and meta_data != customer.meta_data:
        values["meta_data"] = meta_data
    if not values:
        return customer
    try:
        with transaction.atomic():
            if "customer_id" in values:
                _give_up_ids(account, customer, customer_id, at=at)
            if not customer.update_row(expected={"deleted_at": None}, **values):
                raise CustomerNotFound  # deleted concurrently
            record_change(account, "customer.updated", customer, at=at, fields=sorted(values))
    except IntegrityError:
        if customer_id is not None:
            ensure_customer_id_available(account, customer_id)
        raise
    return customer


def _give_up_ids(
    account: Account, customer: Customer, customer_id: str | None, *, at: datetime
) -> None:
    """Record the former id of a customer that gets another one, before it does.

    The unconfirmed customer that has the new id is deleted: a fact can have it.
    """
    rows = account.customers.not_deleted()
    claimed = rows.filter(customer_id=customer_id, is_confirmed=False)
    both = rows.filter(Q(pk=customer.pk) | Q(pk__in=claimed.values("pk")))
    for row in both.select_for_update(no_key=True).order_by("id"):
        if row.pk == customer.pk:
            record_customer_id(row)
        elif row.customer_id == customer_id and not row.is_confirmed:
            delete_customer(account, public_id=row.public_id, at=at)


def cancel_customer(account: Account, *, public_id: str, at: datetime) -> Customer:
    """Set the status to canceled; idempotent. Raises `CustomerNotFound`."""
    return _set_canceled(account, public_id, is_canceled=True, at=at)


def uncancel_customer(account: Account, *, public_id: str, at: datetime) -> Customer:
    """Restore a canceled customer: to paying if it has conversions, else to its initial
    status. Raises `CustomerNotFound`."""
    return _set_canceled(account, public_id, is_canceled=False, at=at)


def update_customer_from_postback(
    account: Account,
    *,
    customer: Customer,
    status: str | None,
    meta_data: dict[str, str] | None,
    at: datetime,
) -> Customer:
    """Set the status or replace the meta data (docs/api-contract.md, section 4).

    Raises `InvalidCustomerStatus` and `InvalidCustomerStatusTransition`.
    """
    if status is not None and status not in CustomerStatus.values:
        raise InvalidCustomerStatus(status=status)
    with transaction.atomic():
        locked = get_customer(account, customer.public_id, lock=True)
        if status is not None:
            _set_status(account, locked, _get_requested_status(account, locked, status), at)
        if meta_data is not None and meta_data != locked.meta_data:
            locked.update_row(meta_data=meta_data)
            record_change(account, "customer.updated", locked, at=at, fields=["meta_data"])
    return locked


def get_customer_by_customer_id(account: Account, customer_id: str) -> Customer:
    """Get the customer with this `customer_id`; raise `CustomerNotFound`."""
    rows = account.customers.not_deleted()
    return get_or_raise(rows, CustomerNotFound, customer_id=customer_id)


def delete_customer(account: Account, *, public_id: str, at: datetime) -> None:
    """Mark a customer as deleted and erase its data.

    Its conversions stay, without visitor data. Its `customer_id` may be used again.
    """
    with transaction.atomic():
        customer = get_customer(account, public_id, lock=True)
        record_change(account, "customer.deleted", customer, at=at)
        record_customer_id(customer)
        customer.update_row(deleted_at=at, customer_id="", meta_data={}, user_agent=None, ip=None)
        conversions = account.conversions.filter(customer=customer)
        # Locked in the order of their ids, to avoid deadlocks.
        list(conversions.select_for_update(no_key=True).order_by("id").values("id"))
        conversions.update(user_agent=None, ip=None)


def get_customer(account: Account, public_id: str, *, lock: bool = False) -> Customer:
    """Get the customer with this `cu_` id; raise `CustomerNotFound` if deleted."""
    rows = account.customers.not_deleted()
    return get_or_raise(rows, CustomerNotFound, lock=lock, public_id=public_id)


def ensure_customer_id_available(
    account: Account, customer_id: str, *, trust: Trust = Trust.FACT
) -> None:
    """Raise `DuplicateCustomer` if the account has a customer with this id.

    For a fact an unconfirmed customer does not count.
    """
    rows = account.customers.not_deleted().filter(customer_id=customer_id)
    if trust is Trust.FACT:
        rows = rows.filter(is_confirmed=True)
    if rows.exists():
        raise DuplicateCustomer(customer_id=customer_id)


def ensure_claims_available(account: Account, affiliate: Affiliate) -> None:
    """Raise `TooManyOpenClaims` if an affiliate has too many unconfirmed customers."""
    rows = account.customers.filter(affiliate=affiliate, is_confirmed=False)
    if rows[:MAX_OPEN_CLAIMS].count() >= MAX_OPEN_CLAIMS:
        raise TooManyOpenClaims


def _build_customer(
    account: Account,
    attribution: Attribution,
    *,
    meta_data: dict[str, str] | None = None,
    extra_warnings: Sequence[str] = (),
    **values: object,
) -> Customer:
    meta_data = meta_data or {}
    email = find_email(meta_data, account.customer_email_keys)
    return Customer(
        account=account,
        meta_data=meta_data,
        email_folded=email,
        public_id=generate_public_id("cu"),
        program=attribution.program,
        affiliate=attribution.affiliate,
        is_confirmed=not attribution.is_contested
        and FORMER_CUSTOMER_ID not in extra_warnings
        and is_customer_confirmed(
            attribution.trust,
            trusts_browser_customers=attribution.program.trust_browser_customers,
        ),
        warnings=find_warnings(
            attribution.affiliate,
            buyer=[str(values["customer_id"]), email],
            extra_warnings=extra_warnings,
        ),
        **values,
    )


def _insert_customer(account: Account, customer: Customer, attribution: Attribution) -> bool:
    if attribution.trust is Trust.CLAIM and not customer.is_confirmed:
        ensure_claims_available(account, customer.affiliate)
    return account.customers.insert_or_ignore(
        customer,
        unique_fields=("account", "customer_id"),
        condition_sql=NOT_DELETED_SQL,
    )


def _set_canceled(account: Account, public_id: str, *, is_canceled: bool, at: datetime) -> Customer:
    with transaction.atomic():
        customer = get_customer(account, public_id, lock=True)
        status = (
            CustomerStatus.CANCELED.value
            if is_canceled
            else _get_uncanceled_status(account, customer)
        )
        _set_status(account, customer, status, at)
    return customer


def _set_status(account: Account, customer: Customer, status: str, at: datetime) -> None:
    """Update the status and log the change, if it differs."""
    previous = customer.status
    if previous != status:
        customer.update_row(status=status)
        change = [previous, str(status)]
        record_change(account, "customer.updated", customer, at=at, status=change)


def _get_requested_status(account: Account, customer: Customer, status: str) -> str:
    """Return the status after a request for `status` (docs/api-contract.md, section 4).

    Raises `InvalidCustomerStatusTransition`.
    """
    if status == CustomerStatus.CANCELED:
        return status
    if customer.status == CustomerStatus.CANCELED:
        return _get_uncanceled_status(account, customer)
    if customer.status != status:
        raise InvalidCustomerStatusTransition(current_status=customer.status, status=status)
    return status


def _get_uncanceled_status(account: Account, customer: Customer) -> str:
    if customer.status != CustomerStatus.CANCELED:
        return customer.status
    conversions = account.conversions.not_deleted().filter(customer=customer)
    if conversions.exists():
        return CustomerStatus.PAYING.value
    return customer.initial_status
