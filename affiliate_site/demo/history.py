"""The history of the demo account: 120 days that end now, made by the services.

A `Timeline` runs what happens in the order of time, so the audit log, the ledger and
the statistics look as if the account had been used. What happens depends on the scale
and the day alone.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from heapq import heappop, heappush
from itertools import accumulate, count
from typing import Any

from accounts.ids import generate_public_id
from accounts.models.accounts import Account
from accounts.models.api_keys import Role
from accounts.services.accounts import update_settings
from accounts.services.api_keys import create_signing_secret
from accounts.services.staff import create_staff_user
from payouts.models.bonuses import BonusPeriod, GoalType
from payouts.models.commission_types import RateKind
from payouts.models.commissions import CommissionStatus
from payouts.models.payments import PayoutMethodKind
from payouts.services.bonuses import grant_bonuses
from payouts.services.calculation_input import LineItemData
from payouts.services.commissions import approve_commission, disapprove_commission
from payouts.services.conversion_creation import ConversionData, create_conversion
from payouts.services.conversion_updates import delete_conversion, update_conversion
from payouts.services.ledger import get_payable_balances_by_slug
from payouts.services.payments import PaymentOrder, cancel_payment, create_payments
from payouts.services.payout_methods import set_payout_method
from payouts.services.programs import (
    STANDARD_COMMISSION_TYPE,
    ProgramSettings,
    create_program,
)
from payouts.statistics import start_of_day
from tracking.attribution import BROWSER_CONVERSION_ORDER, TrackingParameters
from tracking.claims import Trust
from tracking.models.conversions import Conversion
from tracking.models.programs import Program
from tracking.services.affiliates import AffiliatePassword, PersonData, create_affiliate
from tracking.services.clicks import Visit, record_click
from tracking.services.enrollments import (
    EnrollmentData,
    create_enrollment,
    set_approval,
    update_enrollment,
)
from tracking.services.failed_page_calls import record_failed_page_call
from tracking.services.hierarchy import create_group, set_group, set_parent
from tracking.services.notes import create_note
from tracking.services.prospects import ProspectData, create_prospect
from tracking.services.visitors import record_visit

HISTORY_DAYS = 120  # the last one is today
SALES_PER_DAY = 2.4  # of a scale of 1, on an average day
VISITS_PER_SALE = 7  # those without a sale
WEEKDAY_FACTORS = (1.2, 1.15, 1.1, 1.0, 0.95, 0.75, 0.85)  # Monday first
GROWTH = (0.5, 1.5)  # on the first and on the last day
US_PROGRAM_DAY = 30  # the second program starts later
REVIEW_DELAY = timedelta(days=14)
MONDAY, REVIEW_HOUR = 0, 8
PAYMENT_DAYS = (29, 59, 89, 109)
PAYMENT_HOUR = 10
CANCELED_PAYMENT_DAY = 89
PAYMENT_BATCH_SIZE = 500
UNUSABLE_PASSWORD = AffiliatePassword(hashed="!")  # matches no password
COLLEAGUE = "finance@example.org"

# First name, last name, company, group. The first one has no group and no parent.
AFFILIATES = [
    ("Ada", "Stone", "Stone & Shade Review", None),
    ("Bruno", "Takala", "Takala Interiors", "Trade partners"),
    ("Carla", "Ndiaye", None, "Creators"),
    ("Dmitri", "Olsen", "Evening Light", "Reviewers"),
    ("Elif", "Marchetti", None, "Creators"),
    ("Farid", "Quist", "Quist Home Letters", "Newsletters"),
    ("Greta", "Imanov", "The Reading Corner", "Reviewers"),
    ("Hana", "Whitlock", None, "Creators"),
    ("Ilse", "Okafor", "Okafor & Daughters", "Trade partners"),
    ("Jonas", "Reyes", "Small Rooms Weekly", "Newsletters"),
    ("Katya", "Lindqvist", None, None),
    ("Luca", "Moreau", "Lamp & Ladder", "Reviewers"),
    ("Mina", "Farrow", None, "Creators"),
    ("Nils", "Adeyemi", "North Window", "Newsletters"),
    ("Oona", "Castell", None, None),
    ("Pavel", "Hartwell", "Hartwell Lighting Plans", "Trade partners"),
]
# Children and parents: the latter earn level commissions.
PARENTS = {"Bruno": "Ada", "Carla": "Ada", "Hana": "Carla", "Mina": "Hana"}
APPLICANTS = [  # who waits for a decision, newest last
    ("Quinn", "Abara", "Desk Setups Daily", None),
    ("Rosa", "Lehtinen", None, None),
    ("Sami", "Duval", "Night Owl Reads", None),
    ("Tove", "Brandt", "Coupon Corner 24", None),
]
DISAPPROVED_APPLICANT = ("Ugo", "Feld", "Best Codes Ever", None)
PROSPECTS = [("Vera", "Holm"), ("Wim", "Jansen")]
# Groups with their rate for a lamp.
GROUP_RATES = {
    "Reviewers": (RateKind.PERCENTAGE, "12"),
    "Newsletters": (RateKind.PERCENTAGE, "11"),
    "Creators": (RateKind.PERCENTAGE, "13.5"),
    "Trade partners": (RateKind.FIXED, "15"),
}
PAGES = ("lamps", "desk", "garden", "sale", "reading", "")
USER_AGENTS = (
    "Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15"
    " (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1",
)

ProgressWrapper = Callable[[Iterable[int]], Iterable[int]]
Action = Callable[..., object]  # called with its time as `at`


class Timeline:
    """What happens, in the order of time; an action may add later ones."""

    def __init__(self) -> None:
        self._actions: list[tuple[datetime, int, Action]] = []
        self._numbers = count()  # keeps the order of actions at the same time

    def add(self, at: datetime, action: Action, *args: Any, **kwargs: Any) -> None:
        """Plan an action, which is called with these arguments and its time."""
        planned: Action = partial(action, *args, **kwargs)
        heappush(self._actions, (at, next(self._numbers), planned))

    def run(self, *, before: datetime) -> None:
        """Run all actions before a time."""
        while self._actions and self._actions[0][0] < before:
            at, _, action = heappop(self._actions)
            action(at=at)


@dataclass
class Partner:
    """An affiliate in a program, with its link and coupon."""

    firstname: str
    affiliate_id: str
    email: str
    program: Program
    code: str
    coupon: str


@dataclass
class DemoHistory:
    """The account while its history is made."""

    account: Account
    scale: int
    first_day: date
    timeline: Timeline = field(default_factory=Timeline)
    partners: list[Partner] = field(default_factory=list)
    known_customers: list[tuple[str, Program]] = field(default_factory=list)
    order_numbers: Iterator[int] = field(default_factory=lambda: count(1001))
    customer_numbers: Iterator[int] = field(default_factory=lambda: count(1))
    rng: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.scale)  # noqa: S311 - sample data, not a secret

    def get_moment(self, day: int, hour: float = 0) -> datetime:
        """A time of the day with this number."""
        return start_of_day(self.first_day) + timedelta(days=day, hours=hour)

    def get_partner(self, firstname: str, program: str = "EUR") -> Partner:
        """The partner with this name in the program with this currency."""
        return next(
            partner
            for partner in self.partners
            if (partner.firstname, partner.program.currency) == (firstname, program)
        )


def get_first_moment(at: datetime) -> datetime:
    """The midnight at which the history begins."""
    day = at.astimezone(UTC).date() - timedelta(days=HISTORY_DAYS - 1)
    return datetime.combine(day, time(), UTC)


def create_history(
    account: Account, *, scale: int, at: datetime, progress: ProgressWrapper
) -> None:
    """Fill a new account with everything from its first day until `at`."""
    history = DemoHistory(account, scale, first_day=get_first_moment(at).date())
    set_up_account(history)
    plan_routine(history)
    plan_notable_sales(history)
    for day in progress(range(HISTORY_DAYS)):
        plan_day(history, day)
        history.timeline.run(before=min(at, history.get_moment(day + 1)))


def set_up_account(history: DemoHistory) -> None:
    """The time zone, the team, the first program with its rates, and the groups."""
    account, at = history.account, history.get_moment(0)
    update_settings(account, changes={"time_zone": "Europe/Berlin"}, at=at)
    create_staff_user(account, email=COLLEAGUE, role=Role.MANAGER, password=None, at=at)
    create_signing_secret(account, at=at)
    program = create_program(
        account,
        slug="harbor-lamp-partners",
        settings=ProgramSettings(
            title="Harbor Lamp Partners",
            currency="EUR",
            landing_page="https://shop.example.net/",
        ),
        at=at,
    )
    account.commission_types.create(
        program=program,
        identifier="accessories",
        title="Accessories",
        kind=RateKind.PERCENTAGE,
        value=Decimal("7.5"),
    )
    for level, rate in ((2, "2"), (3, "1")):
        account.levels.create(
            program=program,
            level=level,
            title=f"Level {level}",
            kind=RateKind.PERCENTAGE,
            value=Decimal(rate),
        )
    account.bonuses.create(
        program=program,
        public_id=generate_public_id("bo"),
        title="6 sales in a month",
        goal_type=GoalType.CONVERSIONS,
        goal=Decimal(6),
        period=BonusPeriod.MONTH,
        kind=RateKind.FIXED,
        value=Decimal(50),
        created_at=at,
    )
    standard = account.commission_types.get(
        program=program, identifier=STANDARD_COMMISSION_TYPE
    )
    for title, (kind, rate) in GROUP_RATES.items():
        group = create_group(account, title=title, at=at)
        account.group_rates.create(
            commission_type=standard, group=group, kind=kind, value=Decimal(rate)
        )
    for index, person in enumerate(AFFILIATES * history.scale):
        # The first half is there from the beginning, the others join one by one.
        day = max(0, index % len(AFFILIATES) - len(AFFILIATES) // 2) * 6
        joined_at = history.get_moment(day) + timedelta(seconds=index)
        if day == 0:
            join(history, program, index, person, at=joined_at)
        else:
            history.timeline.add(joined_at, join, history, program, index, person)


def join(
    history: DemoHistory,
    program: Program,
    index: int,
    person: tuple[str, str, str | None, str | None],
    *,
    at: datetime,
) -> None:
    """Create an affiliate of the program, with group, parent and payout method."""
    account, (firstname, _, _, group_title) = history.account, person
    affiliate_id, email = create_person(account, person, index, at=at)
    if group_title is not None:
        group = account.affiliate_groups.get(title=group_title)
        set_group(account, affiliate_id=affiliate_id, group_id=group.public_id, at=at)
    number = index // len(AFFILIATES) or ""
    if parent := PARENTS.get(firstname):
        parent_id = history.get_partner(parent).affiliate_id
        set_parent(account, affiliate_id=affiliate_id, parent_id=parent_id, at=at)
    if index % 5 != 3:  # some have not said how they want to be paid
        set_payout_method(
            account,
            affiliate_id=affiliate_id,
            kind=PayoutMethodKind.PAYPAL,
            details={"email": email},
            is_primary=True,
            at=at,
        )
    partner = Partner(
        firstname,
        affiliate_id,
        email,
        program,
        code=f"{firstname.lower()}{number}",
        coupon=f"{firstname.upper()}{index + 10}",
    )
    enroll(history, partner, at=at)


def enroll(history: DemoHistory, partner: Partner, *, at: datetime) -> None:
    """Add the partner to its program, with a coupon and a readable code."""
    data = EnrollmentData(
        affiliate_id=partner.affiliate_id, approved=True, coupon=partner.coupon
    )
    create_enrollment(history.account, program=partner.program, data=data, at=at)
    update_enrollment(
        history.account,
        program=partner.program,
        affiliate_id=partner.affiliate_id,
        changes={"referral_code": partner.code},
        at=at,
    )
    history.partners.append(partner)


def create_person(
    account: Account,
    person: tuple[str, str, str | None, str | None],
    index: int,
    *,
    at: datetime,
) -> tuple[str, str]:
    """Create an affiliate without a program; returns ID and e-mail address."""
    firstname, lastname, company, _ = person
    email = f"{firstname.lower()}{index or ''}@notes.example.org"
    data = PersonData(
        firstname=firstname,
        lastname=lastname,
        email=email,
        company={"company_name": company} if company else {},
    )
    affiliate = create_affiliate(account, data=data, password=UNUSABLE_PASSWORD, at=at)
    return affiliate.slug, email


def plan_routine(history: DemoHistory) -> None:
    """The second program, reviews, payments, bonuses, and who applies at the end."""
    add, get_moment = history.timeline.add, history.get_moment
    add(get_moment(US_PROGRAM_DAY), open_us_program, history)
    for day in range(HISTORY_DAYS):
        moment = get_moment(day)
        if moment.weekday() == MONDAY:
            add(get_moment(day, REVIEW_HOUR), review_commissions, history)
        if moment.day == 1:
            add(get_moment(day, 2), grant_bonuses, history.account)
    for day in PAYMENT_DAYS:
        add(get_moment(day, PAYMENT_HOUR), pay_affiliates, history)
    last = HISTORY_DAYS - 1
    for index, person in enumerate(APPLICANTS):
        day = last - len(APPLICANTS) + index
        add(get_moment(day, 9 + index), apply, history, person)
    moment = get_moment(last - 8, 11)
    add(moment, apply, history, DISAPPROVED_APPLICANT, is_disapproved=True)
    for index, (firstname, lastname) in enumerate(PROSPECTS):
        data = ProspectData(
            PersonData(firstname, lastname, f"{firstname.lower()}@notes.example.org")
        )
        moment = get_moment(last - 20 + index, 12)
        add(moment, create_prospect, history.account, data=data)


def open_us_program(history: DemoHistory, *, at: datetime) -> None:
    """A second program in dollars, which pays the first three sales of a customer."""
    program = create_program(
        history.account,
        slug="harbor-lamps-us",
        settings=ProgramSettings(
            title="Harbor Lamps US",
            currency="USD",
            cookie_time=30,
            rate=Decimal(8),
            landing_page="https://us.shop.example.net/",
        ),
        at=at,
    )
    program.update_row(recurring_cap=3)
    for partner in list(history.partners)[::2]:
        us_partner = Partner(
            partner.firstname,
            partner.affiliate_id,
            partner.email,
            program,
            code=f"{partner.code}-us",
            coupon=f"{partner.coupon}US",
        )
        enroll(history, us_partner, at=at)


def apply(
    history: DemoHistory,
    person: tuple[str, str, str | None, str | None],
    *,
    is_disapproved: bool = False,
    at: datetime,
) -> None:
    """An affiliate applies for the first program; most wait for a decision."""
    account, program = history.account, history.partners[0].program
    affiliate_id, _ = create_person(account, person, 0, at=at)
    data = EnrollmentData(affiliate_id=affiliate_id)
    create_enrollment(account, program=program, data=data, at=at)
    changes = {"referral_code": person[0].lower()}
    update_enrollment(
        account, program=program, affiliate_id=affiliate_id, changes=changes, at=at
    )
    if is_disapproved:
        set_approval(
            account, program=program, affiliate_id=affiliate_id, approved=False, at=at
        )


def plan_day(history: DemoHistory, day: int) -> None:
    """The visits and sales of a day: more on weekdays, and more from month to month."""
    rng = history.rng
    weekday = history.get_moment(day).weekday()
    low, high = GROWTH
    growth = low + (high - low) * day / (HISTORY_DAYS - 1)
    expected = SALES_PER_DAY * history.scale * WEEKDAY_FACTORS[weekday] * growth
    sale_count = int(expected + rng.random())
    visit_count = int(expected * VISITS_PER_SALE * rng.uniform(0.9, 1.1))
    # The first partners have the most readers.
    ranks = range(1, len(history.partners) + 1)
    weights = list(accumulate(1 / rank**0.6 for rank in ranks))
    for number in range(sale_count + visit_count):
        (partner,) = rng.choices(history.partners, cum_weights=weights)
        at = history.get_moment(day, rng.triangular(6, 23, 19))
        own_rng = random.Random(rng.random())  # noqa: S311 - sample data
        action = visit if number >= sale_count else sell
        history.timeline.add(at, action, history, partner, own_rng)


def visit(history: DemoHistory, partner: Partner, rng: random.Random, *, at: datetime):
    """A visit through the partner's link."""
    page = rng.choice(PAGES)
    return record_click(
        history.account,
        visit=Visit(
            parameters=TrackingParameters(referral_code=partner.code),
            referrer=f"https://notes.example.org/{page}",
            landing_page=f"{partner.program.landing_page}{page}?ref={partner.code}",
            user_agent=rng.choice(USER_AGENTS),
            meta_data={"subid1": f"letter-{rng.randint(1, 12)}"},
        ),
        at=at,
    )


def sell(
    history: DemoHistory, partner: Partner, rng: random.Random, *, at: datetime
) -> None:
    """A sale: by a customer who comes back, by a coupon, or after a click."""
    known = [
        customer
        for customer, program in history.known_customers[:-20]
        if program == partner.program
    ]
    kind = rng.random()
    if kind < 0.25 and known:
        parameters = TrackingParameters(customer_id=rng.choice(known))
    else:
        customer_id = f"customer-{next(history.customer_numbers)}"
        history.known_customers.append((customer_id, partner.program))
        if kind > 0.8:
            parameters = TrackingParameters(
                customer_id=customer_id, coupon=partner.coupon
            )
        else:
            click = visit(history, partner, rng, at=at - timedelta(minutes=7))
            parameters = TrackingParameters(
                customer_id=customer_id, click_id=str(click.public_id)
            )
    line_items = [LineItemData(Decimal(rng.randint(1900, 24900)) / 100)]
    if partner.program.currency == "EUR" and rng.random() < 0.4:
        amount = Decimal(rng.randint(500, 4900)) / 100
        line_items.append(LineItemData(amount, "accessories"))
    conversion = record_sale(
        history,
        parameters,
        line_items,
        external_id=f"order-{next(history.order_numbers)}",
        at=at,
    )
    fate = rng.random()
    if fate < 0.07:
        plan_refund(history, conversion, at=at + timedelta(days=rng.uniform(1, 10)))
    elif fate < 0.11:
        later = at + timedelta(days=rng.uniform(1, 10))
        plan_partial_refund(history, conversion, at=later)


def record_sale(
    history: DemoHistory,
    parameters: TrackingParameters,
    line_items: Sequence[LineItemData],
    *,
    external_id: str,
    at: datetime,
    **data,
) -> Conversion:
    """Create a conversion."""
    return create_conversion(
        history.account,
        data=ConversionData(
            parameters=parameters,
            line_items=line_items,
            external_id=external_id,
            **data,
        ),
        at=at,
    )


def plan_refund(history: DemoHistory, conversion: Conversion, *, at: datetime) -> None:
    """The customer sends everything back: the conversion is removed."""
    account = history.account
    history.timeline.add(at, delete_conversion, account, conversion_id=conversion.pk)


def plan_partial_refund(
    history: DemoHistory, conversion: Conversion, *, at: datetime
) -> None:
    """The customer sends a part back: amount and commissions become lower."""
    amount = (conversion.amount * Decimal("0.6")).quantize(1)
    history.timeline.add(
        at,
        update_conversion,
        history.account,
        conversion_id=conversion.pk,
        changes={"amount": amount},
        should_recalculate=True,
    )


def review_commissions(history: DemoHistory, *, at: datetime) -> None:
    """Approve most commissions after the time of return, disapprove some.

    Those with a warning wait for a person. The sales to explain, whose order IDs are
    words, are approved.
    """
    account = history.account
    pending = account.commissions.not_deleted().filter(
        status=CommissionStatus.PENDING,
        created_at__lt=at - REVIEW_DELAY,
        conversion__warnings__isnull=True,
    )
    ids = pending.order_by("id").values_list("id", "conversion__external_id")
    for commission_id, external_id in list(ids):
        number = (external_id or "order-0").removeprefix("order-")
        is_approved = not number.isdigit() or history.rng.random() < 0.93
        review = approve_commission if is_approved else disapprove_commission
        review(account, commission_id=commission_id, at=at)


def pay_affiliates(history: DemoHistory, *, at: datetime) -> None:
    """Pay the full balance of most affiliates; one payment comes back later."""
    account = history.account
    orders = [
        PaymentOrder(affiliate, amount, currency)
        for affiliate, balances in get_payable_balances_by_slug(account).items()
        for currency, amount in balances.items()
        if amount > 0 and history.rng.random() < 0.8
    ]
    payments = []
    for start in range(0, len(orders), PAYMENT_BATCH_SIZE):
        batch = orders[start : start + PAYMENT_BATCH_SIZE]
        payments += create_payments(account, orders=batch, at=at)
    if at == history.get_moment(CANCELED_PAYMENT_DAY, PAYMENT_HOUR):
        later = at + timedelta(days=2)
        history.timeline.add(later, return_payment, history, payments[0])


def return_payment(history: DemoHistory, payment, *, at: datetime) -> None:
    """The bank returns a payment: it is canceled, and its amount is due again."""
    cancel_payment(history.account, payment_id=payment.public_id, at=at)
    create_note(
        history.account,
        affiliate=payment.affiliate,
        text=f"The bank returned {payment.public_id}: the account was closed. New"
        " details are on the way.",
        at=at,
    )


def plan_notable_sales(history: DemoHistory) -> None:
    """Sales whose explanation is worth reading; their order IDs say why."""
    add, get_moment = history.timeline.add, history.get_moment
    last = HISTORY_DAYS - 1
    for day, hour, add_sale in (
        (10, 13, add_customer_before_cookie),
        (last - 30, 9, add_cap_reached),
        (last - 5, 12, add_coupon_beats_click),
        (last - 4, 15, add_own_purchase),
        (last - 2, 10, add_contested_claim),
        (last - 1, 16, add_failed_page_calls),
    ):
        add(get_moment(day, hour), add_sale, history)


def lamp(amount: str) -> list[LineItemData]:
    """One line item."""
    return [LineItemData(Decimal(amount))]


def add_customer_before_cookie(history: DemoHistory, *, at: datetime) -> None:
    """Ada wins a customer; months later the customer follows a link of Dmitri and buys.

    The cookie of Ada's link expired long ago, but the customer is hers for good.
    """
    ada, dmitri = history.get_partner("Ada"), history.get_partner("Dmitri")
    known = TrackingParameters(customer_id="loyal-customer", referral_code=ada.code)
    record_sale(history, known, lamp("39"), external_id="order-first-lamp", at=at)

    def buy_again(*, at: datetime) -> None:
        rng = random.Random(1)  # noqa: S311 - sample data
        click = visit(history, dmitri, rng, at=at - timedelta(minutes=9))
        again = TrackingParameters(
            customer_id="loyal-customer", click_id=str(click.public_id)
        )
        external_id = "order-known-customer-before-click"
        record_sale(history, again, lamp("189"), external_id=external_id, at=at)

    history.timeline.add(history.get_moment(HISTORY_DAYS - 7, 14), buy_again)


def add_cap_reached(history: DemoHistory, *, at: datetime) -> None:
    """A customer of the second program buys four times; the program rewards three."""
    ada = history.get_partner("Ada", "USD")
    parameters = TrackingParameters(
        customer_id="monthly-customer", referral_code=ada.code
    )
    for number in range(1, 5):
        external_id = f"order-cap-{number}" if number < 4 else "order-cap-reached"
        history.timeline.add(
            at + timedelta(days=7 * (number - 1)),
            record_sale,
            history,
            parameters,
            lamp("59"),
            external_id=external_id,
        )


def add_coupon_beats_click(history: DemoHistory, *, at: datetime) -> None:
    """A visitor comes through Elif's link and pays with Carla's coupon: Carla earns."""
    sender, carla = history.get_partner("Elif"), history.get_partner("Carla")
    rng = random.Random(2)  # noqa: S311 - sample data
    click = visit(history, sender, rng, at=at - timedelta(minutes=12))
    parameters = TrackingParameters(
        customer_id="coupon-customer",
        click_id=str(click.public_id),
        coupon=carla.coupon,
    )
    external_id = "order-coupon-beats-click"
    record_sale(history, parameters, lamp("129"), external_id=external_id, at=at)


def add_own_purchase(history: DemoHistory, *, at: datetime) -> None:
    """Farid buys through his own link: the commission waits with a warning."""
    farid = history.get_partner("Farid")
    parameters = TrackingParameters(customer_id=farid.email, referral_code=farid.code)
    external_id = "order-own-purchase"
    record_sale(history, parameters, lamp("219"), external_id=external_id, at=at)


def add_contested_claim(history: DemoHistory, *, at: datetime) -> None:
    """The pages of two visitors report the same order: staff have to decide."""
    for minutes, name in ((0, "Greta"), (4, "Hana")):
        partner = history.get_partner(name)
        visited_at = at + timedelta(minutes=minutes)
        recorded = record_visit(
            history.account,
            visit=Visit(
                parameters=TrackingParameters(referral_code=partner.code),
                landing_page=f"{partner.program.landing_page}?ref={partner.code}",
                user_agent=USER_AGENTS[0],
            ),
            previous_tracking_id=None,
            at=visited_at,
        )
        record_sale(
            history,
            TrackingParameters(tracking_id=recorded.tracking_id),
            lamp("149"),
            external_id="order-contested",
            candidate_order=BROWSER_CONVERSION_ORDER,
            trust=Trust.CLAIM,
            is_browser_sale=True,
            at=visited_at + timedelta(minutes=2),
        )


def add_failed_page_calls(history: DemoHistory, *, at: datetime) -> None:
    """A page of the shop prints an amount that is no number."""
    for minutes in range(3):
        record_failed_page_call(
            history.account,
            reason="invalid_amount",
            page="https://shop.example.net/thanks",
            at=at + timedelta(minutes=minutes),
        )
