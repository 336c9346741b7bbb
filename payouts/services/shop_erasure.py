"""Erase what a connection keeps of a customer, or of all, when its shop asks for it."""

from datetime import datetime

from django.db.models import Q

from payouts.services.erasure import erase_person
from payouts.services.shop_referrals import add_prefix
from payouts.shop_facts import ShopErasure
from tracking.models.shops import Connection
from tracking.services.shop_erasure import forget_unknown_codes


def erase_for_shop(connection: Connection, erasure: ShopErasure, *, at: datetime) -> list[str]:
    """Erase the bodies of events, and the e-mail addresses and data of customers.

    Sales and their amounts stay. The caller erases the event that asks for it.
    """
    account = connection.account
    references = account.shop_references.filter(
        connection=connection, reference__in=erasure.references
    )
    keys = [erasure.customer_key] if erasure.customer_key else []
    which = Q(customer_key__in=keys) | Q(order__in=references.values("order"))
    events = account.shop_events.filter(connection=connection)
    customers = account.shop_customers.filter(connection=connection)
    if not erasure.is_whole_shop:
        events, customers = events.filter(which), customers.filter(key__in=keys)
    events.update(body="")
    forget_unknown_codes(events)
    for row in customers.order_by("pk"):
        row.update_row(facts={k: v for k, v in row.facts.items() if k != "email"})
        keys.append(row.key)
    customer_ids = {add_prefix(connection, key) for key in keys}
    people = account.customers.filter(customer_id__in=customer_ids)
    for public_id in people.order_by("pk").values_list("public_id", flat=True):
        erase_person(account, identifier=public_id, at=at)
    return ["Personal data was erased, as the shop asked."]
