"""Payments: `/payments/`, and those of one affiliate."""

from accounts.services.usage import Rate
from affiliate_site.api.errors import Flaw
from affiliate_site.api.fields import (
    ASCII_SPACE,
    Amount,
    Currency,
    Lookup,
    admitted,
    currency_beside,
)
from affiliate_site.api.filters import From, ListFilter, Until, Words
from affiliate_site.api.inputs import Input
from affiliate_site.api.shapes.sales import PaymentShape, payment_shape
from affiliate_site.api.viewsets import TenantViewSet
from payouts.errors import PaymentNotFound
from payouts.models.payments import Payment
from payouts.services.payments import Order, cancel_payment, pay
from tracking.errors import UnknownAffiliate
from tracking.money import NOUGHT
from tracking.services.affiliates import affiliate_named, known_affiliates

MOST_ORDERS = 500
NOT_ABOVE_NOUGHT = "This value should be greater than 0."


class Payee(Lookup):
    """The id of an affiliate, removed or not; the context has those that are known."""

    def to_internal_value(self, data):
        affiliate_id = super().to_internal_value(data)
        if affiliate_id not in self.context["known"]:
            raise Flaw(UnknownAffiliate.message)
        return affiliate_id


class PaidAmount(Amount):
    """An amount above 0 once it is rounded to its currency."""

    def to_internal_value(self, data):
        exact = super().to_internal_value(data)
        amount = admitted(max(exact, NOUGHT), currency_beside(self))
        if not amount:
            raise Flaw(NOT_ABOVE_NOUGHT)
        return amount


class OrderInput(Input):
    """Whom to pay how much."""

    affiliate_id = Payee()
    amount = PaidAmount()
    currency = Currency()


class PaymentFilter(ListFilter):
    """All of them narrow together."""

    affiliate_id = Words(field_name="affiliate__slug")
    date_from = From(field_name="created_at")
    date_to = Until(field_name="created_at")


class PaymentViewSet(TenantViewSet):
    """Spec: Payments."""

    thing = Payment
    rates = {
        "list": Rate(300, minutes=15),
        "create": Rate(300, minutes=15),
        "retrieve": Rate(300, minutes=15),
        "destroy": Rate(300, minutes=15),
        "list_of_affiliate": Rate(1500, minutes=5),
    }
    reads = {"create": OrderInput}
    arrays = {"create": MOST_ORDERS}
    filters = {"list": PaymentFilter, "list_of_affiliate": ListFilter}
    answers = {
        "list": PaymentShape(many=True),
        "create": PaymentShape(many=True),
        "retrieve": PaymentShape,
        "destroy": None,
        "list_of_affiliate": PaymentShape(many=True),
    }

    def list(self, request):
        """The account's payments, newest first; canceled ones are left out."""
        rows = self.account.payments.standing()
        return self.page(payment_shape, rows.newest_first())

    def create(self, request):
        """Pay affiliates, all of them or none; any amount, whatever the balance."""
        known = known_affiliates(self.account, payees(self.body))
        said = self.read_each(known=known)
        orders = orders_of(said, of_array=isinstance(self.body, list))
        payments = pay(self.account, orders=orders, at=self.at)
        numbers = [payment.pk for payment in payments]
        rows = self.account.payments.filter(pk__in=numbers).order_by("id")
        return self.answer([payment_shape(row) for row in rows.as_shown()])

    def retrieve(self, request, payment_id):
        """One payment."""
        rows = self.account.payments.standing().filter(public_id=payment_id)
        return self.answer(payment_shape(self.found(rows, PaymentNotFound)))

    def destroy(self, request, payment_id):
        """Cancel a payment: its amount is owed again."""
        cancel_payment(self.account, payment_id=payment_id, at=self.at)
        return self.nothing()

    def list_of_affiliate(self, request, affiliate_id):
        """The payments to one affiliate, newest first."""
        affiliate = affiliate_named(self.account, affiliate_id)
        rows = self.account.payments.standing().filter(affiliate=affiliate)
        return self.page(payment_shape, rows.newest_first())


def payees(body) -> set[str]:
    """Whom a body may mean to pay, whatever else is odd about it."""
    items = body if isinstance(body, list) else [body]
    named = [item.get("affiliate_id") for item in items if isinstance(item, dict)]
    kinds = (str, int)
    return {str(name).strip(ASCII_SPACE) for name in named if isinstance(name, kinds)}


def orders_of(said: list[dict], *, of_array: bool) -> list[Order]:
    """What was read, as the service takes it."""
    return [
        Order(**order, place=f"[{number}]." if of_array else "")
        for number, order in enumerate(said)
    ]
