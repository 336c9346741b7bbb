"""The pages of balances, payments and payout methods."""

from dataclasses import replace
from datetime import datetime
from decimal import Decimal

from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.db.models import BooleanField, Exists, ExpressionWrapper, OuterRef, Q
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.http import urlencode

from accounts.tenant_admin import SearchMatch
from affiliate_site.backoffice.affiliates.affiliate_detail import get_full_name
from affiliate_site.backoffice.affiliates.payout_method_pages import (
    ReleasePayoutMethodPage,
)
from affiliate_site.backoffice.base import ReadOnlyBackOfficeAdmin
from affiliate_site.backoffice.bulk_pages import build_actions
from affiliate_site.backoffice.formatters import (
    EMPTY_VALUE,
    format_affiliate,
    format_datetime,
    format_money,
    format_totals,
    get_payment_status,
)
from affiliate_site.backoffice.lists.columns import (
    AFFILIATE,
    AMOUNT,
    PERSON,
    TAX_WITHHELD,
    AmountSource,
    ListColumn,
    build_status_column,
)
from affiliate_site.backoffice.lists.date_filters import DateFilter
from affiliate_site.backoffice.lists.exports import MOMENT_TITLE
from affiliate_site.backoffice.lists.filters import (
    AffiliateFilter,
    AffiliateGroupFilter,
    BalanceFilter,
    CurrencyFilter,
    ZeroBalanceFilter,
)
from affiliate_site.backoffice.lists.search import (
    AFFILIATE_SEARCH_HELP,
    AffiliateSearchMixin,
)
from affiliate_site.backoffice.lists.state_filters import (
    CanceledFilter,
    ReturnedFilter,
    WithheldFilter,
)
from affiliate_site.backoffice.object_pages import (
    Details,
    ObjectPageMixin,
    Section,
    label_status,
    link_to,
)
from affiliate_site.backoffice.payouts.balance_detail import get_balance_details
from affiliate_site.backoffice.payouts.due_texts import (
    add_amounts_due,
    format_on_hold,
    sum_on_hold,
)
from affiliate_site.backoffice.payouts.minimum_pages import (
    MINIMUM_PAGES,
    AddMinimumPage,
)
from affiliate_site.backoffice.payouts.payment_detail import get_payment_details
from affiliate_site.backoffice.payouts.payment_pages import (
    CancelPaymentPage,
    PayBalancePage,
)
from affiliate_site.backoffice.payouts.payout_texts import (
    add_payout_texts,
    format_payment_method,
    list_method_facts,
    mark_unanswered,
)
from affiliate_site.backoffice.payouts.run_lines import add_subtext
from affiliate_site.backoffice.payouts.run_pages import AddPayoutRunPage
from affiliate_site.backoffice.payouts.withheld_pages import (
    LiftPage,
)
from payouts.models.ledger import LedgerAccount, LedgerAccountType
from payouts.models.payments import Payment, PayoutMethod
from payouts.models.runs import (
    LeftOutReason,
    PayoutMinimum,
    PayoutRun,
    PayoutSettings,
    WithheldBalance,
)
from payouts.services.commission_history import list_payments_of_order
from payouts.services.payout_minimums import annotate_minimum
from payouts.statistics import Amounts, add_sums
from tracking.amounts import ExactSum
from tracking.money import ZERO


def format_balance(ledger_account) -> str:
    """What is due, or that more was paid."""
    amount = format_money(ledger_account.balance, ledger_account.currency)
    overpaid = "overpaid" if ledger_account.balance < 0 else ""
    withheld = "withheld" if ledger_account.is_withheld else ""
    return add_subtext(amount, overpaid, withheld)


def list_blocked(row) -> list[str]:
    """Why no payout run pays what is due of a balance; empty if one does."""
    due = row.amounts_due.due
    if due <= 0:
        return []
    reason = LeftOutReason.WITHHELD.label if row.is_withheld else row.obstacle
    minimum = row.minimum or ZERO
    text = f"below the minimum of {format_money(minimum, row.currency)}"
    return [
        *([f"not paid by runs: {reason}"] if reason else []),
        *([text] if due < minimum else []),
    ]


def describe_blocked(rows) -> str:
    """How much of what is due on a page no payout run pays; empty if runs pay all."""
    blocked = Amounts()
    for row in rows:
        if list_blocked(row):
            blocked.add(row.currency, row.amounts_due.due)
    if not blocked:
        return ""
    return format_html(
        "of what is due now on this page, no payout run pays <strong>{}</strong>: the reasons"
        ' are below the amounts, the <a class="underline" href="{}">minimums</a> may be changed',
        format_totals(blocked),
        reverse("admin:payouts_payoutminimum_changelist"),
    )


def get_end_of_hold(row) -> datetime | None:
    """When all of a balance is due; None if it is."""
    return row.amounts_due.held_until


NAME = ListColumn("name", "Name", export=lambda row: get_full_name(row.affiliate), is_listed=False)
PARTS = (
    ListColumn(
        "amount_due",
        "Due now",
        lambda row: add_subtext(
            format_money(row.amounts_due.due, row.currency), *list_blocked(row)
        ),
        export=lambda row: row.amounts_due.due,
    ),
    ListColumn(
        "amount_on_hold",
        "On hold",
        lambda row: format_on_hold(row.amounts_due, row.currency),
        export=lambda row: row.amounts_due.on_hold,
    ),
    ListColumn(
        "amount_pending",
        "Pending",
        lambda row: format_money(row.amounts_due.pending, row.currency),
        export=lambda row: row.amounts_due.pending,
    ),
    ListColumn(
        "held_until",
        MOMENT_TITLE.format(title="On hold until"),
        export=get_end_of_hold,
        is_listed=False,
    ),
    ListColumn(
        "blocked",
        "Why not paid",
        export=lambda row: "; ".join(list_blocked(row)),
        is_listed=False,
    ),
)
PAYOUT_METHOD = ListColumn(
    "payout_method", "Primary payout method today", lambda row: row.payout_text
)

ON_HOLD = ListColumn(
    "on_hold",
    "On hold because",
    lambda row: row.on_hold_reason,
    export="on_hold_reason",
)


class PayoutRunLinkMixin(ModelAdmin):
    """Adds a link to the form of a new payout run to a list, if the user can pay."""

    def changelist_view(self, request, extra_context=None):
        page = self.admin_site.get_model_admin(PayoutRun)
        list_links = (
            [(AddPayoutRunPage.title, reverse("admin:payouts_payoutrun_add"))]
            if page.has_add_permission(request)
            else []
        )
        return super().changelist_view(request, {"list_links": list_links, **(extra_context or {})})


@admin.register(LedgerAccount)
class BalanceAdmin(
    PayoutRunLinkMixin, AffiliateSearchMixin, ObjectPageMixin, ReadOnlyBackOfficeAdmin
):
    """The balance due to each affiliate, per currency; actions pay it."""

    import_kind = "opening_balances"
    columns = (
        replace(PERSON, order=None),
        NAME,
        ListColumn(
            "shown_balance",
            "Balance due",
            format_balance,
            order="balance",
            export=AmountSource("balance"),
        ),
        *PARTS,
        PAYOUT_METHOD,
    )
    list_select_related = ("account", "affiliate")
    search_fields = ("affiliate__slug__exact",)
    search_help_text = AFFILIATE_SEARCH_HELP
    search_hint = "Balances of zero are hidden: the filter shows them"
    list_filter = (
        AffiliateFilter,
        AffiliateGroupFilter,
        CurrencyFilter,
        WithheldFilter,
        BalanceFilter,
        ZeroBalanceFilter,
    )
    amount_column = "balance"
    ordering = ("currency", "-balance", "id")
    # An index of balances would make each sale slower, whose balances change in place.
    ordering_of_long_list = ("affiliate", "-id")
    row_pages = (PayBalancePage, LiftPage)
    actions = build_actions(PayBalancePage)

    def get_queryset(self, request):
        rows = super().get_queryset(request).filter(kind=LedgerAccountType.PAYABLE)
        names = ("account", "affiliate", "currency")
        same = WithheldBalance.objects.filter(**{name: OuterRef(name) for name in names})
        settings = PayoutSettings.objects.filter(
            account=OuterRef("account"), requires_documents=True
        )
        rows = rows.annotate(is_withheld=Exists(same), requires_documents=Exists(settings))
        return annotate_minimum(rows)

    def format_sums(self, rows):
        """Add what is due now, and what is due and what was overpaid, which the
        dashboard shows."""
        text, number = super().format_sums(rows)
        is_overpaid = ExpressionWrapper(Q(balance__lt=0), BooleanField())
        parts = rows.order_by().annotate(is_overpaid=is_overpaid)
        sums = parts.values_list("is_overpaid", "currency").annotate(ExactSum("balance"))
        totals: dict[bool, dict[str, Decimal]] = {False: {}, True: {}}
        for is_negative, currency, total in sums.exclude(balance=0):
            totals[is_negative][currency] = total
        if totals[True]:
            due, overpaid = map(format_totals, (totals[False], totals[True]))
            text = f"{text} ({due} due, {overpaid} overpaid)"
        if on_hold := sum_on_hold(rows, at=timezone.now()):
            now = Amounts(add_sums(totals.values()))
            for currency, amount in on_hold.items():
                now.add(currency, -amount)
            held = format_totals(on_hold)
            text = f"{text}; due now: {format_totals(now)}, on hold: {held}"
        return text, number

    def name_row(self, row):
        return f"{row.affiliate} in {row.currency}"

    def get_object_title(self, row):
        return f"{row.affiliate}, {row.currency}"

    def get_details(self, request, ledger_account):
        return get_balance_details(request, ledger_account)

    def find_neighbors(self, ledger_account):
        """None: balances have no order in time."""
        return None, None

    def prepare_rows(self, request, rows):
        add_payout_texts(rows, request.user)
        add_amounts_due(rows, at=timezone.now())
        request.count_note = describe_blocked(rows)


@admin.register(Payment)
class PaymentAdmin(
    PayoutRunLinkMixin, AffiliateSearchMixin, ObjectPageMixin, ReadOnlyBackOfficeAdmin
):
    """Payments; canceling one makes its amount due again."""

    import_kind = "payments"
    columns = (
        "public_id",
        PERSON,
        NAME,
        AMOUNT,
        TAX_WITHHELD,
        build_status_column(get_payment_status),
        "created_at",
        ListColumn(
            "canceled_at",
            "Canceled or returned",
            lambda row: format_datetime(row.canceled_at) or EMPTY_VALUE,
            order="canceled_at",
            export="canceled_at",
        ),
        ListColumn("paid_to", "Paid to", lambda row: row.paid_to, is_listed=False),
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
    left_out_of_sums = (("canceled or returned", "canceled_at", Q(canceled_at=None)),)
    ordering = ("-created_at", "-id")
    row_pages = (CancelPaymentPage,)
    actions = build_actions(CancelPaymentPage)

    def list_search_matches(self, request, term):
        """Add the payments of an order; an operator has no index of order IDs."""
        matches = super().list_search_matches(request, term)
        account = request.user.account
        pks = list_payments_of_order(account, term) if account else []
        return [*matches, SearchMatch.of_rows("pk", pks)] if pks else matches

    def prepare_rows(self, request, rows):
        mark_unanswered(rows)
        for row in rows:
            row.paid_to = format_payment_method(row, request.user)

    def get_details(self, request, payment):
        return get_payment_details(request, payment)


@admin.register(PayoutMinimum)
class PayoutMinimumAdmin(AffiliateSearchMixin, ObjectPageMixin, ReadOnlyBackOfficeAdmin):
    columns = (
        ListColumn(
            "applies_to",
            "Applies to",
            lambda row: format_affiliate(row.affiliate) if row.affiliate else "all affiliates",
            export=lambda row: row.affiliate.slug if row.affiliate else "all affiliates",
        ),
        replace(AMOUNT, title="Minimum"),
    )
    list_select_related = ("affiliate",)
    list_filter = (CurrencyFilter, AffiliateFilter)
    search_fields = ("affiliate__slug__exact",)
    search_help_text = AFFILIATE_SEARCH_HELP
    ordering = ("affiliate", "currency")
    add_page = AddMinimumPage
    row_pages = MINIMUM_PAGES

    def find_neighbors(self, minimum):
        """None: minimums have no order in time."""
        return None, None

    def get_details(self, request, minimum):
        affiliate = minimum.affiliate
        applies_to = link_to(affiliate) or "all affiliates without one of their own"
        return Details(
            headline=format_money(minimum.amount, minimum.currency),
            sections=[Section("Payout minimum", facts=[("Applies to", applies_to)])],
        )


@admin.register(PayoutMethod)
class PayoutMethodAdmin(AffiliateSearchMixin, ObjectPageMixin, ReadOnlyBackOfficeAdmin):
    columns = (AFFILIATE, "kind", "is_primary", ON_HOLD)
    list_select_related = ("affiliate",)
    list_filter = ("kind", ReturnedFilter, AffiliateFilter)
    search_fields = ("affiliate__slug__exact",)
    search_help_text = AFFILIATE_SEARCH_HELP
    ordering = ("-affiliate", "-kind")
    row_pages = (ReleasePayoutMethodPage,)

    def get_object_title(self, row):
        return f"{row.get_kind_display()} of {row.affiliate}"

    def get_details(self, request, method):
        facts = [
            ("Affiliate", link_to(method.affiliate)),
            *list_method_facts(method, request.user),
            (
                "Details changed on",
                method.details_changed_at and format_datetime(method.details_changed_at),
            ),
            ("On hold", method.on_hold_reason),
        ]
        return Details(
            headline=method.get_kind_display(),
            labels=[label_status("primary")] if method.is_primary else [],
            sections=[Section("Payout method", facts=facts)],
        )

    def find_neighbors(self, method):
        """None: methods have no order in time."""
        return None, None
