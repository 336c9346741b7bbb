"""ProgramScenario: a program with an affiliate, created through the services."""

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

from accounts.ids import generate_public_id
from payouts.calculation import LineItem
from payouts.models.commission_types import RateKind
from payouts.services.commissions import approve_commission, disapprove_commission
from payouts.services.conversion_creation import ConversionData, create_conversion
from payouts.services.conversion_updates import delete_conversion, update_conversion
from payouts.services.payments import PaymentOrder, create_payments
from payouts.services.payout_settings import top_up_payout_balance
from payouts.services.programs import (
    STANDARD_COMMISSION_TYPE,
    ProgramSettings,
    create_program,
)
from tracking.attribution import TrackingParameters
from tracking.models.affiliates import Affiliate
from tracking.models.enrollments import Enrollment
from tracking.services.affiliates import AffiliatePassword, PersonData, create_affiliate
from tracking.services.clicks import Visit, record_click
from tracking.services.customers import CustomerData, create_customer
from tracking.services.enrollments import (
    EnrollmentData,
    create_enrollment,
    set_approval,
)
from tracking.services.hierarchy import set_parent
from tracking.services.programs import archive_program

PROGRAM_CREATED_AT = datetime(2026, 3, 1, tzinfo=UTC)
AFFILIATE_CREATED_AT = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
CLICK_CREATED_AT = datetime(2026, 3, 3, 19, 3, 44, tzinfo=UTC)
CONVERSION_CREATED_AT = datetime(2026, 3, 4, 9, 15, 27, tzinfo=UTC)
SECRET = AffiliatePassword(hashed="!")  # not usable


@dataclass(frozen=True)
class EnrolledAffiliate:
    """An affiliate in a program, and its tracking parameters."""

    affiliate: Affiliate
    enrollment: Enrollment
    coupon: str
    code: str
    asset_id: str
    source_id: str

    @property
    def slug(self) -> str:
        return self.affiliate.slug

    @property
    def reference(self) -> dict[str, str]:
        """The affiliate as nested in other representations."""
        return {
            "id": self.affiliate.slug,
            "firstname": self.affiliate.firstname,
            "lastname": self.affiliate.lastname,
        }


class ProgramScenario:
    """One program of an account with its affiliate Mina; 10 % commission by default."""

    def __init__(
        self,
        account,
        slug="harbor-lamp-partners",
        *,
        prefix="",
        email="mina@notes.example.org",
        **settings,
    ) -> None:
        self.account = account
        self.prefix = prefix
        settings = {
            "title": f"{prefix}Harbor Lamp Partners",
            "currency": "EUR",
            "landing_page": "https://shop.example.net/",
        } | settings
        self.program = create_program(
            account,
            slug=f"{prefix}{slug}",
            settings=ProgramSettings(**settings),
            at=PROGRAM_CREATED_AT,
        )
        self.mina = self.create_enrolled_affiliate("Mina", "Kessler", email=email)

    @property
    def reference(self) -> dict[str, str]:
        """The program as nested in other representations."""
        return {
            "id": self.program.slug,
            "title": self.program.title,
            "currency": self.program.currency,
        }

    def create_enrolled_affiliate(
        self, firstname, lastname, *, email=None, approved=True
    ) -> EnrolledAffiliate:
        """Create an affiliate and enroll it in the program."""
        person = PersonData(firstname=f"{self.prefix}{firstname}", lastname=lastname, email=email)
        affiliate = create_affiliate(
            self.account, data=person, password=SECRET, at=AFFILIATE_CREATED_AT
        )
        return self.enroll(affiliate, approved=approved)

    def enroll(self, affiliate, *, approved=True) -> EnrolledAffiliate:
        """Enroll an affiliate in the program, with a coupon."""
        coupon = f"{affiliate.slug.upper()}-{self.program.pk}"
        data = EnrollmentData(affiliate_id=affiliate.slug, approved=approved, coupon=coupon)
        enrollment = create_enrollment(
            self.account, program=self.program, data=data, at=AFFILIATE_CREATED_AT
        )
        asset = self.account.assets.get(program=self.program)
        source = self.account.sources.get(affiliate=affiliate)
        return EnrolledAffiliate(
            affiliate=affiliate,
            enrollment=enrollment,
            coupon=coupon,
            code=self.account.referral_codes.get(enrollment=enrollment).code,
            asset_id=f"{asset.pk}-{asset.hex}",
            source_id=f"{source.pk}-{source.hex}",
        )

    def create_commission_type(self, identifier, value, *, kind=RateKind.PERCENTAGE, title=None):
        """Create another commission type."""
        return self.account.commission_types.create(
            program=self.program,
            identifier=identifier,
            title=title or identifier.title(),
            kind=kind,
            value=Decimal(value),
        )

    def create_level(self, level, value, *, kind=RateKind.PERCENTAGE):
        """Create a level, with the rate of its level commissions."""
        return self.account.levels.create(
            program=self.program,
            level=level,
            title=f"Level {level}",
            kind=kind,
            value=Decimal(value),
        )

    def create_group_rate(
        self,
        group,
        value,
        *,
        kind=RateKind.PERCENTAGE,
        commission_type=STANDARD_COMMISSION_TYPE,
    ):
        """Create a group rate, which overrides the rate of a commission type."""
        return self.account.group_rates.create(
            commission_type=self.account.commission_types.get(
                program=self.program, identifier=commission_type
            ),
            group=group,
            kind=kind,
            value=Decimal(value),
        )

    def create_bonus(self, *, goal, value, kind=RateKind.FIXED, at=PROGRAM_CREATED_AT, **fields):
        """Create a bonus; by default its goal is a number of conversions per month."""
        fields = {
            "goal_type": "conversions",
            "period": "month",
            "title": "Goal",
        } | fields
        return self.account.bonuses.create(
            program=self.program,
            public_id=generate_public_id("bo"),
            goal=Decimal(goal),
            kind=kind,
            value=Decimal(value),
            created_at=at,
            **fields,
        )

    def create_click(self, affiliate=None, *, at=CLICK_CREATED_AT, **visit):
        """Record a visit through an affiliate's link, by default Mina's."""
        affiliate = affiliate or self.mina
        parameters = TrackingParameters(referral_code=affiliate.code)
        return record_click(self.account, visit=Visit(parameters=parameters, **visit), at=at)

    def create_customer(
        self,
        customer_id,
        *,
        affiliate=None,
        status="new",
        at=CLICK_CREATED_AT,
        **parameters,
    ):
        """Create a customer by tracking parameters, by default Mina's coupon."""
        parameters = parameters or {"coupon": (affiliate or self.mina).coupon}
        data = CustomerData(
            customer_id=customer_id,
            parameters=TrackingParameters(**parameters),
            status=status,
        )
        return create_customer(self.account, data=data, at=at)

    def create_conversion(
        self,
        *amounts,
        affiliate=None,
        customer_id=None,
        parameters=None,
        at=CONVERSION_CREATED_AT,
        **fields,
    ):
        """Create a conversion, by default through Mina's coupon.

        Each amount is a line item: an amount, or an amount and a commission type.
        """
        parameters = parameters or TrackingParameters(
            coupon=(affiliate or self.mina).coupon, customer_id=customer_id
        )
        data = ConversionData(
            parameters=parameters,
            line_items=build_line_items(*(amounts or ("200",))),
            **fields,
        )
        return create_conversion(self.account, data=data, at=at)

    def approve(self, commission, *, at=CONVERSION_CREATED_AT):
        """Approve a commission."""
        approve_commission(self.account, commission_id=commission.pk, at=at)

    def disapprove(self, commission, *, at=CONVERSION_CREATED_AT):
        """Disapprove a commission."""
        disapprove_commission(self.account, commission_id=commission.pk, at=at)

    def set_status(self, commission, status, *, at=CONVERSION_CREATED_AT):
        """Approve or disapprove a pending commission, or leave it."""
        if status == "approved":
            self.approve(commission, at=at)
        elif status == "disapproved":
            self.disapprove(commission, at=at)

    def delete(self, conversion, *, at=CONVERSION_CREATED_AT):
        """Delete a conversion."""
        delete_conversion(self.account, conversion_id=conversion.pk, at=at)

    def change_amount(self, conversion, amount, *, recalculate=True, at=CONVERSION_CREATED_AT):
        """Change the amount of a conversion."""
        update_conversion(
            self.account,
            conversion_id=conversion.pk,
            changes={"amount": Decimal(amount)},
            should_recalculate=recalculate,
            at=at,
        )

    def set_approval(self, affiliate, approved, *, at=CONVERSION_CREATED_AT):
        """Approve or disapprove an enrolled affiliate."""
        set_approval(
            self.account,
            program=self.program,
            affiliate_id=affiliate.slug,
            approved=approved,
            at=at,
        )

    def pay(self, amount, *, to="minakessler", at=CONVERSION_CREATED_AT):
        """Pay an affiliate in EUR; return the payment."""
        order = PaymentOrder(to, Decimal(amount), "EUR")
        [payment] = create_payments(self.account, orders=[order], at=at)
        return payment

    def enable_payouts(self, balance=0, *, at=CONVERSION_CREATED_AT):
        """Enable the payout feature with a balance in EUR."""
        self.account.uses_payouts = True
        self.account.save()
        if balance:
            top_up_payout_balance(self.account, amount=Decimal(balance), currency="EUR", at=at)

    def archive(self, *, at=CONVERSION_CREATED_AT):
        """Archive the program."""
        archive_program(self.account, slug=self.program.slug, at=at)

    def add_child(self, child, parent, *, at=CONVERSION_CREATED_AT):
        """Make one enrolled affiliate the parent of another."""
        set_parent(self.account, affiliate_id=child.slug, parent_id=parent.slug, at=at)

    def get_commission(self, conversion):
        """Get the only commission of a conversion."""
        return self.account.commissions.get(conversion=conversion)


def build_line_items(*amounts) -> list[LineItem]:
    """Build line items from arguments like `"200", ("49.90", "accessories")`."""
    items = [item if isinstance(item, tuple) else (item, None) for item in amounts]
    if len(items) == 1:
        return [LineItem(Decimal(items[0][0]), items[0][1])]
    return [
        LineItem(
            Decimal(amount),
            commission_type,
            amount_path=f"commissions[{index}].sub_amount",
            type_path=f"commissions[{index}].commission_type",
        )
        for index, (amount, commission_type) in enumerate(items)
    ]


def mark_deleted(affiliate, *, at=CONVERSION_CREATED_AT) -> None:
    """Mark an affiliate as deleted, without other effects of a deletion."""
    affiliate.update_row(deleted_at=at)
