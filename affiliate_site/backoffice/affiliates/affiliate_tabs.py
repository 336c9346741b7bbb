"""The tabs of the page of an affiliate."""

from collections.abc import Sequence
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from affiliate_site.backoffice.affiliates.notes import find_authors
from affiliate_site.backoffice.audit_sentences import describe_actor, find_names, render_action
from affiliate_site.backoffice.formatters import (
    REMOVED,
    format_datetime,
    format_labels,
    format_money,
)
from affiliate_site.backoffice.lists.columns import AMOUNT, build_status_column
from affiliate_site.backoffice.object_pages import RowPage
from affiliate_site.backoffice.payouts.payout_texts import (
    find_line_states,
    get_commission_status,
    get_payment_status,
    load_line_states,
)
from affiliate_site.backoffice.theme import get_object_url
from affiliate_site.columns import Column, Table, load_columns
from payouts.models.runs import PayoutLineState

MAX_PROGRAMS = 50  # on the page
LINE_BREAK = SafeString("<br>")
TABS = {
    "programs": "Programs and links",
    "conversions": "Conversions",
    "commissions": "Commissions",
    "payments": "Payments",
    "notes": "Notes",
    "activity": "Activity",
}


CREATED = Column(
    "Created",
    lambda row: format_html(
        '<span class="backoffice-nowrap">{}</span>', format_datetime(row.created_at)
    ),
)


def link_in_tab(row, text: Any) -> str:
    return format_html('<a class="underline" href="{}">{}</a>', get_object_url(row), text)


def link_to_order(conversion) -> str:
    return link_in_tab(conversion, conversion.external_id or conversion.pk)


def link_to_payment(commission, state) -> str:
    """What pays a commission; empty without a payment."""
    if commission.payment is None:
        return ""
    text = "On its way" if state == PayoutLineState.UNKNOWN else "Paid"
    by = format_html('{}<span class="visually-hidden"> by {}</span>', text, commission.payment)
    return link_in_tab(commission.payment, by)


def find_earned(request, conversions) -> dict[int, str]:
    """What the affiliate earns from its conversions, with the statuses."""
    if not conversions:
        return {}
    commissions = (
        conversions[0]
        .account.commissions.not_deleted()
        .filter(
            affiliate=conversions[0].affiliate_id, conversion__in=[row.pk for row in conversions]
        )
    )
    found = list(commissions.order_by("id"))
    states = find_line_states(found)
    earned: dict[int, list] = {}
    for each in found:
        status = format_labels([get_commission_status(each, states.get(each.pk))])
        earned.setdefault(each.conversion_id, []).append(
            (format_money(each.amount, each.currency), status)
        )
    return {pk: format_html_join(LINE_BREAK, "{} {}", texts) for pk, texts in earned.items()}


CONVERSION_COLUMNS = (
    CREATED,
    Column(
        "Order",
        lambda row: format_html(
            "{}{}",
            link_to_order(row),
            format_html(" {}", format_labels([REMOVED])) if row.deleted_at else "",
        ),
    ),
    Column("Program", lambda row: row.program.title),
    AMOUNT,
    Column("Commission", lambda row, earned: earned or "", load=find_earned, is_amount=True),
)
COMMISSION_COLUMNS = (
    CREATED,
    Column("ID", lambda row: link_in_tab(row, row.pk)),
    AMOUNT,
    build_status_column(get_commission_status, load=load_line_states),
    Column("For", lambda row: link_to_order(row.conversion) if row.conversion else row.name),
    Column("Payment", link_to_payment, load=load_line_states),
)
PAYMENT_COLUMNS = (
    CREATED,
    Column("ID", lambda row: link_in_tab(row, row)),
    build_status_column(get_payment_status, load=load_line_states),
    AMOUNT,
)


def build_tab(request, title: str, columns: Sequence[Column], rows) -> dict:
    """A page of these rows, newest first, as a table."""
    section = RowPage(request, rows.newest_first())
    load_columns(columns, request, section.rows)
    table = Table(title, columns, section.rows)
    return {
        "tab_template": "admin/affiliates/tab_table.html",
        "section": section,
        "table": table,
        "lines": zip(table.rows, table.cells, strict=True),
    }


def list_conversions(request, affiliate) -> dict:
    """The conversions of the affiliate with what it earns from each."""
    rows = affiliate.account.conversions.filter(affiliate=affiliate).select_related("program")
    return build_tab(request, "Conversions", CONVERSION_COLUMNS, rows)


def list_commissions(request, affiliate) -> dict:
    """The commissions of the affiliate."""
    rows = affiliate.account.commissions.filter(affiliate=affiliate)
    rows = rows.select_related("conversion", "payment")
    return build_tab(request, "Commissions", COMMISSION_COLUMNS, rows)


def list_payments(request, affiliate) -> dict:
    """The payments to the affiliate."""
    rows = affiliate.account.payments.filter(affiliate=affiliate)
    return build_tab(request, "Payments", PAYMENT_COLUMNS, rows)


def list_notes(request, affiliate) -> dict:
    """The notes about the affiliate."""
    rows = affiliate.account.notes.filter(affiliate=affiliate).newest_first()
    section = RowPage(request, rows)
    authors = find_authors(request, section.rows)
    return {
        "section": section,
        "notes": [(note, authors[note.pk]) for note in section.rows],
        "can_change_notes": request.user.has_perm("tracking.change_note")
        and affiliate.deleted_at is None,
    }


def list_activity(request, affiliate) -> dict:
    """What the audit log says about the affiliate, its programs and its payments."""
    account = affiliate.account
    enrollments = account.enrollments.filter(affiliate=affiliate)
    programs = enrollments.values_list("program__slug", flat=True)[:MAX_PROGRAMS]
    subjects = [
        f"affiliate:{affiliate.log_id}",
        *(f"enrollment:{slug}/{affiliate.log_id}" for slug in programs),
    ]
    rows = account.audit_log.filter(subject__in=subjects).order_by("-id")
    section = RowPage(request, rows)
    names = find_names(request.user, section.rows)
    return {
        "section": section,
        "events": [
            (
                format_datetime(entry.created_at),
                describe_actor(entry.actor, names),
                render_action(entry, names),
            )
            for entry in section.rows
        ],
    }


TAB_CONTEXTS = {
    "programs": lambda request, affiliate: {},
    "conversions": list_conversions,
    "commissions": list_commissions,
    "payments": list_payments,
    "notes": list_notes,
    "activity": list_activity,
}
