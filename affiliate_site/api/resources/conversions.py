"""Conversions: `/conversions/`, and the commissions added to one."""

from accounts.services.usage import Rate
from affiliate_site.api.attempts import Attempts
from affiliate_site.api.clues import (
    TrackingQuery,
)
from affiliate_site.api.fields import (
    KnownAmount,
    Lookup,
    QueryFlag,
    Text,
    is_blank,
    row_number,
)
from affiliate_site.api.filters import From, ListFilter, Switch, Until, Words
from affiliate_site.api.inputs import Input
from affiliate_site.api.maps import MetaData
from affiliate_site.api.sales import MOST_PARTS, SaleInput, sale_of
from affiliate_site.api.shapes.sales import (
    CommissionShape,
    ConversionShape,
    commission_shape,
    conversion_shapes,
)
from affiliate_site.api.viewsets import TenantViewSet
from payouts.models.commissions import Commission, Status
from payouts.services.rates import Item
from payouts.services.recording import record_conversion
from payouts.services.revising import (
    add_commissions,
    change_conversion,
    currency_of,
    remove_conversion,
)
from tracking.errors import ConversionNotFound
from tracking.models.conversions import Conversion, Origin


class ConversionChange(Input):
    """What may change about a sale; a blank `external_id` counts as not sent."""

    amount = KnownAmount(required=False)
    external_id = Text(required=False)
    meta_data = MetaData(required=False)


class ChangeQuery(Input):
    """Do the commissions follow the amount?"""

    recalculate_commissions = QueryFlag(required=False)


class AddedInput(Input):
    """One more commission for a sale."""

    conversion_sub_amount = KnownAmount()
    commission_type = Lookup(required=False)
    comment = Text(required=False, max_length=1000)


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
        waiting = self.account.commissions.present().filter(
            status=Status.PENDING, conversion__isnull=False
        )
        return rows.filter(pk__in=waiting.values("conversion"))


class ConversionViewSet(Attempts, TenantViewSet):
    """Spec: Conversions."""

    thing = Conversion
    source = Origin.API
    rates = {"list": Rate(900, minutes=1), "retrieve": Rate(1500, minutes=5)}
    tracks: tuple = ("create",)
    reads = {"create": SaleInput, "partial_update": ConversionChange}
    query = {"create": TrackingQuery, "partial_update": ChangeQuery}
    filters = {"list": ConversionFilter}
    conflicts: tuple = ("destroy",)
    answers = {
        "list": ConversionShape(many=True),
        "create": ConversionShape,
        "retrieve": ConversionShape,
        "partial_update": ConversionShape,
        "destroy": None,
    }

    def list(self, request):
        """The account's conversions, newest first."""
        return self.page_of_all(
            self.shapes, self.account.conversions.present().newest_first()
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

    def partial_update(self, request, conversion_id):
        """Change a sale; its commissions follow the amount where that is asked for."""
        number = row_number(conversion_id)
        currency = currency_of(self.account, number)
        said, asked = self.read_with_query(currency=currency)
        change_conversion(
            self.account,
            conversion_id=number,
            changes=changes_of(said),
            recalculate=asked.get("recalculate_commissions", False),
            at=self.at,
        )
        return self.shown(number)

    def destroy(self, request, conversion_id):
        """Take a sale and its commissions back for good."""
        number = row_number(conversion_id)
        remove_conversion(self.account, conversion_id=number, at=self.at)
        return self.nothing()

    def shown(self, number):
        rows = self.account.conversions.present().filter(pk=number)
        row = self.found(rows, ConversionNotFound)
        return self.answer(self.shapes([row])[0])

    def shapes(self, rows):
        return conversion_shapes(rows, self.account)


class AddedCommissionViewSet(TenantViewSet):
    """Contract 2.2.8."""

    thing = Commission
    reads = {"create": AddedInput}
    arrays = {"create": MOST_PARTS}
    conflicts = ("create",)
    answers = {"create": CommissionShape(many=True)}

    def create(self, request, conversion_id):
        """Book extra rewards for a sale; its own amount stays."""
        number = row_number(conversion_id)
        currency = currency_of(self.account, number)
        said = self.read_each(currency=currency)
        made = add_commissions(
            self.account,
            conversion_id=number,
            items=added_items(said, of_array=isinstance(self.body, list)),
            at=self.at,
        )
        rows = self.account.commissions.filter(pk__in=[it.pk for it in made])
        shown = rows.order_by("id").as_shown()
        return self.answer([commission_shape(row, self.account) for row in shown])


def changes_of(said: dict) -> dict:
    """What was read, as the service takes it."""
    external_id = said.get("external_id")
    return {
        name: value
        for name, value in said.items()
        if name != "external_id" or not is_blank(external_id)
    }


def added_items(said: list[dict], *, of_array: bool) -> list[Item]:
    """What was read, as the service takes it."""
    return [
        Item(
            part["conversion_sub_amount"],
            part.get("commission_type"),
            part.get("comment"),
            amount_path=f"{place}conversion_sub_amount",
            type_path=f"{place}commission_type",
        )
        for number, part in enumerate(said)
        for place in (f"[{number}]." if of_array else "",)
    ]
