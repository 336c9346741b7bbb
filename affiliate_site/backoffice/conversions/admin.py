"""The pages of customers, and of conversions with explanations."""

from dataclasses import dataclass, field
from decimal import Decimal

from django.contrib import admin
from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, Value, When

from affiliate_site.backoffice.affiliates.personal_data_pages import PERSONAL_DATA_PAGES
from affiliate_site.backoffice.base import ReadOnlyBackOfficeAdmin
from affiliate_site.backoffice.conversions.conversion_details import (
    PARTLY_REFUNDED,
    REFUNDED,
    get_conversion_details,
)
from affiliate_site.backoffice.conversions.conversion_pages import CONVERSION_PAGES, EndDisputePage
from affiliate_site.backoffice.conversions.customer_details import (
    get_customer_details,
    get_customer_status,
)
from affiliate_site.backoffice.conversions.customer_pages import CUSTOMER_PAGES
from affiliate_site.backoffice.conversions.new_conversion_page import AddConversionPage
from affiliate_site.backoffice.conversions.partner_reports import PartnerReportPage
from affiliate_site.backoffice.conversions.reviews import (
    ReviewFilter,
    list_review_labels,
)
from affiliate_site.backoffice.formatters import (
    EMPTY_VALUE,
    REMOVED,
    Label,
    format_labels,
)
from affiliate_site.backoffice.lists.columns import (
    AFFILIATE,
    AMOUNT,
    DELETED_AT,
    PERSON,
    PROGRAM_TITLE,
    build_status_column,
)
from affiliate_site.backoffice.lists.date_filters import DateFilter, RemovalFilter
from affiliate_site.backoffice.lists.filters import (
    AffiliateFilter,
    AffiliateGroupFilter,
    CommissionStatusFilter,
    CurrencyFilter,
    ProgramFilter,
)
from affiliate_site.backoffice.lists.search import (
    AffiliateSearchMixin,
    OrderSearchMixin,
)
from affiliate_site.backoffice.lists.state_filters import DeletedFilter
from affiliate_site.backoffice.navigation import MenuEntry
from affiliate_site.backoffice.object_pages import ObjectPageMixin
from affiliate_site.backoffice.payouts.payout_texts import COMMISSION_STATUSES, NO_ANSWER, PAID
from affiliate_site.backoffice.theme import NOT_REMOVED
from affiliate_site.columns import AmountSource, Column
from payouts.models.commissions import (
    Commission,
    CommissionStatus,
)
from payouts.models.refunds import Refund
from payouts.models.runs import PayoutLine, PayoutLineState
from tracking.models.conversions import Conversion
from tracking.models.customers import Customer
from tracking.money import ZERO

REMOVED_ROWS = ("removed", ("deleted_at", "removed_"), Q(deleted_at=None))
# What labels say of a commission and of a refund, as one statement reads both.
UNANSWERED = PayoutLine.objects.filter(
    account=OuterRef("account"),
    payment=OuterRef("payment"),
    state=PayoutLineState.UNKNOWN,
)
STATUS = Case(
    When(payment=None, then=F("status")),
    When(Exists(UNANSWERED), then=Value(NO_ANSWER)),
    default=Value(PAID),
)
REFUND_STATUS = Case(When(is_full=True, then=Value(REFUNDED)), default=Value(PARTLY_REFUNDED))
LABELS = COMMISSION_STATUSES | {it: it for it in (PAID, NO_ANSWER, REFUNDED, PARTLY_REFUNDED)}
WITHOUT_COMMISSION = (REFUNDED, PARTLY_REFUNDED, CommissionStatus.DISAPPROVED)


def add_answers(commissions: QuerySet) -> QuerySet:
    """As `find_line_states`, of rows that a statement has yet to read."""
    return commissions.annotate(is_unanswered=Exists(UNANSWERED))


def get_conversion_text(external_id: str | None, pk: int | None) -> str:
    """What names a conversion: its external id, else its id."""
    return str(external_id or pk or EMPTY_VALUE)


@dataclass
class ConversionOutcome:
    """The statuses of the commissions and refunds of a conversion, and what it costs."""

    statuses: set[Label] = field(default_factory=set)
    commission_total: Decimal = ZERO


def find_outcomes(request, rows) -> dict[int, ConversionOutcome]:
    of_rows = {
        "account__in": {it.account_id for it in rows},
        "conversion__in": rows,
    }
    commissions = Commission.objects.not_deleted().filter(**of_rows)
    refunds = Refund.objects.filter(**of_rows, canceled_at=None)
    found = commissions.values_list("conversion", STATUS, "amount").union(
        refunds.values_list("conversion", REFUND_STATUS, "amount"), all=True
    )
    outcomes = {row.pk: ConversionOutcome() for row in rows}
    for conversion_id, text, amount in found:
        outcomes[conversion_id].statuses.add(LABELS[text])
        if text not in WITHOUT_COMMISSION:
            outcomes[conversion_id].commission_total += amount
    return outcomes


def list_statuses(conversion, outcome: ConversionOutcome) -> list[Label]:
    """The statuses of its commissions and its refunds; of a removed one, that."""
    if conversion.deleted_at:
        return [REFUNDED if REFUNDED in outcome.statuses else REMOVED]
    return sorted(outcome.statuses)


def get_statuses_text(conversion, outcome: ConversionOutcome) -> str:
    """The statuses as exports have them."""
    return ", ".join(list_statuses(conversion, outcome))


def label_conversion(conversion, outcome: ConversionOutcome) -> str:
    """The statuses of its commissions, its refunds, and what to check."""
    labels = list_statuses(conversion, outcome)
    if not conversion.deleted_at:
        labels += list_review_labels(conversion)
    return format_labels(dict.fromkeys(labels))


CONVERSION_ID = Column("ID", lambda row: row.pk, name="conversion_id", export="pk")


@admin.register(Customer)
class CustomerAdmin(AffiliateSearchMixin, ObjectPageMixin, ReadOnlyBackOfficeAdmin):
    menu = (MenuEntry("Tracking", 20, "person"),)
    empty_state = (
        'No customers yet. Your shop registers one with tap("customer", "ID") or'
        " through the API, and a sale with a customer ID does so, too."
    )
    import_kind = "customers"
    columns = (
        "public_id",
        "customer_id",
        build_status_column(get_customer_status, order="status", export="status"),
        AFFILIATE,
        PROGRAM_TITLE,
        "created_at",
        DELETED_AT,
    )
    list_filter = (
        "status",
        ProgramFilter,
        AffiliateFilter,
        AffiliateGroupFilter,
        DeletedFilter,
        DateFilter,
    )
    search_fields = ("public_id__exact", "customer_id__exact", "email_folded__exact")
    search_help_text = "Search by customer ID, e-mail or affiliate"
    ordering = ("-created_at", "-id")
    row_pages = (*CUSTOMER_PAGES, *PERSONAL_DATA_PAGES)
    details = staticmethod(get_customer_details)

    def get_queryset(self, request):
        relations = ("account", "affiliate", "program", "click")
        return super().get_queryset(request).select_related(*relations)


@admin.register(Conversion)
class ConversionAdmin(
    OrderSearchMixin, AffiliateSearchMixin, ObjectPageMixin, ReadOnlyBackOfficeAdmin
):
    """Conversions, with an explanation of attribution and commissions."""

    menu = (
        MenuEntry("Tracking", 30, "shopping_cart", is_daily=True),
        MenuEntry(
            *("Tracking", 5, "bar_chart", PartnerReportPage.title),
            synonyms="statistics performance ranking",
            is_daily=True,
            url_names=(PartnerReportPage.name,),
        ),
    )
    reports = (PartnerReportPage,)
    tabs = {"All": "", "To check": f"to_check=yes&{NOT_REMOVED}"}
    empty_state = (
        'No conversions yet. Your shop records one with tap("conversion", "ORDER",'
        " 49.90) on the page after a purchase, or through the API. Choose “Add"
        " conversion” for a sale that was missed."
    )
    import_kind = "conversions"
    list_display_links = (CONVERSION_ID, "external_id")
    columns = (
        CONVERSION_ID,
        "external_id",
        AMOUNT,
        Column(
            "Status",
            label_conversion,
            name="status_labels",
            load=find_outcomes,
            export=get_statuses_text,
        ),
        Column(
            "Commissions",
            load=find_outcomes,
            export=AmountSource(lambda row, it: it.commission_total, "currency"),
            is_listed=False,
        ),
        PERSON,
        PROGRAM_TITLE,
        Column(name="customer", export="customer__public_id", is_listed=False),
        Column(
            "Customer ID",
            lambda row: row.customer.customer_id if row.customer else EMPTY_VALUE,
            name="shop_customer_id",
            select=("customer",),
            export="customer__customer_id",
        ),
        Column(name="tracking_source", is_listed=False),
        "created_at",
        DELETED_AT,
    )
    list_filter = (
        CommissionStatusFilter,
        ReviewFilter,
        ProgramFilter,
        AffiliateFilter,
        AffiliateGroupFilter,
        CurrencyFilter,
        DeletedFilter,
        DateFilter,
        RemovalFilter,
    )
    search_fields = (
        "pk__exact",
        "external_id__exact",
        "customer__customer_id__exact",
        "customer__email_folded__exact",
    )
    order_column = "pk"
    amount_column = "amount"
    left_out_of_sums = (REMOVED_ROWS,)
    search_help_text = "Search by order ID, conversion ID, customer or affiliate"
    extra_lookups = (
        "affiliate_id",
        "tracking_source",
    )
    ordering = ("-created_at", "-id")
    add_page = AddConversionPage
    row_pages = (EndDisputePage, *CONVERSION_PAGES)
    details = staticmethod(get_conversion_details)

    def get_object_title(self, row):
        return get_conversion_text(row.external_id, row.pk)
