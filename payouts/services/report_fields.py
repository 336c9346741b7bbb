"""What rows of reports are by, and the sums that a report reads of each kind of row."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import (
    Case,
    Count,
    DateField,
    Exists,
    F,
    Func,
    IntegerField,
    Max,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    TextField,
    Value,
    When,
)
from django.db.models.functions import (
    Coalesce,
    Lower,
    Replace,
    Trunc,
    TruncDate,
)
from django.db.models.lookups import Exact
from django.db.models.sql.compiler import SQLCompiler

from accounts.database_functions import JsonTextAtKey
from accounts.days import A_DAY, start_of_day
from accounts.models.accounts import Account
from payouts.errors import (
    UnknownReportValue,
)
from payouts.models.commissions import CommissionKind, CommissionStatus
from payouts.report_columns import COUNTS, DISTINCT
from payouts.services.day_counts import (
    FIRST_AMOUNT,
    KEPT_AMOUNT,
    NOT_REMOVED,
    TextAfter,
    TextBefore,
    cut_query,
    find_program_of_commission,
)
from payouts.statistics import Period
from tracking.amounts import ExactSum
from tracking.attribution import (
    ASSET_AND_SOURCE,
    CLICK_ID,
    COUPON,
    IMPORT,
    REFERRAL_CODE,
    TRACKING_ID,
    TRACKING_SOURCE_NAMES,
)
from tracking.models.conversions import Conversion

# How sales are stored that an affiliate's link brought.
LINKS = [
    TRACKING_SOURCE_NAMES.get(it, it)
    for it in (REFERRAL_CODE, CLICK_ID, ASSET_AND_SOURCE, TRACKING_ID)
]
NEW, RETURNING = "new", "returning"
NO_CUSTOMER = "no customer"


class MonthsBetween(Func):
    """The months from one first day of a month to another.

    Each is read once, as one may be a subquery: whole months differ from average ones by
    a few days at most, so rounding is exact.
    """

    output_field = IntegerField()

    def as_postgresql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: Any
    ) -> tuple[str, list[Any]]:
        (first, values), (last, others) = map(compiler.compile, self.source_expressions)
        days = f"({last})::date - ({first})::date"
        return f"CAST(ROUND(({days}) / 30.436875) AS INTEGER)", [*others, *values]

    def as_sqlite(  # type: ignore[override]
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: Any
    ) -> tuple[str, list[Any]]:
        (first, values), (last, others) = map(compiler.compile, self.source_expressions)
        days = f"JULIANDAY({last}) - JULIANDAY({first})"
        return f"CAST(ROUND(({days}) / 30.436875) AS INTEGER)", [*others, *values]


class Fact(NamedTuple):
    """A kind of rows that reports count, and the paths from it to others."""

    rows: str  # the manager of the account
    moment: str = "created_at"
    click: str | None = None
    sale: str | None = None
    customer: str | None = None

    def select(self, account: Account, period: Period) -> Any:
        """The rows of these days."""
        since, until = period.first, period.last + A_DAY
        return getattr(account, self.rows).filter(
            **{f"{self.moment}__gte": start_of_day(since, account.zone)},
            **{f"{self.moment}__lt": start_of_day(until, account.zone)},
        )


CLICKS = Fact("clicks", click="")
REMOVED_CLICKS = Fact("pruned_click_counts", "quarter", click="")
CUSTOMERS = Fact("customers", click="click__", customer="")
SALES = Fact("conversions", click="click__", sale="", customer="customer__")
COMMISSIONS = Fact(
    "commissions",
    click="conversion__click__",
    sale="conversion__",
    customer="conversion__customer__",
)
STORED_DAYS = Fact("daily_stats", "day")


class Reading(NamedTuple):
    """The sums of one statement."""

    fact: Fact
    sums: Mapping[str, Any]
    condition: Q = Q()
    distinct: tuple[str, ...] = ()  # those of groups make none of the whole
    stands_for: Fact | None = None  # which does not know a field of the report
    by_currency: bool = True


# Of the customer of a sale. The account is that of the sale, of which an index begins.
EARLIER_SALES = Conversion.objects.across_accounts().filter(
    NOT_REMOVED,
    account=OuterRef("account"),
    customer=OuterRef("customer"),
    created_at__lt=OuterRef("created_at"),
)
OF_ITEMS = Q(NOT_REMOVED, kind=CommissionKind.REGULAR, is_extra=False)
STATED_KIND = Coalesce(JsonTextAtKey("meta_data", "customer"), Value(""), output_field=TextField())
# Sales that are the first one of their affiliate to a customer who had bought before.
IS_KNOWN = (Q(Exact(STATED_KIND, RETURNING)) | Q(Exists(EARLIER_SALES))) & ~(
    Q(Exact(STATED_KIND, NEW)) | Q(Exists(EARLIER_SALES.filter(affiliate=OuterRef("affiliate"))))
)
READINGS = (
    Reading(CLICKS, {"clicks": Count("*")}),
    Reading(REMOVED_CLICKS, {"clicks": Sum("clicks")}),
    Reading(CUSTOMERS, {"customers": Count("*")}, NOT_REMOVED),
    Reading(
        SALES,
        {
            "conversions": Count("*"),
            "revenue": ExactSum("amount"),
            "first_sale": Min("created_at"),
            "last_sale": Max("created_at"),
            "coupon_conversions": Count("pk", filter=Q(tracking_source=COUPON)),
            "known_conversions": Count("pk", filter=IS_KNOWN),
            "buyers": Count("customer", distinct=True),
            "returning_buyers": Count("customer", distinct=True, filter=Exists(EARLIER_SALES)),
        },
        NOT_REMOVED,
        distinct=DISTINCT,
    ),
    Reading(
        SALES,
        {
            "sold": ExactSum(FIRST_AMOUNT),
            "kept": ExactSum(KEPT_AMOUNT, filter=NOT_REMOVED),
            "disputes": Count("disputed_at"),
        },
    ),
    # The items of sales, by what a sale may have several of.
    Reading(COMMISSIONS, {"revenue": ExactSum("sub_amount")}, OF_ITEMS, stands_for=SALES),
    Reading(
        COMMISSIONS,
        {"conversions": Count("conversion", distinct=True)},
        OF_ITEMS,
        distinct=("conversions",),
        stands_for=SALES,
    ),
    Reading(
        COMMISSIONS,
        {
            f"commissions_{status}": ExactSum("amount", filter=Q(status=status))
            for status in CommissionStatus.values
        },
        NOT_REMOVED,
    ),
)
STORED_SUMS = {
    **{name: Sum(name) for name in (*COUNTS, "conversions")},
    **{name: ExactSum(name) for name in ("revenue", "sold", "kept", *READINGS[-1].sums)},
}


class ReportObject(NamedTuple):
    """What a row is about: its primary key, API ID and name."""

    pk: int
    id: str
    name: str


@dataclass(frozen=True)
class ReportField:
    """What the rows of a report are by.

    `get_expression` returns that of a fact, or None if the fact has nothing to do with
    it: then columns that need its sums are empty. The value of an object is its primary
    key; `objects` names the manager, the column of its API ID and that of its name.
    """

    name: str
    title: str
    get_expression: Callable[[Account, Fact], Any]
    objects: tuple[str, str, str] | None = None
    is_stored: bool = False  # daily statistics know it
    is_time: bool = False  # part of the period
    read: Callable[[str], Any] = str  # the text of a filter, or `ValueError`
    none: str = "(none)"  # what pages call the row of what has no value

    @property
    def has_order(self) -> bool:
        """Whether the values are days or numbers, not texts."""
        return self.is_time or self.read is not str

    def find_value(self, account: Account, text: str) -> Any:
        """Return the value that a filter names; None for what has none."""
        if not text:
            return None
        if self.objects is None:
            try:
                return self.read(text)
            except ValueError:
                raise UnknownReportValue(field=self.name, value=text) from None
        manager, column, _ = self.objects
        rows = getattr(account, manager).filter(**{column: text})
        pk = rows.values_list("pk", flat=True).first()
        if pk is None:
            raise UnknownReportValue(field=self.name, value=text)
        return pk

    def load_objects(self, account: Account, values: set[Any]) -> dict[Any, ReportObject]:
        """Return the objects of these values; none for a field that has none."""
        if self.objects is None:
            return {}
        manager, *columns = self.objects
        rows = getattr(account, manager).filter(pk__in=values - {None})
        names = ["firstname", "lastname"] if manager == "affiliates" else columns[1:]
        found = rows.values_list("pk", columns[0], *names)
        return {pk: ReportObject(pk, text, " ".join(parts).strip()) for pk, text, *parts in found}


def _get_time(unit: str) -> Callable[[Account, Fact], Any]:
    def get_expression(account: Account, fact: Fact) -> Any:
        day = F("day") if fact is STORED_DAYS else TruncDate(fact.moment, tzinfo=account.zone)
        return Trunc(day, unit, output_field=DateField())

    return get_expression


def _of_item(value: F) -> Callable[[Account, Fact], Any]:
    return lambda _, fact: value if fact is COMMISSIONS else None


def _get_program(account: Account, fact: Fact) -> Any:
    return find_program_of_commission(account) if fact is COMMISSIONS else F("program")


def _of_own_click(fact: Fact, get_text: Callable[[str], Any]) -> Any:
    """What the click of a row has; of a sale only if its affiliate earned it: another
    one's coupon may have beaten the link."""
    if fact.click is None:
        return None
    text = get_text(fact.click)
    own = Q(**{f"{fact.click}affiliate": F(f"{fact.sale or ''}affiliate")})
    return Case(When(own, then=text)) if fact.click else text


def _get_referrer_host(_: Account, fact: Fact) -> Any:
    if fact is REMOVED_CLICKS:
        return F("referrer_host")

    def get_host(prefix: str) -> Any:
        url = F(f"{prefix}referrer")
        scheme = Value("://")
        has_scheme = {f"{prefix}referrer__contains": "://"}
        after = When(**has_scheme, then=TextAfter(url, scheme))
        host: Any = Case(after, default=url, output_field=TextField())
        for mark in "?#:":
            host = Replace(host, Value(mark), Value("/"))
        return Lower(TextBefore(host, Value("/")))

    return _of_own_click(fact, get_host)


def _get_landing_page(_: Account, fact: Fact) -> Any:
    return _of_own_click(fact, lambda prefix: cut_query(F(f"{prefix}landing_page")))


def _find_code(codes: QuerySet[Any], prefix: str) -> Subquery:
    """The code that the affiliate of a row has now in its program.

    The account is that of the row, of which an index of enrollments begins.
    """
    found = codes.filter(
        enrollment__account=OuterRef("account"),
        enrollment__affiliate=OuterRef(f"{prefix}affiliate"),
        enrollment__program=OuterRef(f"{prefix}program"),
    )
    return Subquery(found.values("code")[:1])


def _get_coupon(account: Account, fact: Fact) -> Any:
    if fact.sale is None:
        return None
    is_by_coupon = {f"{fact.sale}tracking_source": COUPON}
    return Case(When(**is_by_coupon, then=_find_code(account.coupons.all(), fact.sale)))


def _get_affiliate_coupon(account: Account, fact: Fact) -> Any:
    """Of whatever an affiliate brings, whether its coupon was used or not."""
    return _find_code(account.coupons.all(), fact.sale or "")


def _get_link(account: Account, fact: Fact) -> Any:
    """By the referral code, as each affiliate has one link in a program."""
    code = _find_code(account.referral_codes.all(), fact.sale or "")
    if fact.sale is not None:
        return Case(When(**{f"{fact.sale}tracking_source__in": LINKS}, then=code))
    return Case(When(click__isnull=False, then=code)) if fact is CUSTOMERS else code


def _of_sale(get_expression: Callable[[Account, str], Any]) -> Callable[[Account, Fact], Any]:
    """Of sales and their commissions only; `get_expression` takes the path to the sale."""

    def get_of_fact(account: Account, fact: Fact) -> Any:
        return None if fact.sale is None else get_expression(account, fact.sale)

    return get_of_fact


def _list_orders(account: Account, prefix: str) -> QuerySet[Any]:
    """The orders of shops that a sale was made of."""
    return account.shop_orders.filter(conversion=OuterRef(f"{prefix}pk"), is_adopted=False)


def _get_connection(account: Account, prefix: str) -> Any:
    return Subquery(_list_orders(account, prefix).values("connection")[:1])


def _get_source(account: Account, prefix: str) -> Any:
    """Where a sale came from; a call that a shop has signed counts as one of the API."""
    return Case(
        When(Exists(_list_orders(account, prefix)), then=Value("shop")),
        When(**{f"{prefix}claim_status__isnull": False}, then=Value("script")),
        When(**{f"{prefix}tracking_source": IMPORT}, then=Value("import")),
        default=Value("api"),
    )


def _list_sales_of_customer(account: Account, prefix: str) -> QuerySet[Any]:
    """All sales of the customer of a sale."""
    return account.conversions.not_deleted().filter(customer=OuterRef(f"{prefix}customer"))


def _get_cohort(account: Account, prefix: str) -> Any:
    """The month in which the customer of a sale bought first."""
    sales = _list_sales_of_customer(account, prefix).order_by("created_at", "id")
    first = TruncDate(Subquery(sales.values("created_at")[:1]), tzinfo=account.zone)
    return Trunc(first, "month", output_field=DateField())


def _get_months_since(account: Account, prefix: str) -> Any:
    """The calendar months between the customer's first sale and this one."""
    day = TruncDate(f"{prefix}created_at", tzinfo=account.zone)
    month = Trunc(day, "month", output_field=DateField())
    return MonthsBetween(_get_cohort(account, prefix), month)


def _get_customer_kind(account: Account, prefix: str) -> Any:
    """What the sale says, else whether its customer has bought here before."""
    stated = JsonTextAtKey(f"{prefix}meta_data", "customer")
    earlier = _list_sales_of_customer(account, prefix).filter(
        created_at__lt=OuterRef(f"{prefix}created_at")
    )
    return Case(
        When(Exact(stated, "new"), then=Value(NEW)),
        When(Exact(stated, "returning"), then=Value(RETURNING)),
        When(**{f"{prefix}customer": None}, then=Value(None)),
        When(Exists(earlier), then=Value(RETURNING)),
        default=Value(NEW),
        output_field=TextField(),
    )


def _get_customer_status(_: Account, fact: Fact) -> Any:
    return None if fact.customer is None else F(f"{fact.customer}status")


FIELDS = {
    it.name: it
    for it in (
        *(
            ReportField(unit, unit.capitalize(), _get_time(unit), is_stored=True, is_time=True)
            for unit in ("day", "week", "month", "quarter")
        ),
        ReportField(
            *("program", "Program", _get_program, ("programs", "slug", "title")), is_stored=True
        ),
        ReportField(
            *("affiliate", "Affiliate", lambda *_: F("affiliate")),
            objects=("affiliates", "slug", "lastname"),
            is_stored=True,
        ),
        ReportField(
            *("group", "Group", lambda *_: F("affiliate__group")),
            objects=("affiliate_groups", "public_id", "title"),
            is_stored=True,
            none="no group",
        ),
        ReportField("coupon", "Coupon", _get_coupon, none="no coupon"),
        ReportField(
            *("affiliate_coupon", "Coupon of the affiliate", _get_affiliate_coupon),
            none="no coupon",
        ),
        ReportField("link", "Link", _get_link, none="no link"),
        ReportField(
            *("landing_page", "Landing page", _get_landing_page),
            none="no page: by coupon, or not stored with the click",
        ),
        ReportField(
            *("referrer_host", "Referrer", _get_referrer_host),
            none="no referrer: typed in, hidden by the browser, or by coupon",
        ),
        ReportField(
            *("sub_id", "Sub-ID"),
            lambda _, fact: _of_own_click(fact, lambda prefix: F(f"{prefix}sub_id")),
            none="no sub-ID",
        ),
        ReportField(
            *("country", "Country"),
            _of_sale(lambda _, prefix: JsonTextAtKey(f"{prefix}meta_data", "country")),
            none="no country sent",
        ),
        ReportField("source", "Source", _of_sale(_get_source)),
        ReportField(
            *("tracking_source", "Attributed by"),
            _of_sale(lambda _, prefix: F(f"{prefix}tracking_source")),
        ),
        ReportField(
            *("connection", "Connection", _of_sale(_get_connection)),
            objects=("connections", "public_id", "name"),
            none="no connection",
        ),
        ReportField("commission_type", "Commission type", _of_item(F("commission_type"))),
        ReportField(
            "product", "Product (comment of the item)", _of_item(F("comment")), none="no comment"
        ),
        ReportField("customer_status", "Customer status", _get_customer_status, none=NO_CUSTOMER),
        ReportField(
            *("customer_kind", "New or returning customer", _of_sale(_get_customer_kind)),
            none=NO_CUSTOMER,
        ),
        ReportField(
            *("cohort", "Month of the first sale", _of_sale(_get_cohort)),
            read=date.fromisoformat,
            none=NO_CUSTOMER,
        ),
        ReportField(
            *("months_since", "Months since the first sale", _of_sale(_get_months_since)),
            read=int,
            none=NO_CUSTOMER,
        ),
    )
}
