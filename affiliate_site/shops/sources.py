"""How what was missed is read from a shop: a small class for each kind that allows it.

A kind that is not in `SOURCES` cannot be caught up with.
"""

import re
from abc import ABC, abstractmethod
from base64 import b64encode
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlencode

from accounts.exact_json import serialize_exact_json
from accounts.url_safety import split_url
from affiliate_site.shops.base import (
    Body,
    OddValue,
    parse_iso_time,
    parse_unix_time,
    read_id,
)
from affiliate_site.shops.stripe import StripeShop
from tracking.models.shops import Connection, ConnectionKind
from tracking.services.inbox import Envelope

A_SECOND = timedelta(seconds=1)
NEXT_LINK_PATTERN = re.compile(r'<([^<>]+)>; *rel="?next"?')


@dataclass(frozen=True)
class Window:
    """What changed from `start` on and before `end`, both in whole seconds."""

    start: datetime
    end: datetime


class ShopSource(ABC):
    """Where a kind of shop lists what happened; each page has the size `page_size`."""

    page_size: ClassVar[int] = 100
    max_age: ClassVar[timedelta | None] = None  # of what the shop still lists
    permission: ClassVar[str]  # that the key needs, as the shop names it

    @abstractmethod
    def build_url(self, connection: Connection, window: Window, cursor: str) -> str:
        """Return the address of the first page, or of the one that a cursor names."""

    @abstractmethod
    def build_headers(self, key: str) -> list[tuple[str, str]]:
        """Return the headers that hand the key over."""

    @abstractmethod
    def list_items(self, answer: Any) -> list[Body]:
        """Return the events or orders of a page."""

    @abstractmethod
    def find_cursor(
        self, answer: Any, headers: dict[str, str], items: list[Body], cursor: str
    ) -> str:
        """Return what names the page after this one; empty if it is the last."""

    @abstractmethod
    def identify(self, item: Body) -> Envelope:
        """Return an event or order as the inbox stores it."""


class StripeSource(ShopSource):
    """The events of Stripe, with the IDs that its webhooks have, too."""

    url: ClassVar[str] = "https://api.stripe.com"
    max_age = timedelta(days=30)
    permission = "Read events, and all that they show"

    def build_url(self, connection: Connection, window: Window, cursor: str) -> str:
        values = [
            ("created[gte]", int(window.start.timestamp())),
            ("created[lt]", int(window.end.timestamp())),
            ("limit", self.page_size),
            *(("types[]", kind) for kind in StripeShop.readers),
        ]
        if cursor:
            values.append(("starting_after", cursor))
        return f"{self.url}/v1/events?{urlencode(values)}"

    def build_headers(self, key: str) -> list[tuple[str, str]]:
        return [("Authorization", f"Bearer {key}")]

    def list_items(self, answer: Any) -> list[Body]:
        return list(answer["data"])

    def find_cursor(
        self, answer: Any, headers: dict[str, str], items: list[Body], cursor: str
    ) -> str:
        return read_id(items[-1]["id"]) if answer["has_more"] and items else ""

    def identify(self, item: Body) -> Envelope:
        occurred_at = parse_unix_time(item["created"])
        return Envelope(read_id(item["id"]), item["type"], occurred_at, write(item))


class WooCommerceSource(ShopSource):
    """Orders of WooCommerce. Those that were deleted are not in its list."""

    permission = "Read"

    def build_url(self, connection: Connection, window: Window, cursor: str) -> str:
        values = {
            "modified_after": format_gmt(window.start - A_SECOND),  # exclusive
            "modified_before": format_gmt(window.end),
            "dates_are_gmt": "true",
            "orderby": "modified",
            "order": "asc",
            "per_page": self.page_size,
            "page": cursor or "1",
        }
        address = connection.settings["shop_url"]
        return f"{address}/wp-json/wc/v3/orders?{urlencode(values)}"

    def build_headers(self, key: str) -> list[tuple[str, str]]:
        return [("Authorization", f"Basic {b64encode(key.encode()).decode()}")]

    def list_items(self, answer: Any) -> list[Body]:
        if not isinstance(answer, list):
            raise OddValue("it is no list of orders")
        return answer

    def find_cursor(
        self, answer: Any, headers: dict[str, str], items: list[Body], cursor: str
    ) -> str:
        is_full = len(items) >= self.page_size
        return str(int(cursor or "1") + 1) if is_full else ""

    def identify(self, item: Body) -> Envelope:
        modified_at = str(item["date_modified_gmt"])
        key = f"order {read_id(item['id'])} {modified_at}"
        time = parse_iso_time(modified_at)
        return Envelope(key, "order.updated", time, write(item))


class ShopifySource(ShopSource):
    """Orders of Shopify."""

    # Shopify answers with the oldest one that it supports once this one has expired.
    api_version: ClassVar[str] = "2025-10"
    page_size = 250
    permission = "read_orders"

    def build_url(self, connection: Connection, window: Window, cursor: str) -> str:
        values: dict[str, Any] = {"limit": self.page_size}
        if cursor:  # it holds the other parameters
            values["page_info"] = cursor
        else:
            values |= {
                "status": "any",
                "updated_at_min": f"{format_gmt(window.start)}Z",
                "updated_at_max": f"{format_gmt(window.end)}Z",
            }
        address = connection.settings["shop_url"]
        path = f"admin/api/{self.api_version}/orders.json"
        return f"{address}/{path}?{urlencode(values)}"

    def build_headers(self, key: str) -> list[tuple[str, str]]:
        return [("X-Shopify-Access-Token", key)]

    def list_items(self, answer: Any) -> list[Body]:
        return list(answer["orders"])

    def find_cursor(
        self, answer: Any, headers: dict[str, str], items: list[Body], cursor: str
    ) -> str:
        """Return the cursor in the link; the address beside it is not called."""
        found = NEXT_LINK_PATTERN.search(headers.get("link", ""))
        return parse_qs(split_url(found[1]).query)["page_info"][0] if found else ""

    def identify(self, item: Body) -> Envelope:
        updated_at = str(item["updated_at"])
        key = f"order {read_id(item['id'])} {updated_at}"
        time = parse_iso_time(updated_at)
        return Envelope(key, "orders/updated", time, write(item))


def format_gmt(at: datetime) -> str:
    """`2026-03-04T09:15:27`, in UTC."""
    return f"{at:%Y-%m-%dT%H:%M:%S}"


def write(item: Body) -> str:
    """Return an event or order as the text of its body."""
    return serialize_exact_json(item).decode()


SOURCES: dict[str, ShopSource] = {
    ConnectionKind.STRIPE: StripeSource(),
    ConnectionKind.WOOCOMMERCE: WooCommerceSource(),
    ConnectionKind.SHOPIFY: ShopifySource(),
}
