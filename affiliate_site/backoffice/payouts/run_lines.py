"""Who is paid by a payout run: its lines, and what staff should know of each."""

from datetime import timedelta

from django.db.models import Exists, Max, OuterRef, Q
from django.utils import timezone
from django.utils.html import format_html, format_html_join

from affiliate_site.backoffice.formatters import (
    format_affiliate,
    format_datetime,
    format_money,
    format_totals,
)
from affiliate_site.backoffice.object_pages import (
    LINK_TEMPLATE,
    RowPage,
    Section,
    link_to,
)
from affiliate_site.backoffice.payouts.payout_texts import describe_withholding
from affiliate_site.backoffice.payouts.run_pages import (
    PERMISSION,
    TakeOutPage,
    build_line_url,
)
from affiliate_site.backoffice.payouts.run_parts import (
    build_lines_url,
    describe_age,
    list_changed_methods,
)
from affiliate_site.columns import Column
from affiliate_site.payout_files.sepa import get_receiver_name, write_receiver_name
from affiliate_site.payout_files.writing import explain_line
from payouts.models.runs import LEFT_OUT_STATES, PayoutLineState, PayoutRunState
from payouts.services.payables import IS_UNDER_REVIEW, filter_on_hold
from payouts.services.payout_files import is_sepa_line
from payouts.services.run_selection import add_receivers
from tracking.amounts import ExactSum

LINES_PER_PAGE = 100


LINKED_AFFILIATE = Column(
    "Affiliate", lambda line: link_to(line.affiliate, format_affiliate(line.affiliate))
)
STATE = Column("State", lambda line: PayoutLineState(line.state).label.capitalize())


def build_lines_section(request, run) -> Section:
    """A page of who is paid; a draft offers to take them out."""
    is_draft = run.state == PayoutRunState.DRAFT
    can_change = is_draft and request.user.has_perm(PERMISSION)
    rows = run.account.payout_lines.filter(run=run).exclude(state__in=LEFT_OUT_STATES)
    rows = rows.select_related("affiliate", "payment").defer("receiver")
    page = RowPage(request, rows.order_by("affiliate_id", "currency"), LINES_PER_PAGE)
    affiliates = [line.affiliate_id for line in page.rows]
    changed = {
        method.affiliate_id: f"method changed {describe_age(method)}"
        for method in (list_changed_methods(run.account, affiliates) if is_draft else ())
    }
    texts = describe_receivers(run, page.rows) if is_draft else {}
    rests, note = find_rests(run, affiliates), describe_rests(run)

    def link_to_taking_out(line):
        if not can_change:
            return ""
        return format_html(LINK_TEMPLATE, build_line_url(TakeOutPage, line), TakeOutPage.title)

    return Section(
        "Lines",
        notes=[note] if note else [],
        columns=(
            LINKED_AFFILIATE,
            Column("Commissions", lambda line: f"{line.commission_count:,}", is_amount=True),
            Column(
                "Amount",
                lambda line: add_subtext(
                    format_money(line.amount, line.currency),
                    describe_withholding(line),
                    rests.get((line.affiliate_id, line.currency), ""),
                ),
                is_amount=True,
            ),
            Column(
                "Method",
                lambda line: add_subtext(
                    line.get_method_display(),
                    changed.get(line.affiliate_id, ""),
                    texts.get(line.pk, ""),
                ),
            ),
            *(
                [Column("Take out", link_to_taking_out)]
                if is_draft
                else [Column("Payment", lambda line: link_to(line.payment)), STATE]
            ),
        ),
        rows=page.rows,
        lines=format_html_join(
            " ",
            '<a class="details-link" href="{}">{}</a>',
            [
                (url, text)
                for url, text in (
                    (page.newer_url, f"The {LINES_PER_PAGE} before"),
                    (page.older_url, f"The next {LINES_PER_PAGE}"),
                    (build_lines_url(run), "All lines: search, filter, export"),
                )
                if url
            ],
        ),
    )


def add_subtext(value, *texts: str):
    lines = [(text,) for text in texts if text]
    below = format_html_join("", ' <span class="subtext">{}</span>', lines)
    return format_html("{}{}", value, below)


def describe_receivers(run, lines) -> dict[int, str]:
    """`Mina Keßler, written as Mina Kessler` in a bank file, or why no file has it, by
    line of a draft."""
    add_receivers(run.account, lines)
    texts = {}
    for line in lines:
        name, other = get_receiver_name(line), write_receiver_name(line)
        if line.receiver and (reason := explain_line(line)):
            texts[line.pk] = f"in no file, but in a list: {reason}"
        elif is_sepa_line(line) and name != other:
            texts[line.pk] = f"{name}, written as {other}"
    return texts


def filter_rests(run):
    """The commissions that are on hold of the balances that a run pays.

    Of a confirmed run, those that are still on hold.
    """
    account, at = run.account, run.due_before - timedelta(microseconds=1)
    paid = account.payout_lines.filter(run=run).exclude(state__in=LEFT_OUT_STATES)
    of_balance = {name: OuterRef(name) for name in ("affiliate", "currency")}
    rows = account.commissions.filter(Exists(paid.filter(**of_balance)))
    if programs := run.basis["programs"]:
        rows = rows.filter(
            Q(conversion__program__slug__in=programs) | Q(bonus__program__slug__in=programs)
        )
    if run.confirmed_at is not None:
        at = max(at, timezone.now())
        rows = rows.filter(created_at__lt=run.confirmed_at)
    return filter_on_hold(rows, at=at).order_by()


def find_rests(run, affiliates) -> dict[tuple[int, str], str]:
    """`and 6.00 EUR on hold until 2026-12-25 10:00 CET`, or under review, by affiliate and
    currency."""
    rows = filter_rests(run).filter(affiliate__in=affiliates)
    totals = rows.values_list("affiliate", "currency", IS_UNDER_REVIEW)
    totals = totals.annotate(ExactSum("amount"), Max("due_at")).order_by(
        "affiliate", "currency", IS_UNDER_REVIEW
    )
    texts: dict[tuple[int, str], str] = {}
    for affiliate, currency, is_under_review, total, until in totals:
        why = "under review" if is_under_review else f"on hold until {format_datetime(until)}"
        earlier = texts.get((affiliate, currency))
        text = f"and {format_money(total, currency)} {why}"
        texts[affiliate, currency] = f"{earlier}, {text}" if earlier else text
    return texts


def describe_rests(run) -> str:
    """What a run leaves of the affiliates that it pays; empty if it is nothing."""
    rows = filter_rests(run).values_list("currency")
    if not (by_currency := dict(rows.annotate(ExactSum("amount")))):
        return ""
    totals = format_totals(by_currency)
    held = "Still on hold" if run.confirmed_at else "On hold"
    return f"{held}, and so not paid by this run: {totals} of these affiliates."
