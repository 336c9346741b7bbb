"""Conversions: `/conversions/`."""

from collections import defaultdict
from contextlib import suppress

from rest_framework.exceptions import ValidationError

from accounts.services.usage import Rate
from affiliate_site.api.attempts import Attempts
from affiliate_site.api.clues import (
    ALIASES,
    Clue,
    Hearsay,
    TrackingQuery,
    UserAgent,
    clues_of,
)
from affiliate_site.api.fields import (
    Amount,
    Input,
    Items,
    Lookup,
    MetaData,
    Text,
    admitted,
    flawed,
    is_blank,
    row_number,
)
from affiliate_site.api.filters import From, ListFilter, Switch, Until, Words
from affiliate_site.api.shapes.sales import (
    ConversionShape,
    conversion_shape,
    nested_commission_shape,
)
from affiliate_site.api.viewsets import TenantViewSet
from payouts.models.commissions import Status
from payouts.services.rates import Item
from payouts.services.recording import Sale, record_conversion
from tracking.errors import ConversionNotFound
from tracking.models.conversions import Conversion, Origin
from tracking.money import NOUGHT, currency_named

MOST_PARTS = 100


class Currency(Lookup):
    """A currency of ISO 4217, any case."""

    def to_internal_value(self, data):
        return flawed(currency_named, super().to_internal_value(data))


class SaleAmount(Amount):
    """An amount of a sale, checked in the sale's currency, where one was sent."""

    def to_internal_value(self, data):
        exact = super().to_internal_value(data)
        admitted(exact, self.root.currency_sent)
        return exact


class PartInput(Input):
    """A part of a sale."""

    aliases = {"conversion_sub_amount": "sub_amount"}

    sub_amount = SaleAmount()
    commission_type = Lookup(required=False)
    comment = Text(required=False, max_length=1000)


class SaleInput(Input):
    """A sale, and who brought it. `commissions` takes the place of `amount`."""

    aliases = ALIASES

    customer_id = Text(required=False)
    coupon = Clue()
    referral_code = Clue()
    click_id = Clue()
    tracking_id = Clue()
    asset_id = Clue()
    source_id = Clue()
    external_id = Text(required=False)
    amount = SaleAmount(required=False)
    currency = Currency(required=False)
    commission_type = Lookup(required=False)
    commissions = Items(child=PartInput(), most=MOST_PARTS, required=False)
    meta_data = MetaData(required=False)
    program_group = Clue()
    user_agent = UserAgent()
    ip = Hearsay()

    @property
    def currency_sent(self) -> str | None:
        """The currency that amounts are checked in; None: known only later."""
        with suppress(ValidationError):
            return Currency().to_internal_value(self.initial_data.get("currency"))
        return None


class ConversionFilter(ListFilter):
    """All of them narrow together."""

    program_id = Words(field_name="program__slug")
    external_id = Words(field_name="external_id")
    affiliate_id = Words(field_name="affiliate__slug")
    customer_id = Words(method="by_customer")
    pending = Switch(method="by_pending")
    date_from = From(field_name="created_at")
    date_to = Until(field_name="created_at")

    def by_customer(self, rows, name, value):
        return rows.filter(customer__customer_id=value, customer__removed_at=None)

    def by_pending(self, rows, name, value):
        if not value:
            return rows
        waiting = self.account.commissions.filter(status=Status.PENDING)
        return rows.filter(pk__in=waiting.values("conversion"))


class ConversionViewSet(Attempts, TenantViewSet):
    """Spec: Conversions."""

    thing = Conversion
    source = Origin.API
    rates = {"list": Rate(900, minutes=1), "retrieve": Rate(1500, minutes=5)}
    tracks = ("create",)
    reads = {"create": SaleInput}
    query = {"create": TrackingQuery}
    filters = {"list": ConversionFilter}
    answers = {
        "list": ConversionShape(many=True),
        "create": ConversionShape,
        "retrieve": ConversionShape,
    }

    def list(self, request):
        """The account's conversions, newest first."""
        return self.page_of_all(
            self.with_commissions, self.account.conversions.present().newest_first()
        )

    def create(self, request):
        """Record a sale and everything that follows from it, or nothing at all."""
        external_id = self.admit_sale()
        said, asked = self.read_with_query()
        conversion = record_conversion(
            self.account, sale=sale_of(said, asked, external_id), at=self.at
        )
        self.forget_failure()
        return self.shown(conversion.pk)

    def retrieve(self, request, conversion_id):
        """One conversion."""
        return self.shown(row_number(conversion_id))

    def shown(self, number):
        rows = self.account.conversions.present().filter(pk=number)
        row = self.found(rows, ConversionNotFound)
        return self.answer(self.with_commissions([row])[0])

    def with_commissions(self, rows):
        """Conversions with all their commissions, by one more statement."""
        nested = defaultdict(list)
        numbers = [row["id"] for row in rows]
        commissions = self.account.commissions.filter(conversion__in=numbers)
        for row in commissions.order_by("id").as_shown():
            nested[row["conversion_id"]].append(
                nested_commission_shape(
                    row, pending_as_null=self.account.pending_as_null
                )
            )
        return [conversion_shape(row, nested[row["id"]]) for row in rows]


def sale_of(said: dict, asked: dict, external_id: str | None) -> Sale:
    """What was read, as the service takes it; a blank customer counts as not sent."""
    customer_id = said.get("customer_id")
    return Sale(
        clues=clues_of(said, None if is_blank(customer_id) else customer_id),
        items=items_of(said),
        external_id=external_id,
        currency=said.get("currency"),
        meta_data=said.get("meta_data", {}),
        user_agent=said.get("user_agent"),
        ip=said.get("ip"),
        ignore_cookie_age=asked.get("override_max_cookie_time", False),
    )


def items_of(said: dict) -> list[Item]:
    """The parts of a sale: those sent, else the whole as one."""
    parts = said.get("commissions")
    if not parts:
        return [Item(said.get("amount", NOUGHT), said.get("commission_type"))]
    return [
        Item(
            part["sub_amount"],
            part.get("commission_type"),
            part.get("comment"),
            amount_path=f"commissions[{number}].sub_amount",
            type_path=f"commissions[{number}].commission_type",
        )
        for number, part in enumerate(parts)
    ]
