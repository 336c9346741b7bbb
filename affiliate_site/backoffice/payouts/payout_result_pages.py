"""Import what a bank, PayPal or Wise answers: upload, look, apply."""

from collections import Counter
from datetime import date
from itertools import chain
from typing import Any

from django import forms
from django.conf import settings
from django.core import signing

from accounts.decimals import parse_decimal
from affiliate_site.backoffice.formatters import (
    EMPTY_VALUE,
    format_affiliate,
    format_money,
)
from affiliate_site.backoffice.forms import ServiceForm
from affiliate_site.backoffice.money_pages import MoneyFormPage
from affiliate_site.backoffice.object_pages import Section
from affiliate_site.columns import Column
from affiliate_site.payout_files.results.reading import (
    AUTO,
    ensure_size,
    read_results,
)
from affiliate_site.payout_files.writing import WITHOUT_FILES
from payouts.errors import InvalidResultsFile
from payouts.services.documents import list_unbilled
from payouts.services.payout_answers import (
    AppliedResults,
    Booking,
    PayoutResult,
    ResultState,
)
from payouts.services.payout_results import apply_payout_results

MAX_BYTES = settings.FORM_MAX_SIZE - 100_000  # the rest of the form
WAY_OUT = " here: ask your operator to run the command import_payout_results"
MAX_LISTED = 200  # rows of one kind
MAX_PACKED_LENGTH = 900_000  # what a form may send, without files, is a megabyte
PACKED_SECONDS = 60 * 60 * 12
FORMAT_CHOICES = [
    (AUTO, "Find out"),
    ("pain002", "Bank: pain.002"),
    ("camt", "Bank: camt.053 or camt.054"),
    ("paypal", "PayPal list"),
    ("wise", "Wise list"),
    ("csv", "CSV: payment, state, reference, reason"),
]
# Lists of the report, and what staff call them.
OUTCOMES = {
    "unmatched": "Not applied, to check",
    "failed": "Refused or returned, owed again",
    "settled": "Settled",
    "unknown": "No answer yet",
}


def pack_results(run, results: list[PayoutResult]) -> str:
    """The answers as a signed text for a hidden field: a file is uploaded once."""
    rows = [
        (
            *(it.name, it.state, None if it.amount is None else str(it.amount)),
            (it.currency, it.reference, it.reason),
            *(it.day and it.day.isoformat(), it.is_message, it.count, it.booking),
        )
        for it in results
    ]
    packed = signing.dumps(rows, salt=get_salt(run), compress=True)
    if len(packed) > MAX_PACKED_LENGTH:
        reason = "The file has too many payments for a page: use import_payout_results"
        raise InvalidResultsFile(reason=reason)
    return packed


def unpack_results(run, packed: str) -> list[PayoutResult]:
    """The answers of a hidden field. Raises `signing.BadSignature`."""
    rows = signing.loads(packed, salt=get_salt(run), max_age=PACKED_SECONDS)
    return [
        PayoutResult(
            name=name,
            state=ResultState(state),
            amount=None if amount is None else parse_decimal(amount),
            currency=texts[0],
            reference=texts[1],
            reason=texts[2],
            day=date.fromisoformat(day) if day else None,
            is_message=is_message,
            count=count,
            booking=Booking(booking),
        )
        for name, state, amount, texts, day, is_message, count, booking in rows
    ]


def get_salt(run) -> str:
    """What makes the text useless on the page of another run."""
    return f"payout-results-{run.pk}"


class ResultsForm(ServiceForm):
    """A file with answers; `packed` holds them while they are looked at."""

    file = forms.FileField(
        required=False,
        help_text="pain.002, camt.053 or camt.054 in XML, or a list in CSV, up to"
        f" {MAX_BYTES / 1e6:.1f} MB.",
    )
    format = forms.ChoiceField(choices=FORMAT_CHOICES, initial=AUTO)
    has_other_runs = forms.BooleanField(
        label="Apply to other payments, too",
        required=False,
        help_text=(
            "A statement of your bank account also names payments of other runs, such"
            " as one that came back. Without this, such a file is refused."
        ),
    )

    def clean(self):
        """Read the file, or the answers that were read before."""
        super().clean()
        file, self.packed = self.cleaned_data.get("file"), self.data.get("results", "")
        try:
            if file:
                ensure_size(file.size, MAX_BYTES, WAY_OUT)
                format_name = self.cleaned_data.get("format", AUTO)
                self.answers = read_results(file.read(), format_name)
                self.packed = pack_results(self.row, self.answers)
            elif self.packed:
                self.answers = unpack_results(self.row, self.packed)
            elif "file" not in self.errors:
                self.add_error("file", "Choose a file.")
        except InvalidResultsFile as error:
            self.add_error("file", error.text)
        except signing.BadSignature:
            self.add_error("file", "Choose the file again.")
        return self.cleaned_data


class ImportResultsPage(MoneyFormPage):
    """Show what a file with answers would change, then apply it."""

    template_name = "admin/payouts/import_results.html"
    name = "results"
    title = "Import results"
    confirm_button = "Apply"
    permission = "payouts.delete_payment"
    form_class = ResultsForm
    explanation = (
        "Upload what the bank, PayPal or Wise answers. Settled payments get their"
        " reference; refused and returned ones are canceled and owed again, and their"
        " payout methods wait until you have looked at them. No word means unknown,"
        " never paid."
    )

    @classmethod
    def is_offered(cls, run):
        return run.state not in WITHOUT_FILES

    def must_be_confirmed(self, form):
        return True

    def save(self, form, at) -> AppliedResults:
        run = None if form.cleaned_data["has_other_runs"] else self.row
        self.applied = apply_payout_results(self.account, form.answers, run=run, at=at)
        return self.applied

    def describe(self, effects) -> dict[str, Any]:
        """Add the payments, those first that staff must look at."""
        affiliates = find_affiliates(self.account, self.applied)
        return super().describe(effects) | {
            "result_sections": [
                build_section(title, getattr(self.applied, name), affiliates)
                for name, title in OUTCOMES.items()
                if getattr(self.applied, name)
            ]
        }

    def list_facts(self, form, applied):
        counts = count_outcomes(applied)
        return [(title, f"{number:,}") for title, number in counts.items() if number]

    def get_context_data(self, **kwargs):
        return super().get_context_data(**kwargs) | {"has_file_field": True}

    def get_done_message(self, applied):
        counts = count_outcomes(applied).items()
        texts = [f"{title.lower()}: {number:,}" for title, number in counts if number]
        if applied.documents:
            texts.append(f"documents issued: {applied.documents:,}")
        text = f"The results were applied: {', '.join(texts) or 'nothing new'}."
        return f"{text} {describe_unbilled(self.row)}".strip()


def describe_unbilled(run) -> str:
    """Whom of a run no document bills, and why; empty if there is nobody."""
    unbilled = list_unbilled(run.account, run_ids=[run.pk], limit=MAX_LISTED + 1)
    names = [
        f"{it.payment.affiliate} ({it.problem.label})" for it in unbilled[:MAX_LISTED] if it.problem
    ]
    more = " and more" if len(unbilled) > MAX_LISTED else ""
    return f"Without a document: {'; '.join(names)}{more}." if names else ""


def count_outcomes(applied: AppliedResults) -> Counter[str]:
    """How many payments there are of each kind."""
    counts = Counter({title: len(getattr(applied, name)) for name, title in OUTCOMES.items()})
    counts["Applied before"] = applied.already_applied
    return counts


def find_affiliates(account, applied: AppliedResults) -> dict[str, Any]:
    """Who receives the payments of the tables, by their IDs."""
    tables = (getattr(applied, name)[:MAX_LISTED] for name in OUTCOMES)
    shown = [it.payment for it in chain.from_iterable(tables)]
    payments = account.payments.filter(public_id__in=shown)
    return {
        payment.public_id: payment.affiliate for payment in payments.select_related("affiliate")
    }


def build_section(title: str, reported, affiliates) -> Section:
    """A table of payments."""
    more = len(reported) - MAX_LISTED
    return Section(
        title,
        notes=[f"{more:,} more."] if more > 0 else [],
        columns=(
            Column("Payment", lambda it: it.payment),
            Column(
                "Affiliate",
                lambda it: (
                    format_affiliate(affiliates[it.payment])
                    if it.payment in affiliates
                    else EMPTY_VALUE
                ),
            ),
            Column(
                "Amount", lambda it: format_money(it.amount, it.currency or "EUR"), is_amount=True
            ),
            Column("Reference", lambda it: it.reference or EMPTY_VALUE),
            Column("Reason", lambda it: it.reason or EMPTY_VALUE),
        ),
        rows=reported[:MAX_LISTED],
    )
