"""Reading what was missed from a shop on loopback, to the cent and only once."""

import json
from base64 import b64encode
from datetime import UTC, datetime, timedelta

import pytest

from affiliate_site.shops import catching_up
from affiliate_site.shops.catching_up import Pace, catch_up
from affiliate_site.shops.processing import process_event
from affiliate_site.shops.sources import StripeSource
from tests.fake_shops import KEYS, ODD_ITEMS, FakeShop, build_item
from tests.ledger_checks import assert_ledger_consistent
from tests.program_scenario import CONVERSION_CREATED_AT
from tests.shop_inbox import deliver, list_sales
from tests.webhook_receiver import hang, respond_with, run_receiver
from tracking.errors import CatchUpFailed
from tracking.models.shops import ConnectionMode
from tracking.services.connections import create_connection, set_source_key

pytestmark = pytest.mark.usefixtures("shared_scenario")

AN_HOUR = timedelta(hours=1)
START = CONVERSION_CREATED_AT - AN_HOUR
NOW = CONVERSION_CREATED_AT + 48 * AN_HOUR


@pytest.fixture(params=["stripe", "woocommerce", "shopify"])
def kind(request):
    return request.param


@pytest.fixture
def shop(kind, settings, monkeypatch):
    with run_receiver() as receiver:
        settings.WEBHOOK_ALLOWED_HOSTS = [receiver.host_and_port]
        address = f"http://{receiver.host_and_port}"
        monkeypatch.setattr(StripeSource, "url", address)
        yield FakeShop(receiver, kind)


@pytest.fixture
def connection(scenario, shop):
    scenario.program.update_row(auto_approve_commissions=True)
    connection = create_connection(
        scenario.account,
        kind=shop.kind,
        program=scenario.program,
        mode=ConnectionMode.LIVE,
        at=START,
    )
    address = "" if shop.kind == "stripe" else f"http://{shop.receiver.host_and_port}"
    yield set_source_key(
        scenario.account,
        connection_id=connection.public_id,
        key=KEYS[shop.kind],
        shop_url=address,
        at=START,
    )
    assert_ledger_consistent(scenario.account)


@pytest.fixture
def waits():
    return []


@pytest.fixture
def read(connection, waits):
    """Catch up without a pause; events are processed as the worker does it."""

    def run(at=NOW, since=None, seconds=600.0, **pace):
        pace = Pace(wait=waits.append, seconds=seconds, **pace)
        return catch_up(connection.reload(), at=at, since=since, pace=pace)

    return run


@pytest.fixture(autouse=True)
def process_at_once(monkeypatch):
    """Process within the call on both databases."""
    original = catching_up.receive_envelope

    def receive(connection, envelope, *, at):
        event = original(connection, envelope, at=at)
        if event is not None and event.due_at is not None and event.attempts == 0:
            process_event(event, at=at)
        return event

    monkeypatch.setattr(catching_up, "receive_envelope", receive)


@pytest.fixture
def click(scenario):
    return str(scenario.create_click().public_id)


def test_a_missed_sale_counts_once(kind, shop, connection, read, click):
    shop.items = [build_item(kind, 5, click=click)]
    result = read()
    assert (result.read, result.new, result.is_complete) == (1, 1, True)
    assert connection.reload().caught_up_until == NOW
    ((_, amount, commissions),) = list_sales(connection.account)
    assert (amount, commissions) == ("100", [("10", "approved")])
    again = read(since=START)
    assert (again.read, again.new) == (1, 0)
    assert connection.account.shop_events.count() == 1


def test_hands_the_key_over(kind, shop, read):
    read()
    headers = shop.receiver.requests[0].headers
    pair = b64encode(KEYS["woocommerce"].encode()).decode()
    assert {
        "stripe": headers.get("authorization") == f"Bearer {KEYS['stripe']}",
        "woocommerce": headers.get("authorization") == f"Basic {pair}",
        "shopify": headers.get("x-shopify-access-token") == KEYS["shopify"],
    }[kind]


@pytest.mark.parametrize("kind", ["stripe"], indirect=True)
def test_an_event_that_the_webhook_sent_is_the_same(shop, connection, read, click):
    shop.items = [build_item("stripe", 5, click=click)]
    deliver(connection, shop.items[0])
    assert (read().new, connection.account.shop_events.count()) == (0, 1)


@pytest.mark.parametrize("kind", ["woocommerce", "shopify"], indirect=True)
def test_an_order_that_a_webhook_sent_does_not_count_twice(kind, shop, connection, read, click):
    shop.items = [build_item(kind, 5, click=click)]
    topic = "order.updated" if kind == "woocommerce" else "orders/updated"
    deliver(connection, shop.items[0], key="delivery", kind=topic)
    assert read().new == 1
    assert [sale[1] for sale in list_sales(connection.account)] == ["100"]


@pytest.mark.parametrize("kind", ["stripe"], indirect=True)
def test_asks_only_for_the_events_that_are_read(shop, read):
    read()
    assert "invoice.paid" in shop.queries[0]["types[]"]
    assert len(shop.queries[0]["types[]"]) <= 20  # more are refused


def test_reads_all_pages(kind, shop, connection, read):
    """Several within one second, which are paged; others in smaller windows."""
    shop.page_size = 2
    source = catching_up.SOURCES[kind]
    original, type(source).page_size = type(source).page_size, 2
    try:
        shop.items = [build_item(kind, n, hours=0) for n in range(1, 6)]
        shop.items += [build_item(kind, n, hours=n) for n in range(6, 14)]
        result = read()
    finally:
        type(source).page_size = original
    assert result.new == 13
    assert connection.account.shop_events.count() == 13
    cursor = {"stripe": "starting_after", "shopify": "page_info"}.get(kind, "page")
    assert any(query.get(cursor, ["1"]) != ["1"] for query in shop.queries)


def test_a_broken_connection_loses_and_doubles_nothing(kind, shop, connection, read, click):
    shop.items = [
        build_item(kind, 5, click=click),
        build_item(kind, 6, hours=40, click=click),
    ]
    shop.is_broken_after = 1
    with pytest.raises(CatchUpFailed, match="The shop could not be read: "):
        read()
    until = connection.reload().caught_up_until
    assert START < until < NOW
    assert connection.account.shop_events.count() == 1
    shop.is_broken_after = None
    assert read().new == 1
    assert len(list_sales(connection.account)) == 2
    assert connection.reload().caught_up_until == NOW


def test_nothing_is_caught_up_with_before_it_is_stored(shop, connection, read):
    shop.is_broken_after = 0
    with pytest.raises(CatchUpFailed):
        read()
    assert connection.reload().caught_up_until is None


def test_goes_on_where_the_time_was_over(kind, shop, connection, read, monkeypatch):
    shop.items = [build_item(kind, 5), build_item(kind, 6, hours=40)]
    seconds = iter(range(100))
    monkeypatch.setattr(catching_up, "monotonic", lambda: next(seconds))
    result = read(seconds=1.5)
    assert (result.new, result.is_complete) == (1, False)
    assert connection.reload().caught_up_until == result.until < NOW
    assert read().is_complete
    assert connection.account.shop_events.count() == 2


def test_a_later_day_leaves_no_gap(shop, connection, read):
    read(at=CONVERSION_CREATED_AT)
    result = read(since=NOW - AN_HOUR)
    assert result.since == CONVERSION_CREATED_AT - catching_up.OVERLAP


def test_an_earlier_day_is_read_again(connection, read):
    connection.update_row(caught_up_until=NOW)
    since = NOW - timedelta(days=20)
    assert read(since=since).since == since
    assert connection.reload().caught_up_until == NOW


@pytest.mark.parametrize("kind", ["stripe"], indirect=True)
def test_stripe_is_asked_for_30_days(shop, read):
    result = read(since=NOW - timedelta(days=90))
    assert result.since == NOW - timedelta(days=30)
    assert int(shop.queries[0]["created[gte]"][0]) == result.since.timestamp()


@pytest.mark.parametrize("kind", ["woocommerce"], indirect=True)
def test_asks_in_utc(shop, read):
    since = datetime.fromisoformat("2026-03-01T00:00:00+02:00")
    read(since=since)
    assert shop.queries[0]["modified_after"] == ["2026-02-28T21:59:59"]
    assert read(since=since).since.tzinfo == UTC


@pytest.mark.parametrize(
    ("retry_after", "expected"), [("7", [7]), ("2.0", [2]), ("soon", [2]), ("-1", [2])]
)
def test_waits_as_long_as_the_shop_asks(shop, read, waits, retry_after, expected):
    shop.failures = [respond_with(429, **{"Retry-After": retry_after})]
    assert read().is_complete
    assert waits == expected


def test_a_busy_shop_is_asked_again_with_delays(shop, read, waits):
    shop.failures = [respond_with(503)] * 3
    assert read().is_complete
    assert waits == [2, 10, 30]


def test_gives_up_on_a_shop_that_stays_busy(shop, read, waits):
    shop.failures = [respond_with(502)] * 9
    with pytest.raises(CatchUpFailed) as info:
        read()
    assert info.value.text == "The shop is busy, it answered 502: try again later."
    assert len(shop.receiver.requests) == 4


@pytest.mark.parametrize(("delays", "retry_after"), [((), "7"), (catching_up.RETRY_DELAYS, "900")])
def test_does_not_wait_too_long(shop, read, waits, delays, retry_after):
    shop.failures = [respond_with(429, **{"Retry-After": retry_after})]
    with pytest.raises(CatchUpFailed) as info:
        read(delays=delays)
    text = f"The shop asks to wait for {retry_after} seconds: go on then."
    assert (info.value.text, waits) == (text, [])


PERMISSIONS = {
    "stripe": "Read events, and all that they show",
    "woocommerce": "Read",
    "shopify": "read_orders",
}
KIND_NAMES = {"stripe": "Stripe", "woocommerce": "WooCommerce", "shopify": "Shopify"}


@pytest.mark.parametrize("status", [401, 403])
def test_says_that_the_key_is_wrong(kind, shop, read, status):
    shop.failures = [respond_with(status)]
    with pytest.raises(CatchUpFailed) as info:
        read()
    assert info.value.text == (
        f"The shop refuses the key ({status}): set one of this shop with the permission"
        f" “{PERMISSIONS[kind]}”."
    )
    assert KEYS[kind] not in info.value.text


def test_says_that_the_address_is_wrong(kind, shop, read):
    shop.failures = [respond_with(404, b"<html>Not here</html>")]
    with pytest.raises(CatchUpFailed) as info:
        read()
    name = KIND_NAMES[kind]
    text = f"There is no {name} at 127.0.0.1: check the address of the shop."
    assert info.value.text == text


def test_does_not_follow_to_another_host(shop, read):
    with run_receiver() as other:
        shop.failures = [respond_with(302, Location=other.url)]
        with pytest.raises(CatchUpFailed) as info:
            read()
        assert other.requests == []
    assert info.value.text == (
        f"The address of the shop leads to {other.url}: set that one if it is yours."
    )


@pytest.mark.parametrize("kind", ["shopify"], indirect=True)
def test_the_link_to_the_next_page_names_no_host(shop, read):
    shop.page_size = 1
    shop.items = [build_item("shopify", number) for number in (1, 2, 3)]
    assert read().new == 3
    assert {request.headers["host"] for request in shop.receiver.requests} == {
        shop.receiver.host_and_port
    }


@pytest.mark.parametrize(
    "body",
    [b"<html>Maintenance</html>", b"", b"[" * 100_000, b"\xff\xfe", b'[{"a": 1e9999}]'],
)
def test_html_and_nonsense_are_no_orders(shop, read, body):
    shop.failures = [respond_with(200, body)]
    with pytest.raises(CatchUpFailed) as info:
        read()
    assert info.value.text == "The shop answered no JSON: check its address."


@pytest.mark.parametrize("item", [None, 5, [], *ODD_ITEMS])
def test_an_odd_order_is_no_error_of_ours(kind, shop, connection, read, item):
    body = {"data": [item], "has_more": False, "orders": [item]}
    text = json.dumps([item] if kind == "woocommerce" else body)
    shop.failures = [respond_with(200, text.encode())]
    with pytest.raises(CatchUpFailed, match="does not look as expected"):
        read()
    assert not connection.account.shop_events.exists()


def test_a_huge_answer_is_not_read(shop, read, monkeypatch):
    monkeypatch.setattr(catching_up, "MAX_PAGE_BYTES", 1000)
    shop.failures = [respond_with(200, b"[" + b" " * 5000 + b"]")]
    with pytest.raises(CatchUpFailed, match="the answer has more than 1,000 bytes"):
        read()


def test_a_shop_that_says_nothing_is_not_waited_for(shop, read, monkeypatch):
    monkeypatch.setattr(catching_up, "TIMEOUT_SECONDS", 0.2)
    shop.failures = [hang]
    with pytest.raises(CatchUpFailed, match=r"no whole answer within 0\.2 s"):
        read()


@pytest.mark.parametrize("kind", ["woocommerce"], indirect=True)
def test_a_shop_without_end_is_left(kind, shop, connection, read, monkeypatch):
    monkeypatch.setattr(catching_up, "MAX_PAGES", 3)
    monkeypatch.setattr(type(catching_up.SOURCES[kind]), "page_size", 1)
    shop.failures = [
        respond_with(200, json.dumps([build_item(kind, number)]).encode())
        for number in range(1, 50)
    ]
    with pytest.raises(CatchUpFailed) as info:
        read()
    assert info.value.text == "The shop lists too many events of one second."
    assert connection.reload().caught_up_until is None


@pytest.mark.parametrize("kind", ["woocommerce"], indirect=True)
def test_a_private_address_is_not_called(shop, connection, read, settings):
    settings.WEBHOOK_ALLOWED_HOSTS = []
    connection.update_row(settings={"shop_url": "https://127.0.0.1"})
    with pytest.raises(CatchUpFailed, match=r"127\.0\.0\.1 is not public"):
        read()
    assert shop.receiver.requests == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "paddle"}, "A shop of the kind Paddle cannot be caught up with: "),
        ({"kind": "other"}, "the kind Any other shop cannot be caught up with: "),
        ({"mode": ConnectionMode.OFF}, "The connection is off: "),
        ({"source_key": ""}, "Set the key that reads from the shop "),
    ],
)
def test_says_what_is_missing(shop, connection, read, changes, message):
    connection.update_row(**changes)
    with pytest.raises(CatchUpFailed, match=message):
        read()
    assert shop.receiver.requests == []


@pytest.mark.parametrize("kind", ["woocommerce", "shopify"], indirect=True)
def test_asks_for_the_address(connection, read):
    connection.update_row(settings={})
    with pytest.raises(CatchUpFailed) as info:
        read()
    text = "Set the address of the shop before you catch up."
    assert info.value.text == text


def test_a_shop_that_listens_changes_nothing(kind, shop, connection, read, click):
    connection.update_row(mode=ConnectionMode.LISTEN)
    shop.items = [build_item(kind, 5, click=click)]
    assert read().new == 1
    assert list_sales(connection.account) == []
