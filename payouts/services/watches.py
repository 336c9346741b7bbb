"""The watches: what each looks for in the numbers of an account.

A watch is a `Watch`. Its function takes the account, the threshold and the moment, reads
daily statistics or what an index finds, in a fixed number of statements, and changes
nothing. Findings have no personal data.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, TypedDict

from django.db.models import Count, Exists, Max, OuterRef, Q

from accounts.days import A_DAY, start_of_day
from accounts.exact_json import format_decimal
from accounts.models.accounts import Account
from payouts.models.alerts import AlertState
from payouts.models.runs import PayoutLineState, PayoutRunState
from payouts.services.statistics import load_statistics
from payouts.statistics import Period, add_totals, calculate_share
from tracking.amounts import ExactSum
from tracking.money import ZERO, round_amount
from tracking.written_amounts import write_amount

USUAL_DAYS = 28  # that the present ones are compared with
RECENT_DAYS = 7
SHARE_DAYS = RUN_DAYS = 30
MIN_CLICKS = 100  # before a rate says anything
MIN_SALES = 10
MIN_REFUNDS = 5
MIN_SELLERS = 3
MAX_FINDINGS = 100  # of a watch


@dataclass(frozen=True)
class Finding:
    """What a watch found: its subject, and a sentence with the figures."""

    text: str
    subject: str = ""
    object_id: int | None = None
    affiliate_id: int | None = None


@dataclass(frozen=True)
class Watch:
    """A watch; `unit` is that of the threshold, without one it has none.

    `page` is the model whose pages show what was found: that of `Finding.object_id`, else
    its list; empty: the dashboard. `is_counted`: the dashboard counts it itself, at once.
    """

    title: str
    explanation: str
    find: Callable[[Account, int, datetime], Iterable[Finding]]
    page: str = ""
    unit: str = ""
    default: int = 0
    maximum: int = 1000
    is_on: bool = False
    is_counted: bool = False


class WatchSetting(TypedDict):
    """What an account has set of a watch."""

    is_on: bool
    threshold: int


def get_watch_settings(account: Account) -> dict[str, WatchSetting]:
    """Return the settings of each watch: its own defaults, unless the account has others."""
    stored: Mapping[str, WatchSetting] = account.watches or {}
    return {
        name: stored.get(name, {"is_on": watch.is_on, "threshold": watch.default})
        for name, watch in WATCHES.items()
    }


def find_missing_clicks(account: Account, threshold: int, at: datetime) -> Iterable[Finding]:
    """Find the programs without a click today and on so many days before, though there were
    some earlier."""
    since = account.get_day(at) - A_DAY * threshold
    recent = account.clicks.filter(
        program=OuterRef("pk"), created_at__gte=start_of_day(since, account.zone)
    )
    quiet = account.programs.filter(~Exists(recent), archived_at=None)
    programs = dict(quiet.values_list("pk", "title"))
    usual = Period(since - A_DAY * USUAL_DAYS, since - A_DAY).days if programs else []
    clicks: Counter[int | None] = Counter()
    for (_, program), totals in _load(account, usual, at).totals_by_day_and_program(usual).items():
        clicks[program] += totals.clicks
    for pk in sorted(programs.keys() & (+clicks).keys()):
        yield Finding(
            f"No click in {programs[pk]} on {since} or later; {clicks[pk]:,} in the"
            f" {USUAL_DAYS} days before.",
            str(pk),
            pk,
        )


def find_low_rate(account: Account, threshold: int, at: datetime) -> Iterable[Finding]:
    """Find a conversion rate below so many percent of the usual one."""
    recent, usual = _list_windows(account, at)
    statistics = _load(account, [*usual, *recent], at)
    now, before = (add_totals(statistics.totals_by_day(days).values()) for days in (recent, usual))
    if min(now.clicks, before.clicks) < MIN_CLICKS or before.conversions < MIN_SALES:
        return
    if 100 * now.conversions * before.clicks < threshold * before.conversions * now.clicks:
        yield Finding(
            f"{_format_rate(now.conversion_rate)} of {now.clicks:,} clicks in the last"
            f" {RECENT_DAYS} days, {_format_rate(before.conversion_rate)} of {before.clicks:,}"
            f" in the {USUAL_DAYS} days before."
        )


def find_many_refunds(account: Account, threshold: int, at: datetime) -> Iterable[Finding]:
    """Find refunds of more than so many percent of the usual amount, by currency."""
    since, first = (at - timedelta(days=days) for days in (RECENT_DAYS, RECENT_DAYS + USUAL_DAYS))
    rows = account.refunds.filter(canceled_at=None, created_at__gte=first, created_at__lte=at)
    recent, earlier = Q(created_at__gte=since), Q(created_at__lt=since)
    sums = (
        rows.order_by("currency")
        .values_list("currency")
        .annotate(
            number=Count("pk", filter=recent),
            now=ExactSum("amount", filter=recent),
            before=ExactSum("amount", filter=earlier),
        )
    )
    for currency, number, amount, before in sums:
        usual = round_amount((before or ZERO) * RECENT_DAYS / USUAL_DAYS, currency)
        if number >= MIN_REFUNDS and usual and 100 * amount > threshold * usual:
            yield Finding(
                f"{write_amount(amount, currency)} in {number:,} refunds of the last"
                f" {RECENT_DAYS} days; {write_amount(usual, currency)} a week in the"
                f" {USUAL_DAYS} days before.",
                currency,
            )


def find_large_shares(account: Account, threshold: int, at: datetime) -> Iterable[Finding]:
    """Find affiliates with more than so many percent of the revenue, by currency."""
    last = account.get_day(at) - A_DAY
    days = Period(last - A_DAY * (SHARE_DAYS - 1), last).days
    totals = _load(account, days, at).affiliate_totals(days)
    revenue: dict[str, dict[int, Decimal]] = {}
    for pk, total in totals.items():
        for currency, amount in total.revenue.items():
            if amount > 0:
                revenue.setdefault(currency, {})[pk] = amount
    for currency, by_affiliate in sorted(revenue.items()):
        whole = sum(by_affiliate.values(), ZERO)
        for pk, amount in sorted(by_affiliate.items()):
            if len(by_affiliate) >= MIN_SELLERS and 100 * amount > threshold * whole:
                yield Finding(
                    f"{_format_rate(calculate_share(amount, whole))} of the revenue of the last"
                    f" {SHARE_DAYS} days: {write_amount(amount, currency)} of"
                    f" {write_amount(whole, currency)}.",
                    f"{pk} {currency}",
                    pk,
                    pk,
                )


def find_returned_methods(account: Account, _: int, at: datetime) -> Iterable[Finding]:
    """Find the payout methods to which a payment could not be made."""
    rows = account.payout_methods.exclude(on_hold_reason="").order_by("pk")
    for pk, affiliate in rows.values_list("pk", "affiliate")[:MAX_FINDINGS]:
        text = "A payment came back: nothing is paid there until you have looked."
        yield Finding(text, str(pk), pk, affiliate)


def find_failed_runs(account: Account, _: int, at: datetime) -> Iterable[Finding]:
    """Find the payout runs of which something came back."""
    runs = list_failed_runs(account, at=at).order_by("-pk")[:MAX_FINDINGS]
    lines = account.payout_lines.filter(
        run__in=list(runs.values_list("pk", flat=True)), state=PayoutLineState.RETURNED
    )
    sums = lines.order_by("run", "currency").values_list("run", "run__public_id", "currency")
    texts: dict[tuple[int, str], list[str]] = {}
    for pk, public_id, currency, number, amount in sums.annotate(Count("pk"), ExactSum("amount")):
        text = f"{number:,} of {write_amount(amount, currency)}"
        texts.setdefault((pk, public_id), []).append(text)
    for (pk, public_id), parts in texts.items():
        yield Finding(
            f"Payments of {public_id} that failed or came back: {', '.join(parts)}.", str(pk), pk
        )


def list_failed_runs(account: Account, *, at: datetime) -> Any:
    """The partly failed runs of the last days; what came back later is in later ones."""
    since = at - timedelta(days=RUN_DAYS)
    return account.payout_runs.filter(state=PayoutRunState.PARTLY_FAILED, confirmed_at__gt=since)


def leave_out_dismissed(account: Account, watch: str, rows: Any) -> Any:
    """Leave out the rows whose alerts staff have dismissed."""
    dismissed = account.alerts.filter(watch=watch, state=AlertState.DISMISSED)
    return rows.exclude(pk__in=dismissed.values("object_id"))


def find_failed_events(account: Account, threshold: int, at: datetime) -> Iterable[Finding]:
    """Find shops with so many failed events, or more."""
    events = account.shop_events.failed().order_by("connection")
    counts = events.values_list("connection", "connection__name").annotate(
        number=Count("pk"), newest=Max("created_at")
    )
    for pk, name, number, newest in counts.filter(number__gte=threshold)[:MAX_FINDINGS]:
        yield Finding(
            f"{number:,} failed events of {name}, the newest of {account.get_day(newest)}.",
            str(pk),
            pk,
        )


def _list_windows(account: Account, at: datetime) -> tuple[list[date], list[date]]:
    """Return the last days that are over, and those before that they are compared with."""
    today = account.get_day(at)
    recent = Period(today - A_DAY * RECENT_DAYS, today - A_DAY)
    return recent.days, Period(recent.first - A_DAY * USUAL_DAYS, recent.first - A_DAY).days


def _format_rate(rate: Decimal | None) -> str:
    return f"{format_decimal(rate or ZERO)} %"


def _load(account: Account, days: Sequence[date], at: datetime) -> Any:
    return load_statistics(account, days, at=at, kinds=("clicks", "conversions"))


WATCHES = {
    "returned_account": Watch(
        "Returned payout account",
        "A payment came back: its payout method waits until somebody has looked at it.",
        find_returned_methods,
        page="payouts_payoutmethod",
        is_on=True,
        is_counted=True,
    ),
    "failed_run": Watch(
        "Partly failed payout run",
        f"Payments of a run of the last {RUN_DAYS} days failed or came back.",
        find_failed_runs,
        page="payouts_payoutrun",
        is_on=True,
        is_counted=True,
    ),
    "failed_events": Watch(
        "Failed shop events",
        "A shop has so many failed events, or more: sales or refunds may be missing.",
        find_failed_events,
        page="tracking_connection",
        unit="events",
        default=1,
        is_on=True,
        is_counted=True,
    ),
    "no_clicks": Watch(
        "No clicks",
        f"A program has no click today and on so many days before, though the {USUAL_DAYS} days"
        " before them had some: the script may be gone from its pages.",
        find_missing_clicks,
        page="tracking_program",
        unit="days",
        default=3,
        maximum=90,
    ),
    "low_rate": Watch(
        "Conversion rate fell",
        f"The rate of the last {RECENT_DAYS} days is below so many percent of that of the"
        f" {USUAL_DAYS} days before. Each must have {MIN_CLICKS} clicks.",
        find_low_rate,
        unit="percent",
        default=50,
    ),
    "many_refunds": Watch(
        "Refunds rose",
        f"The last {RECENT_DAYS} days have {MIN_REFUNDS} refunds or more, and their amount is"
        f" above so many percent of a usual week: of the {USUAL_DAYS} days before.",
        find_many_refunds,
        page="tracking_conversion",
        unit="percent",
        default=200,
        maximum=10_000,
    ),
    "large_share": Watch(
        "Much revenue from one affiliate",
        f"One affiliate brings more than so many percent of the revenue of the last"
        f" {SHARE_DAYS} days, if {MIN_SELLERS} or more bring some.",
        find_large_shares,
        page="tracking_affiliate",
        unit="percent",
        default=50,
        maximum=100,
    ),
}
