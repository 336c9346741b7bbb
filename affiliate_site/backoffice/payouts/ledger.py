"""The page of the ledger, and the check that staff can start."""

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import OperationalError
from django.shortcuts import redirect
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from accounts.db_compat import is_temporary
from affiliate_site.backoffice.actions import DATABASE_TIMEOUT_MESSAGE, MAX_LISTED_ROWS
from affiliate_site.backoffice.base import ReadOnlyBackOfficeAdmin, display
from affiliate_site.backoffice.effect_tables import LEDGER_ACCOUNT_NAMES
from affiliate_site.backoffice.formatters import (
    EMPTY_VALUE,
    format_affiliate,
    format_ledger_note,
    format_money,
)
from affiliate_site.backoffice.lists.date_filters import DateFilter
from affiliate_site.backoffice.lists.filters import (
    CurrencyFilter,
    LedgerAffiliateFilter,
)
from affiliate_site.backoffice.navigation import MenuEntry
from affiliate_site.backoffice.object_pages import ObjectPageMixin, link_to
from affiliate_site.backoffice.payouts.closed_months import ClosingPage
from affiliate_site.backoffice.payouts.double_entry_export import DoubleEntryPage
from affiliate_site.backoffice.payouts.payment_pages import (
    TakeBackOpeningBalancePage,
)
from affiliate_site.backoffice.payouts.report_pages import TrialBalancePage
from affiliate_site.columns import AmountSource, Column
from payouts.models.ledger import Transfer, TransferType
from payouts.services.reconciliation import MAX_CHECKED_TRANSFERS, check_account

NUMBERS_NOTE = "No entry is ever changed or deleted; IDs may skip numbers."
REPORTS = (TrialBalancePage, ClosingPage, DoubleEntryPage)


def name_ledger_account(kind: str, affiliate) -> str:
    """`Balance due of adastone`; accounts of no affiliate by their kind alone."""
    name = LEDGER_ACCOUNT_NAMES[kind]
    return f"{name} of {affiliate}" if affiliate else name


def link_to_reason(transfer) -> str:
    row = transfer.payment or transfer.commission
    text = name_reason(transfer.payment, transfer.commission)
    return link_to(row, text) or EMPTY_VALUE


def name_reason(payment, commission) -> str:
    """The ID of the payment, or `commission 7`."""
    return str(payment or (f"commission {commission}" if commission else ""))


def check_ledger(account) -> tuple[int, str]:
    """Check the ledger of an account; the level and the text of the message."""
    try:
        report = check_account(account, at=timezone.now())
    except OperationalError as error:
        if not is_temporary(error):
            raise
        return messages.ERROR, DATABASE_TIMEOUT_MESSAGE.capitalize()
    if report is None:
        return messages.WARNING, (
            f"More than {MAX_CHECKED_TRANSFERS:,} ledger entries: too many to check"
            " while you wait. The nightly commands check them all; an operator can do"
            f" so at any time: check_ledger {account.slug} --note."
        )
    if not report.discrepancies:
        number = f"{report.transfer_count:,}"
        text = f"Ledger balanced: {number} entries, checked just now."
        if account.discrepancy_count:
            return messages.WARNING, (
                f"{text} But the nightly check, which sees more, found discrepancies:"
                " pay nobody until an operator has explained them."
            )
        return messages.SUCCESS, text
    return messages.ERROR, format_discrepancies(report.discrepancies)


def format_discrepancies(discrepancies) -> str:
    """What does not agree, in words, and what to do."""
    listed = "; ".join(
        f"{each.row}: {each.stored} instead of {each.computed} ({each.invariant})"
        for each in discrepancies[:MAX_LISTED_ROWS]
    )
    more = len(discrepancies) - MAX_LISTED_ROWS
    return (
        f"Ledger checked just now: {len(discrepancies)} discrepancies. {listed}"
        f"{f'; and {more} more' if more > 0 else ''}. Pay nobody until an operator has"
        " explained them."
    )


@admin.register(Transfer)
class TransferAdmin(ObjectPageMixin, ReadOnlyBackOfficeAdmin):
    """Ledger entries: amount, debit account, credit account and reason; append-only."""

    menu = (
        MenuEntry("Payouts", 60, "receipt_long", synonyms="reports"),
        MenuEntry(
            "Payouts",
            70,
            "summarize",
            "Bookkeeping",
            synonyms="reports",
            url_names=tuple(it.name for it in REPORTS),
        ),
    )
    list_title = "Ledger"
    reports = REPORTS
    empty_state = "No ledger entries yet. The first commission creates the first entry."
    columns = (
        "id",
        Column(name="type", export=(lambda kind: TransferType(kind).label, "kind")),
        Column(
            "Affiliate",
            lambda row: (
                format_affiliate(affiliate)
                if (affiliate := row.debit.affiliate or row.credit.affiliate)
                else EMPTY_VALUE
            ),
            name="person",
            select=("debit__affiliate", "credit__affiliate"),
            export=(
                lambda *slugs: next(filter(None, slugs), ""),
                *(f"{side}__affiliate__slug" for side in ("debit", "credit")),
            ),
        ),
        Column(name="formatted_amount", export=AmountSource()),
        Column(
            name="debit_account",
            export=(name_ledger_account, "debit__kind", "debit__affiliate__slug"),
        ),
        Column(
            name="credit_account",
            export=(name_ledger_account, "credit__kind", "credit__affiliate__slug"),
        ),
        Column(
            "Reason",
            link_to_reason,
            select=("commission", "payment"),
            export=(name_reason, "payment__public_id", "commission_id"),
        ),
        Column("Order ID", export="commission__conversion__external_id", is_listed=False),
        "created_at",
    )
    row_pages = (TakeBackOpeningBalancePage,)
    list_filter = ("kind", LedgerAffiliateFilter, CurrencyFilter, DateFilter)
    ordering = ("-created_at", "-id")
    # Sorted by ID, a small account would read the entries of all others.
    sortable_by = ("created_at",)
    exclude = ("kind", "amount", "debit", "credit")
    readonly_fields = ("type", "formatted_amount", "debit_account", "credit_account")

    def get_ordering(self, request):
        """Operators see all accounts, for which only the IDs are indexed."""
        return self.ordering if request.user.account else ("-id",)

    def changelist_view(self, request, extra_context=None):
        """Say whether the ledger agrees; operators see several ledgers."""
        account = request.user.account
        context = (
            {
                "list_note": f"{format_ledger_note(account)} {NUMBERS_NOTE}",
                "list_button": ("Check now", reverse("admin:check_ledger")),
                "list_links": [(it.title, reverse(f"admin:{it.name}")) for it in REPORTS],
            }
            if account
            else {}
        )
        return super().changelist_view(request, context | (extra_context or {}))

    def get_urls(self):
        """Add the check of the ledger."""
        view = require_POST(self.admin_site.admin_view(self.check_view))
        return [
            path("check/", view, name="check_ledger"),
            *super().get_urls(),
        ]

    def check_view(self, request):
        """Check the ledger of the account now; it moves nothing, so all roles may."""
        account = request.user.account
        if account is None or not self.has_view_permission(request):
            raise PermissionDenied
        level, text = check_ledger(account)
        self.message_user(request, text, level=level)
        return redirect("admin:payouts_transfer_changelist")

    def get_object_title(self, transfer):
        return f"Entry {transfer.pk}"

    def type(self, transfer):
        return transfer.get_kind_display()

    def debit_account(self, transfer):
        return name_ledger_account(transfer.debit.kind, transfer.debit.affiliate)

    def credit_account(self, transfer):
        return name_ledger_account(transfer.credit.kind, transfer.credit.affiliate)

    @display(description="Amount")
    def formatted_amount(self, transfer):
        return format_money(transfer.amount, transfer.currency)
