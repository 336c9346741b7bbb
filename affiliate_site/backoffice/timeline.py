"""The story of a customer: click, status, sales, and what became of each commission."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode

from affiliate_site.backoffice.cells import money

MOST_SALES = 100  # of one page, the newest
PAID = ["payout"]  # what the diary calls it when a payment covers or frees a commission
LINK = '<a class="text-primary-600 dark:text-primary-500" href="{}">{}</a>'


@dataclass(frozen=True)
class Moment:
    """Something that happened, with a link to its row."""

    at: datetime
    told: str


def timeline_of(customer) -> list[Moment]:
    """Everything that happened to a customer, in its order; at once: causes first."""
    account = customer.account
    newest = account.conversions.filter(customer=customer).order_by("-id")
    sales = list(newest[: MOST_SALES + 1])
    is_cut = len(sales) > MOST_SALES
    sales = sales[:MOST_SALES][::-1]
    commissions = commissions_of(account, sales)
    diary = diary_of(account, [customer, *commissions])
    told = [*visit(customer), *states(diary[subject(customer)])]
    for sale in sales:
        told += sold(sale)
    for commission in commissions:
        told += decided(commission, diary[subject(commission)])
    told.sort(key=lambda moment: moment.at)
    return [Moment(told[0].at, earlier(customer)), *told] if is_cut else told


def commissions_of(account, sales) -> list:
    """What the sales earned, for whom, and by which payment it was paid."""
    rows = account.commissions.filter(conversion__in=[sale.pk for sale in sales])
    return list(rows.select_related("affiliate", "payment").order_by("id"))


def diary_of(account, rows) -> dict[str, list]:
    """The lines of the diary about each of these rows, in one statement."""
    lines = defaultdict(list)
    subjects = [subject(row) for row in rows]
    for line in account.events.filter(subject__in=subjects).order_by("id"):
        lines[line.subject].append(line)
    return lines


def subject(row) -> str:
    """What the diary calls a row."""
    return f"{row._meta.model_name}:{row}"


def visit(customer) -> list[Moment]:
    """The click that brought the customer."""
    click = customer.click
    if click is None:
        return []
    what = format_html("{} {}", to(click, "click"), click.landing_page or "")
    return [Moment(click.created_at, what)]


def states(lines) -> list[Moment]:
    """What the diary tells of the customer."""
    return [
        Moment(
            line.created_at, f"{line.kind} {' → '.join(line.facts.get('status', []))}"
        )
        for line in lines
    ]


def sold(sale) -> list[Moment]:
    """A sale; and its end, if it was removed."""
    linked = to(sale, f"conversion {sale}")
    amount = money(sale.amount, sale.currency)
    told = [Moment(sale.created_at, format_html("{} {}", linked, amount))]
    if sale.removed_at:
        told.append(Moment(sale.removed_at, format_html("removed {}", linked)))
    return told


def decided(commission, lines) -> list[Moment]:
    """A commission as it was born, each decision, each payment, and its end."""
    linked = to(commission, f"commission {commission.pk}")
    amount = money(at_first(commission, lines, "amount"), commission.currency)
    status = at_first(commission, lines, "status")
    born = format_html("{} {} for {}: {}", linked, amount, commission.affiliate, status)
    told = [Moment(commission.created_at, born)]
    told += [
        Moment(line.created_at, format_html("{} {}", linked, how))
        for line in lines
        if (how := change_in(line, commission))
    ]
    told += paid(commission, linked, lines)
    if commission.removed_at:
        gone = format_html("{} removed with its sale", linked)
        told.append(Moment(commission.removed_at, gone))
    return told


def at_first(commission, lines, fact: str):
    """What a commission was born with, if it changed since."""
    changes = [line.facts[fact] for line in lines if fact in line.facts]
    if not changes:
        return getattr(commission, fact)
    return Decimal(changes[0][0]) if fact == "amount" else changes[0][0]


def change_in(line, commission) -> str:
    """What somebody decided about a commission; nothing: no decision."""
    now = [line.facts["status"][1]] if "status" in line.facts else []
    if "amount" in line.facts:
        now.append(f"{line.facts['amount'][1]} {commission.currency}")
    return ", ".join(now)


def paid(commission, linked, lines) -> list[Moment]:
    """A payment covers a commission until it is canceled, or another decision frees it:
    then the next one covers it."""
    told = []
    is_covered = False
    for line in lines:
        if "status" in line.facts:
            is_covered = False
        elif line.facts.get("fields") == PAID:
            is_covered = not is_covered
            how = "paid" if is_covered else "free again: its payment was canceled"
            told.append(Moment(line.created_at, format_html("{} {}", linked, how)))
    if commission.payment and is_covered:
        by = to(commission.payment, str(commission.payment))
        told[-1] = Moment(told[-1].at, format_html("{} paid by {}", linked, by))
    return told


def to(row, text: str) -> str:
    """A link to the page of a row."""
    opts = row._meta
    name = f"admin:{opts.app_label}_{opts.model_name}_change"
    return format_html(LINK, reverse(name, args=[row.pk]), text)


def earlier(customer) -> str:
    """Where the sales are that the page leaves out."""
    told = f"Of many sales, these are the newest {MOST_SALES}"
    if not customer.customer_id:  # removed: no list finds them by it
        return told
    asked = urlencode({"q": customer.customer_id})
    address = f"{reverse('admin:tracking_conversion_changelist')}?{asked}"
    told = f"{told}:"
    return format_html("{} {}", told, format_html(LINK, address, "all of them"))
