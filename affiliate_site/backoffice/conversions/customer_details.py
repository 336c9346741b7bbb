"""The page of a customer and its timeline."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from django.urls import reverse
from django.utils.html import format_html, format_html_join

from affiliate_site.backoffice.audit_sentences import find_names, render_action
from affiliate_site.backoffice.conversions.conversion_details import format_warnings
from affiliate_site.backoffice.formatters import (
    REMOVED,
    Label,
    build_labels,
    format_datetime,
    format_key_values,
    format_money,
)
from affiliate_site.backoffice.list_urls import build_changelist_url
from affiliate_site.backoffice.object_pages import (
    LINK_TEMPLATE,
    Details,
    Section,
    link_to,
)
from affiliate_site.backoffice.payouts.payout_texts import (
    find_line_states,
    get_payment_status,
)
from affiliate_site.columns import Column
from payouts.models.runs import PayoutLineState
from payouts.services.customer_orders import CustomerOrders, list_customer_orders
from payouts.services.explanation import list_allocations, list_histories
from tracking.models.customers import CustomerStatus

STATUSES = build_labels(
    {
        CustomerStatus.NEW: "",
        CustomerStatus.TRIAL: "info",
        CustomerStatus.LEAD: "",
        CustomerStatus.PAYING: "success",
        CustomerStatus.CANCELED: "danger",
    }
)
RENEWALS_NOTE = "Renewals are all orders after the first one. Removed orders do not count."
MAX_CONVERSIONS = 100  # per page, the newest


@dataclass(frozen=True)
class TimelineEntry:
    """An event with its time, and its text with links to rows."""

    at: datetime
    html: str


def list_timeline_entries(request, customer) -> list[TimelineEntry]:
    """All events of a customer, oldest first; at the same time, causes come first."""
    account = customer.account
    newest_first = account.conversions.filter(customer=customer).order_by("-id")
    conversions = list(newest_first[: MAX_CONVERSIONS + 1])
    has_more = len(conversions) > MAX_CONVERSIONS
    conversions = conversions[:MAX_CONVERSIONS][::-1]
    commissions = list_commissions(account, conversions)
    histories = list_histories(account, commissions)
    allocations = list_allocations(account, commissions)
    payments = [it.payment for rows in allocations.values() for it in rows]
    states = find_line_states(payments)
    entries = [*list_click_entries(customer), *list_status_entries(request, customer)]
    refunds: dict[int, dict] = defaultdict(dict)  # of each conversion, by their times
    for refund in account.refunds.filter(conversion__in=conversions).order_by("id"):
        refunds[refund.conversion_id][refund.created_at] = refund
    for conversion in conversions:
        entries += list_conversion_entries(conversion, refunds[conversion.pk])
    for commission in commissions:
        entries += list_commission_entries(
            commission,
            histories[commission.pk],
            allocations[commission.pk],
            states,
            refunds[commission.conversion_id],
        )
    entries.sort(key=lambda entry: entry.at)
    if has_more:
        notice = render_older_conversions_notice(customer)
        entries.insert(0, TimelineEntry(entries[0].at, notice))
    return entries


def list_commissions(account, conversions) -> list:
    conversion_ids = [conversion.pk for conversion in conversions]
    rows = account.commissions.filter(conversion__in=conversion_ids)
    return list(rows.select_related("affiliate").order_by("id"))


def list_click_entries(customer) -> list[TimelineEntry]:
    """The click that led to the customer."""
    click = customer.click
    if click is None:
        return []
    html = format_html("{} {}", link_to(click, "click"), click.landing_page or "")
    return [TimelineEntry(click.created_at, html)]


def list_status_entries(request, customer) -> list[TimelineEntry]:
    """The audit log entries of the customer, as sentences."""
    subject = f"{customer._meta.model_name}:{customer}"
    found = list(customer.account.audit_log.filter(subject=subject).order_by("id"))
    names = find_names(request.user, found)
    return [
        TimelineEntry(
            entry.created_at,
            render_action(entry, names, subject="this customer"),
        )
        for entry in found
    ]


def list_conversion_entries(conversion, refunds) -> list[TimelineEntry]:
    """The creation of a conversion, its refunds, and its deletion if it is deleted."""
    link = link_to(conversion, f"conversion {conversion}")
    amount = format_money(conversion.amount, conversion.currency)
    entries = [TimelineEntry(conversion.created_at, format_html("{} {}", link, amount))]
    for refund in refunds.values():
        refunded = format_money(refund.amount, refund.currency)
        text = format_html("refunded {} of {}", refunded, link)
        if refund.canceled_at:
            text = format_html("a refund of {}, which was canceled", link)
        entries.append(TimelineEntry(refund.created_at, text))
    if conversion.deleted_at and conversion.deleted_at not in refunds:
        entries.append(TimelineEntry(conversion.deleted_at, format_html("removed {}", link)))
    return entries


def list_commission_entries(
    commission, history, allocations, states, refunds
) -> list[TimelineEntry]:
    """The creation of a commission, its changes, its payments and its deletion."""
    link = link_to(commission, f"commission {commission.pk}")
    first, *_ = history
    created = format_html(
        "{} {} for {}: {}",
        link,
        format_money(first.amount, commission.currency),
        commission.affiliate,
        first.status,
    )
    entries = [TimelineEntry(commission.created_at, created)]
    for previous, state in pairwise(history):
        changes = []
        if state.status != previous.status:
            is_refunded = state.at in refunds and state.status == "disapproved"
            changes.append("refunded" if is_refunded else str(state.status))
        if state.amount != previous.amount:
            changes.append(format_money(state.amount, commission.currency))
        entries.append(TimelineEntry(state.at, format_html("{} {}", link, ", ".join(changes))))
    released_at = [
        state.at for previous, state in pairwise(history) if state.status != previous.status
    ]
    if commission.deleted_at:
        released_at.append(commission.deleted_at)
    for allocation in allocations:
        entries += list_payment_entries(
            allocation.payment, states.get(allocation.payment_id), link, released_at
        )
    if commission.deleted_at:
        deleted = format_html("{} removed with its conversion", link)
        entries.append(TimelineEntry(commission.deleted_at, deleted))
    return entries


def list_payment_entries(payment, state, commission_link, released_at) -> list[TimelineEntry]:
    """The payment of a commission, and its cancellation.

    The cancellation is left out if a status change or the deletion of the commission
    (at one of the times `released_at`) has released the commission before.
    """
    payment_link = link_to(payment, str(payment))
    text = "{} sent by {}" if state == PayoutLineState.UNKNOWN else "{} paid by {}"
    paid = format_html(text, commission_link, payment_link)
    entries = [TimelineEntry(payment.created_at, paid)]
    canceled_at = payment.canceled_at
    if canceled_at and not any(payment.created_at < at < canceled_at for at in released_at):
        canceled = format_html(
            "{} unpaid: payment {} was {}",
            commission_link,
            payment_link,
            get_payment_status(payment, state),
        )
        entries.append(TimelineEntry(canceled_at, canceled))
    return entries


def render_older_conversions_notice(customer) -> str:
    """A notice that the page is limited, with a link to all conversions."""
    text = f"Showing the newest {MAX_CONVERSIONS} conversions"
    if not customer.customer_id:  # deleted: no list finds its conversions by it
        return text
    url = build_changelist_url("tracking_conversion", q=customer.customer_id)
    return format_html("{}: {}", text, format_html(LINK_TEMPLATE, url, "show all"))


def get_customer_status(customer) -> Label:
    return REMOVED if customer.deleted_at else STATUSES[customer.status]


def get_customer_details(request, customer) -> Details:
    """Facts, and everything that happened."""
    meta_data = customer.meta_data
    return Details(
        headline=customer.customer_id or customer.public_id,
        labels=[get_customer_status(customer)],
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
                    ("Removed", format_datetime(customer.deleted_at)),
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
            *list_order_sections(customer),
            Section("Timeline", lines=render_timeline(request, customer)),
        ],
    )


def link_to_affiliate(row: CustomerOrders) -> str:
    url = reverse("admin:tracking_affiliate_change", args=[row.affiliate_pk])
    return format_html(LINK_TEMPLATE, url, row.affiliate_id)


def list_order_sections(customer) -> list[Section]:
    """What the customer has ordered, by affiliate and currency; none without orders."""
    rows = list_customer_orders(customer)
    columns = (
        Column("Affiliate", link_to_affiliate),
        Column("Orders", lambda row: f"{row.orders:,}", is_amount=True),
        Column("Renewals", lambda row: f"{row.renewals:,}", is_amount=True),
        Column("Revenue", lambda row: format_money(row.revenue, row.currency), is_amount=True),
        Column("First order", lambda row: format_datetime(row.first)),
        Column("Last order", lambda row: format_datetime(row.last)),
    )
    return [Section("Orders", columns, rows, [RENEWALS_NOTE])] if rows else []


def render_timeline(request, customer) -> str:
    """The click, status changes, conversions and commissions, oldest first."""
    return format_html_join(
        "",
        '<div class="backoffice-lines">{} {}</div>',
        (
            (format_datetime(entry.at, timespec="seconds"), entry.html)
            for entry in list_timeline_entries(request, customer)
        ),
    )
