"""The pages of programs: rules, rates and bonuses."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import Count, Q
from django.utils import timezone
from django.utils.text import capfirst

from affiliate_site.backoffice.base import ReadOnlyBackOfficeAdmin
from affiliate_site.backoffice.dashboard.context import list_top_affiliates
from affiliate_site.backoffice.dashboard.number_cards import build_number_cards
from affiliate_site.backoffice.formatters import (
    describe_hold_days,
    describe_recurring,
    format_affiliate,
    format_datetime,
    format_money,
)
from affiliate_site.backoffice.list_urls import build_changelist_url
from affiliate_site.backoffice.lists.columns import ARCHIVE_STATUS
from affiliate_site.backoffice.lists.filters import CurrencyFilter, ProgramFilter
from affiliate_site.backoffice.lists.state_filters import ArchivedFilter
from affiliate_site.backoffice.navigation import MenuEntry, SubList
from affiliate_site.backoffice.object_pages import (
    Details,
    ObjectPageMixin,
    Section,
    build_history,
    link_to,
    list_page_links,
)
from affiliate_site.backoffice.programs import program_pages, rate_pages
from affiliate_site.backoffice.programs.further_rate_pages import (
    AddFurtherRatePage,
    EndRatePage,
    describe_cells,
    describe_rate,
)
from affiliate_site.backoffice.programs.invitation_pages import (
    AddProgramInvitationPage,
    EndProgramInvitationPage,
    build_invitation_link,
    describe_invitation,
    describe_uses,
)
from affiliate_site.backoffice.programs.program_pages import render_snippet
from affiliate_site.backoffice.programs.rate_pages import format_commission_rate
from affiliate_site.columns import Column
from payouts.models.bonuses import Bonus, GoalType
from payouts.models.commission_types import (
    MIN_PARENT_LEVEL,
    CommissionType,
    GroupRate,
    Level,
    RateKind,
    not_ended,
)
from payouts.models.rates import Rate
from payouts.services.program_rates import list_further_rates
from payouts.services.statistics import load_statistics
from payouts.statistics import get_last_days
from tracking.models.applications import ProgramInvitation
from tracking.models.programs import Program, Visibility
from tracking.services.portal_settings import build_portal_url, get_portal_settings

PERIOD_DAYS = 30  # of the numbers, today included
TOP_AFFILIATES = 5
MAX_INVITATIONS = 20  # the newest, that a program shows
MAX_ENDED_BONUSES = 10  # that a program shows
NOT_IN_PLAN = "The plan {plan} has none. Your operator can change the plan."
PERIOD_TEXTS = {
    "week": "in a week",
    "month": "in a month",
    "quarter": "in a quarter",
    "year": "in a year",
    "all_time": "in all",
}


@dataclass(frozen=True)
class RateTable:
    """A table on a program's page: cells and links of each row, and a link to add."""

    title: str
    headings: tuple[str, ...]
    rows: list[tuple[tuple[Any, ...], Any]]
    empty: str
    add: tuple[Any, str] | None

    @property
    def titled_rows(self) -> list[tuple[list[tuple[str, Any]], Any]]:
        return [(list(zip(self.headings, cells, strict=True)), links) for cells, links in self.rows]


@admin.register(Program)
class ProgramAdmin(ObjectPageMixin, ReadOnlyBackOfficeAdmin):
    """Programs with their rules, rates and bonuses."""

    menu = (MenuEntry("Affiliates", 10, "campaign", is_daily=True),)
    empty_state = (
        "No programs yet. A program holds the rules by which affiliates earn. Choose"
        " “Add program” to create the first one."
    )
    columns = (
        Column(name="slug", is_listed=False),
        "title",
        Column(name="slug", is_exported=False),
        ARCHIVE_STATUS,
        "currency",
        Column(
            "Rules",
            lambda program: ", ".join(
                f"{label}: {value}" for label, value in list_rules(program)[:3]
            ),
            name="rules_summary",
        ),
        Column(name="archived_at", is_listed=False),
    )
    list_filter = (
        "auto_approve_commissions",
        "auto_approve_affiliates",
        "recurring",
        CurrencyFilter,
        ArchivedFilter,
    )
    search_fields = ("slug__exact", "title__exact")
    search_help_text = "Search by ID or title"
    ordering = ("-id",)
    change_form_template = "admin/programs/program.html"
    add_page = program_pages.AddProgramPage
    row_pages = (
        *program_pages.PROGRAM_PAGES,
        *rate_pages.PROGRAM_RATE_PAGES,
        AddFurtherRatePage,
        AddProgramInvitationPage,
    )
    title_field = "title"

    class Media:
        js = ("backoffice/copy.js",)

    def get_queryset(self, request):
        return super().get_queryset(request).select_related("account__plan")

    def get_object_context(self, request, row):
        """The program in numbers, words and tables."""
        return list_results(row, timezone.now()) | {
            "affiliate_counts": list_affiliate_counts(row),
            "rules": [*list_rules(row), *list_portal_pages(row)],
            "rate_tables": list(list_rate_tables(request.user, row)),
            "snippet": render_snippet(row.account),
        }


class RateAdmin(ObjectPageMixin, ReadOnlyBackOfficeAdmin):
    """A rate of a program; the program's page lists them."""

    ordering = ("id",)

    def get_object_title(self, row):
        return capfirst(rate_pages.describe(row))

    def has_module_permission(self, request):
        return False


@admin.register(CommissionType)
class CommissionTypeAdmin(RateAdmin):
    sub_list = SubList(Program)
    empty_state = "No commission types yet. A program has its first one from the beginning."
    columns = ("identifier", "title", "program", "kind", "value", "is_default")
    row_pages = (rate_pages.EditCommissionTypePage, rate_pages.RemoveCommissionTypePage)


@admin.register(GroupRate)
class GroupRateAdmin(RateAdmin):
    sub_list = SubList(Program)
    empty_state = "No group rates yet. Set one on the page of a program to pay a group otherwise."
    columns = ("group", "commission_type", "kind", "value")
    row_pages = (rate_pages.EditGroupRatePage, rate_pages.RemoveGroupRatePage)


@admin.register(Rate)
class FurtherRateAdmin(RateAdmin):
    sub_list = SubList(Program)
    empty_state = "No rates for some sales yet. Add one on the page of a program."
    columns = ("id", "program", "kind", "value", "fixed", "starts_at", "ends_at")
    row_pages = (EndRatePage,)

    def get_object_title(self, row):
        return describe_rate(row)


@admin.register(Level)
class LevelAdmin(RateAdmin):
    sub_list = SubList(Program)
    empty_state = "No levels yet. Add them on the page of a program to pay parents, too."
    columns = ("level", "title", "program", "kind", "value")
    row_pages = (rate_pages.EditLevelPage, rate_pages.RemoveLevelPage)


@admin.register(Bonus)
class BonusAdmin(RateAdmin):
    sub_list = SubList(Program)
    empty_state = "No bonuses yet. Add one on the page of a program to reward a goal."
    columns = ("title", "program", "goal_type", "goal", "period", "kind", "value")
    row_pages = (rate_pages.EditBonusPage, rate_pages.EndBonusPage)


@admin.register(ProgramInvitation)
class ProgramInvitationAdmin(RateAdmin):
    sub_list = SubList(Program)
    empty_state = "No invitations yet. Add one on the page of a program to let people join it."
    columns = ("title", "public_id", "program", "group", "parent", "max_uses", "uses", "ends_at")
    ordering = ("-id",)
    list_filter = (ProgramFilter,)
    row_pages = (EndProgramInvitationPage,)

    def get_details(self, request, row):
        facts = [
            ("Program", link_to(row.program, row.program.title)),
            ("Link", build_invitation_link(row)),
            ("Joined", describe_uses(row)),
            ("Their group", row.group and link_to(row.group, row.group.title)),
            ("Their parent", row.parent and link_to(row.parent, format_affiliate(row.parent))),
            ("Until", row.ends_at and format_datetime(row.ends_at)),
        ]
        sections = [Section("Invitation", facts=facts), build_history(request, [row])]
        return Details(row.title, sections=sections)


def list_results(program: Program, at: datetime) -> dict[str, Any]:
    """The numbers of the last days, and the affiliates with most conversions."""
    account = program.account
    period = get_last_days(PERIOD_DAYS, account.get_day(at))
    statistics = load_statistics(account, period.days, at=at, by_program=True)
    by_day = statistics.totals_by_day(period.days, program=program.pk)
    totals = statistics.affiliate_totals(period.days, program=program.pk)
    return {
        "period_days": PERIOD_DAYS,
        "cards": build_number_cards(by_day, period, program=program.slug),
        "top_affiliates": list_top_affiliates(
            account, totals, {}, period, currency="", most=TOP_AFFILIATES
        ),
    }


def list_affiliate_counts(program: Program) -> list[tuple[str, int, str]]:
    """How many affiliates the program has: texts, numbers, and URLs of lists."""
    counts = program.account.enrollments.not_deleted().filter(program=program)
    numbers = counts.aggregate(
        active=Count("pk", filter=Q(approved=True)),
        waiting=Count("pk", filter=Q(approved=None)),
        disapproved=Count("pk", filter=Q(approved=False)),
    )
    url = build_changelist_url("tracking_enrollment", program=program.slug)
    return [
        ("affiliates", numbers["active"], f"{url}&approved=approved"),
        ("to review", numbers["waiting"], f"{url}&approved=pending"),
        ("disapproved", numbers["disapproved"], f"{url}&approved=disapproved"),
    ]


def list_portal_pages(program: Program) -> list[tuple[str, str]]:
    """Where people find the program, if they need no invitation."""
    is_open = get_portal_settings(program.account).is_open
    if not is_open or program.visibility == Visibility.PRIVATE or program.archived_at:
        return []
    return [("Its page in the portal", build_portal_url(program.account, f"{program.slug}/"))]


def list_rules(program: Program) -> list[tuple[str, str]]:
    """The settings of a program: labels and values."""
    by_staff = {True: "Approved automatically", False: "Need your approval"}
    return [
        ("A click earns for", f"{program.cookie_time} days"),
        ("In the portal", Visibility(program.visibility).label),
        ("Affiliates", by_staff[program.auto_approve_affiliates]),
        ("Commissions", by_staff[program.auto_approve_commissions]),
        ("Commissions are due", describe_hold_days(program.hold_days)),
        ("Sales of a customer", describe_recurring(program)),
        (
            "Sales that pages report",
            "Treated like others"
            if program.auto_approve_browser_sales
            else "Wait for your approval",
        ),
        (
            "Customers that pages name",
            "Trusted" if program.trust_browser_customers else "Not trusted",
        ),
        ("Landing page", program.landing_page or ""),
        ("Program group", program.program_group or ""),
    ]


def list_rate_tables(user, program: Program):
    """The tables of a program's page; features that the plan lacks are left out."""
    account, currency, plan = program.account, program.currency, program.account.plan
    levels = list(account.levels.filter(program=program).order_by("level"))
    add_pages = {page: (page, url) for page, url in list_page_links(user, program)}
    at = timezone.now()
    pays_parents = "Yes" if levels else "Once there are levels"
    types = account.commission_types.filter(program=program).in_definition_order()

    def with_links(row, *cells):
        return (cells, list_page_links(user, row))

    yield RateTable(
        "Commission types",
        ("Title", "ID", "Rate", "Parents earn"),
        [
            with_links(
                row,
                f"{row.title} (default)" if row.is_default else row.title,
                row.identifier,
                format_commission_rate(row, currency)
                if row.ends_at is None or row.ends_at > at
                else "By the rates for some sales",
                pays_parents if row.mlm and plan.mlm else "No",
            )
            for row in types
        ],
        "",
        add_pages.get(rate_pages.AddCommissionTypePage),
    )
    group_rates = account.group_rates.filter(not_ended(at), commission_type__program=program)
    yield RateTable(
        "Group rates",
        ("Group", "Commission type", "Rate"),
        [
            with_links(
                row,
                row.group.title,
                row.commission_type.title,
                format_commission_rate(row, currency),
            )
            for row in group_rates.select_related("group", "commission_type").order_by(
                "group__title", "id"
            )
        ],
        "All groups earn the rates above.",
        add_pages.get(rate_pages.AddGroupRatePage),
    )
    yield RateTable(
        "Rates for some sales",
        ("For", "Rate", "From", "Last day"),
        [
            with_links(row, *describe_cells(row, at))
            for row in list_further_rates(account, program, at)
        ],
        "All sales earn the rates above.",
        add_pages.get(AddFurtherRatePage),
    )
    if plan.mlm:
        yield RateTable(
            "Levels",
            ("Level", "Title", "Rate"),
            [
                with_links(
                    row,
                    describe_level(row.level),
                    row.title,
                    f"{format_commission_rate(row, currency)} of the sale"
                    if row.kind == RateKind.PERCENTAGE
                    else f"{format_commission_rate(row, currency)} for each sale",
                )
                for row in levels
            ],
            "Parents of affiliates earn nothing.",
            add_pages.get(rate_pages.AddLevelPage),
        )
    else:
        yield RateTable("Levels", (), [], NOT_IN_PLAN.format(plan=plan), None)
    yield RateTable(
        "Invitations",
        ("Title", "Link", "Joined", "Until"),
        [
            with_links(row, *describe_invitation(row))
            for row in account.program_invitations.filter(program=program)
            .select_related("group", "parent")
            .order_by("-id")[:MAX_INVITATIONS]
        ],
        "Nobody was invited by a link.",
        add_pages.get(AddProgramInvitationPage),
    )
    if plan.bonuses:
        bonuses = account.bonuses.filter(program=program)
        ended = bonuses.exclude(ended_at=None).order_by("-ended_at", "-id")
        yield RateTable(
            "Bonuses",
            ("Title", "Goal", "Bonus"),
            [
                (
                    (
                        describe_bonus(row),
                        describe_goal(row, currency),
                        format_commission_rate(row, currency),
                    ),
                    [] if row.ended_at else list_page_links(user, row),
                )
                for row in (
                    *bonuses.not_ended().in_definition_order(),
                    *ended[:MAX_ENDED_BONUSES],
                )
            ],
            "There are no bonuses.",
            add_pages.get(rate_pages.AddBonusPage),
        )
    else:
        yield RateTable("Bonuses", (), [], NOT_IN_PLAN.format(plan=plan), None)


def describe_level(level: int) -> str:
    """`2: the affiliate's parent`, who has to be approved in the program."""
    if level == MIN_PARENT_LEVEL:
        return f"{level}: the affiliate's parent, if approved here"
    return f"{level}: the parent of level {level - 1}, if approved here"


def describe_bonus(bonus: Bonus) -> str:
    """Its title, and when it ended."""
    if bonus.ended_at is None:
        return bonus.title
    return f"{bonus.title} (ended {format_datetime(bonus.ended_at)})"


def describe_goal(bonus: Bonus, currency: str) -> str:
    """`10 conversions in a month`."""
    is_count = bonus.goal_type == GoalType.CONVERSIONS
    goal = (
        f"{bonus.goal.normalize():f} conversions"
        if is_count
        else f"sales of {format_money(bonus.goal, currency)}"
    )
    return f"{goal} {PERIOD_TEXTS[bonus.period]}"
