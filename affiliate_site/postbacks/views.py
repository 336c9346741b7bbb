"""Server-to-server postbacks 1.7: four stories, by GET or by POST (contract 4)."""

from typing import ClassVar

from affiliate_site.api.clues import demand
from affiliate_site.api.errors import Flaw, Prefetched
from affiliate_site.api.fields import (
    Currency,
    Flag,
    KnownAmount,
    Lookup,
    Text,
)
from affiliate_site.api.filters import NO_STATUS
from affiliate_site.api.inputs import Input
from affiliate_site.api.maps import MetaData
from affiliate_site.api.resources.conversions import ConversionViewSet
from affiliate_site.api.resources.customers import (
    CustomerInput,
    CustomerViewSet,
    registration_of,
)
from affiliate_site.api.sales import SaleInput, sale_of
from affiliate_site.api.shapes.sales import ConversionShape
from affiliate_site.api.shapes.visitors import CustomerShape
from affiliate_site.api.viewsets import TenantViewSet
from affiliate_site.postbacks.reading import from_query, is_prefetch, refuse_odd_text
from payouts.errors import CurrencyIsKept
from payouts.models.commissions import Status
from payouts.services.recording import record_conversion
from payouts.services.revising import change_conversion, conversion_known_as
from tracking.attribution import POSTBACK, REGISTERING_POSTBACK
from tracking.models.conversions import Origin
from tracking.models.customers import Status as CustomerStatus
from tracking.services.customers import (
    customer_known_as,
    follow_up_customer,
    register,
)


class FirstOfList(Lookup):
    """Text; of a comma list the first entry."""

    def prepared(self, text):
        return super().prepared(super().prepared(text).partition(",")[0])


class Decision(Lookup):
    """What becomes of all commissions of a sale."""

    choices = (Status.APPROVED, Status.DISAPPROVED, Status.PENDING)
    form: ClassVar = {"enum": [choice.value for choice in choices]}

    def to_internal_value(self, data):
        word = super().to_internal_value(data)
        if word not in self.choices:
            values = ", ".join(f"'{choice}'" for choice in self.choices)
            raise Flaw(NO_STATUS, value=word, values=values)
        return word


class SaleTold(SaleInput):
    """A sale, who brought it, and perhaps its decision."""

    aliases = {**SaleInput.aliases, "commission_types": "commission_type"}

    external_id = Text()
    commission_type = FirstOfList(required=False)
    override_max_cookie_time = Flag(required=False)
    status = Decision(required=False)


class SameCurrency(Lookup):
    """The currency that the sale is in, any case; the context's."""

    form: ClassVar = Currency.form

    def to_internal_value(self, data):
        text = super().to_internal_value(data)
        if text.upper() != self.context["currency"]:
            raise Flaw(CurrencyIsKept.message)
        return text


class SaleNamed(Input):
    """Which sale."""

    external_id = Text()


class SaleFollowUp(SaleNamed):
    """What became of a sale; its commissions follow the amount unless told not to."""

    amount = KnownAmount(required=False)
    currency = SameCurrency(required=False)
    meta_data = MetaData(required=False)
    status = Decision(required=False)
    recalculate_commissions = Flag(required=False)


class CustomerTold(CustomerInput):
    """A customer, and who brought it."""

    override_max_cookie_time = Flag(required=False)


class CustomerNamed(Input):
    """Which customer."""

    customer_id = Text()


class CustomerFollowUp(CustomerNamed):
    """What became of a customer."""

    meta_data = MetaData(required=False)
    status = Lookup(required=False, form={"enum": CustomerStatus.values})


class Postback(TenantViewSet):
    """GET with a query, or POST with an object; nothing else, and no limit."""

    http_method_names = ["get", "post", "options"]
    rates = {}
    query = {}
    filters = {}
    tracks = ("create", "follow_up")
    acts = {"create": "add", "follow_up": "change"}

    def initial(self, request, *args, **kwargs):
        """Whoever only looks ahead is refused, right after the method."""
        if request.method in self.allowed_methods and is_prefetch(self.plain_request):
            raise Prefetched
        super().initial(request, *args, **kwargs)

    def reads_body(self):
        return self.request.method == "POST"

    def take_in(self):
        """A GET says in its query what a POST says in its body."""
        if self.reads_body():
            super().take_in()
        else:
            self.body = from_query(self.plain_request.GET)

    def read_as(self, declaration, data, **context):
        """Fields are read when it is their turn, and odd text is a flaw of a field."""
        self.refuse_odd_text()
        return super().read_as(declaration, data, **context)

    def refuse_odd_text(self, *names):
        if not self.reads_body():
            refuse_odd_text(self.plain_request, *names)


class ConversionPostback(Postback, ConversionViewSet):
    """Contract 4: con/c and con/u."""

    source = Origin.POSTBACK
    reads = {"create": SaleTold, "follow_up": SaleFollowUp}
    conflicts = ("create", "follow_up")
    answers = {"create": ConversionShape, "follow_up": ConversionShape}

    def create(self, request):
        """Record a sale, decided or not; refused, nothing is stored."""
        demand(self.body, "external_id")
        self.refuse_odd_text("external_id")
        external_id = self.admit_sale()
        said = self.read()
        conversion = record_conversion(
            self.account,
            sale=sale_of(said, said, external_id, order=POSTBACK),
            status=said.get("status"),
            at=self.at,
        )
        self.forget_failure()
        return self.shown(conversion.pk)

    def follow_up(self, request):
        """Tell what became of a sale: another amount, its decision; all or nothing."""
        demand(self.body, "external_id")
        named = self.read_as(SaleNamed, self.body)
        conversion = conversion_known_as(self.account, named["external_id"])
        said = self.read(currency=conversion.currency)
        change_conversion(
            self.account,
            conversion_id=conversion.pk,
            changes={key: said[key] for key in ("amount", "meta_data") if key in said},
            recalculate=said.get("recalculate_commissions", True),
            status=said.get("status"),
            at=self.at,
        )
        return self.shown(conversion.pk)


class CustomerPostback(Postback, CustomerViewSet):
    """Contract 4: cus/c and cus/u."""

    reads = {"create": CustomerTold, "follow_up": CustomerFollowUp}
    answers = {"create": CustomerShape, "follow_up": CustomerShape}

    def create(self, request):
        """Register a customer; it belongs to whom the highest clue names, for ever."""
        demand(self.body, "customer_id")
        said = self.read()
        registration = registration_of(said, said, order=REGISTERING_POSTBACK)
        customer = register(self.account, registration=registration, at=self.at)
        return self.shown(customer.public_id)

    def follow_up(self, request):
        """Tell what became of a customer: canceled or not, other meta data."""
        demand(self.body, "customer_id")
        named = self.read_as(CustomerNamed, self.body)
        customer = customer_known_as(self.account, named["customer_id"])
        said = self.read()
        follow_up_customer(
            self.account,
            customer=customer,
            status=said.get("status"),
            meta_data=said.get("meta_data"),
            at=self.at,
        )
        return self.shown(customer.public_id)
