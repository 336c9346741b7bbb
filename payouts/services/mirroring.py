"""Take over what has changed at the source since an object was imported."""

from collections.abc import Callable
from typing import Any

from accounts.exact_json import format_decimal
from accounts.services.changes import log_event, mark_stale
from payouts.models.commissions import CommissionStatus
from payouts.services.commissions import get_commission, update_and_post
from payouts.services.disputes import choose_disputed_status, remember_decision
from payouts.services.imported_people import (
    Body,
    find_code,
    read_amount,
    read_person,
)
from payouts.services.imported_sales import (
    choose_rate,
    describe_calculation,
    read_status,
)
from payouts.services.ledger import open_ledger_session
from tracking.meta_data import mend_meta_data
from tracking.models.customers import CustomerStatus
from tracking.models.late_changes import record_late_change
from tracking.money import round_and_check_amount
from tracking.services.enrollments import replace_code
from tracking.services.imports import ImportMap, read_map, read_text
from tracking.services.referral_codes import is_code_taken
from tracking.services.search import update_suffixes


def mirror_affiliate(imports: ImportMap, body: Body, pk: int) -> None:
    """Take over name, company, address, meta data, custom fields and group."""
    account, at = imports.account, imports.at
    affiliate = account.affiliates.get(pk=pk)
    affiliate.update_row(
        custom_fields=read_map(body, "custom_fields"),
        group_id=imports.find("group", body.get("affiliate_group_id")),
        **read_person(body),
    )
    update_suffixes(account, affiliate_id=pk)
    log_event(account, "affiliate.updated", affiliate, at=at, source=imports.source)


def mirror_enrollment(imports: ImportMap, body: Body, pk: int) -> None:
    """Take over the approval, and a coupon or code that nobody else has."""
    account = imports.account
    enrollment = account.enrollments.select_related("affiliate").get(pk=pk)
    approved = body.get("approved")
    enrollment.update_row(approved=approved if isinstance(approved, bool) else None)
    code = find_code(read_text(read_map(body, "referral_link"), "link", 2048))
    if code and not is_code_taken(account, code, besides=enrollment):
        replace_code(account, enrollment, code)
    coupon = read_text(body, "coupon", 64)
    others = account.coupons.exclude(enrollment=enrollment)
    account.coupons.filter(enrollment=enrollment).exclude(code=coupon).delete()
    known = account.coupons.filter(enrollment=enrollment).exists()
    if coupon and not known and not others.filter(code=coupon).exists():
        account.coupons.create(enrollment=enrollment, code=coupon)
    update_suffixes(account, affiliate_id=enrollment.affiliate_id)
    log_event(
        account,
        "enrollment.updated",
        enrollment,
        at=imports.at,
        source=imports.source,
    )


def mirror_customer(imports: ImportMap, body: Body, pk: int) -> None:
    """Take over status and meta data."""
    account = imports.account
    customer = account.customers.get(pk=pk)
    status = read_text(body, "status")
    meta_data = mend_meta_data(read_map(body, "meta_data"))[0]
    customer.update_row(
        status=status if status in CustomerStatus.values else customer.status,
        meta_data=meta_data,
    )
    log_event(account, "customer.updated", customer, at=imports.at, source=imports.source)


def mirror_conversion(imports: ImportMap, body: Body, pk: int) -> None:
    """Take over amount, external ID and meta data; commissions are objects of their
    own."""
    account, at = imports.account, imports.at
    conversion = account.conversions.select_for_update(no_key=True).get(pk=pk)
    amount = round_and_check_amount(read_amount(body, "amount"), conversion.currency)
    details: dict[str, Any] = {"source": imports.source}
    if amount != conversion.amount:
        old = conversion.amount
        details["amount"] = [format_decimal(old), format_decimal(amount)]
        record_late_change(account, [conversion.created_at], at=at)
    customer = account.customers.filter(pk=conversion.customer_id or 0).first()
    values: dict[str, Any] = {
        "external_id": read_text(body, "external_id") or None,
        "customer_id": imports.find_or_wait("customer", read_map(body, "customer").get("id")),
        "meta_data": mend_meta_data(read_map(body, "meta_data"))[0],
    }
    is_erased = customer is not None and not customer.customer_id
    conversion.update_row(amount=amount, **({} if is_erased else values))
    mark_stale(account, [conversion], at)
    log_event(account, "conversion.updated", conversion, at=at, **details)


def mirror_commission(imports: ImportMap, body: Body, pk: int) -> None:
    """Take over status, amount, comment and payment; the difference is posted now."""
    account, at = imports.account, imports.at
    commission = get_commission(account, pk)
    if commission.conversion_id is not None:
        rows = account.conversions.filter(pk=commission.conversion_id)
        commission.conversion = rows.select_for_update(no_key=True).get()
    currency, decided = commission.currency, read_status(body)
    payment = imports.find_or_wait("payment", read_map(body, "payout").get("id"))
    status = choose_disputed_status(
        commission.conversion,
        decided,
        is_settled=payment is not None or commission.is_finalized,
    )
    amount = round_and_check_amount(read_amount(body, "amount"), currency)
    values: dict[str, Any] = {"status": status}
    values["comment"] = read_text(body, "comment", 1000) or None
    sent = body.get("conversion_sub_amount")
    has_other_base = sent is not None and commission.sub_amount is not None
    if amount != commission.amount or has_other_base:
        sub_amount, kind, rate = choose_rate(body, amount, currency, commission.bonus)
        values |= {"amount": amount, "rate_kind": kind, "rate": rate}
        if commission.sub_amount is not None and sub_amount is not None:
            values["sub_amount"] = sub_amount
        values["calculation"] = describe_calculation(
            commission.affiliate_id,
            values.get("sub_amount", commission.sub_amount),
            kind,
            rate,
            amount,
            currency,
            status,
            commission.bonus,
        )
    with open_ledger_session(account, [commission.balance_key], at=at) as ledger:
        ledger.lock_balances()
        details = update_and_post(commission, ledger=ledger, at=at, **values)
    remember_decision(commission, decided)
    if status != CommissionStatus.APPROVED:
        payment = None
    if payment != commission.payment_id:
        commission.update_row(payment_id=payment)
        allocations = account.payment_allocations.filter(commission=commission)
        if payment and not allocations.filter(payment=payment).exists():
            account.payment_allocations.create(payment_id=payment, commission=commission)
    mark_stale(account, [commission], at)
    log_event(
        account,
        "commission.updated",
        commission,
        at=at,
        source=imports.source,
        **details,
    )


MIRRORS: dict[str, Callable[[ImportMap, Body, int], None]] = {
    "affiliate": mirror_affiliate,
    "enrollment": mirror_enrollment,
    "customer": mirror_customer,
    "conversion": mirror_conversion,
    "commission": mirror_commission,
}
