"""The page of an affiliate group: its affiliates and its rates."""

from affiliate_site.backoffice.form_pages import list_page_links
from affiliate_site.backoffice.formatters import format_totals
from affiliate_site.backoffice.object_pages import RowPage
from affiliate_site.backoffice.programs.rate_pages import AddGroupRatePage
from payouts.models.commission_types import RateKind
from payouts.services.payables import get_payable_balances

MAX_PROGRAMS = 10  # the newest, to set a rate in


def build_group_context(request, group) -> dict:
    """What the page of a group shows."""
    account = group.account
    members = account.affiliates.not_deleted().filter(group=group)
    section = RowPage(request, members.newest_first())
    balances = get_payable_balances(account, [row.pk for row in section.rows])
    for row in section.rows:
        row.balance_due = format_totals(balances.get(row.pk, {}))
    rates = account.group_rates.filter(group=group)
    rates = rates.select_related("commission_type__program").order_by("id")
    return {
        "group": group,
        "title": group.title,
        "section": section,
        "affiliate_count": members.count(),
        "rates": [
            (
                rate.commission_type.program,
                rate.commission_type.title,
                format_group_rate(rate),
            )
            for rate in rates
        ],
        "new_rate_links": list_new_rate_links(request.user, account),
    }


def list_new_rate_links(user, account) -> list[tuple[str, str]]:
    """Title of a program and the URL on which the user sets a group rate in it."""
    programs = account.programs.filter(archived_at=None).order_by("-id")
    return [
        (program.title, url)
        for program in programs.select_related("account__plan")[:MAX_PROGRAMS]
        for page, url in list_page_links(user, program)
        if page is AddGroupRatePage
    ]


def format_group_rate(rate) -> str:
    """`12.5 %`, or `4 EUR` of each sale."""
    value = f"{rate.value.normalize():f}"
    if rate.kind == RateKind.PERCENTAGE:
        return f"{value} %"
    return f"{value} {rate.commission_type.program.currency}"
