"""Payments: `/payments/` and the payments to one affiliate."""

from contextlib import suppress

from rest_framework.exceptions import ValidationError

from accounts.services.rate_limits import RateLimit
from affiliate_site.api.errors import FieldError
from affiliate_site.api.fields import (
    CurrencyField,
    ExactAmountField,
    TrimmedTextField,
    clean_amount,
    find_currency,
)
from affiliate_site.api.filters import (
    BaseFilterSet,
    DateFromFilter,
    DateToFilter,
    ReferenceFilter,
)
from affiliate_site.api.input_serializers import InputSerializer
from affiliate_site.api.representations.base import Map, Representation, Text
from affiliate_site.api.representations.conversions import (
    PaymentRepresentation,
    payment_by_public_id,
)
from affiliate_site.api.viewsets import TenantViewSet
from payouts.errors import PaymentNotFound
from payouts.models.payments import Payment
from payouts.services.ledger import get_payable_balances_by_slug
from payouts.services.payments import PaymentOrder, cancel_payment, create_payments
from tracking.errors import UnknownReference
from tracking.models.affiliates import Affiliate
from tracking.money import ZERO
from tracking.services.affiliates import get_affiliate, list_known_slugs

MAX_PAYMENTS_PER_REQUEST = 500
NOT_POSITIVE = "This value should be greater than 0."


class PayeeField(TrimmedTextField):
    """The id of an affiliate, deleted or not: one of the known ids of the context."""

    def to_internal_value(self, data):
        affiliate_id = super().to_internal_value(data)
        if affiliate_id not in self.context["known_affiliate_ids"]:
            raise FieldError(UnknownReference(what="affiliate").text)
        return affiliate_id


class PaymentAmountField(ExactAmountField):
    """An amount greater than 0 after rounding to its currency."""

    root: "PaymentInputSerializer"

    def to_internal_value(self, data):
        amount = super().to_internal_value(data)
        currency = find_currency(self.root.sent_values)
        rounded = clean_amount(max(amount, ZERO), currency)
        if not rounded:
            raise FieldError(NOT_POSITIVE)
        return rounded


class PaymentInputSerializer(InputSerializer):
    """A payment to an affiliate."""

    max_items = MAX_PAYMENTS_PER_REQUEST

    affiliate_id = PayeeField()
    amount = PaymentAmountField()
    currency = CurrencyField()


class PaymentFilterSet(BaseFilterSet):
    """Filters of payments."""

    affiliate_id = ReferenceFilter(field_name="affiliate")
    date_from = DateFromFilter(field_name="created_at")
    date_to = DateToFilter(field_name="created_at")


class PaymentViewSet(TenantViewSet):
    """Payments (docs/api-contract.md, section 2.10)."""

    permission_model = Payment
    throttle_rate = {
        "list": RateLimit(300, minutes=15),
        "create": RateLimit(300, minutes=15),
        "retrieve": RateLimit(300, minutes=15),
        "destroy": RateLimit(300, minutes=15),
        "list_by_affiliate": RateLimit(1500, minutes=5),
    }
    serializer_classes = {"create": PaymentInputSerializer}
    atomic_actions = ("create",)  # sent again after an error, it pays twice
    filterset_class = PaymentFilterSet
    representation = PaymentRepresentation
    row_query = (payment_by_public_id, "public_id", PaymentNotFound)
    representations = {
        "create": [PaymentRepresentation],
        "list_by_affiliate": [PaymentRepresentation],
    }

    def list(self, request):
        """List payments except canceled ones, newest first."""
        rows = self.account.payments.not_canceled()
        return self.list_page(rows.newest_first())

    def create(self, request):
        """Create payments, all of them or none; amounts are not limited by balances."""
        affiliates = list_known_slugs(self.account, list_payee_ids(self.body))
        items = self.validate_body_items(known_affiliate_ids=affiliates)
        orders = build_payment_orders(items, is_array=isinstance(self.body, list))
        payments = create_payments(self.account, orders=orders, affiliates=affiliates, at=self.at)
        pks = [payment.pk for payment in payments]
        rows = PaymentRepresentation.rows_by_pk.all(account=self.account, pks=pks)
        return self.render_rows(rows)

    def retrieve(self, request, payment_id):
        """Retrieve a payment."""
        return self.render_key(payment_id)

    def destroy(self, request, payment_id):
        """Cancel a payment; its amount becomes payable again."""
        cancel_payment(self.account, payment_id=payment_id, at=self.at)
        return self.render_no_content()

    def list_by_affiliate(self, request, affiliate_id):
        """List the payments to an affiliate, newest first."""
        affiliate = get_affiliate(self.account, affiliate_id)
        rows = self.account.payments.not_canceled().filter(affiliate=affiliate)
        return self.list_page(rows.newest_first())


def list_payee_ids(body) -> set[str]:
    """Return the valid affiliate ids of a body.

    They are looked up in one query before validation, which reports unknown ids
    together with the errors of the other fields.
    """
    field, ids = TrimmedTextField(), set()
    for item in body if isinstance(body, list) else [body]:
        with suppress(ValidationError):
            if isinstance(item, dict) and "affiliate_id" in item:
                ids.add(field.run_validation(item["affiliate_id"]))
    return ids


def build_payment_orders(items: list[dict], *, is_array: bool) -> list[PaymentOrder]:
    """Build the service's input from validated data."""
    return [
        PaymentOrder(**item, path_prefix=f"[{index}]." if is_array else "")
        for index, item in enumerate(items)
    ]


BALANCES_SCHEMA = {"type": "object", "additionalProperties": {"type": "number"}}


class AffiliateBalancesRepresentation(Representation):
    """The balances of an affiliate by currency."""

    affiliate_id = Text(example="noraweld")
    balances = Map(child=ExactAmountField(), example={"EUR": 6.45})


class BalanceViewSet(TenantViewSet):
    """Balances (docs/api-contract.md, section 2.9); the list is not paginated."""

    permission_model = Affiliate
    throttle_rate = {
        "list": RateLimit(10, minutes=1),
        "retrieve": RateLimit(1500, minutes=5),
    }
    filterset_class = pagination_class = None
    representation = AffiliateBalancesRepresentation
    representations = {"retrieve": BALANCES_SCHEMA}

    def list(self, request):
        """List affiliates with a balance other than 0, including deleted ones."""
        balances = get_payable_balances_by_slug(self.account)
        return self.render_rows(list(balances.items()))

    def retrieve(self, request, affiliate_id):
        """Retrieve the balances of an affiliate by currency, without zero balances."""
        affiliate = get_affiliate(self.account, affiliate_id)
        balances = get_payable_balances_by_slug(self.account, affiliate.pk)
        return self.render_response(balances.get(affiliate.slug, {}))
