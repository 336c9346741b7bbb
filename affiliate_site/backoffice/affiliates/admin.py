"""The pages of affiliates, program affiliates and groups."""

from functools import partial

from django.contrib import admin
from django.contrib.admin.views.autocomplete import AutocompleteJsonView
from django.contrib.admin.views.main import SEARCH_VAR
from django.core.exceptions import PermissionDenied
from django.db.models import Count
from django.http import Http404, JsonResponse
from django.urls import path

from affiliate_site.backoffice.affiliates import bulk_actions
from affiliate_site.backoffice.affiliates.affiliate_columns import (
    AFFILIATE_COLUMNS,
    BALANCE_TITLE,
    FOUND_BY,
    LAST_CLICK,
    LAST_DAYS,
    NAME_AND_EMAIL,
    TREND_COLUMNS,
    rename,
)
from affiliate_site.backoffice.affiliates.affiliate_detail import (
    build_affiliate_context,
    get_approval_status,
    get_full_name,
    name_approval,
)
from affiliate_site.backoffice.affiliates.affiliate_filters import (
    AmountCurrencyFilter,
    DaysFilter,
    SegmentFilter,
    get_title_of_days,
)
from affiliate_site.backoffice.affiliates.affiliate_pages import AFFILIATE_PAGES
from affiliate_site.backoffice.affiliates.enrollment_pages import (
    ENROLLMENT_PAGES,
    AddEnrollmentPage,
    AddToProgramPage,
)
from affiliate_site.backoffice.affiliates.group_pages import (
    GROUP_PAGES,
    AddGroupPage,
    build_group_context,
)
from affiliate_site.backoffice.affiliates.new_affiliate_page import AddAffiliatePage
from affiliate_site.backoffice.affiliates.note_pages import AddNotePage
from affiliate_site.backoffice.affiliates.payout_method_pages import SetPayoutMethodPage
from affiliate_site.backoffice.affiliates.personal_data_pages import PERSONAL_DATA_PAGES
from affiliate_site.backoffice.affiliates.portal_pages import (
    InviteToPortalPage,
    RemoveSecondFactorPage,
    ViewPortalPage,
    terms_view,
)
from affiliate_site.backoffice.base import ReadOnlyBackOfficeAdmin, action
from affiliate_site.backoffice.bulk_pages import build_actions
from affiliate_site.backoffice.fields import label_row
from affiliate_site.backoffice.formatters import (
    format_datetime,
    format_person,
)
from affiliate_site.backoffice.links import get_qr_code_response, render_links
from affiliate_site.backoffice.lists.columns import PERSON, PROGRAM_TITLE, build_status_column
from affiliate_site.backoffice.lists.date_filters import (
    ActiveFilter,
    ApplicationDateFilter,
    DateFilter,
)
from affiliate_site.backoffice.lists.filters import (
    MAX_CANDIDATES,
    AffiliateFilter,
    AffiliateGroupFilter,
    EnrolledProgramFilter,
    GroupFilter,
    ProgramFilter,
)
from affiliate_site.backoffice.lists.search import (
    AFFILIATE_SEARCH_HELP,
    AffiliateSearchMixin,
)
from affiliate_site.backoffice.lists.state_filters import (
    AcceptedTermsFilter,
    ApprovalFilter,
    DeletedFilter,
)
from affiliate_site.backoffice.navigation import ListAction, MenuEntry
from affiliate_site.backoffice.object_pages import (
    Details,
    ObjectPageMixin,
    Section,
    find_neighbors,
    link_to,
)
from affiliate_site.backoffice.payouts.document_pages import SetTaxDataPage
from affiliate_site.backoffice.payouts.minimum_pages import SetOwnMinimumPage
from affiliate_site.backoffice.payouts.report_pages import statement_view
from affiliate_site.columns import Column
from affiliate_site.qr_codes import get_link_style
from payouts.services.affiliate_activity import SEGMENT_TEXTS, Segment
from tracking.models.affiliates import Affiliate, AffiliateGroup
from tracking.models.enrollments import LINK_COLUMNS, Enrollment
from tracking.services.search import (
    list_affiliates_by_text,
)


class RowChoicesView(AutocompleteJsonView):
    """What was found for a field of a form, labeled as the selected row is."""

    def serialize_result(self, obj, to_field_name):
        return super().serialize_result(obj, to_field_name) | {"text": label_row(obj)}


@admin.register(Affiliate)
class AffiliateAdmin(AffiliateSearchMixin, ObjectPageMixin, ReadOnlyBackOfficeAdmin):
    """Affiliates with their statistics; deleted ones stay in the list.

    The statistics are those of the days that `ActiveFilter` or `DaysFilter` has, and of
    the program that the list is filtered by.
    """

    menu = (MenuEntry("Affiliates", 30, "group", is_daily=True),)
    tabs = {"All": ""} | {it.label: f"{SegmentFilter.parameter_name}={it}" for it in Segment}
    empty_state = (
        "No affiliates yet. Choose “Add affiliate” to create one, then add it to a program."
    )
    import_kind = "affiliates"
    change_form_template = "admin/affiliates/affiliate.html"

    add_page = AddAffiliatePage
    row_pages = (
        *AFFILIATE_PAGES,
        AddToProgramPage,
        AddNotePage,
        SetPayoutMethodPage,
        SetOwnMinimumPage,
        SetTaxDataPage,
        InviteToPortalPage,
        ViewPortalPage,
        RemoveSecondFactorPage,
        *PERSONAL_DATA_PAGES,
    )

    list_display_links = ("slug", NAME_AND_EMAIL)
    columns = AFFILIATE_COLUMNS
    search_fields = ("slug__exact", "email_folded__exact")
    search_help_text = AFFILIATE_SEARCH_HELP
    affiliate_column = "pk"
    list_filter = (
        SegmentFilter,
        GroupFilter,
        EnrolledProgramFilter,
        AcceptedTermsFilter,
        DeletedFilter,
        DateFilter,
        ActiveFilter,
        DaysFilter,
        AmountCurrencyFilter,
    )
    ordering = ("-created_at", "-id")
    actions = (
        "put_into_group",
        "approve_in_program",
        "disapprove_in_program",
        "show_addresses",
    )

    class Media:
        js = ("backoffice/copy.js",)

    def get_queryset(self, request):
        relations = ("account__plan", "group", "parent")
        return super().get_queryset(request).select_related(*relations)

    def get_tabs(self, request):
        """Segments are of one account: operators have none, nor the page to sign in."""
        user = request.user
        return self.tabs if user.is_authenticated and user.account_id else {}

    def get_object_context(self, request, row):
        return build_affiliate_context(request, row)

    def has_group_permission(self, request):
        """Groups and programs are chosen from those of the user's account."""
        user = request.user
        return user.account_id and user.has_perm("tracking.change_affiliate")

    def has_decide_permission(self, request):
        user = request.user
        return user.account_id and user.has_perm("tracking.change_enrollment")

    @action(description="Put into a group", permissions=["group"])
    def put_into_group(self, request, rows):
        return bulk_actions.put_into_group(self, request, rows)

    @action(description="Approve in a program", permissions=["decide"])
    def approve_in_program(self, request, rows):
        return bulk_actions.decide_in_program(self, request, rows, approved=True)

    @action(description="Disapprove in a program", permissions=["decide"])
    def disapprove_in_program(self, request, rows):
        return bulk_actions.decide_in_program(self, request, rows, approved=False)

    @action(description="Mail addresses", permissions=["view"])
    def show_addresses(self, request, rows):
        return bulk_actions.show_addresses(self, request, rows)

    def get_urls(self):
        """Add suggestions of filters, choices of forms, statements, accepted terms."""
        view = self.admin_site.admin_view(self.suggestions_view)
        statement = self.admin_site.admin_view(partial(statement_view, self))
        terms = self.admin_site.admin_view(partial(terms_view, self))
        choices = RowChoicesView.as_view(admin_site=self.admin_site)
        return [
            path("choices/", self.admin_site.admin_view(choices), name="row_choices"),
            path("suggestions/", view, name="affiliate_suggestions"),
            path("<int:object_id>/statement/", statement, name="affiliate_statement"),
            path("<int:object_id>/terms/", terms, name="affiliate_terms"),
            *super().get_urls(),
        ]

    def suggestions_view(self, request):
        """IDs and names of the affiliates with what was typed; an operator has none."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        text, account = request.GET.get("q", ""), request.user.account
        found = list_affiliates_by_text(account, text, MAX_CANDIDATES) if account and text else []
        return JsonResponse({"results": [(row.slug, format_person(row)) for row in found]})

    def changelist_view(self, request, extra_context=None):
        """Say what the segment is that the list shows."""
        text = SEGMENT_TEXTS.get(request.GET.get(SegmentFilter.parameter_name), "")
        return super().changelist_view(request, {"list_note": text} | (extra_context or {}))

    def get_columns(self, request):
        """Say what a search found an affiliate by, and what the statistics count."""
        is_search = request.GET.get(SEARCH_VAR)
        columns = [*super().get_columns(request)]
        segment = request.user.account_id and request.GET.get(SegmentFilter.parameter_name)
        if segment in (Segment.RISING, Segment.FALLING):
            place = columns.index(LAST_CLICK)
            columns[place:place] = TREND_COLUMNS
        titles = {LAST_DAYS: get_title_of_days(request)}
        if request.GET.get(EnrolledProgramFilter.parameter_name):
            titles[LAST_DAYS] = f"{titles[LAST_DAYS]}, in the program"
            titles[BALANCE_TITLE] = f"{BALANCE_TITLE}, all programs"
        return [rename(each, titles) for each in columns if is_search or each is not FOUND_BY]


@admin.register(Enrollment)
class EnrollmentAdmin(AffiliateSearchMixin, ObjectPageMixin, ReadOnlyBackOfficeAdmin):
    """Affiliates of programs, their approval and their links."""

    menu = (MenuEntry("Affiliates", 40, "how_to_reg", is_daily=True),)
    tabs = {
        "All": "",
        "Pending": "approved=pending",
        "Approved": "approved=approved",
        "Disapproved": "approved=disapproved",
    }
    list_actions = (ListAction(20, "Approve affiliates", "approved=pending"),)
    empty_state = (
        "No program affiliates yet. Choose “Add program affiliate” to add an affiliate"
        " to a program: it gets a link and can have a coupon."
    )
    add_page = AddEnrollmentPage
    row_pages = ENROLLMENT_PAGES

    columns = (
        PERSON,
        PROGRAM_TITLE,
        build_status_column(
            get_approval_status,
            name="status",
            order="approved",
            export=(name_approval, "approved", "affiliate__deleted_at"),
        ),
        "applied_at",
    )
    list_filter = (
        ApprovalFilter,
        ProgramFilter,
        AffiliateFilter,
        AffiliateGroupFilter,
        ApplicationDateFilter,
    )
    search_fields = ("affiliate__slug__exact", "affiliate__email_folded__exact")
    search_help_text = AFFILIATE_SEARCH_HELP
    ordering = ("-applied_at", "-id")
    actions = build_actions(*ENROLLMENT_PAGES)

    class Media:
        js = ("backoffice/copy.js",)

    def name_row(self, row):
        return f"{row.affiliate} in {row.program}"

    def get_queryset(self, request):
        relations = ("account", "affiliate", "program")
        return super().get_queryset(request).select_related(*relations)

    def get_urls(self):
        """Add the download of QR codes."""
        route = "<int:pk>/qr/<slug:kind>.svg"
        view = self.admin_site.admin_view(self.qr_code_view)
        return [path(route, view, name="tracking_enrollment_qr"), *super().get_urls()]

    def qr_code_view(self, request, pk, kind):
        """The QR code of one link as an SVG file."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        rows = self.get_queryset(request).filter(pk=pk)
        row = rows.for_links().first()
        if row is None:
            raise Http404
        return get_qr_code_response(row, kind, get_link_style(rows.get().account))

    def get_object_title(self, row):
        return str(row.affiliate)

    def get_details(self, request, enrollment):
        rows = enrollment.account.enrollments.filter(pk=enrollment.pk)
        row = rows.with_link_parts().values(*LINK_COLUMNS, "coupon__code").get()
        affiliate, program = enrollment.affiliate, enrollment.program
        style = get_link_style(enrollment.account)
        facts = [
            ("Affiliate", link_to(affiliate, get_full_name(affiliate))),
            ("Affiliate ID", affiliate.slug),
            ("Program", link_to(program, program.title)),
            ("Applied", format_datetime(enrollment.applied_at)),
            ("Referral code", row["code__code"]),
            ("Coupon", row["coupon__code"]),
        ]
        return Details(
            headline=f"{get_full_name(affiliate)} in {program.title}",
            labels=[get_approval_status(enrollment)],
            is_removed=affiliate.deleted_at is not None,
            sections=[
                Section("Program affiliate", facts=facts),
                Section("Links", lines=render_links(row, style)),
            ],
        )

    def find_neighbors(self, enrollment):
        """Those of the same program."""
        rows = enrollment.account.enrollments.filter(program=enrollment.program_id)
        return find_neighbors(enrollment, rows, "applied_at")


def count_members(request, groups) -> dict[int, int]:
    """The number of affiliates of groups that have some, as on the page of a group."""
    members = Affiliate.objects.not_deleted().filter(
        account__in={row.account_id for row in groups},
        group__in=[row.pk for row in groups],
    )
    return dict(members.order_by().values_list("group").annotate(Count("pk")))


@admin.register(AffiliateGroup)
class AffiliateGroupAdmin(ObjectPageMixin, ReadOnlyBackOfficeAdmin):
    """Groups of affiliates with their own commission rates."""

    menu = (MenuEntry("Affiliates", 50, "workspaces"),)
    empty_state = (
        "No affiliate groups yet. Choose “Add affiliate group” to give some affiliates"
        " rates of their own."
    )
    change_form_template = "admin/affiliates/group.html"
    add_page = AddGroupPage
    row_pages = GROUP_PAGES

    columns = (
        "title",
        "public_id",
        Column(
            "Affiliates",
            lambda group, count: f"{count or 0:,}",
            name="member_count",
            load=count_members,
            export=lambda group, count: count or 0,
        ),
        "created_at",
    )
    search_fields = ("title__exact", "public_id__exact")
    search_help_text = "Search by ID or title"
    ordering = ("title", "id")
    title_field = "title"

    def get_object_context(self, request, row):
        return build_group_context(request, row)
