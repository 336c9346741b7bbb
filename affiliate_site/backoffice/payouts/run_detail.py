"""What the page of a payout run shows: basis, totals, lines, and who is left out."""

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal

from django.db.models import Count
from django.urls import reverse
from django.utils.html import format_html
from django.utils.text import capfirst

from affiliate_site.backoffice.formatters import (
    EMPTY_VALUE,
    Label,
    build_labels,
    format_affiliate,
    format_datetime,
    format_money,
    format_totals,
)
from affiliate_site.backoffice.object_pages import (
    LINK_TEMPLATE,
    Details,
    Section,
    build_history,
    link_to,
)
from affiliate_site.backoffice.payouts.payout_file_pages import list_file_sections
from affiliate_site.backoffice.payouts.payout_texts import LINE_STATUSES, describe_withholding
from affiliate_site.backoffice.payouts.run_lines import LINKED_AFFILIATE, build_lines_section
from affiliate_site.backoffice.payouts.run_pages import (
    METHOD_CHOICES,
    PERMISSION,
    PutBackPage,
    build_line_url,
)
from affiliate_site.backoffice.payouts.run_parts import (
    build_lines_url,
    build_totals_section,
    list_failures,
    warn_of_missing_documents,
)
from affiliate_site.backoffice.payouts.run_review import build_review_section
from affiliate_site.backoffice.payouts.withheld_pages import find_withheld_texts
from affiliate_site.columns import Column
from payouts.models.runs import (
    LeftOutReason,
    PayoutLine,
    PayoutRunState,
)
from payouts.services.payout_limits import get_minimums
from payouts.services.payout_runs import (
    PaidTotals,
    get_paid_totals,
    list_withheld_taxes,
)
from tracking.amounts import ExactSum
from tracking.money import ZERO

STATUSES = build_labels(
    {
        PayoutRunState.DRAFT: "",
        PayoutRunState.CONFIRMED: "success",
        PayoutRunState.EXPORTED: "info",
        PayoutRunState.SETTLED: "success",
        PayoutRunState.PARTLY_FAILED: "danger",
        PayoutRunState.DISCARDED: "",
    }
)
FAILED = Label("failed", "danger")
MAX_LEFT_OUT = 10  # of each reason


def get_run_details(request, run) -> Details:
    """The run in numbers and words, its lines, and who is left out."""
    state, totals = PayoutRunState(run.state), get_paid_totals(run)
    return Details(
        headline=describe_paid_totals(totals),
        labels=[get_status(run, totals)],
        is_removed=state == PayoutRunState.DISCARDED,
        alerts=[
            *list_failures(run),
            *(warn_of_missing_documents(run) if state == PayoutRunState.DRAFT else ()),
        ],
        sections=[
            Section(f"Payout run {run}", facts=list_facts(run)),
            build_totals_section(run),
            *filter(None, [build_review_section(run)]),
            *list_file_sections(request, run),
            build_lines_section(request, run),
            *build_left_out_sections(request, run),
            build_history(request, [run]),
        ],
    )


def get_status(run, totals: PaidTotals) -> Label:
    """`partly failed`; `failed` if all of it came back."""
    if run.state == PayoutRunState.PARTLY_FAILED and not any(totals.paid.values()):
        return FAILED
    return STATUSES[run.state]


def describe_paid_totals(totals: PaidTotals) -> str:
    """`177.79 EUR of 275.05 EUR, 97.26 EUR came back`; the total if nothing did."""
    if not totals.returned:
        return format_totals(totals.total)
    paid, total, returned = map(format_totals, (totals.paid, totals.total, totals.returned))
    return f"{paid} of {total}: {returned} came back"


def format_due_until(run) -> str:
    """The last day whose commissions are in a run, in the zone of the account."""
    last = run.due_before - timedelta(microseconds=1)
    return f"{run.account.get_day(last)}"


def list_facts(run):
    """Basis and steps."""
    basis, account = run.basis, run.account
    programs = account.programs.filter(slug__in=basis["programs"]).order_by("title")
    groups = account.affiliate_groups.filter(public_id__in=basis["groups"])
    methods = dict(METHOD_CHOICES)
    withheld = list_withheld_taxes(run)
    return [
        ("Due until", format_due_until(run)),
        ("Programs", ", ".join(programs.values_list("title", flat=True))),
        ("Groups", ", ".join(groups.order_by("title").values_list("title", flat=True))),
        ("Payout methods", ", ".join(methods[name] for name in basis["methods"])),
        ("Currencies", ", ".join(basis["currencies"])),
        (
            "Minimum",
            ", ".join(f"{n} {currency}" for currency, n in basis["minimums"].items()),
        ),
        ("Withholding tax", format_totals(withheld) if withheld else ""),
        ("Note", run.note),
        ("Drafted", format_datetime(run.created_at)),
        ("Confirmed", run.confirmed_at and format_datetime(run.confirmed_at)),
        ("Files made", run.exported_at and format_datetime(run.exported_at)),
        ("Statements", link_to_statements(run)),
    ]


def link_to_statements(run) -> str:
    """A link to the statements of all affiliates; empty before the confirmation."""
    if run.confirmed_at is None:
        return ""
    url = reverse("admin:run_statements", args=[run.pk])
    return format_html(LINK_TEMPLATE, url, "Of all affiliates as a ZIP file")


def build_left_out_sections(request, run) -> list[Section]:
    """A section for each reason, with the first affiliates that it leaves out."""
    rows = run.account.payout_lines.filter(run=run).exclude(reason="")
    totals = rows.order_by("reason", "currency").values_list("reason", "currency")
    summary: dict[str, dict] = {}
    numbers: dict[str, int] = {}
    for reason, currency, number, total in totals.annotate(Count("pk"), ExactSum("amount")):
        summary.setdefault(reason, {})[currency] = total
        numbers[reason] = numbers.get(reason, 0) + number
    return [
        build_left_out_section(request, run, reason, numbers[reason], summary[reason])
        for reason in LeftOutReason
        if reason in summary
    ]


def build_left_out_section(request, run, reason, number, totals) -> Section:
    """The first affiliates that are left out for a reason."""
    can_change = run.state == PayoutRunState.DRAFT and request.user.has_perm(PERMISSION)
    can_put_back = can_change and reason == LeftOutReason.WITHHELD
    rows = run.account.payout_lines.filter(run=run, reason=reason)
    rows = rows.select_related("affiliate").defer("receiver")
    lines = list(rows.order_by("affiliate_id", "currency")[:MAX_LEFT_OUT])
    why = explain_left_out(request.user, run, reason, lines)
    more = number - len(lines)
    more_url = build_lines_url(run, reason__exact=reason)
    columns = [
        LINKED_AFFILIATE,
        Column("Amount", lambda it: format_money(it.amount, it.currency), is_amount=True),
        Column("Method", lambda it: it.get_method_display() or EMPTY_VALUE),
    ]
    if why:
        columns.append(Column("Why", lambda it: why.get(it.pk, "")))
    if can_put_back:
        columns.append(Column(PutBackPage.title, link_to_put_back))
    return Section(
        f"Left out: {reason.label}",
        notes=[f"{number:,}, together {format_totals(totals)}"],
        columns=columns,
        rows=lines,
        lines=format_html(LINK_TEMPLATE, more_url, f"and {more:,} more") if more > 0 else "",
    )


def find_minimums(run, lines) -> Iterator[tuple[PayoutLine, Decimal]]:
    minimums = get_minimums(run.account, [line.affiliate_id for line in lines])
    of_run = {currency: Decimal(n) for currency, n in run.basis["minimums"].items()}
    for line in lines:
        key = (line.affiliate_id, line.currency)
        yield line, minimums.find(key, of_run=of_run) or ZERO


def explain_left_out(user, run, reason, lines) -> dict[int, str]:
    """More words than those of the reason, by line; empty if there are none."""
    if reason == LeftOutReason.WITHHELD:
        if run.state != PayoutRunState.DRAFT:
            return {line.pk: line.note for line in lines}
        texts = find_withheld_texts(user, lines)
        return {it.pk: capfirst(texts.get(it.pk, "no longer withheld")) for it in lines}
    if reason == LeftOutReason.BELOW_MINIMUM and run.state == PayoutRunState.DRAFT:
        return {
            line.pk: f"The minimum is {format_money(minimum, line.currency)}"
            for line, minimum in find_minimums(run, lines)
        }
    if reason == LeftOutReason.DOCUMENT_INCOMPLETE:
        return {line.pk: line.note for line in lines}
    if reason != LeftOutReason.METHOD_ON_HOLD:
        return {}
    methods = run.account.payout_methods.filter(
        affiliate__in=[line.affiliate_id for line in lines], is_primary=True
    )
    reasons = {
        method.affiliate_id: link_to(method, method.on_hold_reason)
        for method in methods.exclude(on_hold_reason="")
    }
    return {line.pk: reasons.get(line.affiliate_id, "looked at") for line in lines}


def link_to_put_back(line) -> str:
    """A link that includes an affiliate again."""
    url = build_line_url(PutBackPage, line)
    return format_html(LINK_TEMPLATE, url, PutBackPage.title)


def get_line_details(line) -> Details:
    """One affiliate and currency of a run."""
    return Details(
        headline=format_money(line.amount, line.currency),
        labels=[LINE_STATUSES[line.state]],
        sections=[
            Section(
                "Line",
                facts=[
                    ("Payout run", link_to(line.run)),
                    (
                        "Affiliate",
                        link_to(line.affiliate, format_affiliate(line.affiliate)),
                    ),
                    ("Withholding tax", describe_withholding(line)),
                    ("Commissions", f"{line.commission_count:,}"),
                    ("Method", line.get_method_display()),
                    ("Left out", line.reason and capfirst(line.get_reason_display())),
                    ("Why", line.note),
                    ("Payment", link_to(line.payment)),
                    ("Answered on", line.answered_on),
                    ("Reference of the bank", line.bank_reference),
                    ("Reason of the bank", line.bank_reason),
                ],
            )
        ],
    )
