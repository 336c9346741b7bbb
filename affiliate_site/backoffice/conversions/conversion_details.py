"""What the pages of a conversion and of a commission show."""

import re
from decimal import Decimal
from typing import Any

from django.urls import reverse
from django.utils.html import format_html, format_html_join

from accounts.exact_json import format_decimal
from affiliate_site.backoffice.audit_sentences import describe_actor, find_names
from affiliate_site.backoffice.conversions.customer_timeline import (
    list_timeline_entries,
)
from affiliate_site.backoffice.details import (
    Column,
    Details,
    Section,
    build_history,
    label_status,
    link_to,
)
from affiliate_site.backoffice.effect_tables import LEDGER_ACCOUNT_NAMES
from affiliate_site.backoffice.formatters import (
    describe_recurring,
    format_datetime,
    format_key_values,
    format_money,
)
from affiliate_site.backoffice.payouts.payout_texts import get_payout_text
from payouts.calculation import PAST_CAP_REASON
from payouts.explanation import (
    WARNING_TEXTS,
    translate_reason,
    translate_rejection,
)
from payouts.models.commissions import Commission, CommissionKind, CommissionStatus
from payouts.services.calculation_input import list_conversions_in_cap
from payouts.services.commission_history import list_allocations, list_paid_amounts
from payouts.services.explanation import explain_commission, explain_conversion
from tracking.claims import (
    ClaimStatus,
    Trust,
)
from tracking.money import ZERO

PARAMETER_NAMES = {
    "customer": "Customer",
    "coupon": "Coupon",
    "referral_code": "Referral code",
    "click_id": "Click",
    "asset_id": "Affiliate and program",
    "tracking_id": "Tracking ID",
    "claim": "Claim of a page",
}
CLAIM_STATUS_TEXTS = {
    ClaimStatus.OPEN: "a page, not confirmed yet",
    ClaimStatus.REVIEWED: "a page, decided by staff or an API key",
}
MAX_LISTED_CONVERSIONS = 20
COVERED_NOTE = (
    "Less than this is due: earlier payments left something over, which counts toward"
    " it. The balance has the sum."
)
# The beginning of the source of a rate that a group has.
GROUP_SOURCE_PATTERN = re.compile(r"group (\S+)")
CALCULATION_COLUMNS = (
    Column("ID"),
    Column("Affiliate"),
    Column("Rate"),
    Column("Calculation"),
    Column("Rounded to", is_amount=True),
    Column("Commission", is_amount=True),
    Column("Status"),
)


def get_conversion_details(request, conversion) -> Details:
    """Amount and state, attribution, calculation, and history."""
    explanation = explain_conversion(conversion.account, conversion_id=conversion.pk)
    commissions = list(
        conversion.account.commissions.select_related("affiliate", "payment").filter(
            conversion=conversion
        )
    )
    by_id = {commission.pk: commission for commission in commissions}
    explained = explanation.commissions
    labels = [label_status(each.status) for each in commissions if not each.deleted_at]
    labels += [("paid", "info") for each in commissions if each.payment_id]
    if conversion.deleted_at:
        labels = [("removed", "danger")]
    elif conversion.is_contested:
        labels.append(("contested", "danger"))
    return Details(
        headline=format_money(conversion.amount, conversion.currency),
        labels=list(dict.fromkeys(labels)),
        is_removed=conversion.deleted_at is not None,
        sections=[
            Section("Sale", facts=list_conversion_facts(request, conversion)),
            build_attribution_section(explanation.attribution, conversion),
            *list_claim_sections(conversion),
            build_calculation_section(explanation, by_id, conversion),
            build_history(
                request,
                [conversion, *commissions],
                [
                    posting
                    for each in explained
                    for posting in list_postings(each, by_id[each["id"]])
                ],
            ),
        ],
    )


def list_conversion_facts(request, conversion) -> list[tuple[str, Any]]:
    """What a conversion says about itself; empty values are left out by the page."""
    return [
        ("Order ID", conversion.external_id),
        ("Affiliate", link_to(conversion.affiliate)),
        ("Program", link_to(conversion.program, conversion.program.title)),
        ("Customer", link_to(conversion.customer, get_customer_label(conversion))),
        ("Click", link_to(conversion.click)),
        ("Created", format_datetime(conversion.created_at)),
        ("Removed", conversion.deleted_at and format_datetime(conversion.deleted_at)),
        ("Reported by", describe_reporter(request, conversion)),
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
    actor = describe_actor(entry, find_names(request.user, [entry]))
    is_created = entry.kind == "conversion.created"
    return actor if is_created else f"a page, confirmed by {actor}"


def get_customer_label(conversion) -> str:
    """The account's ID of the customer, or ours once it is deleted; "" without one."""
    customer = conversion.customer
    return (customer.customer_id or customer.public_id) if customer else ""


def list_risk_indicators(conversion) -> str:
    """The warnings in words, with the claims of a contested conversion."""
    text = format_warnings(conversion.warnings)
    if not conversion.is_contested:
        return text
    url = reverse("admin:tracking_conversionclaim_changelist")
    link = f"{url}?conversion_id={conversion.pk}"
    return format_html('{} (<a href="{}">compare the claims</a>)', text, link)


def format_warnings(warnings) -> str:
    """The warnings of a row in words."""
    return " ".join(WARNING_TEXTS.get(each, each) for each in warnings or ())


def build_attribution_section(attribution, conversion) -> Section:
    """All candidates: the winner, and why the others lost."""
    winner = attribution["winner"]
    reasons = {
        loser["clue"]: translate_rejection(loser["reason"], attribution)
        for loser in attribution["losers"]
    }
    notes = []
    if attribution["trust"] == Trust.CLAIM:
        confirmed = "" if conversion.claim_status else ", and confirmed later"
        notes.append(f"Reported by a page without a signature: a claim{confirmed}.")
    if attribution["late_by"]:
        notes.append(
            f"The cookie expired by {attribution['late_by']}; its age was ignored."
        )
    rows = []
    for candidate in attribution["clues"]:
        parameter = candidate["clue"]
        name = PARAMETER_NAMES.get(parameter, parameter)
        result = reasons.get(parameter, "leads to no affiliate")
        if parameter == winner["clue"]:
            result = format_html("<strong>{}</strong>", "wins")
        rows.append(
            (
                f"{name} (a claim)" if candidate.get("is_claim") else name,
                candidate["value"],
                candidate["affiliate"] or "no affiliate",
                result,
            )
        )
    columns = ("Sent", "Value", "Affiliate", "Result")
    return Section(
        "Attribution",
        notes=notes,
        columns=[Column(title) for title in columns],
        rows=rows,
    )


def list_claim_sections(conversion) -> list[Section]:
    """The claims of an order that several visitors have reported, with the outcome."""
    claims = conversion.account.conversion_claims.filter(conversion=conversion)
    rows = [
        (
            link_to(claim),
            link_to(claim.affiliate),
            format_money(claim.amount, claim.currency),
            format_datetime(claim.created_at),
            describe_claim_outcome(claim),
        )
        for claim in claims.select_related("affiliate").order_by("id")
    ]
    if not rows:
        return []
    columns = (
        Column("Claim"),
        Column("Affiliate"),
        Column("Amount", is_amount=True),
        Column("Reported"),
        Column("Outcome"),
    )
    return [Section("Claims of this order", columns=columns, rows=rows)]


def describe_claim_outcome(claim) -> str:
    """What became of a claim."""
    if claim.confirmed_at:
        return "confirmed"
    if claim.decided_at:
        return "rejected"
    return "waiting, reported first" if claim.is_original else "waiting"


def build_calculation_section(explanation, by_id, conversion) -> Section:
    """Each commission with its rate, where the rate is from, and the rounding."""
    notes = [
        note
        for each in explanation.commissions
        for note in list_calculation_notes(each, by_id[each["id"]])
    ]
    groups = (
        list_group_titles(explanation.commissions, next(iter(by_id.values())).account)
        if by_id
        else {}
    )
    verified = [
        "Verified: attribution and calculation give the same result",
        *explanation.differences,
    ]
    if explanation.differences:
        verified[0] = "Verification failed: a repetition gives another result"
    return Section(
        "Calculation",
        notes=list_amount_notes(conversion, by_id.values()),
        columns=CALCULATION_COLUMNS,
        rows=[
            build_calculation_row(each, by_id[each["id"]], groups)
            for each in explanation.commissions
        ],
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
        if each["born"]["reason"] == PAST_CAP_REASON
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
        if row.kind == CommissionKind.REGULAR
        and row.deleted_at in (None, conversion.deleted_at)
    ]
    total = sum((row.sub_amount or ZERO for row in rows), ZERO)
    if not rows or total == conversion.amount:
        return []
    replaced = [row.deleted_at for row in commissions if row.deleted_at]
    reported = min(row.created_at for row in commissions)
    # A fact about the sale replaces the commissions of a claim.
    base = reported if conversion.deleted_at else max(replaced, default=reported)
    added = [row for row in rows if row.created_at > base]
    added_total = sum((row.sub_amount or ZERO for row in added), ZERO)
    reasons = []
    if total - added_total != conversion.amount:
        reasons.append("its amount was changed, and they were kept")
    if added:
        reasons.append("a commission was added")
    reason = "; ".join(reasons)
    base, amount = (
        format_money(each, conversion.currency) for each in (total, conversion.amount)
    )
    return [
        f"The commissions are calculated from {base}, the sale is {amount}: {reason}."
        " See History."
    ]


def list_group_titles(explained, account) -> dict[str, str]:
    """Map the IDs of the groups whose rates were used to their titles."""
    sources = (GROUP_SOURCE_PATTERN.match(each["rate"]["from"]) for each in explained)
    ids = {match[1] for match in sources if match}
    if not ids:
        return {}
    groups = account.affiliate_groups.filter(public_id__in=ids)
    return dict(groups.values_list("public_id", "title"))


def build_calculation_row(
    commission: dict[str, Any], row: Commission, groups: dict[str, str]
) -> tuple[Any, ...]:
    """One step: the rate and its source, the exact product, the rounded amount."""
    rate, currency = commission["rate"], commission["currency"]
    value = format_decimal(Decimal(rate["value"]))
    is_percentage = rate["kind"] == "percentage"
    factor = f"{value} %" if is_percentage else f"{value} {currency} fixed"
    url = reverse("admin:payouts_commission_change", args=[commission["id"]])
    exact = format_decimal(commission["exact"])
    sub_amount = commission["sub_amount"]
    product = (
        f"{format_decimal(sub_amount)} at {value} % = {exact}"
        if is_percentage and sub_amount is not None
        else exact
    )
    return (
        format_html(
            '<a class="details-link" href="{}">{}</a> ({})',
            url,
            commission["id"],
            commission["commission_type"],
        ),
        commission["affiliate"],
        f"{factor} ({format_source(rate['from'], groups)})",
        product,
        "set by hand"
        if commission["set_by_hand"]
        else format_money(commission["amount"], currency),
        format_money(commission["amount"], currency),
        format_commission_status(row),
    )


def format_commission_status(commission) -> str:
    """The status, with the payment that pays the commission."""
    if commission.deleted_at:
        return "removed"
    if commission.payment is None:
        return commission.status
    paid_by = link_to(commission.payment)
    return format_html("{}, paid by {}", commission.status, paid_by)


def format_source(source: str, groups: dict[str, str]) -> str:
    """Where a rate is from; groups by their titles, while they exist."""
    return GROUP_SOURCE_PATTERN.sub(
        lambda match: f"group {groups.get(match[1], match[1])}", source
    )


def list_calculation_notes(explained: dict[str, Any], commission) -> list[str]:
    """Why it began as it did, who was skipped, and its comment."""
    initial = explained["born"]
    name = f"Commission {commission}"
    notes = [
        f"{name}: {initial['status']} at first, because"
        f" {translate_reason(initial['reason'])}"
    ]
    notes += [
        f"{name}: level {skipped['level']} skipped {skipped['affiliate']},"
        f" {translate_reason(skipped['reason'])}"
        for skipped in explained["passed_over"]
    ]
    if commission.comment:
        notes.append(f"{name}: {commission.comment}")
    return notes


def list_postings(explained: dict[str, Any], commission):
    """The transfers of a commission with their times."""
    for transfer in explained["transfers"]:
        source, target = (
            LEDGER_ACCOUNT_NAMES[transfer[side]] for side in ("from", "to")
        )
        amount = format_money(transfer["amount"], commission.currency)
        yield (
            transfer["created_at"],
            format_html(
                "{}: {} → {} ({})",
                amount,
                source,
                target,
                link_to(commission, f"commission {commission}"),
            ),
        )


def get_commission_details(request, commission: Commission) -> Details:
    """Amount and state, what pays it, its calculation, and its history."""
    explained = explain_commission(commission)
    labels = [label_status(commission.status)]
    if commission.payment_id:
        labels.append(("paid", "info"))
    if commission.deleted_at:
        labels = [("removed", "danger")]
    allocations = list_allocations(commission.account, [commission])[commission.pk]
    payments = [
        (
            allocation.payment.created_at,
            format_html("paid by {}", link_to(allocation.payment)),
        )
        for allocation in allocations
    ]
    conversion = commission.conversion
    return Details(
        headline=format_money(commission.amount, commission.currency),
        labels=labels,
        is_removed=commission.deleted_at is not None,
        sections=[
            Section(
                "Commission",
                facts=[
                    ("Affiliate", link_to(commission.affiliate)),
                    (
                        "Conversion",
                        link_to(conversion, conversion and conversion.external_id),
                    ),
                    (
                        "Sale",
                        conversion
                        and format_money(conversion.amount, conversion.currency),
                    ),
                    (
                        "Program",
                        conversion
                        and link_to(conversion.program, conversion.program.title),
                    ),
                    ("Type", f"{commission.name} ({commission.kind})"),
                    ("Follows", link_to(commission.base_commission)),
                    ("Bonus", commission.bonus and commission.bonus.title),
                    ("Period from", commission.period_start),
                    ("Comment", format_comment(commission)),
                    ("Created", format_datetime(commission.created_at)),
                    (
                        "Final since",
                        commission.finalized_at
                        and format_datetime(commission.finalized_at),
                    ),
                ],
            ),
            Section(
                "Calculation",
                columns=CALCULATION_COLUMNS,
                rows=[
                    build_calculation_row(
                        explained,
                        commission,
                        list_group_titles([explained], commission.account),
                    )
                ],
                facts=[
                    (
                        "First status",
                        f"{explained['born']['status']}, because"
                        f" {translate_reason(explained['born']['reason'])}",
                    )
                ],
            ),
            build_payment_section(commission),
            build_history(
                request,
                [commission],
                [*list_postings(explained, commission), *payments],
            ),
        ],
    )


def format_comment(commission) -> str:
    """The comment; that of a page must not look like one of staff."""
    conversion, comment = commission.conversion, commission.comment
    if comment and conversion and conversion.claim_status == ClaimStatus.OPEN:
        return f"A page sent: {comment}"
    return comment or ""


def build_payment_section(commission) -> Section:
    """What pays a commission, and how."""
    payment = commission.payment
    if payment is None:
        row = commission.account.ledger_accounts.filter(
            kind="payable",
            affiliate=commission.affiliate_id,
            currency=commission.currency,
        ).first()
        balance = row.balance if row else ZERO
        is_due = (
            commission.status == CommissionStatus.APPROVED
            and commission.deleted_at is None
        )
        notes = ["Not paid."]
        if is_due and balance < commission.amount:
            notes.append(COVERED_NOTE)
        due = format_money(balance, commission.currency)
        return Section(
            "Payment",
            notes=notes,
            facts=[
                (
                    "Balance due to the affiliate",
                    link_to(row, due) if balance or is_due else "",
                )
            ],
        )
    amounts = list_paid_amounts(commission.account, [commission], payment.created_at)
    amount_when_paid = amounts[commission.pk]
    return Section(
        "Payment",
        facts=[
            ("Paid by", link_to(payment)),
            ("Amount of the payment", format_money(payment.amount, payment.currency)),
            (
                "Commission when paid",
                amount_when_paid != commission.amount
                and format_money(amount_when_paid, commission.currency),
            ),
            ("On", format_datetime(payment.created_at)),
            ("Primary payout method today", get_payout_text(payment)),
        ],
    )


def get_customer_details(customer) -> Details:
    """Facts, and everything that happened."""
    labels = [(customer.status, "")]
    if customer.deleted_at:
        labels = [("removed", "danger")]
    meta_data = customer.meta_data
    return Details(
        headline=customer.customer_id or customer.public_id,
        labels=labels,
        is_removed=customer.deleted_at is not None,
        sections=[
            Section(
                "Customer",
                facts=[
                    ("ID", customer.public_id),
                    ("Affiliate", link_to(customer.affiliate)),
                    ("Program", link_to(customer.program, customer.program.title)),
                    ("Click", link_to(customer.click)),
                    ("Created", format_datetime(customer.created_at)),
                    (
                        "Removed",
                        customer.deleted_at and format_datetime(customer.deleted_at),
                    ),
                    (
                        "Reported by",
                        "" if customer.is_confirmed else "a page, not confirmed yet",
                    ),
                    ("Risk indicators", format_warnings(customer.warnings)),
                    ("Metadata", meta_data and format_key_values(meta_data)),
                    ("IP address", customer.ip),
                    ("User agent", customer.user_agent),
                ],
            ),
            Section("Timeline", lines=render_timeline(customer)),
        ],
    )


def render_timeline(customer) -> str:
    """The click, status changes, conversions and commissions, oldest first."""
    return format_html_join(
        "",
        '<div class="backoffice-lines">{} {}</div>',
        (
            (format_datetime(entry.at, timespec="seconds"), entry.html)
            for entry in list_timeline_entries(customer)
        ),
    )
