"""The pages of payout runs and of their lines."""

from dataclasses import dataclass, replace
from functools import partial

from django.contrib import admin
from django.db.models import Count, Q
from django.urls import path

from accounts.tenant_admin import filter_for_user
from affiliate_site.backoffice.base import ReadOnlyBackOfficeAdmin
from affiliate_site.backoffice.formatters import EMPTY_VALUE
from affiliate_site.backoffice.lists.columns import (
    AMOUNT,
    PERSON,
    TAX_WITHHELD,
    build_status_column,
)
from affiliate_site.backoffice.lists.filters import (
    AffiliateFilter,
    CurrencyFilter,
    FormFilter,
)
from affiliate_site.backoffice.lists.search import (
    AFFILIATE_SEARCH_HELP,
    AffiliateSearchMixin,
)
from affiliate_site.backoffice.navigation import ListAction, MenuEntry, SubList
from affiliate_site.backoffice.object_pages import ObjectPageMixin
from affiliate_site.backoffice.payouts.payout_file_pages import DownloadFilesPage
from affiliate_site.backoffice.payouts.payout_result_pages import ImportResultsPage
from affiliate_site.backoffice.payouts.payout_texts import LINE_STATUSES
from affiliate_site.backoffice.payouts.run_detail import (
    describe_paid_totals,
    format_due_until,
    get_line_details,
    get_run_details,
    get_status,
)
from affiliate_site.backoffice.payouts.run_pages import (
    LINE_PAGES,
    AddPayoutRunPage,
    ConfirmRunPage,
    DiscardRunPage,
    RemakeRunPage,
    RunNotePage,
)
from affiliate_site.backoffice.payouts.run_review import run_review_view
from affiliate_site.backoffice.payouts.run_statements import run_statements_view
from affiliate_site.columns import Column, SumsSource
from payouts.models.runs import LEFT_OUT_STATES, PayoutLine, PayoutRun
from payouts.services.payout_runs import FAILED, PaidTotals
from payouts.statistics import Amounts
from tracking.amounts import ExactSum


@dataclass
class RunLines:
    """Number and sums of the lines of a run."""

    count: int
    totals: PaidTotals


def sum_lines(request, runs) -> dict[int, RunLines]:
    lines = PayoutLine.objects.filter(
        account__in={run.account_id for run in runs},
        run__in=[run.pk for run in runs],
    ).exclude(state__in=LEFT_OUT_STATES)
    sums = lines.order_by().values_list("run", "currency", "state")
    by_run = {run.pk: RunLines(0, PaidTotals(Amounts(), Amounts())) for run in runs}
    for pk, currency, state, number, total in sums.annotate(Count("pk"), ExactSum("amount")):
        by_run[pk].count += number
        by_run[pk].totals.total.add(currency, total)
        if state in FAILED:
            by_run[pk].totals.returned.add(currency, total)
    return by_run


@admin.register(PayoutRun)
class PayoutRunAdmin(ObjectPageMixin, ReadOnlyBackOfficeAdmin):
    menu = (MenuEntry("Payouts", 20, "event_repeat", is_daily=True),)
    list_actions = (ListAction(40, "Import payout results", permission="payouts.add_payment"),)
    empty_state = (
        "No payout runs yet. Choose “Add payout run” to draft the payments of all that is due."
    )
    columns = (
        "public_id",
        build_status_column(lambda run, it: get_status(run, it.totals), load=sum_lines),
        Column("Due until", format_due_until),
        Column(
            "Payments",
            lambda run, it: f"{it.count:,}",
            name="line_count",
            load=sum_lines,
            export=lambda run, it: it.count,
            is_count=True,
        ),
        Column(
            "Total",
            lambda run, it: describe_paid_totals(it.totals),
            load=sum_lines,
            export=SumsSource(lambda run, it: it.totals.total),
        ),
        Column(
            "Came back",
            load=sum_lines,
            export=SumsSource(lambda run, it: it.totals.returned),
            is_listed=False,
        ),
        "created_at",
        "confirmed_at",
        Column("Note", lambda run: run.note or EMPTY_VALUE),
    )
    list_filter = ("state",)
    ordering = ("-created_at", "-id")
    add_page = AddPayoutRunPage
    row_pages = (
        # The first one that is offered has the button that stands out.
        *(ConfirmRunPage, DownloadFilesPage, ImportResultsPage),
        *(RemakeRunPage, RunNotePage, DiscardRunPage),
    )
    details = staticmethod(get_run_details)

    def get_urls(self):
        """Add the statements of a run, and its sales to look at."""
        statements, review = (
            self.admin_site.admin_view(partial(view, self))
            for view in (run_statements_view, run_review_view)
        )
        return [
            path("<int:object_id>/statements/", statements, name="run_statements"),
            path("<int:object_id>/to-look-at/", review, name="run_review"),
            *super().get_urls(),
        ]


class RunFilter(FormFilter):
    """The lines of one run, by its ID."""

    title = "payout run"
    parameter_name = "run"

    def queryset(self, request, queryset):
        if not self.value():
            return queryset
        runs = PayoutRun.objects.filter(public_id=self.value())
        return queryset.filter(run__in=filter_for_user(runs, request.user))


@admin.register(PayoutLine)
class PayoutLineAdmin(AffiliateSearchMixin, ObjectPageMixin, ReadOnlyBackOfficeAdmin):
    """The lines of payout runs; the page of a run leads here."""

    sub_list = SubList(PayoutRun)
    empty_state = "No lines of payout runs yet. A payout run has one for each balance."
    columns = (
        Column(name="run", export="run__public_id"),
        replace(PERSON, order=None),
        Column("Commissions", lambda line: f"{line.commission_count:,}", export="commission_count"),
        AMOUNT,
        TAX_WITHHELD,
        "method",
        build_status_column(lambda line: LINE_STATUSES[line.state]),
        Column(
            "Left out",
            lambda line: line.get_reason_display() or EMPTY_VALUE,
            name="reason",
            export="reason",
        ),
        Column(name="payment", export="payment__public_id"),
        Column(name="note", is_listed=False),
    )
    search_fields = ("affiliate__slug__exact",)
    search_help_text = AFFILIATE_SEARCH_HELP
    list_filter = (
        *(RunFilter, "state", "reason", "method"),
        *(AffiliateFilter, CurrencyFilter),
    )
    amount_column = "amount"
    left_out_of_sums = (("left out", ("state", "reason"), ~Q(state__in=LEFT_OUT_STATES)),)
    ordering = ("-run", "-affiliate", "-currency")
    row_pages = LINE_PAGES
    has_neighbors = False  # the page of the run lists them

    def get_queryset(self, request):
        return super().get_queryset(request).defer("receiver")

    def get_object_title(self, line):
        return f"{line.affiliate}, {line.currency}"

    def get_details(self, request, line):
        return get_line_details(line)
