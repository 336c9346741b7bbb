"""What the page of a conversion shows."""

from decimal import Decimal
from typing import Any

from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.text import capfirst

from affiliate_site.backoffice.audit_sentences import describe_actor, find_names
from affiliate_site.backoffice.conversions.calculation_section import (
    build_calculation_section,
    list_postings,
    list_reasons,
)
from affiliate_site.backoffice.formatters import (
    REMOVED,
    Label,
    format_datetime,
    format_key_values,
    format_labels,
    format_money,
)
from affiliate_site.backoffice.list_urls import build_changelist_url
from affiliate_site.backoffice.object_pages import (
    Details,
    Section,
    build_history,
    link_to,
)
from affiliate_site.backoffice.payouts.payout_texts import (
    CANCELED,
    COMMISSION_STATUSES,
    find_line_states,
    get_paid_status,
)
from affiliate_site.columns import Column, list_places
from payouts.explanation import (
    DISPUTE_TEXT,
    WARNING_TEXTS,
    describe_rejection,
)
from payouts.services.explanation import explain_conversion
from tracking.attribution import IMPORT, STAFF
from tracking.claims import (
    ClaimStatus,
    Trust,
)
from tracking.money import ZERO

REFUNDED, PARTLY_REFUNDED = Label("refunded", "danger"), Label("partly refunded", "warning")
CONTESTED, DISPUTED = Label("contested", "danger"), Label("disputed", "danger")
PARAMETER_NAMES = {
    "customer": "Customer",
    "coupon": "Coupon",
    "referral_code": "Referral code",
    "click_id": "Click",
    "asset_id": "Affiliate and program",
    "tracking_id": "Tracking ID",
    "claim": "Claim of a page",
    "staff": "Staff",
}
CLAIM_STATUS_TEXTS = {
    ClaimStatus.OPEN: "a page, not confirmed yet",
    ClaimStatus.REVIEWED: "a page, decided by staff or an API key",
}


def get_conversion_details(request, conversion) -> Details:
    """Amount and state, attribution, calculation, and history."""
    explanation = explain_conversion(conversion.account, conversion_id=conversion.pk)
    commissions = list(
        conversion.account.commissions.select_related("affiliate", "payment").filter(
            conversion=conversion
        )
    )
    states = find_line_states(commissions)
    by_id = {commission.pk: commission for commission in commissions}
    labels = [COMMISSION_STATUSES[it.status] for it in commissions if not it.deleted_at]
    labels += [get_paid_status(states.get(it.pk)) for it in commissions if it.payment_id]
    refunds = list(conversion.account.refunds.filter(conversion=conversion))
    if conversion.deleted_at:
        is_refunded = any(refund.is_full for refund in refunds)
        labels = [REFUNDED if is_refunded else REMOVED]
    elif not all(refund.canceled_at for refund in refunds):
        labels.append(PARTLY_REFUNDED)
    if conversion.is_contested and not conversion.deleted_at:
        labels.append(CONTESTED)
    if conversion.disputed_at and not conversion.deleted_at:
        labels.append(DISPUTED)
    return Details(
        headline=format_money(conversion.amount, conversion.currency),
        labels=list(dict.fromkeys(labels)),
        is_removed=conversion.deleted_at is not None,
        sections=[
            Section("Sale", facts=list_conversion_facts(request, conversion, refunds)),
            build_attribution_section(explanation.attribution, conversion),
            *(
                build_attribution_section(each, conversion, "Earlier attribution")
                for each in explanation.earlier_attributions
            ),
            *list_claim_sections(conversion),
            *list_refund_sections(request, refunds, by_id),
            build_calculation_section(explanation, by_id, conversion, states),
            build_history(
                request,
                [conversion, *commissions],
                [
                    *list_postings(conversion.account, commissions),
                    *list_reasons(conversion),
                ],
            ),
        ],
    )


def list_conversion_facts(request, conversion, refunds) -> list[tuple[str, Any]]:
    """What a conversion says about itself; empty values are left out by the page."""
    left = ZERO if conversion.deleted_at else conversion.amount
    before = left + sum(each.amount for each in refunds)
    return [
        (
            "Before refunds",
            before != left and format_money(before, conversion.currency),
        ),
        ("Order ID", conversion.external_id),
        ("Affiliate", link_to(conversion.affiliate)),
        ("Program", link_to(conversion.program, conversion.program.title)),
        ("Customer", link_to(conversion.customer, get_customer_label(conversion))),
        ("Click", link_to(conversion.click)),
        ("Created", format_datetime(conversion.created_at)),
        ("Removed", format_datetime(conversion.deleted_at)),
        ("Reported by", describe_reporter(request, conversion)),
        ("Shop", link_shop_orders(conversion)),
        ("Disputed", describe_dispute(conversion)),
        ("Risk indicators", list_risk_indicators(conversion)),
        ("Metadata", conversion.meta_data and format_key_values(conversion.meta_data)),
        ("IP address", conversion.ip),
        ("User agent", conversion.user_agent),
    ]


def describe_reporter(request, conversion) -> str:
    """Who reported the sale; for a confirmed claim, who confirmed it."""
    if conversion.claim_status:
        return CLAIM_STATUS_TEXTS[conversion.claim_status]
    entries = conversion.account.audit_log.filter(
        kind__in=["conversion.created", "conversion.confirmed"],
        subject=f"conversion:{conversion.pk}",
    ).order_by("id")
    entry = entries.last()
    if entry is None:
        return ""
    actor = describe_actor(entry.actor, find_names(request.user, [entry]))
    is_created = entry.kind == "conversion.created"
    return actor if is_created else format_html("a page, confirmed by {}", actor)


def link_shop_orders(conversion) -> str:
    """`Stripe, invoice in_1, renewal 3`, linked to the events of the order."""
    orders = conversion.account.shop_orders.filter(conversion=conversion)
    events = build_changelist_url("tracking_shopevent")
    return format_html_join(
        "\n",
        '<a class="details-link" href="{}?order_id={}">{}</a>',
        (
            (events, order.pk, ", ".join(filter(None, [shop, order.label])))
            for order in orders.select_related("connection").order_by("id")
            for shop in [order.connection.name]
        ),
    )


def describe_dispute(conversion) -> str:
    """Since when the shop has an open dispute, and what that means."""
    if conversion.disputed_at is None:
        return ""
    return f"Since {format_datetime(conversion.disputed_at)}: {DISPUTE_TEXT}"


def get_customer_label(conversion) -> str:
    """The account's ID of the customer, or ours once it is deleted; "" without one."""
    customer = conversion.customer
    return (customer.customer_id or customer.public_id) if customer else ""


def list_risk_indicators(conversion) -> str:
    text = format_warnings(conversion.warnings)
    if not conversion.is_contested:
        return text
    link = '{} (<a class="details-link" href="{}">compare the claims</a>)'
    return format_html(link, text, build_claims_url(conversion))


def build_claims_url(conversion) -> str:
    url = reverse("admin:tracking_conversionclaim_changelist")
    return f"{url}?conversion_id={conversion.pk}"


def format_warnings(warnings) -> str:
    """The warnings of a row in words."""
    return " ".join(WARNING_TEXTS.get(each, each) for each in warnings or ())


def build_attribution_section(attribution, conversion, title="Attribution") -> Section:
    """All candidates: the winner, and why the others lost."""
    winner = attribution["winner"]
    reasons = {
        rejected["parameter"]: describe_rejection(rejected, attribution)
        for rejected in attribution["rejected_candidates"]
    }
    notes = []
    if attribution["trust"] == Trust.CLAIM:
        confirmed = "" if conversion.claim_status else ", and confirmed later"
        notes.append(f"Reported by a page without a signature: a claim{confirmed}.")
    if winner["parameter"] == STAFF:
        notes.append("Attributed by staff.")
    if winner["parameter"] == IMPORT:
        notes.append("Imported; attribution as the source decided.")
    if attribution["expired_by"]:
        notes.append(f"The cookie expired by {attribution['expired_by']}; its age was ignored.")
    rows = []
    for candidate in attribution["candidates"]:
        parameter = candidate["parameter"]
        name = PARAMETER_NAMES.get(parameter, parameter)
        result = capfirst(reasons.get(parameter, "leads to no affiliate"))
        if parameter == winner["parameter"]:
            result = format_html("<strong>{}</strong>", "Wins")
        rows.append(
            (
                f"{name} (a claim)" if candidate.get("is_claim") else name,
                candidate["value"],
                candidate["affiliate"] or "No affiliate",
                result,
            )
        )
    columns = list_places("Sent", "Value", "Affiliate", "Result")
    return Section(title, notes=notes, columns=columns, rows=rows)


def list_claim_sections(conversion) -> list[Section]:
    """The claims of an order that several visitors have reported, with the outcome."""
    claims = conversion.account.conversion_claims.filter(conversion=conversion)
    rows = list(claims.select_related("affiliate").order_by("id"))
    columns = (
        Column("Claim", link_to),
        Column("Affiliate", lambda it: link_to(it.affiliate)),
        Column("Amount", lambda it: format_money(it.amount, it.currency), is_amount=True),
        Column("Reported", lambda it: format_datetime(it.created_at)),
        Column("Outcome", show_claim_outcome),
    )
    return [Section("Claims of this order", columns=columns, rows=rows)] if rows else []


def list_refund_sections(request, refunds, commissions) -> list[Section]:
    """The refunds of a sale: when, how much, of which lines, why, and by whom."""
    if not refunds:
        return []
    names = find_names(request.user, [], [each.actor for each in refunds])
    columns = (
        Column("Time", lambda it: format_datetime(it.created_at)),
        Column(
            "Amount",
            lambda it: (
                format_labels([CANCELED])
                if it.canceled_at
                else format_money(it.amount, it.currency)
            ),
            is_amount=True,
        ),
        Column("What", lambda it: describe_refund(it, commissions)),
        Column("Reason", lambda it: it.reason),
        Column("Who", lambda it: describe_actor(it.actor, names)),
    )
    rows = sorted(refunds, key=lambda each: each.pk)
    return [Section("Refunds", columns=columns, rows=rows)]


def describe_refund(refund, commissions) -> str:
    """`Everything that was left`, or the amount of each line; when it was canceled."""
    if refund.canceled_at:
        return f"The shop canceled it {format_datetime(refund.canceled_at)}"
    if refund.is_full:
        return "Everything that was left"
    return "\n".join(
        f"{format_money(Decimal(line['amount']), refund.currency)} of commission"
        f" {line['commission']}, {name_line(commissions[line['commission']])}"
        for line in refund.lines
    )


def name_sale(conversion) -> str:
    """`sale ORDER-1 (291)`: by the shop's order ID and ours, which the page shows."""
    order, pk = conversion.external_id, conversion.pk
    return f"sale {order} ({pk})" if order else f"sale {pk}"


def name_line(commission) -> str:
    """`Standard: lamp`: the type of a line, and what was sent as its comment."""
    return ": ".join(filter(None, (commission.name, commission.comment)))


def get_claim_outcome(claim) -> Label:
    """What became of a claim."""
    if claim.confirmed_at:
        return Label("confirmed", "success")
    if claim.decided_at:
        return Label("rejected", "danger")
    return Label("waiting, reported first" if claim.is_original else "waiting", "warning")


def show_claim_outcome(claim) -> str:
    return format_labels([get_claim_outcome(claim)])
