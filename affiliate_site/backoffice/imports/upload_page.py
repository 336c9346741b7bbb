"""Choose a file with a table: the order of imports, and templates."""

from dataclasses import asdict

from django import forms
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html

from accounts.errors import DomainError
from affiliate_site.backoffice.form_pages import FormPage
from affiliate_site.backoffice.forms import ServiceForm
from affiliate_site.backoffice.object_pages import LINK_TEMPLATE, Section
from affiliate_site.columns import list_places
from affiliate_site.downloads import send_file
from affiliate_site.moving.tables.kinds import KINDS
from affiliate_site.moving.tables.limited import (
    PAGE_LIMITS,
    dump_table,
    read_foreign_table,
)
from affiliate_site.moving.tables.mappings import SYSTEMS
from affiliate_site.moving.tables.uploads import build_template, guess_settings
from tracking.services.table_uploads import create_table_upload

PERMISSION = "tracking.add_tableimport"
TEMPLATE_URL = "admin:table_template"
MAX_BYTES = settings.FORM_MAX_SIZE - 100_000  # the rest of the form
MAX_PAGE_ROWS = 2_000  # are stored within the minute that a proxy waits
# In this order; each says what it needs.
ORDER = {
    "affiliates": "Who they are, with program, referral code, coupon and payout method."
    " Create your programs first.",
    "customers": "Only if later sales of the same customer earn commissions.",
    "payments": "What affiliates were paid. Before the sales, which can name the"
    " payment that paid them.",
    "conversions": "Sales with their commissions. A sale that was paid, but names no"
    " payment, gets a payment of its own.",
    "opening_balances": "Instead of payments and sales: only what you owe each"
    " affiliate today, without history.",
}
NOT_STORED_FILE = "not-stored-{}.csv"
OURS = "Our template, a list exported here, or anything else"


class UploadForm(ServiceForm):
    kind = forms.ChoiceField(
        label="Kind of rows",
        choices=[("", "Choose…"), *((name, KINDS[name].label) for name in ORDER)],
    )
    system = forms.ChoiceField(
        label="Where is the file from?",
        required=False,
        choices=[("", OURS), *((it.name, it.label) for it in SYSTEMS.values())],
        help_text="Its columns are then found by the names they have there.",
    )
    file = forms.FileField(
        help_text=f"CSV or Excel (.xlsx), up to {MAX_BYTES / 1e6:.1f} MB and"
        f" {MAX_PAGE_ROWS:,} rows."
    )

    def clean(self):
        """Read the table."""
        values = super().clean()
        file = values.get("file")
        if file is None:
            return values
        if file.size > MAX_BYTES:
            self.add_error("file", f"The file is too large. {describe_way_out()}")
            return values
        try:
            self.table = read_foreign_table(file.read(), file.name, PAGE_LIMITS)
        except DomainError as error:
            self.add_error("file", error.text)
            return values
        if len(self.table.rows) > MAX_PAGE_ROWS:
            self.add_error("file", f"The file has too many rows. {describe_way_out()}")
        return values


def describe_way_out() -> str:
    """What to do with a larger file."""
    return "Split it, or ask your operator to run the command import_table."


class UploadTablePage(FormPage):
    """Choose a file."""

    title = "Import a table"
    button = "Continue"
    permission = PERMISSION
    explanation = (
        "Step 1 of 3. Move in from another system with its CSV or Excel files. The next"
        " pages show how columns are read and what would happen to each row. Nothing is"
        " stored before you choose to, and an import can be undone."
    )
    form_class = UploadForm

    def get_initial(self):
        return super().get_initial() | {"kind": self.request.GET.get("kind", "")}

    def list_sections(self):
        notes = []
        if not self.account.programs.filter(archived_at=None).exists():
            url = reverse("admin:tracking_program_add")
            link = format_html(LINK_TEMPLATE, url, "Create a program")
            notes = [format_html("{} first: affiliates and sales belong to one.", link)]
        return [
            Section(
                "In this order",
                notes=notes,
                columns=list_places("Rows", "What", "Template to fill in"),
                rows=[
                    (
                        f"{number}. {KINDS[name].label}",
                        text,
                        format_html(LINK_TEMPLATE, reverse(TEMPLATE_URL, args=[name]), "CSV"),
                    )
                    for number, (name, text) in enumerate(ORDER.items(), 1)
                ],
            )
        ]

    def save(self, form, at):
        values = form.values
        kind = KINDS[values["kind"]]
        found = guess_settings(kind, form.table, values["system"])
        return create_table_upload(
            self.account,
            kind=kind.name,
            system=values["system"],
            file_name=values["file"].name,
            data=dump_table(form.table),
            settings=asdict(found),
            at=at,
        )

    def respond(self, form, result):
        """Go on to the columns without a message: nothing is done yet."""
        return redirect("admin:tracking_tableupload_columns", result.pk)


def template_view(request, kind: str) -> HttpResponse:
    """Download a table to fill in."""
    if not request.user.has_perm(PERMISSION) or request.user.account is None:
        raise PermissionDenied
    if kind not in KINDS:
        raise Http404
    return send_file(build_template(request.user.account, KINDS[kind]), f"{kind}.csv")
