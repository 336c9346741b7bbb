"""The history of the demo account: 120 days that end now, made by the services.

The tables say who takes part, and `EVENTS` what is worth a look. A `DemoHistory` plays
them among everyday visits and sales in the order of time, so the audit log, the ledger
and the statistics look as if the account had been used. What happens depends on the
scale and the day alone.
"""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from heapq import heappop, heappush
from itertools import accumulate, count
from types import MappingProxyType
from typing import Any

from schwifty import IBAN

from accounts.days import start_of_day
from accounts.ids import generate_public_id
from accounts.models.accounts import Account
from accounts.models.api_keys import Role
from accounts.services.accounts import update_settings
from accounts.services.api_keys import create_signing_secret
from accounts.services.staff import create_staff_user
from payouts.calculation import LineItem
from payouts.models.bonuses import BonusPeriod, GoalType
from payouts.models.commission_types import RateKind
from payouts.models.commissions import CommissionStatus
from payouts.models.documents import SupplierKind
from payouts.models.payments import PayoutMethodKind
from payouts.models.runs import PayoutRun
from payouts.services.bonuses import grant_bonuses
from payouts.services.commissions import approve_commission, disapprove_commission
from payouts.services.conversion_creation import ConversionData, create_conversion
from payouts.services.ledger import get_payable_balances_by_slug
from payouts.services.payments import PaymentOrder, create_payments
from payouts.services.payout_answers import PayoutResult, ResultState
from payouts.services.payout_files import list_paid_lines
from payouts.services.payout_limits import set_minimum
from payouts.services.payout_methods import set_payout_method
from payouts.services.payout_results import apply_payout_results
from payouts.services.payout_runs import (
    create_draft,
    discard_run,
    list_totals,
    record_export,
)
from payouts.services.payout_settings import update_payout_settings
from payouts.services.programs import (
    STANDARD_COMMISSION_TYPE,
    ProgramSettings,
    create_program,
)
from payouts.services.refunds import refund_conversion
from payouts.services.risk_cases import create_rule, evaluate_rules, switch_on
from payouts.services.run_confirmation import confirm_run
from payouts.services.tax_data import set_tax_data, set_tax_rule
from tracking.attribution import BROWSER_CONVERSION_ORDER, TrackingParameters
from tracking.claims import Trust
from tracking.models.clicks import Click
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
from tracking.services.portal_addresses import calculate_address_digest, record_opening
from tracking.services.prospects import ProspectData, create_prospect
from tracking.services.visitors import record_visit
from tracking.services.warnings import ODD_COMMISSION_TYPE

HISTORY_DAYS = 120  # the last one is today
SALES_PER_DAY = 2.4  # of a scale of 1, on an average day
VISITS_PER_SALE = 7  # those without a sale
WEEKDAY_FACTORS = (1.2, 1.15, 1.1, 1.0, 0.95, 0.75, 0.85)  # Monday first
GROWTH = (0.5, 1.5)  # on the first and on the last day
REVIEW_DELAY = timedelta(days=14)
MONDAY, REVIEW_HOUR = 0, 8
PAYMENT_BATCH_SIZE = 500
UNUSABLE_PASSWORD = AffiliatePassword(hashed="!")  # matches no password
SHARED_ADDRESS = "192.88.99.7"  # public, and nobody's (RFC 7526)
COLLEAGUE = "finance@example.org"

PROGRAM = ProgramSettings(
    title="Harbor Lamp Partners",
    currency="EUR",
    hold_days=30,
    landing_page="https://shop.example.net/",
)
US_PROGRAM = ProgramSettings(
    title="Harbor Lamps US",
    currency="USD",
    cookie_time=30,
    rate=Decimal(8),
    landing_page="https://us.shop.example.net/",
)
PAYER = {
    "payer_name": "Harbor Lamps GmbH",
    "payer_iban": "DE02120300000000202051",
    "payer_bic": "BYLADEM1001",
    "payer_street": "Kaistraße",
    "payer_building": "4",
    "payer_postal_code": "20457",
    "payer_city": "Hamburg",
    "payer_country": "DE",
    "payer_vat_id": "DE136695976",
}
VAT_RATE = Decimal(19)  # of affiliates with a company
NO_VAT = "No VAT is charged: the supplier is a private person."
BANK_CODE = "50010517"  # of the affiliates who are paid by bank
MINIMUMS = {"EUR": Decimal(50), "USD": Decimal(60)}
TRUSTED_GROUP = "Trade partners"  # its sales are never on hold
US_RECURRING_CAP = 3  # it pays the first three sales of a customer
LEVEL_RATES = {2: "2", 3: "1"}
# Groups with their rate for a lamp.
GROUP_RATES = {
    "Reviewers": (RateKind.PERCENTAGE, "12"),
    "Newsletters": (RateKind.PERCENTAGE, "11"),
    "Creators": (RateKind.PERCENTAGE, "13.5"),
    "Trade partners": (RateKind.FIXED, "15"),
}
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
# Children and the codes of their parents, who earn level commissions.
PARENTS = {"Bruno": "ada", "Carla": "ada", "Hana": "carla", "Mina": "hana"}
PAGES = ("lamps", "desk", "garden", "sale", "reading", "")
USER_AGENTS = (
    "Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15"
    " (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1",
)


ProgressWrapper = Callable[[Iterable[int]], Iterable[int]]


def get_first_moment(at: datetime) -> datetime:
    """The midnight at which the history begins."""
    day = at.astimezone(UTC).date() - timedelta(days=HISTORY_DAYS - 1)
    return start_of_day(day, UTC)


def create_history(
    account: Account, *, scale: int, at: datetime, progress: ProgressWrapper
) -> None:
    """Fill a new account with everything from its first day until `at`."""
    history = DemoHistory(account, scale=scale, first_day=get_first_moment(at).date())
    history.set_up_account()
    history.plan_events()
    for day in progress(range(HISTORY_DAYS)):
        history.plan_day(day)
        history.run(before=min(at, history.get_moment(day + 1)))


def build_person(
    firstname: str, lastname: str, company: str | None = None, number: int | str = ""
) -> PersonData:
    """Build a person with an e-mail address."""
    return PersonData(
        firstname,
        lastname,
        email=f"{firstname.lower()}{number}@notes.example.org",
        company={"company_name": company} if company else {},
        address={
            "address": f"Leuchtenweg {number or 1}",
            "postal_code": "20457",
            "city": "Hamburg",
            "country": "DE",
        },
    )


def build_payout_method(person: PersonData, index: int) -> tuple[PayoutMethodKind, dict[str, str]]:
    """A bank account for every second affiliate, PayPal for the others."""
    if index % 2:
        return PayoutMethodKind.PAYPAL, {"email": person.email or ""}
    iban = IBAN.generate("DE", bank_code=BANK_CODE, account_code=f"{index:010}")
    holder = f"{person.firstname} {person.lastname}"
    return PayoutMethodKind.BANK, {"account_holder": holder, "iban": iban.compact}


@dataclass
class Partner:
    affiliate_id: str
    program: Program
    code: str
    coupon: str


class DemoHistory:
    """The account while its history is made: planned actions run in order of time.

    An action is called with its time as `at`, and may plan later ones.
    """

    def __init__(self, account: Account, *, scale: int, first_day: date) -> None:
        self.account = account
        self.scale = scale
        self.midnight = start_of_day(first_day, UTC)
        self.rng = random.Random(scale)  # noqa: S311 - sample data, not a secret
        self.partners: list[Partner] = []
        self.others: list[Partner] = []  # whose visits and sales are all in `EVENTS`
        self.known_customers: list[tuple[str, Program]] = []
        self.order_numbers = count(1001)
        self.customer_numbers = count(1)
        self._actions: list[tuple[datetime, int, Callable[..., object]]] = []
        self._action_numbers = count()  # keeps the order of those at the same time

    def plan(self, at: datetime, action: Callable[..., object], *args: Any, **kwargs: Any) -> None:
        """Plan an action, which is called with these arguments and its time."""
        planned: Callable[..., object] = partial(action, *args, **kwargs)
        heappush(self._actions, (at, next(self._action_numbers), planned))

    def run(self, *, before: datetime) -> None:
        while self._actions and self._actions[0][0] < before:
            at, _, action = heappop(self._actions)
            action(at=at)

    def get_moment(self, day: int, hour: float = 0) -> datetime:
        """A time of the day with this number."""
        return self.midnight + timedelta(days=day, hours=hour)

    def get_partner(self, code: str) -> Partner:
        """The partner with this referral code."""
        partners = [*self.partners, *self.others]
        return next(partner for partner in partners if partner.code == code)

    def set_up_account(self) -> None:
        """The time zone, the team, the first program with its rates, and the groups."""
        account, at = self.account, self.midnight
        update_settings(account, changes={"time_zone": "Europe/Berlin"}, at=at)
        create_staff_user(account, email=COLLEAGUE, role=Role.FINANCE, password=None, at=at)
        create_signing_secret(account, at=at)
        program = create_program(account, slug="harbor-lamp-partners", settings=PROGRAM, at=at)
        account.commission_types.create(
            program=program,
            identifier="accessories",
            title="Accessories",
            kind=RateKind.PERCENTAGE,
            value=Decimal("7.5"),
        )
        for level, value in LEVEL_RATES.items():
            account.levels.create(
                program=program,
                level=level,
                title=f"Level {level}",
                kind=RateKind.PERCENTAGE,
                value=Decimal(value),
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
        for title, (kind, value) in GROUP_RATES.items():
            group = create_group(account, title=title, at=at)
            if title == TRUSTED_GROUP:
                group.update_row(hold_days=0)
            account.group_rates.create(
                commission_type=standard, group=group, kind=kind, value=Decimal(value)
            )
        for currency, amount in MINIMUMS.items():
            set_minimum(account, currency=currency, amount=amount, at=at)
        self.set_up_self_billing(at=at)
        for index in range(len(AFFILIATES) * self.scale):
            # The first half is there from the beginning, the others join one by one.
            day = max(0, index % len(AFFILIATES) - len(AFFILIATES) // 2) * 6
            joined_at = self.get_moment(day) + timedelta(seconds=index)
            if day == 0:
                self.join(program, index, at=joined_at)
            else:
                self.plan(joined_at, self.join, program, index)

    def set_up_self_billing(self, *, at: datetime) -> None:
        """Set who pays and the VAT, so that payments of payout runs have documents."""
        first_day = self.get_moment(60).date()  # after the payments by API
        settings = PAYER | {"documents_from": first_day}
        update_payout_settings(self.account, changes=settings, at=at)
        for kind, rate, sentence in (
            (SupplierKind.BUSINESS, VAT_RATE, ""),
            (SupplierKind.PRIVATE, Decimal(0), NO_VAT),
        ):
            set_tax_rule(
                self.account,
                kind=kind,
                country="DE",
                rate=rate,
                sentence=sentence,
                at=at,
            )

    def join(self, program: Program, index: int, *, at: datetime) -> None:
        """Create an affiliate of the program, with all that is known about it."""
        account = self.account
        firstname, lastname, company, group_title = AFFILIATES[index % len(AFFILIATES)]
        person = build_person(firstname, lastname, company, number=index or "")
        slug = self.create_affiliate(person, at=at)
        named: dict[str, Any] = {"affiliate_id": slug, "at": at}
        if group_title is not None:
            group_id = account.affiliate_groups.get(title=group_title).public_id
            set_group(account, group_id=group_id, **named)
        if parent := PARENTS.get(firstname):
            parent_id = self.get_partner(parent).affiliate_id
            set_parent(account, parent_id=parent_id, **named)
        if index % 5 != 3:  # some have not said how they want to be paid
            kind, details = build_payout_method(person, index)
            set_payout_method(account, kind=kind, details=details, is_primary=True, **named)
        if index % 5 != 4:  # the others have not agreed to self-billing
            set_tax_data(
                account,
                kind=SupplierKind.BUSINESS if company else SupplierKind.PRIVATE,
                country="DE",
                consented_on=account.get_day(at),
                **named,
            )
        code = f"{firstname.lower()}{index // len(AFFILIATES) or ''}"
        coupon = f"{firstname.upper()}{index + 10}"
        self.add_partner(Partner(slug, program, code, coupon), at=at)

    def create_affiliate(self, person: PersonData, *, at: datetime) -> str:
        """Create an affiliate without a program; returns its ID."""
        return create_affiliate(self.account, data=person, password=UNUSABLE_PASSWORD, at=at).slug

    def add_partner(self, partner: Partner, *, at: datetime) -> None:
        program, slug, coupon = partner.program, partner.affiliate_id, partner.coupon
        self.enroll(program, slug, partner.code, approved=True, coupon=coupon, at=at)
        self.partners.append(partner)

    def enroll(
        self, program: Program, slug: str, code: str, *, at: datetime, **options: Any
    ) -> None:
        """Add an affiliate to a program, with a readable code."""
        data = EnrollmentData(affiliate_id=slug, **options)
        create_enrollment(self.account, program=program, data=data, at=at)
        changes = {"referral_code": code}
        update_enrollment(self.account, program=program, affiliate_id=slug, changes=changes, at=at)

    def plan_events(self) -> None:
        """Plan weekly reviews, monthly bonuses and `EVENTS`."""
        for day in range(HISTORY_DAYS):
            if self.get_moment(day).weekday() == MONDAY:
                self.plan(self.get_moment(day, REVIEW_HOUR), self.review_commissions)
            if self.get_moment(day).day == 1:
                self.plan(self.get_moment(day, 2), grant_bonuses, self.account)
        for day, hour, action, *arguments in EVENTS:
            self.plan(self.get_moment(day, hour), action, self, *arguments)

    def open_us_program(self, *, at: datetime) -> None:
        """Open the second program, for every second partner of the first one."""
        program = create_program(self.account, slug="harbor-lamps-us", settings=US_PROGRAM, at=at)
        program.update_row(recurring_cap=US_RECURRING_CAP)
        for partner in self.partners[::2]:
            code, coupon = f"{partner.code}-us", f"{partner.coupon}US"
            us_partner = replace(partner, program=program, code=code, coupon=coupon)
            self.add_partner(us_partner, at=at)

    def welcome(self, *names: str, at: datetime) -> None:
        """Add an affiliate who visits and sells only as `EVENTS` say."""
        program, code = self.partners[0].program, names[0].lower()
        slug = self.create_affiliate(build_person(*names), at=at)
        partner = Partner(slug, program, code, f"{names[0].upper()}15")
        self.enroll(program, slug, code, approved=True, coupon=partner.coupon, at=at)
        self.others.append(partner)

    def follow_link(self, code: str, *, at: datetime) -> None:
        """A visit through the link with this code."""
        rng = random.Random(code)  # noqa: S311 - sample data
        self.visit(self.get_partner(code), rng, at=at)

    def apply(self, *names: str, at: datetime) -> None:
        """An affiliate applies for the first program and waits for a decision."""
        slug = self.create_affiliate(build_person(*names), at=at)
        self.enroll(self.partners[0].program, slug, names[0].lower(), at=at)

    def share_address(self, *slugs: str, at: datetime) -> None:
        """Affiliates have applied from one IP address, as the portal records it."""
        digest = calculate_address_digest(self.account, SHARED_ADDRESS)
        for affiliate in self.account.affiliates.filter(slug__in=slugs).order_by("pk"):
            record_opening(affiliate, digest, at=at)

    def disapprove(self, slug: str, *, at: datetime) -> None:
        account, program = self.account, self.partners[0].program
        set_approval(account, program=program, affiliate_id=slug, approved=False, at=at)

    def add_prospect(self, *names: str, at: datetime) -> None:
        """A prospect, without a program."""
        create_prospect(self.account, data=ProspectData(build_person(*names)), at=at)

    def plan_day(self, day: int) -> None:
        """Plan visits and sales: more on weekdays, and more from month to month."""
        rng = self.rng
        low, high = GROWTH
        growth = low + (high - low) * day / (HISTORY_DAYS - 1)
        weekday_factor = WEEKDAY_FACTORS[self.get_moment(day).weekday()]
        expected = SALES_PER_DAY * self.scale * weekday_factor * growth
        sale_count = int(expected + rng.random())
        visit_count = int(expected * VISITS_PER_SALE * rng.uniform(0.9, 1.1))
        # The first partners have the most readers.
        ranks = range(1, len(self.partners) + 1)
        weights = list(accumulate(1 / rank**0.6 for rank in ranks))
        for number in range(sale_count + visit_count):
            (partner,) = rng.choices(self.partners, cum_weights=weights)
            at = self.get_moment(day, rng.triangular(6, 23, 19))
            own_rng = random.Random(rng.random())  # noqa: S311 - sample data
            action = self.visit if number >= sale_count else self.sell
            self.plan(at, action, partner, own_rng)

    def visit(self, partner: Partner, rng: random.Random, *, at: datetime) -> Click:
        """A visit through the partner's link."""
        page, agent = rng.choice(PAGES), rng.choice(USER_AGENTS)
        letter = f"letter-{rng.randint(1, 12)}"
        query = f"ref={partner.code}&sub_id={letter}"
        return record_click(
            self.account,
            visit=Visit(
                parameters=TrackingParameters(referral_code=partner.code),
                referrer=f"https://{partner.code}.notes.example.org/{page}",
                landing_page=f"{partner.program.landing_page}{page}?{query}",
                user_agent=agent,
                meta_data={"subid1": letter},
            ),
            at=at,
        )

    def sell(self, partner: Partner, rng: random.Random, *, at: datetime) -> None:
        """A sale: by a customer who comes back, by a coupon, or after a click.

        Some customers send everything back: the conversion is deleted. Others send a
        part back: amount and commissions become lower.
        """
        known = [
            customer
            for customer, program in self.known_customers[:-20]
            if program == partner.program
        ]
        kind = rng.random()
        if kind < 0.25 and known:
            parameters = TrackingParameters(customer_id=rng.choice(known))
        else:
            customer_id = f"customer-{next(self.customer_numbers)}"
            self.known_customers.append((customer_id, partner.program))
            parameters = TrackingParameters(customer_id=customer_id)
            if kind > 0.8:
                parameters = replace(parameters, coupon=partner.coupon)
            else:
                click = self.visit(partner, rng, at=at - timedelta(minutes=7))
                parameters = replace(parameters, click_id=str(click.public_id))
        line_items = [LineItem(Decimal(rng.randint(1900, 24900)) / 100)]
        if partner.program.currency == "EUR" and rng.random() < 0.4:
            amount = Decimal(rng.randint(500, 4900)) / 100
            line_items.append(LineItem(amount, "accessories"))
        name = str(next(self.order_numbers))
        conversion = self.record_sale(name, parameters, line_items, at=at)
        fate, later = rng.random(), at + timedelta(days=rng.uniform(1, 10))
        account, pk = self.account, conversion.pk
        if fate < 0.07:
            refund: dict[str, Any] = {"reason": "The customer sent everything back."}
            self.plan(later, refund_conversion, account, conversion_id=pk, **refund)
        elif fate < 0.11:
            amount = (conversion.amount * Decimal("0.4")).quantize(1)
            refund = {"reason": "One item was broken.", "amount": amount}
            self.plan(later, refund_conversion, account, conversion_id=pk, **refund)

    def record_sale(
        self,
        name: str,
        parameters: TrackingParameters,
        line_items: Sequence[LineItem],
        *,
        at: datetime,
        **options: Any,
    ) -> Conversion:
        """Create a conversion; `options` are other fields of `ConversionData`."""
        data = ConversionData(parameters, line_items, external_id=f"order-{name}", **options)
        return create_conversion(self.account, data=data, at=at)

    def buy(
        self,
        name: str,
        amount: int,
        parameters: TrackingParameters,
        visit: tuple[str, int, int] | None = None,
        options: Mapping[str, Any] = MappingProxyType({}),
        *,
        at: datetime,
    ) -> None:
        """Record a sale whose explanation is worth reading; its order ID says why.

        `visit` is the visit before it: the code of the link, how many minutes before,
        and the seed of what is random. `options` are those of `record_sale`.
        """
        if visit is not None:
            code, minutes, seed = visit
            rng = random.Random(seed)  # noqa: S311 - sample data
            visited_at = at - timedelta(minutes=minutes)
            click = self.visit(self.get_partner(code), rng, at=visited_at)
            parameters = replace(parameters, click_id=str(click.public_id))
        self.record_sale(name, parameters, [LineItem(Decimal(amount))], at=at, **options)

    def approve_sale(self, name: str, *, at: datetime) -> None:
        """Approve what a sale earns, despite its warning."""
        rows = self.account.commissions.filter(conversion__external_id=f"order-{name}")
        for pk in rows.values_list("pk", flat=True):
            approve_commission(self.account, commission_id=pk, at=at)

    def switch_on_rules(self, *, at: datetime) -> None:
        """Look for own purchases, coupons that nobody's visitors use, and one person with
        several accounts."""
        for name in ("customer_is_affiliate", "coupon_without_clicks", "accounts_from_one_ip"):
            rule = create_rule(self.account, rule=name, at=at)
            switch_on(self.account, pk=rule.pk, at=at)

    def look_for_risks(self, *, at: datetime) -> None:
        evaluate_rules(self.account, at=at, is_complete=True)

    def report_order(self, code: str, later: timedelta, *, at: datetime) -> None:
        """Visit a page, `later` than `at`, which then reports the contested sale."""
        partner = self.get_partner(code)
        visited_at = at + later
        recorded = record_visit(
            self.account,
            visit=Visit(
                parameters=TrackingParameters(referral_code=code),
                landing_page=f"{partner.program.landing_page}?ref={code}",
                user_agent=USER_AGENTS[0],
            ),
            previous_tracking_id=None,
            at=visited_at,
        )
        self.record_sale(
            "contested",
            TrackingParameters(tracking_id=recorded.tracking_id),
            [LineItem(Decimal(149))],
            order=BROWSER_CONVERSION_ORDER,
            trust=Trust.CLAIM,
            is_browser_sale=True,
            at=visited_at + timedelta(minutes=2),
        )

    def fail_page_calls(self, *, at: datetime) -> None:
        """A page of the shop prints an amount that is no number, three times."""
        call = {"reason": "invalid_amount", "page": "https://shop.example.net/thanks"}
        for number in range(3):
            called_at = at + timedelta(minutes=number)
            record_failed_page_call(self.account, **call, at=called_at)

    def review_commissions(self, *, at: datetime) -> None:
        """Approve most commissions after the time of return, disapprove some.

        Those with a warning or a dispute wait for a person. The sales to explain, whose order IDs
        are words, are approved.
        """
        pending = self.account.commissions.not_deleted().filter(
            status=CommissionStatus.PENDING,
            created_at__lt=at - REVIEW_DELAY,
            conversion__warnings__isnull=True,
            conversion__disputed_at__isnull=True,
        )
        ids = pending.order_by("id").values_list("id", "conversion__external_id")
        for commission_id, external_id in list(ids):
            number = (external_id or "order-0").removeprefix("order-")
            is_approved = not number.isdigit() or self.rng.random() < 0.93
            review = approve_commission if is_approved else disapprove_commission
            review(self.account, commission_id=commission_id, at=at)

    def pay_affiliates(self, *, at: datetime) -> None:
        """Pay the full balance of most affiliates by API."""
        payable = get_payable_balances_by_slug(self.account)
        orders = [
            PaymentOrder(affiliate, amount, currency)
            for affiliate, balances in payable.items()
            for currency, amount in balances.items()
            if amount > 0 and self.rng.random() < 0.8
        ]
        for start in range(0, len(orders), PAYMENT_BATCH_SIZE):
            batch = orders[start : start + PAYMENT_BATCH_SIZE]
            create_payments(self.account, orders=batch, at=at)

    def run_payouts(self, reason: str = "", *, at: datetime) -> None:
        """Pay what is due by a payout run; with `reason` the first payment comes back.

        The answers to its files come two days later.
        """
        account = self.account
        run = create_draft(account, due_until=account.get_day(at), at=at)
        if not list_totals(run):
            discard_run(account, pk=run.pk, at=at)
            return
        run = confirm_run(account, pk=run.pk, at=at + timedelta(minutes=5))
        record_export(run, at=at + timedelta(minutes=6))
        self.plan(at + timedelta(days=2), self.import_results, run, reason)

    def import_results(self, run: PayoutRun, reason: str, *, at: datetime) -> None:
        """All payments have arrived, or all but the first: it is due again."""
        payments = [line.payment for line in list_paid_lines(run)]
        names = [payment.public_id for payment in payments if payment]
        returned = names[:1] if reason else []
        results = [
            PayoutResult(
                name,
                ResultState.RETURNED if name in returned else ResultState.SETTLED,
                reference=f"SB-{name[-6:].upper()}",
                reason=reason if name in returned else "",
            )
            for name in names
        ]
        apply_payout_results(self.account, results, run=run, at=at)
        for payment in self.account.payments.filter(public_id__in=returned):
            create_note(
                self.account,
                affiliate=payment.affiliate,
                text=f"The bank returned {payment.public_id}: the account was closed."
                " New details are on the way.",
                at=at + timedelta(hours=1),
            )


H = DemoHistory
CAPPED = TrackingParameters("monthly-customer", referral_code="ada-us")
# Day (0 to 119), hour, what happens, its arguments.
# fmt: off
EVENTS: list[tuple[Any, ...]] = [
    # Ada wins a customer; months later the customer follows a link of Dmitri and buys.
    # The cookie of Ada's link expired long ago, but the customer is hers for good.
    (10, 13, H.buy, "first-lamp", 39,
     TrackingParameters("loyal-customer", referral_code="ada")),
    (113, 14, H.buy, "known-customer-before-click", 189,
     TrackingParameters("loyal-customer"), ("dmitri", 9, 1)),
    # A customer of the second program buys four times; the program rewards three.
    (30, 0, H.open_us_program),
    (89, 9, H.buy, "cap-1", 59, CAPPED),
    (96, 9, H.buy, "cap-2", 59, CAPPED),
    (103, 9, H.buy, "cap-3", 59, CAPPED),
    (110, 9, H.buy, "cap-reached", 59, CAPPED),
    # A visitor comes through Elif's link and pays with Carla's coupon: Carla earns.
    (114, 12, H.buy, "coupon-beats-click", 129,
     TrackingParameters("coupon-customer", coupon="CARLA12"), ("elif", 12, 2)),
    # Farid buys through his own link: the commission waits with a warning.
    (115, 15, H.buy, "own-purchase", 219,
     TrackingParameters("farid5@notes.example.org", referral_code="farid")),
    # The pages of two visitors report the same order: staff have to decide.
    (117, 10, H.report_order, "greta", timedelta()),
    (117, 10, H.report_order, "hana", timedelta(minutes=4)),
    (118, 16, H.fail_page_calls),
    # Wanda sold, and has gone quiet.
    (4, 9, H.welcome, "Wanda", "Ek", "Warm Light Blog"),
    *(
        (day, 11, H.buy, f"quiet-{day}", 89,
         TrackingParameters(f"wanda-{day}", referral_code="wanda"))
        for day in (6, 13, 24, 37, 50)
    ),
    # Zoe's customers stay: they buy again each month.
    (2, 9, H.welcome, "Zoe", "Marin", "Marin Reads"),
    *(
        (day + 31 * month, 12, H.buy, f"loyal-{day}-{month}", 60 + day,
         TrackingParameters(f"zoe-{day}", referral_code="zoe"))
        for day in (5, 9, 14, 20)
        for month in range(4)
    ),
    # Vito's coupon is used by customers whom the shop had before.
    (45, 9, H.welcome, "Vito", "Lang", "Lang Deals"),
    *(
        (day, 13, H.buy, f"earlier-{day}", 99,
         TrackingParameters(f"vito-{day}", coupon="VITO15"), ("vito", 30, day),
         {"meta_data": {"customer": "new" if day == 60 else "returning"}})
        for day in range(60, 116, 7)
    ),
    # A coupon site publishes Xaver's coupon: sales without visits. A risk rule sees it.
    (38, 9, H.welcome, "Xaver", "Pohl", "Save Today"),
    (40, 9, H.follow_link, "xaver"),
    (41, 9, H.follow_link, "xaver"),
    (70, 8, H.switch_on_rules),
    *(
        (day, 20, H.buy, f"leak-{day}", 70,
         TrackingParameters(f"bargain-{day}", coupon="XAVER15"))
        for day in range(73, 119, 3)
    ),
    # Farid bought through his own link before, and that was approved: the case is open.
    (72, 15, H.buy, "own-lamp", 189,
     TrackingParameters("farid5@notes.example.org", referral_code="farid")),
    (88, 9, H.approve_sale, "own-lamp"),
    # Greta's sale named no valid commission type; it was approved, the next run pays it.
    (82, 9, H.buy, "odd-option", 420, TrackingParameters("odd-customer", referral_code="greta"),
     None, {"extra_warnings": (ODD_COMMISSION_TYPE,)}),
    (97, 9, H.approve_sale, "odd-option"),
    # Customers of Luca dispute what they paid.
    *(
        (day, 17, H.buy, f"disputed-{day}", 140,
         TrackingParameters(f"luca-{day}", referral_code="luca"), None, {"is_disputed": True})
        for day in (76, 92, 108)
    ),
    (118, 21, H.look_for_risks),
    # Affiliates are paid by API first, then by payout runs. The bank returns a payment.
    (29, 10, H.pay_affiliates),
    (59, 10, H.pay_affiliates),
    (89, 10, H.run_payouts),
    (109, 10, H.run_payouts, "AC04: account closed"),
    (99, 12, H.add_prospect, "Vera", "Holm"),
    (100, 12, H.add_prospect, "Wim", "Jansen"),
    (111, 11, H.apply, "Ugo", "Feld", "Best Codes Ever"),
    (111, 11, H.disapprove, "ugofeld"),
    (115, 9, H.apply, "Quinn", "Abara", "Desk Setups Daily"),
    (116, 10, H.apply, "Rosa", "Lehtinen"),
    (117, 11, H.apply, "Sami", "Duval", "Night Owl Reads"),
    (118, 12, H.apply, "Tove", "Brandt", "Coupon Corner 24"),
    # Three of them applied from one address.
    (118, 13, H.share_address, "ugofeld", "samiduval", "tovebrandt"),
]
# fmt: on
