"""What several pages of payout runs show: totals, failures, changed payout methods."""

from collections import Counter
from datetime import timedelta
from operator import itemgetter

from django.db.models import Count
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.http import urlencode

from affiliate_site.backoffice.formatters import count_noun, format_money, format_totals
from affiliate_site.backoffice.object_pages import Section
from affiliate_site.backoffice.theme import get_object_url
from affiliate_site.columns import Column
from affiliate_site.payout_files.writing import list_unfit_lines
from payouts.models.payments import PayoutMethod, PayoutMethodKind
from payouts.models.runs import LEFT_OUT_STATES, PayoutLineState, PayoutRunState
from payouts.services.documents import list_lines_without_document
from payouts.services.payout_runs import FAILED
from tracking.amounts import ExactSum

CHANGED_RECENTLY = timedelta(days=30)  # payout methods that are marked
MAX_NAMED = 10
ALERT_LINK = '<a class="underline" href="{}">{}</a>'


def build_lines_url(run, **filters: str) -> str:
    query = urlencode({"run": run.public_id, **filters})
    return f"{reverse('admin:payouts_payoutline_changelist')}?{query}"


STATE = Column("State", lambda it: PayoutLineState(it[2]).label.capitalize())


def build_totals_section(run) -> Section:
    """Number and sum of the lines by currency, method and what became of them."""
    rows = run.account.payout_lines.filter(run=run).exclude(state__in=LEFT_OUT_STATES)
    keys = ("currency", "method", "state")
    totals = rows.order_by(*keys).values_list(*keys)
    is_draft = run.state == PayoutRunState.DRAFT
    counted = list(totals.annotate(Count("pk"), ExactSum("amount")))
    return Section(
        "Totals",
        columns=(
            Column("Currency", itemgetter(0)),
            Column("Method", lambda it: PayoutMethodKind(it[1]).label),
            *([] if is_draft else [STATE]),
            Column("Affiliates", lambda it: f"{it[3]:,}", is_amount=True),
            Column("Amount", lambda it: format_money(it[4], it[0]), is_amount=True),
        ),
        notes=[] if counted else ["Nobody is paid."],
        rows=counted,
    )


def list_failures(run) -> list[str]:
    """How many payments failed, with which sums, and what is next."""
    rows = run.account.payout_lines.filter(run=run, payment__isnull=False)
    columns = rows.order_by("state", "currency").values_list("state", "currency")
    totals: dict[str, dict] = {}
    numbers: Counter[str] = Counter()
    for state, currency, number, total in columns.annotate(Count("pk"), ExactSum("amount")):
        totals.setdefault(state, {})[currency] = total
        numbers[state] += number
    failures = [
        format_html(
            "{} of {} payments {} {}: {}, due again for the next payout run. {}",
            f"{numbers[state]:,}",
            f"{numbers.total():,}",
            "were" if numbers[state] > 1 else "was",
            state.label.lower(),
            format_totals(totals[state]),
            format_html(ALERT_LINK, build_lines_url(run, state__exact=state), "Show which"),
        )
        for state in map(PayoutLineState, FAILED)
        if state in totals
    ]
    return [*failures, *list_held_method_alerts(run, rows)]


def list_held_method_alerts(run, lines) -> list[str]:
    """Whose payout methods the next run leaves out, of payments that came back."""
    returned = lines.filter(state=PayoutLineState.RETURNED)
    methods = run.account.payout_methods.filter(affiliate__in=returned.values("affiliate"))
    rows = methods.exclude(on_hold_reason="").select_related("affiliate")
    found = list(rows.order_by("affiliate_id", "kind")[: MAX_NAMED + 1])
    if not found:
        return []
    names = format_html_join(
        ", ",
        ALERT_LINK,
        [
            (get_object_url(it.affiliate), f"{it.get_kind_display()} of {it.affiliate}")
            for it in found[:MAX_NAMED]
        ],
    )
    more = " and more" if len(found) > MAX_NAMED else ""
    text = "Correct these payout methods first, or mark them as looked at: {}{}."
    return [format_html(text, names, more)]


def list_changed_methods(account, affiliates) -> list[PayoutMethod]:
    """The primary methods that were changed lately, newest first.

    `affiliates` are primary keys, or a query for them.
    """
    methods = account.payout_methods.filter(
        affiliate__in=affiliates,
        is_primary=True,
        details_changed_at__gte=timezone.now() - CHANGED_RECENTLY,
    )
    rows = methods.select_related("affiliate").order_by("-details_changed_at", "pk")
    return list(rows.defer("details"))


def describe_age(method: PayoutMethod) -> str:
    """How long ago a method was changed: `5 days ago`."""
    now = timezone.now()
    days = (now - (method.details_changed_at or now)).days
    return "today" if days < 1 else f"{count_noun(days, 'day')} ago"


def warn_of_changed_methods(run) -> list[str]:
    """Whose payout methods were changed lately, of those who are paid."""
    lines = run.account.payout_lines.filter(run=run, state=PayoutLineState.INCLUDED)
    changed = list_changed_methods(run.account, lines.values("affiliate"))
    if not changed:
        return []
    texts = [f"{method.affiliate} {describe_age(method)}" for method in changed]
    return [f"Payout methods changed in the last 30 days: {name_some(texts)}."]


def warn_of_unfit_lines(run) -> list[str]:
    """Whom no file can pay, by the reason: staff pay them by hand, or take them out."""
    by_reason: dict[str, list[str]] = {}
    for line, reason in list_unfit_lines(run):
        text = f"{line.affiliate}, {format_money(line.amount, line.currency)}"
        by_reason.setdefault(reason, []).append(text)
    return [
        f"In no file, but in a list to pay by hand: {name_some(texts, '; ')}: {reason}."
        for reason, texts in by_reason.items()
    ]


def warn_of_missing_documents(run) -> list[str]:
    """Whose payments could have no document, by what is missing: left out by setting
    that, or by hand."""
    by_problem: dict[str, list[str]] = {}
    for line, text in list_lines_without_document(run, at=timezone.now()):
        by_problem.setdefault(text, []).append(str(line.affiliate))
    return [
        f"Without a document: {name_some(names)}. {text}." for text, names in by_problem.items()
    ]


def name_some(texts: list[str], separator: str = ", ") -> str:
    """The first ones of these texts, and how many more there are."""
    more = len(texts) - MAX_NAMED
    named = separator.join(texts[:MAX_NAMED])
    return f"{named} and {more:,} more" if more > 0 else named
