"""Shops on loopback that answer like the APIs of Stripe, WooCommerce and Shopify."""

import json
from datetime import datetime
from urllib.parse import parse_qs, urlsplit

from tests import shopify_events, stripe_events, woocommerce_events
from tests.webhook_receiver import respond_with

KEYS = {
    "stripe": "rk_live_1234",
    "woocommerce": "ck_12345:cs_67890",
    "shopify": "shpat_1234",
}

# Orders and events that no shop should send.
ODD_ITEMS = [
    {},
    {"id": None},
    {
        "id": "a\x00b",
        "type": "x",
        "created": 1,
        "date_modified_gmt": "2026-03-04T09:15:27",
        "updated_at": "2026-03-04T09:15:27Z",
    },
    {"id": 1, "type": 5, "created": 10**30, "date_modified_gmt": 5, "updated_at": ""},
]


class FakeShop:
    """Answers like the API of a kind of shop; `failures` come first."""

    def __init__(self, receiver, kind):
        self.receiver, self.kind, self.page_size = receiver, kind, 100
        self.items, self.failures, self.is_broken_after = [], [], None
        self.codes = []  # promotion codes of Stripe
        receiver.respond = self.respond

    @property
    def queries(self):
        paths = [request.path for request in self.receiver.requests]
        return [parse_qs(urlsplit(path).query) for path in paths]

    def respond(self, handler):
        if self.failures:
            self.failures.pop(0)(handler)
            return
        if self.is_broken_after == 0:
            handler.write(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n[{")
            return
        if self.is_broken_after:
            self.is_broken_after -= 1
        query = {k: v[0] for k, v in self.queries[-1].items()}
        body, headers = getattr(self, f"answer_{self.kind}")(query)
        respond_with(200, json.dumps(body).encode(), **headers)(handler)

    def answer_stripe(self, query):
        if "created[gte]" not in query:
            return self.answer_promotion_codes(query)
        first, last = int(query["created[gte]"]), int(query["created[lt]"])
        found = [it for it in self.items if first <= it["created"] < last][::-1]
        if cursor := query.get("starting_after"):
            found = found[[it["id"] for it in found].index(cursor) + 1 :]
        page = found[: self.page_size]
        return {"data": page, "has_more": len(found) > len(page)}, {}

    def answer_promotion_codes(self, query):
        ids = [it["id"] for it in self.codes]
        cursor = query.get("starting_after")
        found = self.codes[ids.index(cursor) + 1 if cursor else 0 :]
        page = found[: self.page_size]
        return {"data": page, "has_more": len(found) > len(page)}, {}

    def answer_woocommerce(self, query):
        after, before = query["modified_after"], query["modified_before"]
        found = [it for it in self.items if after < it["date_modified_gmt"] < before]
        begin = (int(query["page"]) - 1) * self.page_size
        return found[begin : begin + self.page_size], {}

    def answer_shopify(self, query):
        if "page_info" in query:
            first, last, begin = query["page_info"].split(" ")
            begin = int(begin)
        else:
            first, last, begin = query["updated_at_min"], query["updated_at_max"], 0
        first, last = map(datetime.fromisoformat, (first, last))
        found = [
            it for it in self.items if first <= datetime.fromisoformat(it["updated_at"]) <= last
        ]
        end = begin + self.page_size
        headers = {}
        if len(found) > end:
            cursor = f"{first:%Y-%m-%dT%H:%M:%SZ}+{last:%Y-%m-%dT%H:%M:%SZ}+{end}"
            link = f"http://elsewhere.example/orders.json?limit=9&page_info={cursor}"
            headers["Link"] = f'<{link}>; rel="next"'
        return {"orders": found[begin:end]}, headers


def build_item(kind, number, *, hours=0, click=""):
    """An order of 100 EUR, or the event of one."""
    if kind == "stripe":
        body = stripe_events.build_checkout(
            hours,
            id=f"cs_{number}",
            payment_intent=f"pi_{number}",
            client_reference_id=click or None,
        )
        return body | {"id": f"evt_{number}"}
    if kind == "woocommerce":
        meta = {"click_id": click} if click else {}
        return woocommerce_events.build_order(hours, meta=meta, id=number, number=str(number))
    attributes = [{"name": "tap_vid", "value": click}] if click else []
    return shopify_events.build_order(hours, id=number, note_attributes=attributes)
