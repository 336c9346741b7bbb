"""Payments: `/payments/`, and those of one affiliate."""

from rest_framework.exceptions import ValidationError

from accounts.services.usage import Rate
from affiliate_site.api.errors import Flaw
from affiliate_site.api.fields import Amount, Currency, Input, Lookup, admitted
from affiliate_site.api.filters import From, ListFilter, Until, Words
from affiliate_site.api.shapes.sales import PaymentShape, payment_shape
from affiliate_site.api.viewsets import TenantViewSet
from payouts.errors import PaymentNotFound
from payouts.models.payments import Payment
from payouts.services.payments import Order, cancel_payment, pay
from tracking.services.affiliates import affiliate_named

MOST_ORDERS = 500
NOT_ABOVE_NOUGHT = "This value should be greater than 0."


class PaidAmount(Amount):
    """An amount above 0; its currency is asked when that is known."""

    def to_internal_value(self, data):
        exact = super().to_internal_value(data)
        if exact <= 0:
            raise Flaw(NOT_ABOVE_NOUGHT)
        admitted(exact, None)
        return exact


class OrderInput(Input):
    """Whom to pay how much."""

    affiliate_id = Lookup()
    amount = PaidAmount()
    currency = Currency()

    def validate(self, said):
        try:
            amount = admitted(said["amount"], said["currency"])
            if not amount:
                raise Flaw(NOT_ABOVE_NOUGHT)
        except Flaw as flaw:
            raise ValidationError({"amount": flaw.detail}) from None
        return said | {"amount": amount}


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
        orders = orders_of(self.read_each(), of_array=isinstance(self.body, list))
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


def orders_of(said: list[dict], *, of_array: bool) -> list[Order]:
    """What was read, as the service takes it."""
    return [
        Order(**order, path=f"[{number}].affiliate_id" if of_array else "affiliate_id")
        for number, order in enumerate(said)
    ]
