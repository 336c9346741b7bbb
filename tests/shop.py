"""A program with an affiliate who sells, made through the services alone."""

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

from accounts.ids import new_id
from payouts.models.commission_types import RateKind
from payouts.services.programs import STANDARD, Rules, open_program
from payouts.services.rates import Item
from payouts.services.recording import Sale, record_conversion
from tracking.attribution import Clues
from tracking.models.affiliates import Affiliate
from tracking.models.enrolments import Enrolment
from tracking.services.affiliates import Application, Secret, sign_up
from tracking.services.clicks import Visit, record_click
from tracking.services.customers import Registration, register
from tracking.services.enrolments import Entry, enrol

OPENED = datetime(2026, 3, 1, tzinfo=UTC)
JOINED = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
CLICKED = datetime(2026, 3, 3, 19, 3, 44, tzinfo=UTC)
SOLD = datetime(2026, 3, 4, 9, 15, 27, tzinfo=UTC)
SECRET = Secret(hashed="!")  # nobody signs in with it


@dataclass(frozen=True)
class Member:
    """An affiliate in a program, and everything that points at it."""

    affiliate: Affiliate
    enrolment: Enrolment
    coupon: str
    code: str
    asset_id: str
    source_id: str

    @property
    def slug(self) -> str:
        return self.affiliate.slug

    @property
    def ref(self) -> dict[str, str]:
        """The affiliate as it stands inside other shapes."""
        return {
            "id": self.affiliate.slug,
            "firstname": self.affiliate.firstname,
            "lastname": self.affiliate.lastname,
        }


class Shop:
    """One program of an account; 10 % unless told otherwise."""

    def __init__(
        self,
        account,
        slug="harbor-lamp-partners",
        *,
        mark="",
        email="mina@notes.example.org",
        **rules,
    ) -> None:
        self.account = account
        self.mark = mark
        rules = {
            "title": f"{mark}Harbor Lamp Partners",
            "currency": "EUR",
            "landing_page": "https://shop.example.net/",
        } | rules
        self.program = open_program(
            account, slug=f"{mark}{slug}", rules=Rules(**rules), at=OPENED
        )
        self.mina = self.join("Mina", "Kessler", email=email)

    @property
    def ref(self) -> dict[str, str]:
        """The program as it stands inside other shapes."""
        return {
            "id": self.program.slug,
            "title": self.program.title,
            "currency": self.program.currency,
        }

    def join(self, firstname, lastname, *, email=None, approved=True) -> Member:
        """Sign somebody up, into this program."""
        application = Application(
            firstname=f"{self.mark}{firstname}", lastname=lastname, email=email
        )
        affiliate = sign_up(
            self.account, application=application, secret=SECRET, at=JOINED
        )
        return self.take_in(affiliate, approved=approved)

    def take_in(self, affiliate, *, approved=True) -> Member:
        """Put an affiliate into this program, with a coupon."""
        coupon = f"{affiliate.slug.upper()}-{self.program.pk}"
        entry = Entry(affiliate_id=affiliate.slug, approved=approved, coupon=coupon)
        enrolment = enrol(self.account, program=self.program, entry=entry, at=JOINED)
        asset = self.account.assets.get(program=self.program)
        source = self.account.sources.get(affiliate=affiliate)
        return Member(
            affiliate=affiliate,
            enrolment=enrolment,
            coupon=coupon,
            code=self.account.referral_codes.get(enrolment=enrolment).code,
            asset_id=f"{asset.pk}-{asset.hex}",
            source_id=f"{source.pk}-{source.hex}",
        )

    def type(self, identifier, value, *, kind=RateKind.PERCENTAGE, title=None):
        """One more commission type."""
        return self.account.commission_types.create(
            program=self.program,
            identifier=identifier,
            title=title or identifier.title(),
            kind=kind,
            value=Decimal(value),
        )

    def level(self, level, value, *, kind=RateKind.PERCENTAGE):
        """What parents earn on one level."""
        return self.account.levels.create(
            program=self.program,
            level=level,
            title=f"Level {level}",
            kind=kind,
            value=Decimal(value),
        )

    def group_rate(self, group, value, *, kind=RateKind.PERCENTAGE, of=STANDARD):
        """What a group gets in place of a commission type's rate."""
        return self.account.group_rates.create(
            commission_type=self.account.commission_types.get(
                program=self.program, identifier=of
            ),
            group=group,
            kind=kind,
            value=Decimal(value),
        )

    def bonus(self, *, goal, value, kind=RateKind.FIXED, at=OPENED, **rule):
        """A reward for a goal: so many sales a month, unless told otherwise."""
        rule = {"goal_type": "conversions", "period": "month", "title": "Goal"} | rule
        return self.account.bonuses.create(
            program=self.program,
            public_id=new_id("bo"),
            goal=Decimal(goal),
            kind=kind,
            value=Decimal(value),
            created_at=at,
            **rule,
        )

    def click(self, member=None, *, at=CLICKED, **visit):
        """A visit through somebody's link."""
        member = member or self.mina
        clues = Clues(referral_code=member.code)
        return record_click(self.account, visit=Visit(clues=clues, **visit), at=at)

    def customer(self, customer_id, *, member=None, status="new", at=CLICKED, **clues):
        """A customer that somebody brought."""
        clues = clues or {"coupon": (member or self.mina).coupon}
        registration = Registration(
            customer_id=customer_id, clues=Clues(**clues), status=status
        )
        return register(self.account, registration=registration, at=at)

    def sell(self, *amounts, member=None, customer_id=None, at=SOLD, **sale):
        """A sale by coupon; each amount is a part, alone or with its type."""
        clues = sale.pop("clues", None) or Clues(
            coupon=(member or self.mina).coupon, customer_id=customer_id
        )
        told = Sale(clues=clues, items=items_of(*(amounts or ("200",))), **sale)
        return record_conversion(self.account, sale=told, at=at)

    def commission_of(self, conversion):
        """The only commission of a sale."""
        return self.account.commissions.get(conversion=conversion)


def items_of(*amounts) -> list[Item]:
    """`"200", ("49.90", "accessories")` as the parts of a sale."""
    parts = [it if isinstance(it, tuple) else (it, None) for it in amounts]
    if len(parts) == 1:
        return [Item(Decimal(parts[0][0]), parts[0][1])]
    return [
        Item(
            Decimal(amount),
            name,
            amount_path=f"commissions[{number}].sub_amount",
            type_path=f"commissions[{number}].commission_type",
        )
        for number, (amount, name) in enumerate(parts)
    ]


def remove(affiliate, *, at=SOLD) -> None:
    """Mark an affiliate as removed; the API's DELETE is not built yet."""
    affiliate.change(removed_at=at)
