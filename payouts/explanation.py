"""Rendering of explanations as text, for the terminal and the back office."""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.utils import timezone

from accounts.exact_json import format_decimal
from payouts.calculation import InitialStatusReason, write_rate
from payouts.models.commissions import Commission, CommissionKind, CommissionStatus
from payouts.rates import Lost
from payouts.services.explanation import Explanation, list_initial_warnings
from tracking.attribution import IMPORT, STAFF, RejectionReason
from tracking.claims import (
    CONTESTED_CLAIM,
    CONTESTED_CUSTOMER,
    FORMER_CUSTOMER_ID,
    UNCONFIRMED_CUSTOMER,
    Trust,
)
from tracking.services.warnings import CUSTOMER_IS_AFFILIATE

REASON_TEXTS: dict[str, str] = {
    InitialStatusReason.BASE_COMMISSION: "same status as its base commission",
    InitialStatusReason.CAP_REACHED: "the commission cap for this customer is reached",
    InitialStatusReason.UNVERIFIED_BROWSER_SALE: (
        "reported by the browser script, or without a signature"
    ),
    InitialStatusReason.PROGRAM_REQUIRES_APPROVAL: ("the program requires manual approval"),
    InitialStatusReason.UNDER_REVIEW: "an open risk case was about the affiliate",
    InitialStatusReason.DISPUTED: "the shop had an open dispute about the sale",
    InitialStatusReason.INSUFFICIENT_FUNDS: "insufficient payout balance",
    InitialStatusReason.PROGRAM_APPROVES: "the program approves automatically",
    InitialStatusReason.IMPORTED: "imported with this status",
    InitialStatusReason.NO_RATE: "no rate of the program holds",
    RejectionReason.BLANK: "sent without a value",
    RejectionReason.UNKNOWN: "belongs to no affiliate",
    RejectionReason.AFFILIATE_DELETED: "affiliate is removed",
    RejectionReason.NOT_APPROVED: "affiliate is not approved in the program",
    RejectionReason.PROGRAM_ARCHIVED: "the program is archived",
}
LOST_TEXTS = {
    Lost.CONDITION: "its condition does not hold",
    Lost.PRECEDENCE: "the other one comes first",
}
DISPUTE_TEXT = "the shop decides, and until then nobody can approve a commission."
WARNING_TEXTS = {
    CUSTOMER_IS_AFFILIATE: "The customer ID is the affiliate's e-mail address.",
    UNCONFIRMED_CUSTOMER: "Only a page has named the customer so far.",
    CONTESTED_CLAIM: "Two visitors claim this conversion.",
    CONTESTED_CUSTOMER: "Pages have named this customer for different affiliates.",
    FORMER_CUSTOMER_ID: (
        "A signed page named a customer ID that a customer had who was removed or has"
        " another ID now: it may be an old call that was sent again."
    ),
    "odd_comment": "The page sent a comment that is not text; it was dropped.",
    "odd_commission_type": ("The page sent an unknown commission type; the default one was used."),
    "odd_commissions": ("The page sent an empty list of commissions; the amount was used."),
    "odd_coupons": "The page sent coupons that are not text; they were ignored.",
    "odd_external_id": (
        "The order ID contains characters that cannot be seen: compare it by search."
    ),
    "odd_customer_id": "The page sent an invalid customer ID; it was ignored.",
    "odd_meta_data": "The page sent metadata that cannot be stored; it was dropped.",
    "odd_program_group": "The page sent an unknown program group; it was ignored.",
    "odd_vid": "The page sent an invalid tracking ID; it was ignored.",
}


def render_explanation(explanation: Explanation, *, at: datetime) -> list[str]:
    """Return the lines of an explanation: attribution, calculation and history."""
    conversion = explanation.conversion
    external_id = conversion["external_id"]
    label = f" ({external_id})" if external_id else ""
    amount = format_decimal(conversion["amount"])
    lines = [
        f"Conversion {conversion['id']}{label}: {amount} {conversion['currency']}"
        f" in {conversion['program']}, {_format_time(conversion['created_at'])}",
    ]
    deleted_at = conversion["deleted_at"]
    if deleted_at:
        lines.append(f"  Removed {_format_time(deleted_at)}")
    if explanation.conversion["disputed_at"]:
        disputed_at = _format_time(explanation.conversion["disputed_at"])
        lines.append(f"  Disputed since {disputed_at}: {DISPUTE_TEXT}")
    lines += [
        f"  Warning: {WARNING_TEXTS.get(warning, warning)}"
        for warning in conversion["warnings"] or ()
    ]
    lines += _render_attribution(explanation.attribution)
    for commission in explanation.commissions:
        lines += _render_commission(commission, is_removed=deleted_at is not None, at=at)
    return lines


def render_verification(explanation: Explanation) -> list[str]:
    """Return the line that says whether the verification succeeded."""
    if explanation.differences:
        return ["Verification failed: attribution or calculation gives another result"]
    return ["Verified: attribution and calculation give the same result"]


def _render_attribution(attribution: dict[str, Any]) -> list[str]:
    winner = attribution["winner"]
    names = {
        candidate["parameter"]: f"{candidate['parameter']} (a claim)"
        for candidate in attribution["candidates"]
        if candidate.get("is_claim")
    }
    decided_by = names.get(winner["parameter"], winner["parameter"])
    lines = [f"Attribution: {winner['affiliate']} by {decided_by}"]
    if winner["parameter"] == STAFF:
        lines.append("  attributed by staff")
    if winner["parameter"] == IMPORT:
        lines.append("  imported; attribution as the source decided")
    if attribution["trust"] == Trust.CLAIM:
        lines.append("  reported by a page without a signature: a claim")
    if attribution["expired_by"]:
        expired_by = attribution["expired_by"]
        lines.append(f"  cookie expired by {expired_by}; cookie age was ignored")
    lines += [
        f"  {names.get(rejected['parameter'], rejected['parameter'])}"
        f" {rejected['value']}"
        f" → {rejected['affiliate'] or 'no affiliate'}:"
        f" {describe_rejection(rejected, attribution)}"
        for rejected in attribution["rejected_candidates"]
    ]
    return lines


def describe_rejection(rejected: dict[str, Any], attribution: dict[str, Any]) -> str:
    """Why a candidate did not win; its age is no reason if ages were ignored."""
    reason, hours = rejected["reason"], rejected["expired_by_hours"]
    if hours is not None and not attribution["ignore_cookie_age"]:
        return f"expired by {hours // 24} d {hours % 24} h"
    if hours is not None or reason == RejectionReason.LOWER_PRECEDENCE:
        return f"{attribution['winner']['parameter']} comes first"
    return translate_reason(reason)


def _render_commission(commission: dict[str, Any], *, is_removed: bool, at: datetime) -> list[str]:
    rate, currency = commission["rate"], commission["currency"]
    value = format_decimal(Decimal(rate["value"]))
    factor = f"{value} %" if rate["kind"] == "percentage" else "fixed"
    if "fixed" in rate:
        factor += f" + {format_decimal(Decimal(rate['fixed']))}"
    overridden = ", amount overridden" if commission["is_overridden"] else ""
    initial = commission["initial_status"]
    lines = [
        f"Commission {commission['id']} ({commission['commission_type']})"
        f" for {commission['affiliate']}:"
        f" {format_decimal(commission['sub_amount'])} at {factor}"
        f" = {format_decimal(commission['exact_amount'])}"
        f" → {format_decimal(commission['amount'])} {currency}{overridden}",
        f"  Rate: {rate['from']}",
        *(f"  {text[0].upper()}{text[1:]}" for text in list_lost_rates(rate)),
        f"  {initial['status'].capitalize()} because"
        f" {describe_initial_status(initial['reason'], initial['warnings'])}",
    ]
    lines += [
        f"  Level {skipped['level']} skipped {skipped['affiliate']}:"
        f" {translate_reason(skipped['reason'])}"
        for skipped in commission["skipped"]
    ]
    if commission["transfers"]:
        lines.append("  History:")
    lines += [
        f"    {_format_time(transfer['created_at'])} {transfer['kind']}:"
        f" {transfer['from']} → {transfer['to']} {format_decimal(transfer['amount'])}"
        for transfer in commission["transfers"]
    ]
    payment = f", paid by {commission['payment']}" if commission["payment"] else ""
    if is_removed:
        return [*lines, "  Status: removed with the conversion"]
    if due := explain_due(commission, at=at):
        lines.append(f"  Due: {due}")
    return [*lines, f"  Status: {commission['status']}{payment}"]


def list_lost_rates(rate: dict[str, Any]) -> list[str]:
    """`not 5 %: orders from 2 of a customer: this is order 1`, of each rate that lost."""
    return [
        f"not {write_rate(each['rate'])}: {_explain_loss(each, rate)}"
        for each in rate.get("lost", ())
    ]


def _explain_loss(lost: dict[str, Any], rate: dict[str, Any]) -> str:
    if lost["reason"] == Lost.ORDER:
        return f"this is order {rate['order_number']} of the customer"
    return LOST_TEXTS[lost["reason"]]


def explain_due(commission: dict[str, Any], *, at: datetime) -> str:
    """Since or until when an explained commission is due or not, and why.

    Empty if it is paid or earns nothing, and for a bonus, which nothing holds.
    """
    due_at, hold = commission["due_at"], commission["hold"]
    if (
        due_at is None
        or commission["kind"] == CommissionKind.BONUS
        or commission["payment"]
        or commission["status"] == CommissionStatus.DISAPPROVED
    ):
        return ""
    if commission["under_review_since"]:
        return "not yet, because an open risk case is about it"
    is_pending = commission["status"] == CommissionStatus.PENDING
    when = "once it is approved" if is_pending else "at once"
    if not hold:
        return f"{when}, because neither program nor affiliate group holds sales"
    who = "program" if hold["from"] == "program" else "group of who referred the sale"
    if not hold["days"]:
        return f"{when}, because the {who} holds no sales"
    days = "1 day" if hold["days"] == 1 else f"{hold['days']} days"
    rule, day = f"the {who} holds sales for {days}", _format_time(due_at)
    if due_at > at:
        return f"not yet, on hold until {day}, because {rule}"
    when = f"once it is approved: its hold ended {day}" if is_pending else f"since {day}"
    if commission["is_released"]:
        return f"{when}, because staff released it, though {rule}"
    return f"{when}, because {rule}"


def translate_reason(code: str) -> str:
    """A stored reason in words; a code that nobody knows as it is."""
    return REASON_TEXTS.get(code, code)


def describe_initial_status(reason: str, warnings: Sequence[str]) -> str:
    """Why a commission has its first status, from its stored calculation."""
    if reason == InitialStatusReason.NEEDS_REVIEW:
        texts = [WARNING_TEXTS.get(each, each).rstrip(".") for each in warnings]
        return f"it needs review: {'; '.join(texts)}"
    return translate_reason(reason)


def explain_initial_status(commission: Commission) -> str:
    """Why a commission has its first status."""
    calculation = json.loads(commission.calculation)
    warnings = list_initial_warnings(calculation)
    return describe_initial_status(calculation["reason"], warnings)


def list_skipped_parents(commissions: Iterable[Commission]) -> list[tuple[str, str]]:
    """`Level 2`, and `minakessler earns nothing: …`, of each parent that was skipped.

    Each is named once, however many of the commissions say so.
    """
    found = {
        (
            f"Level {skipped['level']}",
            f"{skipped['affiliate']} earns nothing: {translate_reason(skipped['reason'])}",
        )
        for commission in commissions
        for skipped in json.loads(commission.calculation).get("skipped", ())
    }
    return sorted(found)


def _format_time(at: datetime) -> str:
    """In the current time zone: that of the account in the back office, else UTC."""
    return f"{timezone.localtime(at):%Y-%m-%d %H:%M:%S %Z}"
