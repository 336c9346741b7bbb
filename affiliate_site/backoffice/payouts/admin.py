"""The pages of balances, payments and payout methods."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.db.models import BooleanField, Exists, ExpressionWrapper, OuterRef, Q
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html

from accounts.tenant_admin import SearchMatch
from affiliate_site.backoffice.affiliates.affiliate_detail import get_full_name
from affiliate_site.backoffice.affiliates.payout_method_pages import (
    ReleasePayoutMethodPage,
)
from affiliate_site.backoffice.base import PreparedChangeList, ReadOnlyBackOfficeAdmin
from affiliate_site.backoffice.bulk_pages import build_actions
from affiliate_site.backoffice.formatters import (
    EMPTY_VALUE,
    Label,
    format_affiliate,
    format_datetime,
    format_money,
    format_totals,
)
from affiliate_site.backoffice.lists.columns import (
    AFFILIATE,
    AMOUNT,
    PERSON,
    TAX_WITHHELD,
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
from affiliate_site.backoffice.navigation import ListAction, MenuEntry
from affiliate_site.backoffice.object_pages import (
    Details,
    ObjectPageMixin,
    Section,
    link_to,
)
from affiliate_site.backoffice.payouts.balance_detail import get_balance_details
from affiliate_site.backoffice.payouts.due_texts import (
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
    BalanceFacts,
    find_balance_facts,
    format_payment_method,
    get_payment_status,
    list_method_facts,
    load_line_states,
)
from affiliate_site.backoffice.payouts.run_lines import add_subtext
from affiliate_site.backoffice.payouts.run_pages import AddPayoutRunPage
from affiliate_site.backoffice.payouts.withheld_pages import (
    LiftPage,
)
from affiliate_site.columns import AmountSource, Column
from payouts.models.ledger import LedgerAccount, LedgerAccountType
from payouts.models.payments import Payment, PayoutMethod
from payouts.models.runs import (
    LeftOutReason,
    PayoutMinimum,
    PayoutRun,
    PayoutSettings,
    WithheldBalance,
)
from payouts.services.explanation import list_payments_of_order
from payouts.services.payout_limits import annotate_minimum
from payouts.statistics import Amounts, add_sums
from tracking.amounts import ExactSum
from tracking.money import ZERO


def format_balance(ledger_account) -> str:
    """What is due, or that more was paid."""
    amount = format_money(ledger_account.balance, ledger_account.currency)
    overpaid = "overpaid" if ledger_account.balance < 0 else ""
    withheld = "withheld" if ledger_account.is_withheld else ""
    return add_subtext(amount, overpaid, withheld)


def list_blocked(row, facts: BalanceFacts) -> list[str]:
    """Why no payout run pays what is due of a balance; empty if one does."""
    due = facts.amounts.due
    if due <= 0:
        return []
    reason = LeftOutReason.WITHHELD.label if row.is_withheld else facts.obstacle
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
        facts = row.loaded[find_balance_facts]
        if list_blocked(row, facts):
            blocked.add(row.currency, facts.amounts.due)
    if not blocked:
        return ""
    return format_html(
        "of what is due now on this page, no payout run pays <strong>{}</strong>: the reasons"
        ' are below the amounts, the <a class="underline" href="{}">minimums</a> may be changed',
        format_totals(blocked),
        reverse("admin:payouts_payoutminimum_changelist"),
    )


def format_payment_methods(request, payments) -> dict[int, str]:
    """How payments were paid, as far as the user sees it."""
    return {it.pk: format_payment_method(it, request.user) for it in payments}


def build_balance_column(title: str, show=None, **options: Any) -> Column:
    """A column with what balances have in addition."""
    return Column(title, show, load=find_balance_facts, select=("account",), **options)


NAME = Column(
    "Name",
    select=("affiliate",),
    export=lambda row: get_full_name(row.affiliate),
    is_listed=False,
)
PARTS = (
    build_balance_column(
        "Due now",
        lambda row, it: add_subtext(
            format_money(it.amounts.due, row.currency), *list_blocked(row, it)
        ),
        name="amount_due",
        export=lambda row, it: it.amounts.due,
    ),
    build_balance_column(
        "On hold",
        lambda row, it: format_on_hold(it.amounts, row.currency),
        name="amount_on_hold",
        export=lambda row, it: it.amounts.on_hold,
    ),
    build_balance_column(
        "Pending",
        lambda row, it: format_money(it.amounts.pending, row.currency),
        name="amount_pending",
        export=lambda row, it: it.amounts.pending,
    ),
    build_balance_column(
        MOMENT_TITLE.format(title="On hold until"),
        export=lambda row, it: it.amounts.held_until,
        is_listed=False,
    ),
    build_balance_column(
        "Why not paid",
        export=lambda row, it: "; ".join(list_blocked(row, it)),
        is_listed=False,
    ),
    build_balance_column(
        "Primary payout method today", lambda row, it: it.payout_text, name="payout_method"
    ),
)
TO_CHECK = Column(
    "To check because", lambda row: row.on_hold_reason, name="to_check", export="on_hold_reason"
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


class BalanceChangeList(PreparedChangeList):
    def get_results(self, request):
        super().get_results(request)
        request.count_note = describe_blocked(list(self.result_list))


@admin.register(LedgerAccount)
class BalanceAdmin(
    PayoutRunLinkMixin, AffiliateSearchMixin, ObjectPageMixin, ReadOnlyBackOfficeAdmin
):
    """The balance due to each affiliate, per currency; actions pay it."""

    menu = (MenuEntry("Payouts", 10, "account_balance", is_daily=True),)
    list_actions = (ListAction(30, "Pay affiliates", "balance__gt=0", "payouts.add_payment"),)
    empty_state = (
        "No balances due. Approve a commission to add its amount to the balance of the affiliate."
    )
    import_kind = "opening_balances"
    columns = (
        replace(PERSON, order=None),
        NAME,
        Column(
            "Balance due",
            format_balance,
            name="shown_balance",
            order="balance",
            export=AmountSource("balance"),
        ),
        *PARTS,
    )
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
    has_neighbors = False  # balances have no order in time
    details = staticmethod(get_balance_details)

    def get_changelist(self, request, **kwargs):
        return BalanceChangeList

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


@admin.register(Payment)
class PaymentAdmin(
    PayoutRunLinkMixin, AffiliateSearchMixin, ObjectPageMixin, ReadOnlyBackOfficeAdmin
):
    """Payments; canceling one makes its amount due again."""

    menu = (MenuEntry("Payouts", 30, "payments", is_daily=True),)
    empty_state = (
        "No payments yet. Select affiliates under Balances and choose “Pay balance in full”."
    )
    import_kind = "payments"
    columns = (
        "public_id",
        PERSON,
        NAME,
        AMOUNT,
        TAX_WITHHELD,
        build_status_column(get_payment_status, load=load_line_states),
        "created_at",
        Column(
            "Canceled or returned",
            lambda row: format_datetime(row.canceled_at) or EMPTY_VALUE,
            name="canceled_at",
            order="canceled_at",
            export="canceled_at",
        ),
        Column("Paid to", lambda row, text: text, load=format_payment_methods, is_listed=False),
    )
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
    details = staticmethod(get_payment_details)

    def list_search_matches(self, request, term):
        """Add the payments of an order; an operator has no index of order IDs."""
        matches = super().list_search_matches(request, term)
        account = request.user.account
        pks = list_payments_of_order(account, term) if account else []
        return [*matches, SearchMatch.of_rows("pk", pks)] if pks else matches


@admin.register(PayoutMinimum)
class PayoutMinimumAdmin(AffiliateSearchMixin, ObjectPageMixin, ReadOnlyBackOfficeAdmin):
    menu = (MenuEntry("Payouts", 40, "vertical_align_bottom"),)
    list_title = "Minimums"
    empty_state = (
        "No minimums yet: payout runs pay any amount. Choose “Add payout minimum” to"
        " let small amounts wait for the next run."
    )
    columns = (
        Column(
            "Applies to",
            lambda row: format_affiliate(row.affiliate) if row.affiliate else "all affiliates",
            select=("affiliate",),
            export=lambda row: row.affiliate.slug if row.affiliate else "all affiliates",
        ),
        replace(AMOUNT, title="Minimum"),
    )
    list_filter = (CurrencyFilter, AffiliateFilter)
    search_fields = ("affiliate__slug__exact",)
    search_help_text = AFFILIATE_SEARCH_HELP
    ordering = ("affiliate", "currency")
    add_page = AddMinimumPage
    row_pages = MINIMUM_PAGES
    has_neighbors = False  # minimums have no order in time

    def get_details(self, request, minimum):
        affiliate = minimum.affiliate
        applies_to = link_to(affiliate) or "all affiliates without one of their own"
        return Details(
            headline=format_money(minimum.amount, minimum.currency),
            sections=[Section("Payout minimum", facts=[("Applies to", applies_to)])],
        )


@admin.register(PayoutMethod)
class PayoutMethodAdmin(AffiliateSearchMixin, ObjectPageMixin, ReadOnlyBackOfficeAdmin):
    empty_state = (
        "No payout methods yet. Choose “Add payout method” to record how an affiliate is paid."
    )
    columns = (AFFILIATE, "kind", "is_primary", TO_CHECK)
    list_filter = ("kind", ReturnedFilter, AffiliateFilter)
    search_fields = ("affiliate__slug__exact",)
    search_help_text = AFFILIATE_SEARCH_HELP
    ordering = ("-affiliate", "-kind")
    row_pages = (ReleasePayoutMethodPage,)
    has_neighbors = False  # methods have no order in time

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
            ("To check because", method.on_hold_reason),
        ]
        return Details(
            headline=method.get_kind_display(),
            labels=[Label("primary")] if method.is_primary else [],
            sections=[Section("Payout method", facts=facts)],
        )
