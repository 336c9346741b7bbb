"""The pages of balances, payments, payout methods and the ledger."""

from django.contrib import admin, messages
from django.contrib.admin import ModelAdmin
from django.core.exceptions import PermissionDenied
from django.db import OperationalError
from django.db.models import Q
from django.shortcuts import redirect
from django.urls import path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.views.decorators.http import require_POST

from accounts.tenant_admin import SearchMatch
from affiliate_site.backoffice.actions import (
    DATABASE_TIMEOUT_MESSAGE,
    MAX_LISTED_ROWS,
    MAX_ROWS,
    AdminAction,
    run_admin_action,
)
from affiliate_site.backoffice.affiliates.affiliate_detail import get_full_name
from affiliate_site.backoffice.base import (
    ReadOnlyBackOfficeAdmin,
    action,
    display,
)
from affiliate_site.backoffice.effect_tables import LEDGER_ACCOUNT_NAMES
from affiliate_site.backoffice.formatters import (
    EMPTY_VALUE,
    STATUS_COLORS,
    Money,
    format_affiliate,
    format_ledger_note,
    format_money,
)
from affiliate_site.backoffice.lists.date_filters import DateFilter
from affiliate_site.backoffice.lists.filters import (
    AffiliateFilter,
    AffiliateGroupFilter,
    BalanceFilter,
    CurrencyFilter,
    LedgerAffiliateFilter,
    ZeroBalanceFilter,
)
from affiliate_site.backoffice.lists.search import (
    AFFILIATE_SEARCH_HELP,
    AffiliateSearchMixin,
)
from affiliate_site.backoffice.lists.state_filters import CanceledFilter
from affiliate_site.backoffice.object_pages import ObjectPageMixin, link_to
from affiliate_site.backoffice.payouts.balance_detail import get_balance_details
from affiliate_site.backoffice.payouts.bulk_payouts import (
    build_payments_url,
    bulk_payouts_view,
)
from affiliate_site.backoffice.payouts.payment_detail import get_payment_details
from affiliate_site.backoffice.payouts.payment_pages import (
    NO_TRANSFER,
    CancelPaymentForm,
    CancelPaymentPage,
    PayBalancePage,
)
from affiliate_site.backoffice.payouts.payout_texts import (
    add_payout_texts,
    warn_of_missing_methods,
)
from payouts.models.ledger import LedgerAccount, LedgerAccountType, Transfer
from payouts.models.payments import Payment, PayoutMethod
from payouts.services.commission_history import list_payments_of_order
from payouts.services.payments import PaymentOrder, cancel_payment, create_payments
from payouts.services.reconciliation import MAX_CHECKED_TRANSFERS, check_account

BULK_PAYOUTS_TITLE = "Bulk payout"
NUMBERS_NOTE = "IDs have gaps, because previews use some."
BULK_PAYOUTS_PATH = "bulk-payouts/"
AFFILIATE_COLUMN = (("Affiliate", lambda row: format_affiliate(row.affiliate)),)


def get_ledger_account_name(ledger_account) -> str:
    """`Balance due of adastone`; accounts of no affiliate by their kind alone."""
    name = LEDGER_ACCOUNT_NAMES[ledger_account.kind]
    affiliate = ledger_account.affiliate
    return f"{name} of {affiliate}" if affiliate else name


def check_ledger(account) -> tuple[int, str]:
    """Check the ledger of an account; the level and the text of the message."""
    try:
        report = check_account(account, at=timezone.now())
    except OperationalError:
        return messages.ERROR, DATABASE_TIMEOUT_MESSAGE.capitalize()
    if report is None:
        return messages.WARNING, (
            f"More than {MAX_CHECKED_TRANSFERS:,} ledger entries: too many to check"
            " while you wait. The nightly commands check them all; an operator can do"
            f" so at any time: check_ledger --account {account.slug} --note."
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


def has_bulk_payouts_permission(request) -> bool:
    """Operators have no account whose affiliates they could pay."""
    user = request.user
    return user.account_id is not None and user.has_perm("payouts.add_payment")


class BulkPayoutsLinkMixin(ModelAdmin):
    """Adds a link to the bulk payout page to a list, if the user can pay."""

    def changelist_view(self, request, extra_context=None):
        list_links = (
            [(BULK_PAYOUTS_TITLE, reverse("admin:bulk_payouts"))]
            if has_bulk_payouts_permission(request)
            else []
        )
        return super().changelist_view(
            request, {"list_links": list_links, **(extra_context or {})}
        )


@admin.register(LedgerAccount)
class BalanceAdmin(
    BulkPayoutsLinkMixin, AffiliateSearchMixin, ObjectPageMixin, ReadOnlyBackOfficeAdmin
):
    """The balance due to each affiliate, per currency; actions pay it."""

    list_display = ("person", "shown_balance", "payout_method")
    export_columns = ("affiliate", "name", "balance_due", "payout_method")
    list_select_related = ("affiliate",)
    search_fields = ("affiliate__slug__exact",)
    search_help_text = AFFILIATE_SEARCH_HELP
    search_hint = "Balances of zero are hidden: the filter shows them"
    list_filter = (
        AffiliateFilter,
        AffiliateGroupFilter,
        CurrencyFilter,
        BalanceFilter,
        ZeroBalanceFilter,
    )
    amount_column = "balance"
    ordering = ("currency", "-balance", "id")
    # An index of balances would make each sale slower, whose balances change in place.
    ordering_of_long_list = ("affiliate", "-id")
    row_pages = (PayBalancePage,)
    actions = ("pay_selected",)

    def get_queryset(self, request):
        return super().get_queryset(request).filter(kind=LedgerAccountType.PAYABLE)

    def format_sums(self, rows):
        """Add what is due and what was overpaid, which the dashboard shows."""
        text, number = super().format_sums(rows)
        overpaid, overpaid_number = super().format_sums(rows.filter(balance__lt=0))
        if overpaid_number:
            due, _ = super().format_sums(rows.filter(balance__gt=0))
            text = f"{text} ({due} due, {overpaid} overpaid)"
        return text, number

    def get_object_title(self, row):
        return f"{row.affiliate}, {row.currency}"

    def get_details(self, request, ledger_account):
        return get_balance_details(ledger_account)

    def find_neighbors(self, ledger_account):
        """None: balances have no order in time."""
        return None, None

    def get_urls(self):
        """Add the bulk payout page."""
        view = self.admin_site.admin_view(self.bulk_payouts_view)
        return [path(BULK_PAYOUTS_PATH, view, name="bulk_payouts"), *super().get_urls()]

    def bulk_payouts_view(self, request):
        """The bulk payout page, if the user can pay."""
        if not has_bulk_payouts_permission(request):
            raise PermissionDenied
        return bulk_payouts_view(self, request)

    @display(description="Affiliate")
    def person(self, ledger_account):
        return format_affiliate(ledger_account.affiliate)

    def name(self, ledger_account):
        return get_full_name(ledger_account.affiliate)

    def prepare_rows(self, request, rows):
        add_payout_texts(rows)

    @display(description="Primary payout method today")
    def payout_method(self, ledger_account):
        return ledger_account.payout_text

    def balance_due(self, ledger_account):
        return format_money(ledger_account.balance, ledger_account.currency)

    @display(description="Balance due", ordering="balance")
    def shown_balance(self, ledger_account):
        amount = self.balance_due(ledger_account)
        if ledger_account.balance >= 0:
            return amount
        html = format_html('{} <span class="subtext">overpaid</span>', amount)
        return Money(html, amount.amount, amount.currency)

    def has_pay_permission(self, request):
        return request.user.has_perm("payouts.add_payment")

    @action(description="Pay balance in full", permissions=["pay"])
    def pay_selected(self, request, rows):
        def get_skip_reason(row):
            return "" if row.balance and row.balance > 0 else "no balance due"

        rows = rows.select_related("affiliate")
        selected = list(rows[:MAX_ROWS])
        add_payout_texts(selected)
        payout_texts = {row.pk: row.payout_text for row in selected}

        def get_payout_text(row):
            return payout_texts.get(row.pk, "")

        def pay(row, at):
            order = PaymentOrder(
                row.affiliate.slug,
                row.balance,
                row.currency,
                expected_balance=row.balance,
            )
            return create_payments(row.account, orders=[order], at=at)

        admin_action = AdminAction(
            "Pay affiliates",
            perform=pay,
            skip_reason=get_skip_reason,
            amount_field="balance",
            columns=(*AFFILIATE_COLUMN, ("Pay to", get_payout_text)),
            explanation=NO_TRANSFER,
            alert=warn_of_missing_methods(
                row for row in selected if not get_skip_reason(row)
            ),
            get_done_url=build_payments_url,
        )
        return run_admin_action(self, request, rows, admin_action)


@admin.register(Payment)
class PaymentAdmin(
    BulkPayoutsLinkMixin, AffiliateSearchMixin, ObjectPageMixin, ReadOnlyBackOfficeAdmin
):
    """Payments; canceling one makes its amount due again."""

    list_display = (
        "public_id",
        "person",
        "formatted_amount",
        "status_label",
        "created_at",
        "canceled_at",
    )
    export_columns = (
        "public_id",
        "affiliate",
        "name",
        "formatted_amount",
        "status_label",
        "created_at",
        "canceled_at",
        "payout_method",
    )
    list_select_related = ("affiliate",)
    search_fields = ("public_id__exact", "affiliate__slug__exact")
    search_help_text = "Search by payment ID, affiliate or order ID"
    search_hint = "Type the whole order ID of a sale that it pays"
    list_filter = (
        AffiliateFilter,
        AffiliateGroupFilter,
        CurrencyFilter,
        CanceledFilter,
        DateFilter,
    )
    amount_column = "amount"
    left_out_of_sums = (("canceled", "canceled_at", Q(canceled_at=None)),)
    ordering = ("-created_at", "-id")
    row_pages = (CancelPaymentPage,)
    actions = ("cancel_selected",)

    def list_search_matches(self, request, term):
        """Add the payments of an order; an operator has no index of order IDs."""
        matches = super().list_search_matches(request, term)
        account = request.user.account
        pks = list_payments_of_order(account, term) if account else []
        return [*matches, SearchMatch.of_rows("pk", pks)] if pks else matches

    def get_details(self, request, payment):
        return get_payment_details(request, payment)

    @display(description="Affiliate", ordering="affiliate")
    def person(self, payment):
        return format_affiliate(payment.affiliate)

    def name(self, payment):
        return get_full_name(payment.affiliate)

    def prepare_rows(self, request, rows):
        add_payout_texts(rows)

    @display(description="Primary payout method today")
    def payout_method(self, payment):
        return payment.payout_text

    @display(description="Amount", ordering="amount")
    def formatted_amount(self, payment):
        return format_money(payment.amount, payment.currency)

    @display(description="Status", label=STATUS_COLORS)
    def status_label(self, payment):
        return "canceled" if payment.canceled_at else "paid"

    def has_cancel_permission(self, request):
        return request.user.has_perm("payouts.delete_payment")

    @action(description="Cancel", permissions=["cancel"])
    def cancel_selected(self, request, rows):
        is_confirmed = "confirmed" in request.POST
        form = CancelPaymentForm(request.POST if is_confirmed else None, account=None)
        admin_action = AdminAction(
            "Cancel payments",
            perform=lambda row, at: cancel_payment(
                row.account,
                payment_id=row.public_id,
                reason=form.cleaned_data["reason"],
                at=at,
            ),
            form=form,
            skip_reason=lambda row: "already canceled" if row.canceled_at else "",
            amount_field="amount",
            columns=AFFILIATE_COLUMN,
        )
        return run_admin_action(
            self, request, rows.select_related("affiliate"), admin_action
        )


@admin.register(PayoutMethod)
class PayoutMethodAdmin(AffiliateSearchMixin, ReadOnlyBackOfficeAdmin):
    """Payout methods of affiliates."""

    list_display = ("affiliate", "kind", "is_primary")
    list_select_related = ("affiliate",)
    list_filter = ("kind", AffiliateFilter)
    search_fields = ("affiliate__slug__exact",)
    search_help_text = AFFILIATE_SEARCH_HELP
    ordering = ("-affiliate", "-kind")


@admin.register(Transfer)
class TransferAdmin(ReadOnlyBackOfficeAdmin):
    """Ledger entries: amount, debit account, credit account and reason; append-only."""

    list_display = (
        "id",
        "type",
        "formatted_amount",
        "debit_account",
        "credit_account",
        "reason",
        "created_at",
    )
    list_select_related = (
        "debit__affiliate",
        "credit__affiliate",
        "commission",
        "payment",
    )
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
            }
            if account
            else {}
        )
        return super().changelist_view(request, context | (extra_context or {}))

    def get_urls(self):
        """Add the check of the ledger."""
        view = require_POST(self.admin_site.admin_view(self.check_view))
        return [path("check/", view, name="check_ledger"), *super().get_urls()]

    def check_view(self, request):
        """Check the ledger of the account now; it moves nothing, so all roles may."""
        account = request.user.account
        if account is None or not self.has_view_permission(request):
            raise PermissionDenied
        level, text = check_ledger(account)
        self.message_user(request, text, level=level)
        return redirect("admin:payouts_transfer_changelist")

    def type(self, transfer):
        return transfer.get_kind_display()

    def debit_account(self, transfer):
        return get_ledger_account_name(transfer.debit)

    def credit_account(self, transfer):
        return get_ledger_account_name(transfer.credit)

    @display(description="Amount")
    def formatted_amount(self, transfer):
        return format_money(transfer.amount, transfer.currency)

    def reason(self, transfer):
        if transfer.payment:
            return link_to(transfer.payment)
        commission = transfer.commission
        return link_to(commission, f"commission {commission}") or EMPTY_VALUE
