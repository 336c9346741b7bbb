"""The pages of payout runs and of their lines."""

from dataclasses import replace
from functools import partial
from operator import attrgetter

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
    ListColumn,
    SumsSource,
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
from affiliate_site.backoffice.object_pages import ObjectPageMixin
from affiliate_site.backoffice.payouts.payout_file_pages import DownloadFilesPage
from affiliate_site.backoffice.payouts.payout_result_pages import ImportResultsPage
from affiliate_site.backoffice.payouts.run_detail import (
    describe_paid_totals,
    describe_state,
    format_due_until,
    get_line_details,
    get_run_details,
)
from affiliate_site.backoffice.payouts.run_pages import (
    LINE_PAGES,
    AddPayoutRunPage,
    ConfirmRunPage,
    DiscardRunPage,
    RemakeRunPage,
    RunNotePage,
)
from affiliate_site.backoffice.payouts.run_statements import run_statements_view
from payouts.models.runs import LEFT_OUT_STATES, PayoutLine, PayoutRun
from payouts.services.payout_runs import PaidTotals
from payouts.services.run_states import FAILED
from payouts.statistics import Amounts
from tracking.amounts import ExactSum


@admin.register(PayoutRun)
class PayoutRunAdmin(ObjectPageMixin, ReadOnlyBackOfficeAdmin):
    columns = (
        "public_id",
        build_status_column(lambda run: describe_state(run, run.totals)),
        ListColumn("due_until", "Due until", format_due_until),
        ListColumn(
            "line_count",
            "Payments",
            lambda run: f"{run.line_count:,}",
            export=attrgetter("line_count"),
            is_count=True,
        ),
        ListColumn(
            "total",
            "Total",
            lambda run: describe_paid_totals(run.totals),
            export=SumsSource(lambda run: run.totals.total),
        ),
        ListColumn(
            "returned",
            "Came back",
            export=SumsSource(lambda run: run.totals.returned),
            is_listed=False,
        ),
        "created_at",
        "confirmed_at",
        ListColumn("note", "Note", lambda run: run.note or EMPTY_VALUE),
    )
    list_filter = ("state",)
    ordering = ("-created_at", "-id")
    add_page = AddPayoutRunPage
    row_pages = (
        # The first one that is offered has the button that stands out.
        *(ConfirmRunPage, DownloadFilesPage, ImportResultsPage),
        *(RemakeRunPage, RunNotePage, DiscardRunPage),
    )

    def prepare_rows(self, request, rows):
        """Add number and sums of the lines."""
        lines = PayoutLine.objects.filter(
            account__in={run.account_id for run in rows},
            run__in=[run.pk for run in rows],
        ).exclude(state__in=LEFT_OUT_STATES)
        sums = lines.order_by().values_list("run", "currency", "state")
        by_run = {run.pk: run for run in rows}
        for run in rows:
            run.line_count, run.totals = 0, PaidTotals(Amounts(), Amounts())
        for pk, currency, state, number, total in sums.annotate(Count("pk"), ExactSum("amount")):
            by_run[pk].line_count += number
            by_run[pk].totals.total.add(currency, total)
            if state in FAILED:
                by_run[pk].totals.returned.add(currency, total)

    def get_urls(self):
        """Add the statements of a run."""
        view = self.admin_site.admin_view(partial(run_statements_view, self))
        return [
            path("<int:object_id>/statements/", view, name="run_statements"),
            *super().get_urls(),
        ]

    def get_details(self, request, run):
        return get_run_details(request, run)


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

    columns = (
        ListColumn("run", export="run__public_id"),
        replace(PERSON, order=None),
        ListColumn(
            "commissions",
            "Commissions",
            lambda line: f"{line.commission_count:,}",
            export="commission_count",
        ),
        AMOUNT,
        TAX_WITHHELD,
        "method",
        build_status_column(lambda line: line.get_state_display().lower()),
        ListColumn(
            "reason",
            "Left out",
            lambda line: line.get_reason_display() or EMPTY_VALUE,
            export="reason",
        ),
        ListColumn("payment", export="payment__public_id"),
        ListColumn("note", is_listed=False),
    )
    list_select_related = ("run", "affiliate", "payment")
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

    def get_queryset(self, request):
        return super().get_queryset(request).defer("receiver")

    def get_object_title(self, line):
        return f"{line.affiliate}, {line.currency}"

    def get_details(self, request, line):
        return get_line_details(line)

    def find_neighbors(self, line):
        """None: the page of the run lists them."""
        return None, None
