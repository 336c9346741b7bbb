"""The risk rules: what each is about, and the query that finds what it says.

A rule is a `RiskRuleKind`. Its function reads a batch of sales, or the affiliates of an
account, in a fixed number of statements, and changes nothing. Facts have no personal
data: the page of a case shows them beside the sale, which has it.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any

from disposable_email_domains import blocklist
from django.db.models import Count, DateTimeField, Exists, ExpressionWrapper, Max, OuterRef, Q

from accounts.days import A_DAY
from accounts.url_safety import read_parameters, split_url
from payouts.models.risk import RiskRule
from payouts.services.statistics import load_statistics
from payouts.statistics import get_last_days
from tracking.attribution import COUPON
from tracking.models.clicks import Click
from tracking.models.conversions import ConversionQuerySet
from tracking.search import fold_text
from tracking.services.portal_addresses import ADDRESS_RETENTION, list_address_digests
from tracking.services.warnings import CUSTOMER_IS_AFFILIATE

WINDOW = timedelta(days=90)  # of what rules about affiliates count, and of dry runs
MIN_SALES = 5  # of an affiliate, before a rate says anything
USUAL_DAYS = 28  # whose average is a usual day
OTHER_AFFILIATES = "The others"  # a fact: their IDs in the audit log, the newest first
MAX_OTHERS = 10  # that a fact names
MIN_SALES_A_DAY = 10  # before more than usual says anything


@dataclass(frozen=True)
class RiskFact:
    """What a rule found of a sale, or of an affiliate.

    `key` names what is known about an affiliate: with a new fact it is another one.
    """

    affiliate_id: int
    facts: list[tuple[str, str]]
    conversion_id: int | None = None
    key: str = ""


@dataclass(frozen=True)
class RiskRuleKind:
    """A rule: `find` takes the settings and the sales, or the moment, and finds facts.

    `unit` is that of the threshold; without one the rule has none. `patterns` says what
    the lines are that it compares with.
    """

    title: str
    explanation: str
    find: Callable[[RiskRule, Any], Iterable[RiskFact]]
    is_about_sales: bool = True
    unit: str = ""
    default: int = 0
    patterns: str = ""
    default_patterns: str = ""


def find_fast_sales(rule: RiskRule, sales: ConversionQuerySet) -> Iterable[RiskFact]:
    """Find sales that followed their click within fewer seconds than the threshold."""
    columns = ("pk", "affiliate_id", "created_at", "click__created_at")
    by_click = sales.filter(click__isnull=False).values_list(*columns)
    for pk, affiliate_id, sold_at, clicked_at in by_click:
        seconds = (sold_at - clicked_at).total_seconds()
        if 0 <= seconds < rule.threshold:
            facts = [
                ("Click", _format_time(clicked_at)),
                ("Seconds from click to sale", f"{seconds:.0f}"),
            ]
            yield RiskFact(affiliate_id, facts, pk)


def find_coupons_without_clicks(rule: RiskRule, sales: ConversionQuerySet) -> Iterable[RiskFact]:
    """Find sales by coupon whose affiliate had no click in the days before."""
    since = ExpressionWrapper(
        OuterRef("created_at") - timedelta(days=rule.threshold), output_field=DateTimeField()
    )
    clicks = Click.objects.of(rule.account).filter(
        affiliate=OuterRef("affiliate"), created_at__lte=OuterRef("created_at")
    )
    by_coupon = sales.filter(tracking_source=COUPON)
    for sale in by_coupon.exclude(Exists(clicks.filter(created_at__gte=since))):
        facts = [(f"Clicks in the {rule.threshold} days before", "0")]
        yield RiskFact(sale.affiliate_id, facts, sale.pk)


def find_own_sales(rule: RiskRule, sales: ConversionQuerySet) -> Iterable[RiskFact]:
    """Find sales with the warning that the customer is the affiliate."""
    for sale in sales.filter(warnings__isnull=False):
        if CUSTOMER_IS_AFFILIATE in (sale.warnings or ()):
            yield RiskFact(
                sale.affiliate_id, [("E-mail address", "that of the affiliate")], sale.pk
            )


def find_named_customers(rule: RiskRule, sales: ConversionQuerySet) -> Iterable[RiskFact]:
    """Find sales whose metadata, or that of the customer, has the name or the address of the
    affiliate: equal but for case, accents and punctuation."""
    columns = ("firstname", "lastname", "address", "postal_code")
    names = [f"affiliate__{name}" for name in columns]
    rows = sales.values_list("pk", "affiliate_id", "meta_data", "customer__meta_data", *names)
    for pk, affiliate_id, of_sale, of_customer, *own in rows:
        texts = {_fold(str(text)) for text in [*of_sale.values(), *(of_customer or {}).values()]}
        first, last, street, postal_code = (_fold(text or "") for text in own)
        facts = []
        if f"{first} {last}" in texts or {first, last} <= texts - {""}:
            facts.append(("Name", "that of the affiliate"))
        if {street, postal_code} <= texts - {""}:
            facts.append(("Address", "that of the affiliate"))
        if facts:
            yield RiskFact(affiliate_id, facts, pk)


def find_disposable_addresses(rule: RiskRule, sales: ConversionQuerySet) -> Iterable[RiskFact]:
    """Find sales to customers whose e-mail address is of a domain that throws mail away."""
    rows = sales.filter(customer__email_folded__isnull=False)
    for pk, affiliate_id, email in rows.values_list("pk", "affiliate", "customer__email_folded"):
        names = (email or "").rpartition("@")[2].split(".")
        domains = [".".join(names[place:]) for place in range(len(names) - 1)]
        if found := next((it for it in domains if it in blocklist), None):
            yield RiskFact(affiliate_id, [("Domain of the e-mail address", found)], pk)


def find_forbidden_referrers(rule: RiskRule, sales: ConversionQuerySet) -> Iterable[RiskFact]:
    """Find sales whose click came from a host of the patterns."""
    patterns = rule.patterns.lower().split()
    rows = sales.filter(click__referrer__isnull=False)
    for pk, affiliate_id, referrer in rows.values_list("pk", "affiliate_id", "click__referrer"):
        host = _get_host(referrer or "")
        for pattern in patterns:
            if fnmatchcase(host, pattern):
                facts = [("Host of the referrer", host), ("Forbidden", pattern)]
                yield RiskFact(affiliate_id, facts, pk)
                break


def find_paid_traffic(rule: RiskRule, sales: ConversionQuerySet) -> Iterable[RiskFact]:
    """Find sales whose landing page has a parameter that the program forbids."""
    forbidden: dict[str, set[str]] = defaultdict(set)  # by program; "": in all
    for name, *programs in filter(None, map(str.split, rule.patterns.lower().splitlines())):
        for program in programs or [""]:
            forbidden[program].add(name)
    rows = sales.filter(click__landing_page__isnull=False)
    columns = ("pk", "affiliate_id", "program__slug", "click__landing_page")
    for pk, affiliate_id, program, landing_page in rows.values_list(*columns):
        names = {name.lower() for name in read_parameters(landing_page)}
        if found := names & (forbidden[""] | forbidden[program.lower()]):
            facts = [("Parameters of the landing page", ", ".join(sorted(found)))]
            yield RiskFact(affiliate_id, facts, pk)


def find_shared_addresses(rule: RiskRule, sales: ConversionQuerySet) -> Iterable[RiskFact]:
    """Find sales from an IP address that so many customers of the affiliate bought from,
    within a day before."""
    rows = list(sales.filter(ip__isnull=False).values_list("pk", "affiliate", "ip", "created_at"))
    if not rows:
        return
    first = min(sold_at for *_, sold_at in rows) - A_DAY
    last = max(sold_at for *_, sold_at in rows)
    ips = {ip for _, _, ip, _ in rows}
    near = rule.account.conversions.not_deleted().filter(
        created_at__gte=first, created_at__lte=last, ip__in=ips, customer__isnull=False
    )
    known: dict[tuple[int, str | None], list[tuple[datetime, Any]]] = defaultdict(list)
    for affiliate, ip, at, customer in near.values_list(
        "affiliate", "ip", "created_at", "customer"
    ):
        known[affiliate, ip].append((at, customer))
    for pk, affiliate, ip, sold_at in rows:
        times = known[affiliate, ip]
        customers = {it for at, it in times if sold_at - A_DAY <= at <= sold_at}
        if len(customers) >= rule.threshold:
            facts = [("Customers from its IP address within a day", f"{len(customers):,}")]
            yield RiskFact(affiliate, facts, pk)


def find_addresses_of_affiliates(rule: RiskRule, sales: ConversionQuerySet) -> Iterable[RiskFact]:
    """Find sales from an IP address from which the affiliate applied or signed in; the
    sale itself, or its click."""
    account = rule.account
    with_address = sales.filter(Q(ip__isnull=False) | Q(click__ip__isnull=False))
    rows = list(with_address.values_list("pk", "affiliate", "ip", "click__ip"))
    digests = {ip: list_address_digests(account, ip) for _, _, *ips in rows for ip in ips}
    used = account.portal_addresses.filter(
        affiliate__in={affiliate for _, affiliate, *_ in rows},
        digest__in={each for found in digests.values() for each in found},
    )
    uses: dict[tuple[int, str], datetime] = {
        (affiliate, digest): at
        for affiliate, digest, at in used.values_list("affiliate", "digest", "last_used_at")
    }
    for pk, affiliate, *ips in rows:
        facts = []
        for label, ip in zip(("sale", "click"), ips, strict=True):
            times = [uses[affiliate, it] for it in digests[ip] if (affiliate, it) in uses]
            if times:
                text = f"that of the affiliate, last used {account.get_day(max(times))}"
                facts.append((f"IP address of the {label}", text))
        if facts:
            yield RiskFact(affiliate, facts, pk)


def find_refund_rates(rule: RiskRule, at: datetime) -> Iterable[RiskFact]:
    """Find affiliates of whose sales of the window at least so many percent came back."""
    account, since = rule.account, at - WINDOW
    refunds = account.refunds.filter(
        canceled_at=None, conversion__created_at__gte=since, created_at__lte=at
    )
    counts = refunds.order_by().values("conversion__affiliate")
    counts = counts.annotate(number=Count("conversion", distinct=True), newest=Max("created_at"))
    refunded = {row["conversion__affiliate"]: row for row in counts}
    sales = account.conversions.filter(created_at__gte=since, created_at__lte=at)
    sales = sales.filter(Q(deleted_at=None) | Exists(refunds.filter(conversion=OuterRef("pk"))))
    totals = sales.filter(affiliate__in=list(refunded)).order_by().values_list("affiliate")
    for affiliate_id, total in totals.annotate(Count("pk")) if refunded else ():
        number, newest = refunded[affiliate_id]["number"], refunded[affiliate_id]["newest"]
        percent = 100 * number // total
        if total >= MIN_SALES and percent >= rule.threshold:
            facts = [
                (f"Sales of {WINDOW.days} days", f"{total:,}"),
                ("With a refund", f"{number:,}"),
                ("Refund rate", f"{percent} %"),
            ]
            yield RiskFact(affiliate_id, facts, key=newest.isoformat())


def find_shared_payout_details(rule: RiskRule, at: datetime) -> Iterable[RiskFact]:
    """Find affiliates with the account number or address of another one."""
    methods = rule.account.payout_methods.filter(
        blind_index__isnull=False, affiliate__deleted_at=None
    )
    groups = methods.order_by().values("blind_index")
    shared = groups.annotate(n=Count("affiliate", distinct=True)).filter(n__gt=1)
    rows = methods.filter(blind_index__in=shared.values("blind_index"))
    by_index: dict[str | None, dict[int, tuple[str, str]]] = defaultdict(dict)
    for index, pk, log_id, kind in rows.order_by("affiliate").values_list(
        "blind_index", "affiliate", "affiliate__log_id", "kind"
    ):
        by_index[index][pk] = (log_id, kind)
    for of_index in by_index.values():
        names = " ".join(sorted(log_id for log_id, _ in of_index.values()))
        key = hashlib.sha256(names.encode()).hexdigest()
        for pk, (_, kind) in of_index.items():
            facts = [("Payout method", kind), ("Affiliates with it", f"{len(of_index):,}")]
            yield RiskFact(pk, facts, key=key)


def find_accounts_from_one_address(rule: RiskRule, at: datetime) -> Iterable[RiskFact]:
    """Find affiliates who applied in the window from an IP address of so many.

    The key is the newest of them, removed or not: who leaves makes no new fact.
    """
    opened = rule.account.portal_addresses.filter(
        opened_account=True, first_used_at__gte=at - WINDOW, first_used_at__lte=at
    )
    present = Count("pk", filter=Q(affiliate__deleted_at=None))
    groups = opened.order_by().values("digest").annotate(number=present)
    shared = groups.filter(number__gte=max(rule.threshold, 2)).values("digest")
    rows = opened.filter(digest__in=shared).order_by("affiliate")
    columns = ("digest", "affiliate", "affiliate__log_id", "affiliate__deleted_at")
    newest, by_digest = {}, defaultdict(list)
    for digest, pk, log_id, deleted_at in rows.values_list(*columns):
        newest[digest] = log_id
        if deleted_at is None:
            by_digest[digest].append((pk, log_id))
    for digest, members in by_digest.items():
        for pk, log_id in members:
            others = [name for _, name in reversed(members) if name != log_id]
            facts = [
                ("Accounts opened from its address", f"{len(members):,}"),
                (OTHER_AFFILIATES, " ".join(others[:MAX_OTHERS])),
            ]
            yield RiskFact(pk, facts, key=newest[digest])


def find_contested_claims(rule: RiskRule, at: datetime) -> Iterable[RiskFact]:
    """Find affiliates who claimed at least so many contested orders of the window."""
    claims = rule.account.conversion_claims.filter(created_at__gte=at - WINDOW, created_at__lte=at)
    counts = claims.order_by().values("affiliate")
    counts = counts.annotate(number=Count("conversion", distinct=True), newest=Max("created_at"))
    for row in counts:
        if row["number"] >= rule.threshold:
            facts = [(f"Contested orders of {WINDOW.days} days", f"{row['number']:,}")]
            yield RiskFact(row["affiliate"], facts, key=row["newest"].isoformat())


def find_sales_jumps(rule: RiskRule, at: datetime) -> Iterable[RiskFact]:
    """Find affiliates with so many times the sales of a usual day, today or yesterday.

    Statistics know days, not hours.
    """
    days = get_last_days(USUAL_DAYS + 2, rule.account.get_day(at)).days
    statistics = load_statistics(rule.account, days, at=at, kinds=("conversions",))
    for day, usual_days in ((days[-2], days[:-2]), (days[-1], days[1:-1])):
        usual = statistics.affiliate_totals(usual_days)
        for affiliate_id, total in statistics.affiliate_totals([day]).items():
            number = total.conversions
            before = usual[affiliate_id].conversions if affiliate_id in usual else 0
            is_jump = 0 < rule.threshold * before <= number * USUAL_DAYS
            if is_jump and number >= MIN_SALES_A_DAY:
                facts = [
                    ("Day", str(day)),
                    ("Sales", f"{number:,}"),
                    (f"Sales in the {USUAL_DAYS} days before", f"{before:,}"),
                ]
                yield RiskFact(affiliate_id, facts, key=day.isoformat())


def _fold(text: str) -> str:
    """A text in words without case, accents and punctuation."""
    return " ".join(re.findall(r"\w+", fold_text(text)))


def _get_host(url: str) -> str:
    try:
        return split_url(url).hostname or ""
    except ValueError:  # such as a host in brackets that is none
        return ""


def _format_time(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


RISK_RULES = {
    "fast_sale": RiskRuleKind(
        "Sale right after the click",
        "A person needs a while to order: sales that follow their click within fewer seconds.",
        find_fast_sales,
        unit="seconds",
        default=10,
    ),
    "coupon_without_clicks": RiskRuleKind(
        "Coupon without clicks",
        "Coupon sites take over sales that others have won: sales by a coupon whose"
        " affiliate had no click in so many days before.",
        find_coupons_without_clicks,
        unit="days",
        default=30,
    ),
    "customer_is_affiliate": RiskRuleKind(
        "Customer is the affiliate",
        "Sales whose customer has the e-mail address of the affiliate, from whatever source.",
        find_own_sales,
    ),
    "customer_named_as_affiliate": RiskRuleKind(
        "Customer has the name or address of the affiliate",
        "Sales whose metadata, or that of the customer, has the first and last name of the"
        " affiliate, or its street and postal code.",
        find_named_customers,
    ),
    "disposable_address": RiskRuleKind(
        "Disposable e-mail address",
        "Sales whose customer has an e-mail address of a domain for addresses to throw away."
        " The addresses are those that the settings of the account find in the metadata.",
        find_disposable_addresses,
    ),
    "forbidden_referrer": RiskRuleKind(
        "Forbidden referrer",
        "Sales whose click came from a host that you forbid, such as a coupon site.",
        find_forbidden_referrers,
        patterns="A host in each line; * stands for any text: *.coupons.example",
        default_patterns="*.coupons.example",
    ),
    "paid_traffic": RiskRuleKind(
        "Paid traffic",
        "Sales whose landing page has a parameter of paid ads, where your terms forbid them.",
        find_paid_traffic,
        patterns="A parameter in each line, and after it the IDs of the programs that forbid it,"
        " unless all do: gclid spring autumn",
        default_patterns="gclid\ngbraid\nwbraid\nmsclkid\nfbclid\nttclid\ntwclid\nli_fat_id",
    ),
    "shared_ip": RiskRuleKind(
        "Many customers from one IP address",
        "Sales from an IP address from which so many customers of the affiliate, or more,"
        " bought within a day.",
        find_shared_addresses,
        unit="customers",
        default=4,
    ),
    "affiliate_ip": RiskRuleKind(
        "IP address of affiliate and sale",
        "Affiliates who buy through their own link: sales that come, or whose click came, from"
        " an IP address from which the affiliate applied, or signed in to the portal, in the"
        f" last {ADDRESS_RETENTION.days} days. Affiliates whom the API, staff or an import created"
        " have none before they sign in. Addresses of sales that are shortened already are not"
        " compared.",
        find_addresses_of_affiliates,
    ),
    "refund_rate": RiskRuleKind(
        "Refund rate",
        f"Affiliates of whose sales of the last {WINDOW.days} days, at least {MIN_SALES}, so many"
        " percent or more had a refund.",
        find_refund_rates,
        is_about_sales=False,
        unit="percent",
        default=30,
    ),
    "sales_jump": RiskRuleKind(
        "Many sales in one day",
        f"Affiliates with so many times the sales of their usual day, the average of the"
        f" {USUAL_DAYS} days before, and {MIN_SALES_A_DAY} or more.",
        find_sales_jumps,
        is_about_sales=False,
        unit="times",
        default=5,
    ),
    "shared_payout_detail": RiskRuleKind(
        "Shared payout details",
        "Affiliates with the account number or the address of another affiliate.",
        find_shared_payout_details,
        is_about_sales=False,
    ),
    "accounts_from_one_ip": RiskRuleKind(
        "Accounts opened from one address",
        "One person with many accounts: affiliates who applied in the portal from an IP address"
        f" from which so many, or more, applied in the last {WINDOW.days} days. Affiliates whom"
        " the API, staff or an import created did not apply there.",
        find_accounts_from_one_address,
        is_about_sales=False,
        unit="accounts",
        default=3,
    ),
    "contested_claims": RiskRuleKind(
        "Contested claims",
        f"Affiliates who claimed so many contested orders of the last {WINDOW.days} days.",
        find_contested_claims,
        is_about_sales=False,
        unit="orders",
        default=3,
    ),
}
