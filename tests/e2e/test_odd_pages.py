"""The browser script on pages that are prerendered, in a sandbox, bundled or leave
no room: no error leaves it, the sale goes out, and callbacks are called."""

import json

import pytest

from affiliate_site.browser.views import SCRIPT
from tests.e2e.conftest import TRACKING_SNIPPET
from tests.factories.accounts import AccountFactory

pytestmark = [pytest.mark.integration, pytest.mark.engine_independent]

CALLS = """
window.results = [];
function add(error, result) { results.push([error && error.message, result]); }
tap("create", "%s"); tap("detect", %s, add); tap("conversion", "order-1", "49.90", add);
"""
# What a browser says of a page that it prerenders.
PRERENDER = """
window.isShown = false;
Object.defineProperty(document, "prerendering", { get: () => !window.isShown });
window.show = function () {
  window.isShown = true;
  document.dispatchEvent(new Event("prerenderingchange"));
};
"""


def build_calls(scenario):
    """A visit through Mina's link and a sale on one page."""
    options = json.dumps({"referral_code": scenario.mina.code})
    return CALLS % (scenario.account.slug, options)


def wait_for_results(frame):
    """The results of both calls."""
    frame.wait_for_function("() => window.results && results.length === 2")
    return frame.evaluate("results")


def assert_sale_is_stored(scenario, results):
    (_, visit), (_, sale) = results
    assert [error for error, _ in results] == [None, None]
    assert len(visit["tracking_id"]) == 32
    assert sale == {"external_id": "order-1"}
    assert str(scenario.account.conversions.get().amount) == "49.9000"


def test_a_page_counts_once_it_is_shown(visitor, api, scenario):
    first = visitor.visit()
    visitor.page.add_init_script(PRERENDER)
    visitor.open(
        f"/?ref={scenario.odette.code}",
        'tap("detect"); tap("getTrackingId", function (id) { window.id = id; });',
    )
    visitor.page.wait_for_function("() => tap.loaded")
    assert visitor.tracking_calls == ["/track/click/"]
    assert visitor.cookies["tap_vid"]["value"] == first

    visitor.page.evaluate("show()")
    second = visitor.page.wait_for_function("() => window.id").json_value()

    assert second != first
    assert visitor.cookies["tap_vid"]["value"] == second
    affiliates = [click["affiliate"]["id"] for click in api("/clicks/")]
    assert affiliates == ["odettevarga", "minakessler"]


def test_works_in_a_sandbox(visitor, scenario):
    html = f"""<script>{TRACKING_SNIPPET}{build_calls(scenario)}</script>
<script src="{visitor.script}" async></script>"""
    frame = '<iframe name="shop" sandbox="allow-scripts" src="/frame"></iframe>'
    visitor.shop_server.pages |= {"/frame": (html, {}), "/": (frame, {})}
    visitor.page.goto(visitor.build_url("/"))

    results = wait_for_results(visitor.page.frame("shop"))

    assert_sale_is_stored(scenario, results)
    assert visitor.errors == []


def test_works_where_cookies_are_blocked(visitor, scenario):
    visitor.page.add_init_script(
        "Object.defineProperty(Document.prototype, 'cookie', {"
        " get() { throw new Error('blocked'); },"
        " set() { throw new Error('blocked'); }});"
    )
    visitor.open("/", build_calls(scenario), create=" ")

    assert_sale_is_stored(scenario, wait_for_results(visitor.page))
    assert visitor.errors == []


@pytest.mark.parametrize("way", ["module", "bundle"])
@pytest.mark.parametrize("names_server", [True, False])
def test_works_without_a_script_element_of_its_own(visitor, scenario, server, way, names_server):
    """`document.currentScript` is null in a module, and of the shop in a bundle."""
    script = SCRIPT.decode()
    calls = build_calls(scenario)
    if names_server:
        option = f'", {{ server: "http://127.0.0.1:{server.port}" }}); tap("detect"'
        calls = calls.replace('"); tap("detect"', option)
    kind = ' type="module"' if way == "module" else ""
    html = f"<script>{TRACKING_SNIPPET}{calls}</script><script{kind}>{script}</script>"
    visitor.shop_server.pages["/"] = (html, {})
    visitor.page.goto(visitor.build_url("/"))

    results = wait_for_results(visitor.page)

    if names_server:
        assert_sale_is_stored(scenario, results)
    else:
        assert results[0] == ["tap: create needs the option server", None]
        assert results[1] == [None, None]
    assert visitor.errors == []


def test_reports_an_error_to_the_callback(visitor):
    """A value that JSON cannot hold, and a call that does not exist."""
    visitor.visit()
    visitor.open(
        "/thanks",
        "window.results = []; function add(error, result) {"
        " results.push([!!error, result]); }"
        'tap("conversion", "order-1", BigInt(5), add); tap("dance", add);'
        'tap("conversion", "order-2", 5, {coupons: [Object.create(null)]}, add);',
    )
    visitor.page.wait_for_function("() => window.results.length === 3")

    assert visitor.page.evaluate("results") == [[True, None]] * 3
    assert visitor.errors == []


def test_sends_more_than_fits_into_one_keepalive(visitor, api):
    """64 KiB over all requests that are under way, in bytes and not in characters."""
    visitor.visit()
    visitor.open(
        "/thanks",
        """window.results = [];
        function add(error, result) { results.push(error ? String(error) : result); }
        function list(comment) {
          return Array.from({ length: 100 }, () => ({ sub_amount: 1, comment }));
        }
        tap("conversionMulti", "wide", {}, list("\\u30e9".repeat(250)), add);
        ["first", "second", "third"].forEach(function (order) {
          tap("conversionMulti", order, {}, list("x".repeat(400)), add);
        });""",
    )
    visitor.page.wait_for_function("() => window.results.length === 4")
    visitor.page.evaluate('tap("conversionMulti", "later", {}, list("y".repeat(400)), add)')
    visitor.page.wait_for_function("() => window.results.length === 5")

    orders = {"wide", "first", "second", "third", "later"}
    results = visitor.page.evaluate("results")
    assert {result["external_id"] for result in results} == orders
    assert {row["external_id"]: row["amount"] for row in api("/conversions/")} == (
        dict.fromkeys(orders, 100)
    )


# Checkouts.


def test_checkout_waits_for_the_page_and_keeps_a_reference_of_the_shop(visitor):
    vid = visitor.visit()
    lines = []
    visitor.page.on("console", lambda line: lines.append(line.text))
    link = "https://buy.stripe.com/"
    elements = f"""<a href="{link}a?locale=de">A</a>
<a href="{link}b?client_reference_id=customer-7">B</a>
<a href="{link}c?client_reference_id={vid}">C</a>
<stripe-buy-button></stripe-buy-button>
<stripe-pricing-table client-reference-id="customer-7"></stripe-pricing-table>"""
    slug = visitor.scenario.account.slug
    html = f"""<script src="{visitor.script}"></script>
<script>tap("create", "{slug}"); tap("checkout", id => {{ window.id = id; }});</script>
{elements}"""
    visitor.shop_server.pages["/pricing"] = (html, {})
    visitor.page.goto(visitor.build_url("/pricing"))
    visitor.page.wait_for_function("() => window.id")

    links = visitor.page.evaluate("Array.from(document.links, link => link.href)")
    assert links == [
        f"{link}a?locale=de&client_reference_id={vid}",
        f"{link}b?client_reference_id=customer-7",
        f"{link}c?client_reference_id={vid}",
    ]
    read = "name => document.querySelector(name).getAttribute('client-reference-id')"
    assert visitor.page.evaluate(read, "stripe-buy-button") == vid
    assert visitor.page.evaluate(read, "stripe-pricing-table") == "customer-7"
    kept = "tap: client_reference_id is customer-7 already and stays: such a sale names no visit"
    assert [line for line in lines if line.startswith("tap:")] == [kept, kept]


# Sales without an order id.


NAMELESS = 'tap("conversion", null, 20, function (error, result) { window.sale = 1; });'


def count_sales(visitor, act):
    """How many sales are stored once the call of the page that `act` opens is done."""
    act()
    visitor.page.wait_for_function("() => window.sale")
    return visitor.scenario.account.conversions.count()


def test_only_a_page_that_is_loaded_again_repeats_a_sale(visitor):
    visitor.visit()
    page = visitor.page
    assert count_sales(visitor, lambda: visitor.open("/thanks", NAMELESS)) == 1
    assert count_sales(visitor, page.reload) == 1
    visitor.open("/", "")
    # Headless Chromium keeps no pages to return to: it loads them again.
    assert count_sales(visitor, page.go_back) == 1
    assert count_sales(visitor, lambda: visitor.open("/thanks", NAMELESS)) == 2
    # A page of a single-page application that was loaded again sells another time.
    page.evaluate("() => { window.sale = 0; history.pushState(null, '', '/thanks-2'); }")
    assert count_sales(visitor, lambda: page.evaluate(f"() => {{ {NAMELESS} }}")) == 3


def test_a_sale_with_an_order_id_is_sent_by_each_load(visitor):
    visitor.visit()
    visitor.open_and_wait("conversion", "/thanks", 'tap("conversion", "order-1", 20);')
    with visitor.page.expect_response("**/track/conversion/"):
        visitor.page.reload()

    assert visitor.scenario.account.conversions.count() == 1


# Test mode.


def list_lines(visitor, path, script, **options):
    """What the console shows in test mode."""
    lines = []
    visitor.page.on("console", lambda line: lines.append(line.text))
    visitor.open(path, script, **options)
    visitor.page.wait_for_function("() => tap.loaded")
    return [line.strip() for line in lines if line.startswith("tap:")]


def test_test_mode_speaks_for_every_call(visitor, scenario):
    slug = scenario.account.slug
    lines = list_lines(
        visitor,
        "/thanks?tap_test=true",
        'tap("detect"); tap("conversion", "order-1", 20); tap("trial", "customer-1");'
        'tap("getTrackingId"); tap("consent", true); tap("checkout");',
    )

    assert lines == [
        f"tap: create {slug}: no cookie: no visit through a link yet",
        "tap: detect: no link in the address",
        "tap: conversion order-1 is not sent: no cookie, coupon or customer",
        "tap: customer customer-1 is not sent: no cookie, coupon or customer",
        "tap: getTrackingId: null",
        "tap: consent true",
        "tap: checkout: visitor null, 0 links, buttons, tables and fields",
    ]
    assert (visitor.cookies, visitor.tracking_calls) == ({}, [])


def test_test_mode_knows_a_cookie_of_another_account(visitor, scenario):
    vid = visitor.visit()
    slug = scenario.account.slug
    other = AccountFactory(slug=f"{slug}-b").slug
    (own,) = list_lines(visitor, "/?tap_test=true", "")
    create = f'tap("create", "{other}");'
    (foreign,) = list_lines(visitor, "/?tap_test=true", "", create=create)

    assert own == f"tap: create {slug}: visitor {vid}"
    assert foreign == (f"tap: create {other}: visitor {vid}, by a cookie of another account")
    assert visitor.cookies["tap_vid"]["value"] == vid
