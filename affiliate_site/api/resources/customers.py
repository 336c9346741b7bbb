"""Customers: `/customers/`."""

from accounts.services.usage import Rate
from affiliate_site.api.clues import (
    ALIASES,
    Clue,
    Hearsay,
    TrackingQuery,
    UserAgent,
    clues_of,
    demand,
)
from affiliate_site.api.fields import Lookup, Text
from affiliate_site.api.filters import From, ListFilter, Until, Words
from affiliate_site.api.inputs import Input
from affiliate_site.api.maps import MetaData
from affiliate_site.api.shapes.visitors import CustomerShape, customer_shape
from affiliate_site.api.viewsets import TenantViewSet
from tracking.attribution import REGISTERING, Order
from tracking.errors import CustomerNotFound
from tracking.models.customers import INITIAL, Customer
from tracking.services.customers import (
    Registration,
    cancel,
    customer_named,
    register,
    remove,
    rename,
    restore,
)


class CustomerInput(Input):
    """A customer of the caller's, and who brought it."""

    aliases = ALIASES

    customer_id = Text()
    coupon = Clue()
    referral_code = Clue()
    click_id = Clue()
    tracking_id = Clue()
    asset_id = Clue()
    source_id = Clue()
    status = Lookup(required=False, form={"enum": list(INITIAL)})
    meta_data = MetaData(required=False)
    user_agent = UserAgent()
    ip = Hearsay()
    program_group = Clue()


class CustomerChange(Input):
    """What may change about a customer."""

    customer_id = Text(required=False, filled=True)
    meta_data = MetaData(required=False)


class CustomerFilter(ListFilter):
    """All of them narrow together."""

    program_id = Words(field_name="program__slug")
    customer_id = Words(field_name="customer_id")
    affiliate_id = Words(field_name="affiliate__slug")
    date_from = From(field_name="created_at")
    date_to = Until(field_name="created_at")


class CustomerViewSet(TenantViewSet):
    """Spec: Customers."""

    thing = Customer
    rates = {"list": Rate(1500, minutes=5), "retrieve": Rate(1500, minutes=5)}
    tracks: tuple = ("create",)
    reads = {"create": CustomerInput, "partial_update": CustomerChange}
    query = {"create": TrackingQuery}
    filters = {"list": CustomerFilter}
    answers = {
        "list": CustomerShape(many=True),
        "create": CustomerShape,
        "retrieve": CustomerShape,
        "partial_update": CustomerShape,
        "destroy": None,
        "restore": CustomerShape,
        "cancel": CustomerShape,
    }

    def list(self, request):
        """The account's customers, newest first."""
        return self.page(
            customer_shape, self.account.customers.present().newest_first()
        )

    def create(self, request):
        """Register a customer; it belongs to whom the highest clue names, for ever."""
        demand(self.body, "customer_id")
        said, asked = self.read_with_query()
        customer = register(
            self.account, registration=registration_of(said, asked), at=self.at
        )
        return self.shown(customer.public_id)

    def retrieve(self, request, customer_id):
        """One customer."""
        return self.shown(customer_id)

    def partial_update(self, request, customer_id):
        """Change the caller's id, or replace the meta data."""
        customer = customer_named(self.account, customer_id)
        said = self.read()
        rename(
            self.account,
            customer=customer,
            customer_id=said.get("customer_id"),
            meta_data=said.get("meta_data"),
            at=self.at,
        )
        return self.shown(customer_id)

    def destroy(self, request, customer_id):
        """Remove a customer for good; its conversions stay."""
        remove(self.account, public_id=customer_id, at=self.at)
        return self.nothing()

    def restore(self, request, customer_id):
        """Un-cancel a customer."""
        restore(self.account, public_id=customer_id, at=self.at)
        return self.shown(customer_id)

    def cancel(self, request, customer_id):
        """Mark a customer canceled; repeatable."""
        cancel(self.account, public_id=customer_id, at=self.at)
        return self.shown(customer_id)

    def shown(self, customer_id):
        rows = self.account.customers.present().filter(public_id=customer_id)
        return self.answer(customer_shape(self.found(rows, CustomerNotFound)))


def registration_of(
    said: dict, asked: dict, order: Order = REGISTERING
) -> Registration:
    """What was read, as the service takes it."""
    return Registration(
        customer_id=said["customer_id"],
        clues=clues_of(said),
        status=said.get("status", "new"),
        meta_data=said.get("meta_data", {}),
        user_agent=said.get("user_agent"),
        ip=said.get("ip"),
        ignore_cookie_age=asked.get("override_max_cookie_time", False),
        order=order,
    )
