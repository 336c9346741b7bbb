"""The sales of a payout run that somebody should look at: on its page, and as a file."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.urls import reverse
from django.utils.html import format_html, format_html_join, strip_tags

from affiliate_site.backoffice.conversions.admin import get_conversion_text
from affiliate_site.backoffice.conversions.reviews import list_review_labels
from affiliate_site.backoffice.formatters import (
    EMPTY_VALUE,
    format_affiliate,
    format_datetime,
    format_money,
)
from affiliate_site.backoffice.lists.exports import (
    MOMENT_TITLE,
    iterate_chunks_of_ids,
    send_or_go_back,
)
from affiliate_site.backoffice.object_pages import LINK_TEMPLATE, Section, link_to
from affiliate_site.backoffice.risk.rules import get_rule_title
from affiliate_site.columns import Column
from affiliate_site.reports import FORMATS
from payouts.models.runs import PayoutRun, PayoutRunState
from payouts.services.run_review import DoubtfulCommission, filter_doubtful, find_findings

TITLE = "To look at before it is paid"
NONE = "No sale of this run has a warning, an open claim, a dispute or an open risk case."
MAX_SHOWN = 100
FILE_COLUMNS = (
    *(
        Column(title)
        for title in ("Order ID", "Affiliate", MOMENT_TITLE.format(title="Sold"), "Sale")
    ),
    Column("Commission", is_amount=True),
    *(Column(title) for title in ("Currency", "Why", "This run")),
)


def list_reasons(row: DoubtfulCommission) -> Iterator[tuple[str, Any]]:
    """What is doubtful, and the page about it or None; a rule with its facts."""
    sale = row.commission.conversion
    for finding in row.findings:
        facts = ", ".join(f"{label}: {value}" for label, value in finding.facts)
        url = reverse("admin:payouts_riskcase_change", args=[finding.case_id])
        yield f"{get_rule_title(finding.rule)} ({facts})", url
    if sale is not None:
        titles = {get_rule_title(finding.rule) for finding in row.findings}
        labels = list_review_labels(sale, names_options=True)
        yield from ((it, None) for it in labels if it not in titles)
        if sale.disputed_at:
            yield "Disputed by the customer", None


def describe_fate(run: PayoutRun, row: DoubtfulCommission) -> str:
    if run.state != PayoutRunState.DRAFT:
        return "paid"
    return "left out until the case is decided" if row.commission.is_under_review else "paid"


def link_reasons(row: DoubtfulCommission) -> str:
    return format_html_join(
        " ",
        "<div>{}</div>",
        (
            (format_html(LINK_TEMPLATE, url, text) if url else text,)
            for text, url in list_reasons(row)
        ),
    )


def link_sale(row: DoubtfulCommission) -> str:
    sale = row.commission.conversion
    return link_to(sale, get_conversion_text(sale.external_id, sale.pk)) if sale else EMPTY_VALUE


def build_review_section(run: PayoutRun) -> Section | None:
    """The first of them with links to the file; none if there are none of a run that is
    confirmed."""
    found = list(filter_doubtful(run)[: MAX_SHOWN + 1])
    if not found and run.state != PayoutRunState.DRAFT:
        return None
    url = reverse("admin:run_review", args=[run.pk])
    files = [(f"{url}?format={it}", it.upper()) for it in FORMATS]
    return Section(
        TITLE,
        notes=[f"The first {MAX_SHOWN}: files have all."] if len(found) > MAX_SHOWN else [],
        columns=(
            Column("Sale", link_sale),
            Column(
                "Affiliate",
                lambda it: link_to(
                    it.commission.affiliate, format_affiliate(it.commission.affiliate)
                ),
            ),
            Column("Sold", lambda it: format_datetime(it.commission.created_at)),
            Column(
                "Commission",
                lambda it: format_money(it.commission.amount, it.commission.currency),
                is_amount=True,
            ),
            Column("Why", link_reasons),
            Column("This run", partial(describe_fate, run)),
        ),
        rows=find_findings(run, found[:MAX_SHOWN]),
        lines=format_html("<p>Download: {}</p>", format_html_join(", ", LINK_TEMPLATE, files))
        if found
        else NONE,
    )


def list_cells(run: PayoutRun, row: DoubtfulCommission) -> list[Any]:
    """A line of the file."""
    commission, sale = row.commission, row.commission.conversion
    return [
        sale and sale.external_id,
        commission.affiliate.slug,
        commission.created_at,
        sale and sale.amount,
        commission.amount,
        commission.currency,
        "; ".join(strip_tags(text) for text, _ in list_reasons(row)),
        describe_fate(run, row),
    ]


def iterate_lines(run: PayoutRun) -> Iterator[list[list[Any]]]:
    """The lines of the file, in chunks."""
    rows = filter_doubtful(run)
    for ids in iterate_chunks_of_ids(rows):
        found = rows.in_bulk(ids)
        chunk = find_findings(run, [found[pk] for pk in ids if pk in found])
        yield [list_cells(run, it) for it in chunk]


def run_review_view(model_admin, request, object_id: int):
    """All of them as a file."""
    run, file_format = model_admin.get_object(request, object_id), request.GET.get("format")
    if not model_admin.has_view_permission(request, run):
        raise PermissionDenied
    if run is None or file_format not in FORMATS:
        raise Http404
    name = f"payout-run-{run}-to-look-at.{file_format}"
    back = reverse("admin:payouts_payoutrun_change", args=[run.pk])
    return send_or_go_back(request, back, "Sales", FILE_COLUMNS, iterate_lines(run), name)
