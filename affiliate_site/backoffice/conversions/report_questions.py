"""What partner managers ask, and the reports and lists of the office that answer it."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from django.db.models import Model
from django.http import QueryDict

from payouts.models.risk import RiskCase
from payouts.models.runs import PayoutRun
from payouts.models.scenarios import Scenario
from payouts.report_columns import AGES, CONVERTED
from payouts.services.affiliate_activity import Segment
from tracking.models.affiliates import Affiliate

DAYS = ("days", "start", "end")  # the parameters of a period


def convert_address(query: QueryDict) -> QueryDict:
    """The address of the report with all amounts converted."""
    return _rename_columns(query, CONVERTED)


def unconvert_address(query: QueryDict) -> QueryDict:
    """The address of the report with the amounts of each currency."""
    return _rename_columns(query, {name: it for it, name in CONVERTED.items()})


def _rename_columns(query: QueryDict, names: Mapping[str, str]) -> QueryDict:
    query = query.copy()
    columns = query.getlist("columns")
    query.setlist("columns", [*dict.fromkeys(names.get(it, it) for it in columns)])
    if sort := query.get("sort"):
        name = sort.removeprefix("-")
        query["sort"] = sort[: -len(name)] + names.get(name, name)
    return query


class ReadyReport(NamedTuple):
    """A report of the days that are looked at, unless it has a period of its own."""

    title: str
    rows: str
    columns: str
    compare: str = ""
    sort: str = ""
    days: str = ""

    def build_query(self, kept: Mapping[str, str], *, is_converted: bool = False) -> QueryDict:
        """The address of the report; `kept` are parameters of its period and filters."""
        query = QueryDict(mutable=True)
        query.update({it: kept[it] for it in kept if not (self.days and it in DAYS)})
        if self.days:
            query["days"] = self.days
        query["rows"], _, query["then"] = self.rows.partition(" ")
        query["compare"], query["sort"] = self.compare, self.sort
        query.setlist("columns", self.columns.split())
        return convert_address(query) if is_converted else query

    def is_of(self, query: QueryDict) -> bool:
        """Whether an address is that of this report, whatever its period, filters, order
        and currency."""
        own, query = self.build_query({}), unconvert_address(query)
        return query.getlist("columns") == own.getlist("columns") and all(
            query.get(it, "") == own.get(it, "") for it in ("rows", "then", "compare")
        )


class ListLink(NamedTuple):
    """A list of the office that answers a question."""

    title: str
    model: type[Model]
    query: str = ""


BEST = ReadyReport("Best affiliates", "affiliate", "revenue conversions commissions", "previous")
TRAFFIC = "revenue conversions clicks conversion_rate"
COST = "cost_ratio revenue commissions"
# What managers ask, and where the answers are.
QUESTIONS: Sequence[tuple[str, Sequence[ReadyReport | ListLink]]] = (
    (
        "Who brought most revenue?",
        (
            BEST,
            ReadyReport(
                *("Months", "month", "revenue conversions clicks commissions cost_ratio"),
                days="last_12_months",
            ),
        ),
    ),
    (
        "What works best?",
        (
            ReadyReport("Links", "link", TRAFFIC),
            ReadyReport("Coupons", "coupon", "revenue conversions average_order commissions"),
            ReadyReport("Landing pages", "landing_page", TRAFFIC),
            ReadyReport("Referrers", "referrer_host", TRAFFIC),
            ReadyReport("Sub-IDs", "sub_id", TRAFFIC),
            ReadyReport("Products", "product", "revenue conversions commissions"),
        ),
    ),
    (
        "Who has gone quiet, is new, rises or falls?",
        tuple(
            ListLink(f"{it.label}", Affiliate, f"segment={it}")
            for it in (Segment.QUIET, Segment.NEW, Segment.RISING, Segment.FALLING)
        ),
    ),
    (
        "What share of revenue is paid as commission?",
        (
            ReadyReport("By program", "program", COST, "previous"),
            ReadyReport("By group", "group", COST, "previous"),
            ReadyReport("By affiliate", "affiliate", COST, "previous"),
        ),
    ),
    (
        "Whose sales are refunded or disputed most?",
        (
            ReadyReport(
                *("Refunds and disputes", "affiliate"),
                "refund_rate refunds disputes conversions revenue",
            ),
        ),
    ),
    (
        "What are customers worth after 1, 3, 6 and 12 months?",
        (
            ReadyReport(
                *("Revenue per customer", "affiliate"),
                " ".join(("buyers", *(f"customer_value_{age}" for age in AGES))),
                days="last_24_months",
            ),
            ReadyReport(
                *("Customers by affiliate", "affiliate months_since"),
                "buyers conversions revenue",
                days="last_24_months",
            ),
            ReadyReport(
                *("By month of the first sale", "cohort months_since"),
                "buyers conversions revenue",
                days="last_24_months",
            ),
            ReadyReport(
                *("Repeat rates", "affiliate"),
                "repeat_rate buyers conversions revenue average_order",
                days="last_24_months",
            ),
        ),
    ),
    (
        "Who brings customers that you had already?",
        (
            ReadyReport(
                *("Earlier customers", "affiliate"),
                "known_conversions known_rate conversions revenue commissions",
            ),
        ),
    ),
    (
        "What would other rates have cost?",
        (ListLink("What if", Scenario),),
    ),
    (
        "Which coupon is used far beyond the clicks of its affiliate?",
        (
            ReadyReport(
                *("Coupons and clicks", "affiliate_coupon affiliate"),
                "coupon_conversions clicks clicks_per_coupon",
                sort="clicks_per_coupon",
                days="last_90_days",
            ),
        ),
    ),
    (
        "Which sales should be looked at before they are paid?",
        (
            ListLink("Drafts of payout runs", PayoutRun, "state__exact=draft"),
            ListLink("Risk cases", RiskCase, "state__exact=open"),
        ),
    ),
)
