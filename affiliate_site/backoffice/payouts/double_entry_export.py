"""The double-entry export: the ledger of a period, one line per side, for accountants.

All transfers of a period are in it, so that debits equal credits.
"""

from collections.abc import Iterator
from itertools import chain

from django import forms
from django.http import StreamingHttpResponse

from accounts.models.accounts import Account
from affiliate_site.backoffice.effect_tables import LEDGER_ACCOUNT_NAMES
from affiliate_site.backoffice.lists.exports import (
    MOMENT_TITLE,
    iterate_chunks_of_ids,
)
from affiliate_site.backoffice.payouts.report_pages import (
    PeriodForm,
    ReportPage,
    build_period_form,
)
from affiliate_site.cells import iterate_csv
from affiliate_site.downloads import stream_file
from payouts.models.ledger import TransferType
from payouts.services.bookkeeping import list_entries

EXPORT_COLUMNS = {
    "date": "Date",
    "time": MOMENT_TITLE.format(title="Time"),
    "entry": "Entry",
    "type": "Type",
    "ledger_account": "Ledger account",
    "affiliate": "Affiliate",
    "name": "Name",
    "debit": "Debit",
    "credit": "Credit",
    "currency": "Currency",
    "order_id": "Order ID",
    "commission": "Commission",
    "payment": "Payment",
}
CAUSES = {
    "order_id": "commission__conversion__external_id",
    "commission": "commission",
    "payment": "payment__public_id",
}
SIDES = ("debit", "credit")
SIDE_LOOKUPS = (
    "kind",
    *(f"affiliate__{it}" for it in ("slug", "firstname", "lastname")),
)
LOOKUPS = (
    *("pk", "created_at", "kind", "amount", "currency", *CAUSES.values()),
    *(f"{side}__{lookup}" for side in SIDES for lookup in SIDE_LOOKUPS),
)


class ExportForm(PeriodForm):
    columns = forms.MultipleChoiceField(
        choices=list(EXPORT_COLUMNS.items()),
        initial=list(EXPORT_COLUMNS),
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one column."},
    )


class DoubleEntryPage(ReportPage):
    """The form of the export, and the file."""

    name = "double_entry"
    title = "Double-entry export"
    button = "Download"
    note = (
        "All ledger entries of these days as CSV, one line for the debit and one"
        " for the credit. Days of {}."
    )

    def build_form(self):
        return build_period_form(self.request, self.account, ExportForm)

    def respond(self, form):
        if form.is_valid():
            return export_entries(self.account, **form.cleaned_data)
        return super().respond(form)


def export_entries(account: Account, start, end, columns) -> StreamingHttpResponse:
    """The entries of a period as a CSV file, oldest first."""
    names = [name for name in EXPORT_COLUMNS if name in columns]
    titles = [EXPORT_COLUMNS[name] for name in names]
    rows = list_entries(account, start=start, end=end)
    chunks = (
        [[line[name] for name in names] for line in read_lines(account, rows.order_by(), ids)]
        for ids in iterate_chunks_of_ids(rows)
    )
    parts = iterate_csv(chain([[titles]], chunks))
    return stream_file(parts, f"double-entry-{start}-to-{end}.csv")


def read_lines(account: Account, rows, ids: list[int]) -> Iterator[dict]:
    """The two lines of each entry, in the order of the ids."""
    found = {row["pk"]: row for row in rows.filter(pk__in=ids).values(*LOOKUPS)}
    for row in (found[pk] for pk in ids):
        entry = {
            "date": f"{account.get_day(row['created_at'])}",
            "time": row["created_at"],
            "entry": row["pk"],
            "type": TransferType(row["kind"]).label,
            "currency": row["currency"],
            **{name: row[lookup] for name, lookup in CAUSES.items()},
        }
        for side in SIDES:
            kind, slug, *names = (row[f"{side}__{it}"] for it in SIDE_LOOKUPS)
            yield entry | {
                "ledger_account": LEDGER_ACCOUNT_NAMES[kind],
                "affiliate": slug,
                "name": " ".join(filter(None, names)),
                "debit": None,
                "credit": None,
                side: row["amount"],
            }
