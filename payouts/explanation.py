"""Rendering of explanations as text, for the terminal and the back office."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from django.utils import timezone

from accounts.exact_json import format_decimal
from payouts.calculation import PAST_CAP_REASON
from payouts.services.explanation import Explanation
from tracking.claims import (
    CONTESTED_CLAIM,
    CONTESTED_CUSTOMER,
    UNCONFIRMED_CUSTOMER,
    Trust,
)
from tracking.services.warnings import CUSTOMER_IS_AFFILIATE

# Stored reasons keep their texts, which are values of `explain --json`.
REASON_TEXTS = {
    "as the commission that it follows": "same status as its base commission",
    PAST_CAP_REASON: "the commission cap for this customer is reached",
    "told by a page, which anybody can open": "reported by the browser script",
    "the program lets somebody decide": "the program requires manual approval",
    "the payout balance does not cover it": "insufficient payout balance",
    "the program approves by itself": "the program approves automatically",
    "not approved in the program": "affiliate is not approved in the program",
    "the affiliate is deleted": "affiliate is removed",
    "points at nobody": "belongs to no affiliate",
}
WARNINGS_REASON = "waits for a look: "
WARNING_TEXTS = {
    CUSTOMER_IS_AFFILIATE: "The customer ID is the affiliate's e-mail address.",
    UNCONFIRMED_CUSTOMER: "Only a page has named the customer so far.",
    CONTESTED_CLAIM: "Two visitors claim this conversion.",
    CONTESTED_CUSTOMER: "Pages have named this customer for different affiliates.",
    "odd_comment": "The page sent a comment that is not text; it was dropped.",
    "odd_commission_type": (
        "The page sent an unknown commission type; the default one was used."
    ),
    "odd_commissions": (
        "The page sent an empty list of commissions; the amount was used."
    ),
    "odd_coupons": "The page sent coupons that are not text; they were ignored.",
    "odd_external_id": (
        "The order ID contains characters that cannot be seen: compare it by search."
    ),
    "odd_customer_id": "The page sent an invalid customer ID; it was ignored.",
    "odd_meta_data": "The page sent metadata that cannot be stored; it was dropped.",
    "odd_program_group": "The page sent an unknown program group; it was ignored.",
    "odd_vid": "The page sent an invalid tracking ID; it was ignored.",
}


def render_explanation(explanation: Explanation) -> list[str]:
    """Return the lines of an explanation: attribution, calculation and history."""
    conversion = explanation.conversion
    external_id = conversion["external_id"]
    label = f" ({external_id})" if external_id else ""
    amount = format_decimal(conversion["amount"])
    lines = [
        f"Conversion {conversion['id']}{label}: {amount} {conversion['currency']}"
        f" in {conversion['program']}, {_format_time(conversion['created_at'])}",
    ]
    removed_at = conversion["removed_at"]
    if removed_at:
        lines.append(f"  Removed {_format_time(removed_at)}")
    lines += [
        f"  Warning: {WARNING_TEXTS.get(warning, warning)}"
        for warning in conversion["warnings"] or ()
    ]
    lines += _render_attribution(explanation.attribution)
    for commission in explanation.commissions:
        lines += _render_commission(commission, is_removed=removed_at is not None)
    return lines


def render_verification(explanation: Explanation) -> list[str]:
    """Return the line that says whether the verification succeeded."""
    if explanation.differences:
        return ["Verification failed: attribution or calculation gives another result"]
    return ["Verified: attribution and calculation give the same result"]


def _render_attribution(attribution: dict[str, Any]) -> list[str]:
    winner = attribution["winner"]
    claims = {item["clue"] for item in attribution["clues"] if item.get("is_claim")}
    marks = {parameter: f"{parameter} (a claim)" for parameter in claims}
    decided_by = marks.get(winner["clue"], winner["clue"])
    lines = [f"Attribution: {winner['affiliate']} by {decided_by}"]
    if attribution["trust"] == Trust.CLAIM:
        lines.append("  reported by a page without a signature: a claim")
    if attribution["late_by"]:
        expired_by = attribution["late_by"]
        lines.append(f"  cookie expired by {expired_by}; cookie age was ignored")
    lines += [
        f"  {marks.get(loser['clue'], loser['clue'])} {loser['value']}"
        f" → {loser['affiliate'] or 'no affiliate'}:"
        f" {translate_rejection(loser['reason'], attribution)}"
        for loser in attribution["losers"]
    ]
    return lines


def translate_rejection(reason: str, attribution: dict[str, Any]) -> str:
    """The reason why a candidate did not win; its age is none if it was ignored."""
    if attribution["ignore_cookie_age"] and reason.startswith("expired by "):
        return f"{attribution['winner']['clue']} comes first"
    return translate_reason(reason)


def _render_commission(commission: dict[str, Any], *, is_removed: bool) -> list[str]:
    rate, currency = commission["rate"], commission["currency"]
    value = format_decimal(Decimal(rate["value"]))
    factor = f"{value} %" if rate["kind"] == "percentage" else "fixed"
    overridden = ", amount overridden" if commission["set_by_hand"] else ""
    initial = commission["born"]
    lines = [
        f"Commission {commission['id']} ({commission['commission_type']})"
        f" for {commission['affiliate']}:"
        f" {format_decimal(commission['sub_amount'])} at {factor}"
        f" = {format_decimal(commission['exact'])}"
        f" → {format_decimal(commission['amount'])} {currency}{overridden}",
        f"  Rate: {rate['from']}",
        f"  {initial['status'].capitalize()} because"
        f" {translate_reason(initial['reason'])}",
    ]
    lines += [
        f"  Level {skipped['level']} skipped {skipped['affiliate']}:"
        f" {translate_reason(skipped['reason'])}"
        for skipped in commission["passed_over"]
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
    return [*lines, f"  Status: {commission['status']}{payment}"]


def translate_reason(reason: str) -> str:
    """Return a stored reason in the words of today."""
    if reason.startswith(WARNINGS_REASON):
        warnings = reason.removeprefix(WARNINGS_REASON).split(", ")
        texts = [WARNING_TEXTS.get(each, each).rstrip(".") for each in warnings]
        return f"it needs review: {'; '.join(texts)}"
    return REASON_TEXTS.get(reason, reason)


def _format_time(at: datetime) -> str:
    """In the current time zone: that of the account in the back office, else UTC."""
    return f"{timezone.localtime(at):%Y-%m-%d %H:%M:%S %Z}"
