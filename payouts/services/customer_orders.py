"""What a customer has ordered, by the affiliate that brought the orders."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db.models import Count, Max, Min

from tracking.amounts import ExactSum
from tracking.models.customers import Customer


@dataclass(frozen=True)
class CustomerOrders:
    """The orders of a customer through one affiliate in one currency, without removed ones.

    `affiliate_pk` is the primary key, `affiliate_id` the ID of the API. `renewals` are all
    but the first order that the customer has ever made.
    """

    affiliate_pk: int
    affiliate_id: str
    currency: str
    orders: int
    renewals: int
    revenue: Decimal
    first: datetime
    last: datetime


def list_customer_orders(customer: Customer) -> list[CustomerOrders]:
    """Return the orders of a customer in one statement, the earliest affiliate first."""
    sales = customer.account.conversions.not_deleted().filter(customer=customer).order_by()
    groups = sales.values_list("affiliate", "affiliate__slug", "currency").annotate(
        Count("pk"), ExactSum("amount"), Min("created_at"), Max("created_at")
    )
    found = sorted(groups, key=lambda group: (group[5], *group[:3]))
    return [
        CustomerOrders(pk, slug, currency, number, number - (place == 0), *others)
        for place, (pk, slug, currency, number, *others) in enumerate(found)
    ]
