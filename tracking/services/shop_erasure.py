"""Erase what shops said of a person."""

import json
import re
from collections.abc import Collection
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast, Concat

from accounts.models.accounts import Account
from accounts.services.erasure import rewrite_columns, update_other_values
from tracking.models.customers import Customer
from tracking.models.shops import (
    ShopCustomer,
    ShopEvent,
    ShopEventState,
    ShopOrder,
    ShopReference,
)
from tracking.services.imports import list_erased_ids
from tracking.services.inbox import describe_effect, forget_codes

UNPROCESSED = (ShopEventState.RECEIVED, ShopEventState.FAILED)
ERASED = "The body was erased with the person."


def erase_shop_customer(account: Account, customer: Customer) -> int:
    """Erase the events, orders and facts of a customer; amounts stay.

    Call it before the customer loses its ID. Returns the number of rows.
    """
    conversions = account.conversions.filter(customer=customer)
    orders = account.shop_orders.filter(conversion__in=conversions)
    names = set(orders.exclude(customer_key="").values_list("connection", "customer_key"))
    for connection in account.connections.all():
        prefix = connection.settings.get("id_prefix", "")
        key = customer.customer_id.removeprefix(prefix)
        if key and customer.customer_id.startswith(prefix):
            names.add((connection.pk, key))
    mine = Q(conversion__in=conversions)
    own = Q(order__in=orders)
    customers = Q(pk=None)
    for connection_id, key in names:
        named = Q(connection=connection_id, customer_key=key)
        mine, own = mine | named, own | named
        customers |= Q(connection=connection_id, key=key)
    events = account.shop_events.filter(own)
    # Before the key of the customer, by which they are found.
    count = rewrite_columns(events.filter(key__contains="@"), _forget_key, ["key"])
    count += forget_unknown_codes(events)
    count += update_other_values(events, body="", customer_key="")
    references = account.shop_references.filter(
        order__in=account.shop_orders.filter(mine), reference__contains="@"
    )
    count += rewrite_columns(references, _forget_reference, ["reference"])
    count += account.shop_customers.filter(customers).delete()[0]
    return count + rewrite_columns(
        account.shop_orders.filter(mine),
        forget_person,
        ["facts", "customer_key", "label", "name"],
    )


def list_reference_names(reference: str) -> list[str]:
    """Return what may be stored of a reference: itself, or digests of an erased one."""
    return [reference, *(list_erased_ids(reference) if "@" in reference else ())]


def _forget_reference(row: ShopReference) -> None:
    """Later events of the order are still known by the digest."""
    row.reference = list_erased_ids(row.reference)[0]


def forget_unknown_codes(events: QuerySet[ShopEvent]) -> int:
    """Remove the codes from the results of events that nobody referred."""
    states = (ShopEventState.NO_REFERRAL, ShopEventState.IGNORED)
    return rewrite_columns(events.filter(state__in=states), _forget_codes, ["result"])


def _forget_codes(event: ShopEvent) -> None:
    event.result = [forget_codes(effect) for effect in event.result]


def _forget_key(event: ShopEvent) -> None:
    event.key = f"erased-{event.pk}"


def forget_person(order: ShopOrder) -> None:
    """Remove the person from an order; what its refunds depend on stays.

    An order ID stays, as that of the conversion, unless it has an e-mail address. The
    name of the order does not.
    """
    order.customer_key = order.name = ""
    sale = order.facts.get("sale", {})
    if name := sale.pop("name", ""):
        order.label = order.label.replace(name, sale["order_id"])
        sale["label"] = sale["label"].replace(name, sale["order_id"])
    if "@" in order.label:
        order.label = f"order erased-{order.pk}"
    if sale := order.facts.get("sale"):
        for name, text in (("order_id", "erased"), ("label", "order erased")):
            if "@" in sale.get(name, ""):
                sale[name] = f"{text}-{order.pk}"
        referral = sale["referral"] | {"values": [], "coupons": []}
        person = {"customer": "", "attributes": {}, "referral": referral}
        order.facts = {**order.facts, "sale": sale | person}


def erase_shop_referrals(account: Account, *, codes: Collection[str]) -> int:
    """Erase codes, coupons and IDs of affiliates from what shops sent about others.

    An event that waits keeps its body, or its sale would not be counted; like all
    bodies it is deleted after 30 days. Returns the number of rows.
    """
    search = _CodeSearch(codes)
    if not search.folded:
        return 0
    done = account.shop_events.exclude(state__in=UNPROCESSED)
    sent = Concat("body", Cast("result", TextField()))
    columns = ["body", "result"]
    count = rewrite_columns(search.find(done, sent), search.forget_event, columns)
    tables: tuple[QuerySet[Any], ...] = (
        account.shop_orders.all(),
        account.shop_customers.all(),
    )
    for rows in tables:
        found = search.find(rows, Cast("facts", TextField()))
        count += rewrite_columns(found, search.forget_referral, ["facts"])
    return count


class _CodeSearch:
    """Searches codes in what shops sent, whatever their case."""

    def __init__(self, codes: Collection[str]) -> None:
        self.folded = {code.casefold() for code in codes if len(code) > 2}
        self.texts = {it for code in self.folded for it in (code, json.dumps(code)[1:-1])}
        words = "|".join(map(re.escape, self.texts))
        self.pattern = re.compile(rf"(?<![\w-])({words})(?![\w-])")

    def find(self, rows: QuerySet[Any], text: Any) -> QuerySet[Any]:
        """Find rows whose text may have one; SQLite ignores the case of ASCII only."""
        if not all(map(str.isascii, self.folded)):
            return rows
        has_one = reduce(or_, (Q(searched__icontains=it) for it in self.texts))
        found: QuerySet[Any] = rows.annotate(searched=text).filter(has_one)
        return found

    def forget_referral(self, row: ShopOrder | ShopCustomer) -> None:
        for holder in (row.facts, row.facts.get("sale") or {}):
            if referral := holder.get("referral"):
                kept = {
                    name: [
                        text
                        for text in referral.get(name, ())
                        if text.strip().casefold() not in self.folded
                    ]
                    for name in ("values", "coupons")
                }
                holder["referral"] = referral | kept

    def forget_event(self, event: ShopEvent) -> None:
        if self.pattern.search(event.body.casefold()):
            event.body = ""
        if self.pattern.search("\n".join(map(describe_effect, event.result)).casefold()):
            _forget_codes(event)


def erase_shop_events(account: Account, *, texts: Collection[str]) -> int:
    """Erase the bodies of events that have one of the texts, such as an address."""
    rows = [
        event
        for event in account.shop_events.exclude(body="").iterator()
        if any(text in event.body.casefold() for text in texts)
    ]
    for event in rows:
        erase_body(event)
    return len(rows)


def erase_body(event: ShopEvent) -> None:
    """Remove the body of an event; one that waits for an attempt is not processed."""
    _forget_codes(event)
    event.update_row(body="", customer_key="", due_at=None, result=event.result)
    if event.state in UNPROCESSED:
        event.update_row(state=ShopEventState.IGNORED, result=[ERASED])
