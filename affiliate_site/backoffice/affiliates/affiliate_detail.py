"""The page of an affiliate: who it is, what it earns, and what staff do with it."""

from dataclasses import dataclass
from datetime import date

from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format

from accounts.countries import get_country_name
from affiliate_site.backoffice.affiliates.affiliate_tabs import MAX_PROGRAMS, TAB_CONTEXTS, TABS
from affiliate_site.backoffice.affiliates.payout_method_pages import (
    ReleasePayoutMethodPage,
)
from affiliate_site.backoffice.affiliates.portal_pages import (
    list_accepted_terms,
    list_portal_facts,
)
from affiliate_site.backoffice.dashboard.number_cards import (
    NumberCard,
    build_number_cards,
)
from affiliate_site.backoffice.formatters import (
    REMOVED,
    Label,
    format_day,
    format_money,
    format_totals,
    keep_amounts_together,
)
from affiliate_site.backoffice.links import MAX_QR_CODES, build_links
from affiliate_site.backoffice.object_pages import (
    find_neighbors,
    link_to,
    list_page_links,
)
from affiliate_site.backoffice.payouts.due_texts import list_parts
from affiliate_site.backoffice.payouts.minimum_pages import list_own_minimums
from affiliate_site.backoffice.payouts.payout_texts import list_method_facts
from affiliate_site.backoffice.payouts.withheld_pages import (
    LiftPage,
    list_withheld_texts,
)
from affiliate_site.qr_codes import get_link_style
from payouts.models.runs import LeftOutReason
from payouts.services.documents import find_document_problems
from payouts.services.opening_balances import (
    get_signed_amount,
    list_opening_balances,
)
from payouts.services.payables import (
    get_amounts_due,
    list_payable_accounts,
)
from payouts.services.payout_methods import find_obstacle, list_equal_methods
from payouts.services.statistics import load_statistics
from payouts.statistics import Period, add_totals, get_last_days, get_last_month
from tracking.models.enrollments import LINK_COLUMNS
from tracking.services.portal_profiles import get_portal_state

PERIOD_DAYS = 30  # of the numbers, today included
MONTHS = 6  # of the table, the present one included
MAX_BADGES = 3  # programs in the header
APPROVAL_STATUSES = {
    True: Label("approved", "success"),
    None: Label("pending", "warning"),
    False: Label("disapproved", "danger"),
}


@dataclass(frozen=True)
class ProgramCard:
    """The affiliate in one program."""

    enrollment: object
    status: Label
    code: str
    aliases: list[str]
    coupon: str
    links: list
    has_qr_codes: bool
    urls: dict[str, str]


def build_affiliate_context(request, affiliate) -> dict:
    """What the page of an affiliate shows; the tab is in the query of the URL."""
    account, at = affiliate.account, timezone.now()
    tab = request.GET.get("tab", "")
    tab = tab if tab in TABS else next(iter(TABS))
    programs = list_program_cards(request.user, affiliate)
    amounts = {
        currency: each
        for (_, currency), each in get_amounts_due(account, [affiliate.pk], at=at).items()
    }
    balances = {key: each.payable for key, each in amounts.items() if each.payable}
    has_hold = any(each.has_hold for each in amounts.values())
    payout_context = build_payout_context(request.user, affiliate)
    is_due = any(each.due > 0 for each in amounts.values())
    previous, following = find_neighbors(affiliate, account.affiliates.not_deleted())
    today, state = account.get_day(at), get_portal_state(affiliate)
    months = list_months(today)
    days = Period(months[-1].first, today).days
    statistics = load_statistics(account, days, at=at)
    by_day = statistics.totals_by_day(days, [affiliate.pk])
    return {
        "title": get_full_name(affiliate),
        "subtitle": "",
        "affiliate": affiliate,
        "full_name": get_full_name(affiliate),
        "badges": list_badges(affiliate, programs),
        "balance_due": format_totals(balances),
        "balance_parts": [
            part
            for currency, each in amounts.items()
            for part in list_parts(each, currency, has_due=has_hold)
        ],
        "opening_balances": [
            (
                link_to(row, f"Opening balance of {format_day(row.created_at)}"),
                format_money(get_signed_amount(row), row.currency),
            )
            for row in list_opening_balances(affiliate)
        ],
        "pay_links": list_pay_links(request, affiliate, balances),
        "withheld": list_withheld(request.user, affiliate),
        "obstacle": describe_obstacle(affiliate, payout_context["payout_methods"], today)
        if is_due
        else "",
        "cards": build_cards(affiliate, by_day, at),
        "months": [build_month(month, by_day) for month in months],
        "period_days": PERIOD_DAYS,
        "details": list_details(affiliate) + list_accepted_terms(affiliate, state),
        **payout_context,
        "minimums": list_own_minimums(affiliate),
        "tax_data": describe_tax_data(affiliate),
        "portal_facts": list_portal_facts(affiliate, state),
        "has_second_factor": state.has_second_factor,
        "children": list_children(affiliate),
        "previous": previous,
        "next": following,
        "tab": tab,
        "tabs": [(title, f"?tab={name}#sections", name == tab) for name, title in TABS.items()],
        "programs": programs,
        "tab_template": f"admin/affiliates/tab_{tab}.html",
        **TAB_CONTEXTS[tab](request, affiliate),
    }


def get_full_name(person) -> str:
    return f"{person.firstname} {person.lastname}".strip()


def name_approval(approved, removed_at) -> Label:
    """The status of an affiliate in a program; a removed affiliate earns nowhere."""
    return REMOVED if removed_at else APPROVAL_STATUSES[approved]


def get_approval_status(enrollment) -> Label:
    return name_approval(enrollment.approved, enrollment.affiliate.deleted_at)


def list_pay_links(request, affiliate, balances) -> list[tuple[str, str]]:
    """The form of each balance to pay, for those who may: texts and URLs."""
    if not request.user.has_perm("payouts.add_payment") or not any(
        amount > 0 for amount in balances.values()
    ):
        return []
    accounts = list_payable_accounts(affiliate.account, affiliate)
    rows = [row for row in accounts if row.balance and row.balance > 0]
    return [
        (
            f"Pay {row.currency}" if len(rows) > 1 else "Pay",
            reverse("admin:payouts_ledgeraccount_pay", args=[row.pk]),
        )
        for row in rows
    ]


def list_withheld(user, affiliate) -> list[tuple[str, str]]:
    """What is withheld, with the form that lifts it for those who may: texts, URLs."""
    account, urls = affiliate.account, {}
    texts = list_withheld_texts(user, account=account, affiliate=affiliate)
    if texts and LiftPage.is_allowed(user):
        urls = {
            row.currency: reverse("admin:payouts_ledgeraccount_lift", args=[row.pk])
            for row in list_payable_accounts(account, affiliate)
        }
    return [
        (f"The {currency} balance is {text}", urls.get(currency, ""))
        for (_, currency), text in texts.items()
    ]


def list_badges(affiliate, programs) -> list[Label]:
    """The labels beside the name."""
    badges = [REMOVED] if affiliate.deleted_at else []
    badges += [
        Label(f"{card.enrollment.program.title}: {card.status}", card.status.color)
        for card in programs[:MAX_BADGES]
    ]
    if len(programs) > MAX_BADGES:
        badges.append(Label(f"{len(programs) - MAX_BADGES} more programs"))
    if not programs:
        badges.append(Label("in no program"))
    if affiliate.group:
        badges.append(Label(f"group {affiliate.group.title}", "info"))
    return badges


def list_months(today: date) -> list[Period]:
    """The present calendar month up to today, and those before, the newest first."""
    months = [Period(today.replace(day=1), today)]
    while len(months) < MONTHS:
        months.append(get_last_month(months[-1].first))
    return months


def build_month(month: Period, by_day) -> tuple[str, list[tuple[str, str]]]:
    """`November 2026`, and titles and values of the numbers in it."""
    total = add_totals(by_day[day] for day in month.days)
    return f"{month.first:%B %Y}", [
        ("Clicks", f"{total.clicks:,}"),
        ("Conversions", f"{total.conversions:,}"),
        ("Revenue", keep_amounts_together(format_totals(total.revenue))),
        ("Commissions", keep_amounts_together(format_totals(total.commissions))),
    ]


def build_cards(affiliate, by_day, at) -> list[NumberCard]:
    """Clicks, conversions, revenue and commissions of the last days."""
    period = get_last_days(PERIOD_DAYS, affiliate.account.get_day(at))
    by_day = {day: by_day[day] for day in period.days}
    return build_number_cards(by_day, period, affiliate=affiliate.slug)


def list_details(person) -> list[tuple[str, str]]:
    """What is known of the person: titles and values, without empty ones."""
    custom_fields = [
        (definition.title, person.custom_fields.get(definition.slug))
        for definition in person.account.field_definitions.in_definition_order()
    ]
    details = [
        ("Company", person.company_name),
        ("About the company", person.company_description),
        ("Address", "\n".join(person.address_lines)),
        *custom_fields,
        *person.meta_data.items(),
        ("Created", format_day(person.created_at)),
        ("Affiliate since its promotion", format_day(person.promoted_at)),
        ("Removed", format_day(person.deleted_at)),
    ]
    return [
        (title, ", ".join(map(str, value)) if isinstance(value, list) else str(value))
        for title, value in details
        if value
    ]


def build_payout_context(user, affiliate) -> dict:
    """The payout methods, and those of others that name the same accounts."""
    rows = affiliate.account.payout_methods.filter(affiliate=affiliate)
    methods = list(rows.in_definition_order())
    release = ReleasePayoutMethodPage
    for method in methods:
        method.facts = list_method_facts(method, user)
        method.can_release = release.is_allowed(user) and release.is_offered(method)
    return {
        "payout_methods": methods,
        "equal_methods": list_equal_methods(affiliate.account, methods),
    }


def describe_obstacle(affiliate, methods: list, day) -> str:
    """Why payout runs do not pay by the primary one of these methods, or without a
    document, if so."""
    primary = next((method for method in methods if method.is_primary), None)
    obstacle, more = find_obstacle(primary), ""
    if not obstacle:
        problems = find_document_problems(affiliate.account, [affiliate], day=day)
        if problems:
            obstacle = LeftOutReason.DOCUMENT_INCOMPLETE
            more = f" {problems[affiliate.pk]}."
    label = LeftOutReason(obstacle).label if obstacle else ""
    return f"Payout runs leave the affiliate out: {label}.{more}" if label else ""


def describe_tax_data(affiliate) -> str:
    """`Business, Germany, DE136695976, agreed on 2026-10-02`; empty without any."""
    row = affiliate.account.tax_data.filter(affiliate=affiliate).first()
    if row is None:
        return ""
    consent = row.consented_on and f"agreed on {date_format(row.consented_on)}"
    parts = (
        row.supplier_kind.label,
        row.legal_name,
        get_country_name(row.country),
        row.tax_number and f"tax number {row.tax_number}",
        row.vat_id,
        consent or "has not agreed to self-billing",
    )
    return ", ".join(filter(None, parts))


def list_children(affiliate) -> list:
    """The newest affiliates that this one recruited."""
    rows = affiliate.account.affiliates.not_deleted().filter(parent=affiliate)
    return list(rows.newest_first()[: MAX_BADGES + 1])


def list_program_cards(user, affiliate) -> list[ProgramCard]:
    """The programs of the affiliate, the newest first, with their links."""
    rows = affiliate.account.enrollments.filter(affiliate=affiliate).newest_first()
    enrollments = {row.pk: row for row in rows.select_related("program", "account")[:MAX_PROGRAMS]}
    parts = rows.filter(pk__in=enrollments).with_link_parts()
    style = get_link_style(affiliate.account)
    codes = affiliate.account.referral_code_aliases.filter(enrollment__in=enrollments)
    aliases: dict[int, list[str]] = {}
    for pk, code in codes.order_by("code").values_list("enrollment", "code"):
        aliases.setdefault(pk, []).append(code)
    cards = []
    for index, part in enumerate(parts.values(*LINK_COLUMNS, "coupon__code")):
        enrollment = enrollments[part["pk"]]
        enrollment.affiliate = affiliate
        status = get_approval_status(enrollment)
        cards.append(
            ProgramCard(
                enrollment=enrollment,
                status=status,
                code=part["code__code"] or "",
                aliases=aliases.get(part["pk"], []),
                coupon=part["coupon__code"] or "",
                links=build_links(part, style),
                has_qr_codes=index < MAX_QR_CODES,
                urls={page.name: url for page, url in list_page_links(user, enrollment)},
            )
        )
    return cards
