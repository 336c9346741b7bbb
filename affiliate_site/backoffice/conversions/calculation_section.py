"""How the commissions of a sale were calculated, as the pages of both show it."""

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from django.urls import reverse
from django.utils.html import format_html, format_html_join

from accounts.exact_json import format_decimal
from affiliate_site.backoffice.effect_tables import LEDGER_ACCOUNT_NAMES
from affiliate_site.backoffice.formatters import (
    REMOVED,
    describe_recurring,
    format_labels,
    format_money,
)
from affiliate_site.backoffice.object_pages import (
    Posting,
    Section,
    link_to,
)
from affiliate_site.backoffice.payouts.payout_texts import COMMISSION_STATUSES, LineStates
from affiliate_site.columns import Column
from payouts.calculation import InitialStatusReason, RateSource
from payouts.explanation import explain_initial_status, list_lost_rates, translate_reason
from payouts.models.commissions import Commission, CommissionKind
from payouts.models.runs import PayoutLineState
from payouts.services.calculation_input import list_conversions_in_cap
from payouts.services.corrections import list_corrections
from payouts.services.explanation import list_transfers
from tracking.money import ZERO

MAX_LISTED_CONVERSIONS = 20


def build_calculation_section(explanation, by_id, conversion, states) -> Section:
    """Each commission with its rate, where the rate is from, and the rounding."""
    notes = [
        note
        for each in explanation.commissions
        for note in list_calculation_notes(each, by_id[each["id"]])
    ]
    groups = list_group_titles(by_id.values(), next(iter(by_id.values())).account) if by_id else {}
    verified = [
        "Verified: attribution and calculation give the same result",
        *explanation.differences,
    ]
    if explanation.differences:
        verified[0] = "Verification failed: a repetition gives another result"
    return Section(
        "Calculation",
        notes=list_amount_notes(conversion, by_id.values()),
        columns=build_calculation_columns(by_id, groups, states),
        rows=explanation.commissions,
        facts=[
            ("Notes", "\n".join(notes)),
            ("Commission cap", describe_cap(explanation, by_id, conversion)),
            ("Check", "\n".join(verified)),
        ],
    )


def describe_cap(explanation, by_id, conversion) -> str:
    """The program's rule, and the other sales that count toward the cap; "" if no
    present commission was disapproved because of it."""
    capped = [
        by_id[each["id"]].created_at
        for each in explanation.commissions
        if each["initial_status"]["reason"] == InitialStatusReason.CAP_REACHED
        and by_id[each["id"]].deleted_at is None
    ]
    if not capped or conversion.customer is None:
        return ""
    # Those before the decision: a claim may be confirmed long after the sale.
    rows = list_conversions_in_cap(conversion).filter(created_at__lte=max(capped))
    rows = rows.order_by("-created_at", "-pk")[: MAX_LISTED_CONVERSIONS + 1]
    links = [link_to(row, row.external_id or f"conversion {row}") for row in rows]
    if len(links) > MAX_LISTED_CONVERSIONS:
        links[-1] = "and earlier ones"
    return format_html(
        "{} (the rule of today). Other sales of this customer that earn today: {}",
        describe_recurring(conversion.program),
        format_html_join(", ", "{}", ([link] for link in links)) or "none any more",
    )


def list_amount_notes(conversion, commissions) -> list[str]:
    """Why the commissions are not calculated from the amount of the conversion."""
    rows = [
        row
        for row in commissions
        if row.kind == CommissionKind.REGULAR and row.deleted_at in (None, conversion.deleted_at)
    ]
    total = sum((row.sub_amount or ZERO for row in rows), ZERO)
    if not rows or total == conversion.amount:
        return []
    added = [row for row in rows if row.is_extra]
    added_total = sum((row.sub_amount or ZERO for row in added), ZERO)
    reasons = []
    if total - added_total != conversion.amount:
        reasons.append("its amount was changed, and they were kept")
    if added:
        reasons.append("a commission was added")
    reason = "; ".join(reasons)
    base, amount = (format_money(each, conversion.currency) for each in (total, conversion.amount))
    return [
        f"The commissions are calculated from {base}, the sale is {amount}: {reason}. See History."
    ]


def get_rate_source(commission: Commission) -> RateSource:
    """Where the rate of a commission is from."""
    return RateSource(**json.loads(commission.calculation)["rate"]["source"])


def list_group_titles(commissions, account) -> dict[str, str]:
    """Map the IDs of the groups whose rates were used to their titles."""
    ids = {it for row in commissions if (it := get_rate_source(row).group)}
    if not ids:
        return {}
    groups = account.affiliate_groups.filter(public_id__in=ids)
    return dict(groups.values_list("public_id", "title"))


def build_calculation_columns(by_id, groups: dict[str, str], states: LineStates):
    """The columns of explained commissions: the rate and its source, the exact product,
    the rounded amount."""
    return (
        Column("ID", link_to_explained),
        Column("Affiliate", lambda it: it["affiliate"]),
        Column("Rate", lambda it: describe_rate(it, get_rate_source(by_id[it["id"]]), groups)),
        Column("Calculation", describe_product),
        Column(
            "Rounded to",
            lambda it: (
                "Set by hand" if it["is_overridden"] else format_money(it["amount"], it["currency"])
            ),
            is_amount=True,
        ),
        Column("Commission", lambda it: format_money(it["amount"], it["currency"]), is_amount=True),
        Column(
            "Status", lambda it: format_commission_status(by_id[it["id"]], states.get(it["id"]))
        ),
    )


def link_to_explained(commission: dict[str, Any]) -> str:
    url = reverse("admin:payouts_commission_change", args=[commission["id"]])
    link = '<a class="details-link" href="{}">{}</a> ({})'
    return format_html(link, url, commission["id"], commission["commission_type"])


def describe_rate(commission: dict[str, Any], source: RateSource, groups: dict[str, str]) -> str:
    """`12.5 % (commission type default)`, or `4 EUR fixed` of each sale."""
    rate = commission["rate"]
    value = format_decimal(Decimal(rate["value"]))
    is_percentage = rate["kind"] == "percentage"
    currency = commission["currency"]
    factor = f"{value} %" if is_percentage else f"{value} {currency} fixed"
    if "fixed" in rate:
        factor += f" + {format_decimal(Decimal(rate['fixed']))} {currency}"
    return f"{factor} ({source.describe(groups.get(source.group))})"


def describe_product(commission: dict[str, Any]) -> str:
    """`49.9 at 12.5 % = 6.2375`, or the exact amount alone."""
    rate, sub_amount = commission["rate"], commission["sub_amount"]
    exact = format_decimal(commission["exact_amount"])
    if rate["kind"] != "percentage" or sub_amount is None:
        return exact
    value = format_decimal(Decimal(rate["value"]))
    fixed = f" + {format_decimal(Decimal(rate['fixed']))}" if "fixed" in rate else ""
    return f"{format_decimal(sub_amount)} at {value} %{fixed} = {exact}"


def format_commission_status(commission, state: PayoutLineState | None) -> str:
    """The status, with the payment that pays the commission."""
    status = REMOVED if commission.deleted_at else COMMISSION_STATUSES[commission.status]
    label = format_labels([status])
    if commission.deleted_at or commission.payment is None:
        return label
    text = "{} in {}: no answer yet" if state == PayoutLineState.UNKNOWN else "{} paid by {}"
    return format_html(text, label, link_to(commission.payment))


def list_calculation_notes(explained: dict[str, Any], commission) -> list[str]:
    """Why it began as it did, who was skipped, and its comment."""
    initial = explained["initial_status"]
    name = f"Commission {commission}"
    notes = [f"{name}: {initial['status']} at first, because {explain_initial_status(commission)}"]
    notes += [f"{name}: {text}" for text in list_lost_rates(explained["rate"])]
    notes += [
        f"{name}: level {skipped['level']} skipped {skipped['affiliate']},"
        f" {translate_reason(skipped['reason'])}"
        for skipped in explained["skipped"]
    ]
    if commission.comment:
        notes.append(f"{name}: {commission.comment}")
    return notes


def list_postings(account, commissions) -> Iterator[Posting]:
    """The transfers of some commissions."""
    for transfer in list_transfers(account, commissions):
        commission = transfer.commission
        text = format_html(
            "{}: {} → {} ({})",
            format_money(transfer.amount, transfer.currency),
            LEDGER_ACCOUNT_NAMES[transfer.debit.kind],
            LEDGER_ACCOUNT_NAMES[transfer.credit.kind],
            link_to(commission, f"commission {commission}"),
        )
        yield transfer.created_at, text, transfer.actor


def list_reasons(conversion) -> list[Posting]:
    """Why staff corrected a conversion or its commissions."""
    return [
        (each.created_at, f"Reason: {each.reason}", each.actor)
        for each in list_corrections(conversion)
        if each.reason
    ]
