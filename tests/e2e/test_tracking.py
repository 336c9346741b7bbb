"""The browser script in Chromium, from the link to the conversion.

See docs/api-contract.md, section 5.
"""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.services.api_keys import calculate_signature, create_signing_secret
from payouts.models.commission_types import RateKind
from tests.accounts.test_url_safety import MANGLED_ADDRESSES
from tests.factories.accounts import AccountFactory

pytestmark = [pytest.mark.integration, pytest.mark.engine_independent]

CONVERSION_CALL = 'tap("conversion", "order-1", 49.90);'
STRICT = (
    "default-src 'none'; script-src 'nonce-lamp' {origin}; connect-src {origin};"
    " style-src 'none'; base-uri 'none'"
)


def test_records_a_click_a_customer_and_a_conversion(visitor, api, scenario):
    link = f"/lamps?ref={scenario.mina.code}&tm_subid1=spring&tm_odd%2Fkey=x&tm_=y"
    vid = visitor.open_and_wait("click", link, 'tap("detect");').json()["vid"]
    visitor.page.wait_for_function("() => tap.vid")
    visitor.open("/about", 'tap("detect");')
    visitor.open_and_wait("customer", "/hello", 'tap("customer", "acct-1", {meta_data: {a: "b"}});')
    visitor.open_and_wait(
        "conversion",
        "/thanks",
        'tap("conversion", "order-1", 49.90, {customer_id: "acct-1", meta_data: {plan: "pro"}});',
    )

    [click] = api("/clicks/")
    [customer] = api("/customers/")
    [conversion] = api("/conversions/")
    assert click["affiliate"]["id"] == "minakessler"
    assert click["meta_data"] == {"subid1": "spring"}
    assert click["details"]["landing_page"] == visitor.build_url(link)
    assert customer["customer_id"] == "acct-1"
    assert customer["meta_data"] == {"a": "b"}
    assert customer["affiliate"]["id"] == "minakessler"
    assert conversion["external_id"] == "order-1"
    assert conversion["amount"] == 49.9
    assert conversion["affiliate"]["id"] == "minakessler"
    assert conversion["customer"]["customer_id"] == "acct-1"
    assert conversion["meta_data"] == {"plan": "pro"}
    assert conversion["click"]["created_at"] == click["created_at"]
    assert [item["amount"] for item in conversion["commissions"]] == [4.99]
    assert visitor.cookies["tap_vid"]["value"] == vid
    assert visitor.tracking_calls == [
        "/track/click/",
        "/track/customer/",
        "/track/conversion/",
    ]
    assert visitor.errors == []


def test_links_of_another_program_go_on_working(visitor, api, scenario):
    scenario.program.update_row(link_parameters=["via"])
    visitor.open_and_wait("click", f"/?via={scenario.mina.code}", 'tap("detect");')
    visitor.open_and_wait("click", f"/?aff={scenario.mina.code}", 'tap("detect");')

    assert len(api("/clicks/")) == 1


@pytest.mark.parametrize("end", MANGLED_ADDRESSES)
def test_the_script_reads_mangled_links_as_the_server_does(visitor, end):
    codes = []
    visitor.page.on(
        "request",
        lambda request: codes.extend(
            [request.post_data_json["referral_code"]]
            if request.url.endswith("/track/click/")
            else []
        ),
    )
    detect = 'tap("detect", { always_callback: true }, () => { document.title = "-"; });'
    visitor.open(f"/{end}", detect)
    visitor.page.wait_for_function('document.title === "-"')

    code = MANGLED_ADDRESSES[end]
    assert codes == ([code] if code else [])
    assert visitor.errors == []


@pytest.mark.parametrize("ticked", [["fpr"], ["via"], None])
def test_a_visitor_of_another_program_counts_once(visitor, api, scenario, ticked):
    scenario.program.update_row(link_parameters=ticked)
    store = f'document.cookie = "_fprom_ref={scenario.mina.code}; path=/";'
    visitor.open_and_wait("click", "/", f'{store} tap("detect");')
    visitor.open("/pricing", 'tap("detect");')

    clicks = api("/clicks/")
    assert [each["affiliate"]["id"] for each in clicks] == (
        ["minakessler"] if ticked == ["fpr"] else []
    )
    assert visitor.tracking_calls == ["/track/click/"]


@pytest.mark.parametrize(
    "calls",
    [
        'tap("create", "{account}", {{ cookie: false }}); tap("detect");',
        'document.cookie = "tap_vid=0123456789abcdef"; tap("create", "{account}"); tap("detect");',
        'document.cookie = "_fprom_ref=a%20b"; tap("detect");',
        'document.cookie = "_fprom_ref=; max-age=0"; tap("detect");',
    ],
    ids=["no cookies", "known visitor", "no code", "none"],
)
def test_the_cookie_of_another_program_is_left_alone(visitor, scenario, calls):
    scenario.program.update_row(link_parameters=["fpr"])
    store = f'document.cookie = "_fprom_ref={scenario.mina.code}";'
    visitor.open("/", store + calls.format(account=scenario.account.slug))

    assert visitor.tracking_calls == []


def test_hands_the_visitor_to_a_checkout_of_stripe(visitor):
    vid = visitor.visit()
    visitor.open(
        "/pricing",
        """document.addEventListener("DOMContentLoaded", function () {
          document.body.insertAdjacentHTML("beforeend",
            '<a href="https://buy.stripe.com/live_1?locale=de">Buy</a>' +
            "<stripe-buy-button></stripe-buy-button>");
          tap("checkout", function (id) { window.handed = id; });
        });""",
    )
    visitor.page.wait_for_function("() => window.handed")

    link = visitor.page.evaluate("document.querySelector('a').href")
    button = visitor.page.evaluate(
        "document.querySelector('stripe-buy-button').getAttribute('client-reference-id')"
    )
    assert link == (f"https://buy.stripe.com/live_1?locale=de&client_reference_id={vid}")
    assert button == vid


def test_hands_the_visitor_to_the_cart_of_shopify(visitor):
    vid = visitor.visit()
    visitor.open(
        "/",
        """window.Shopify = { routes: { root: "/de/" } };
        window.fetch = function (url, options) {
          window.sent = [url, JSON.parse(options.body)];
          return Promise.resolve();
        };
        tap("checkout");""",
    )

    assert visitor.page.evaluate("window.sent") == [
        "/de/cart/update.js",
        {"attributes": {"tap_vid": vid}},
    ]


def test_stores_only_a_random_id(visitor):
    vid = visitor.visit()

    cookie = visitor.cookies["tap_vid"]
    assert list(visitor.cookies) == ["tap_vid"]
    assert (cookie["value"], len(vid)) == (vid, 32)
    assert (cookie["sameSite"], cookie["path"]) == ("Lax", "/")
    assert cookie["domain"] == "shop.localhost"
    lifetime = timedelta(seconds=cookie["expires"] - visitor.page.evaluate("Date.now() / 1000"))
    assert timedelta(days=364) < lifetime <= timedelta(days=365, seconds=5)


def test_attributes_to_the_last_click(visitor, api, scenario):
    first = visitor.visit()
    assert visitor.visit(scenario.odette.code) != first

    visitor.open_and_wait("conversion", "/thanks", CONVERSION_CALL)

    assert api("/conversions/")[0]["affiliate"]["id"] == "odettevarga"


def test_coupon_takes_precedence_over_the_cookie(visitor, api, scenario):
    visitor.visit()

    visitor.open_and_wait(
        "conversion",
        "/thanks",
        f'tap("conversion", "order-1", 20, {{coupons: ["X", "{scenario.odette.coupon}"]}});',
    )

    assert api("/conversions/")[0]["affiliate"]["id"] == "odettevarga"


def test_coupon_needs_no_cookie(visitor, api, scenario):
    visitor.open_and_wait(
        "customer",
        "/hello",
        f'tap("trial", "acct-1", {{coupons: "{scenario.odette.coupon}"}});',
    )

    [customer] = api("/customers/")
    assert (customer["affiliate"]["id"], customer["status"]) == ("odettevarga", "trial")


def test_records_no_conversion_of_an_expired_cookie(visitor, api, scenario):
    visitor.visit()
    click = scenario.account.clicks.get()
    click.update_row(created_at=click.created_at - timedelta(days=46))

    response = visitor.open_and_wait("conversion", "/thanks", CONVERSION_CALL)

    assert response.status == 204
    assert api("/conversions/") == []


def test_works_without_cookies_on_one_page(visitor, api, scenario):
    create = f'tap("create", "{scenario.account.slug}", {{cookie: false}});'
    visitor.open_and_wait(
        "conversion",
        f"/?ref={scenario.mina.code}",
        f'tap("detect"); {CONVERSION_CALL}',
        create=create,
    )
    visitor.open("/next", CONVERSION_CALL, create=create)
    visitor.page.wait_for_function("() => tap.loaded")

    assert visitor.cookies == {}
    assert len(api("/conversions/")) == 1
    assert visitor.tracking_calls == ["/track/click/", "/track/conversion/"]


def test_other_calls_wait_for_the_click(visitor, api, scenario):
    visitor.open_and_wait(
        "conversion",
        f"/?ref={scenario.mina.code}",
        f'tap("detect"); tap("lead", "acct-1"); {CONVERSION_CALL}',
    )

    assert api("/conversions/")[0]["affiliate"]["id"] == "minakessler"
    assert visitor.tracking_calls[0] == "/track/click/"


def test_runs_create_first(visitor, api, scenario):
    slug = scenario.account.slug

    visitor.open_and_wait(
        "click",
        f"/?ref={scenario.mina.code}",
        create=f'tap("detect"); tap("create", "{slug}");',
    )

    assert len(api("/clicks/")) == 1


def test_reads_a_custom_referral_parameter(visitor, api, scenario):
    visitor.open_and_wait(
        "click",
        f"/?partner={scenario.odette.code}&ref={scenario.mina.code}",
        'tap("detect", {referral_code_param: "partner"});',
    )

    assert api("/clicks/")[0]["affiliate"]["id"] == "odettevarga"


@pytest.mark.parametrize("has_code", [False, True])
def test_referral_code_takes_precedence_over_an_asset_link(visitor, api, scenario, has_code):
    link = f"/?tap_a={scenario.odette.asset_id}&tap_s={scenario.odette.source_id}"

    visitor.open_and_wait(
        "click", link + f"&ref={scenario.mina.code}" * has_code, 'tap("detectClick");'
    )

    affiliate_id = "minakessler" if has_code else "odettevarga"
    assert api("/clicks/")[0]["affiliate"]["id"] == affiliate_id


def test_shares_the_cookie_with_subdomains(visitor, api, scenario):
    slug = scenario.account.slug
    create = f'tap("create", "{slug}", {{cookie_domain: "shop.localhost"}});'
    visitor.visit(create=create, host="www.shop.localhost")

    visitor.open_and_wait("conversion", "/thanks", CONVERSION_CALL, host="pay.shop.localhost")

    assert len(api("/conversions/")) == 1
    assert visitor.cookies["tap_vid"]["domain"] == ".shop.localhost"


def test_sends_line_items(visitor, api, scenario):
    scenario.create_commission_type("accessories", "7.5")
    visitor.visit()

    visitor.open_and_wait(
        "conversion",
        "/thanks",
        'tap("conversionMulti", "order-1", {currency: "EUR"},'
        ' [{sub_amount: 100}, {sub_amount: 10, commission_type: "accessories"}]);',
    )
    visitor.open_and_wait("conversion", "/more", 'tap("conversion", "order-2", [{sub_amount: 5}]);')
    visitor.open_and_wait(
        "conversion", "/last", 'tap("conversion", "order-3", 10, null, "accessories");'
    )

    conversions = {item["external_id"]: item for item in api("/conversions/")}
    assert {name: item["amount"] for name, item in conversions.items()} == {
        "order-1": 110,
        "order-2": 5,
        "order-3": 10,
    }
    assert [item["amount"] for item in conversions["order-3"]["commissions"]] == [0.75]


def test_sends_nothing_without_a_referral(visitor, api):
    visitor.open(
        "/",
        'tap("detect"); tap("conversion", "order-1", 20); tap("customer", "acct-1");'
        ' tap("getTrackingId", function (id) { window.results = id; });',
    )
    visitor.page.wait_for_function("() => window.results === null")

    assert visitor.tracking_calls == []
    assert visitor.cookies == {}


def test_callbacks_receive_results(visitor, scenario):
    visitor.open(
        f"/?ref={scenario.mina.code}",
        "window.results = [];"
        'tap("detect", function (error, click) {'
        " results.push([error, click.tracking_id]); });"
        'tap("getTrackingId", function (id) { results.push(id); });'
        "function add(error, result) { results.push([error, result]); }"
        'tap("conversion", "order-1", 20, add);',
    )
    visitor.page.wait_for_function("() => window.results.length === 3")
    visitor.page.evaluate('tap("trial", "acct-1", {}, add)')
    visitor.page.wait_for_function("() => window.results.length === 4")

    vid = visitor.page.evaluate("tap.vid")
    assert visitor.page.evaluate("results") == [
        [None, vid],
        vid,
        [None, {"external_id": "order-1"}],
        [None, {"customer_id": "acct-1"}],
    ]
    assert visitor.page.evaluate("tap.vids") == [vid]


def test_calls_that_are_not_sent_or_fail_have_no_result(visitor):
    visitor.page.route("**/track/**", lambda route: route.abort())
    visitor.open(
        "/",
        "window.results = [];"
        "function add(error, result) { results.push([!!error, result]); }"
        'tap("conversion", "order-1", 20, add);'
        'tap("conversion", "order-2", 20, {customer_id: "acct-1"}, add);',
    )
    visitor.page.wait_for_function("() => window.results.length === 2")

    assert visitor.page.evaluate("results") == [[False, None], [True, None]]


# What shop plugins print.


def test_prestashop_prints_empty_options_as_a_list(visitor, api):
    """PHP encodes an empty array as `[]`."""
    visitor.visit()

    visitor.open_and_wait(
        "conversion", "/thanks", 'tap("conversion", "order-1", 49.90, [], "default");'
    )

    [conversion] = api("/conversions/")
    assert conversion["amount"] == 49.9
    assert conversion["warnings"] == ["odd_commissions"]


@pytest.mark.parametrize("amount", ["NaN", "parseFloat('€ 49')", "Infinity", '"1.249"', "false"])
def test_opencart_prints_an_amount_that_is_no_number(visitor, api, scenario, amount):
    visitor.visit()

    visitor.open_and_wait("conversion", "/thanks", f'tap("conversion", "order-1", {amount});')

    assert api("/conversions/") == []
    failure = scenario.account.failed_page_calls.get()
    assert (failure.reason, failure.count) == ("invalid_amount", 1)
    assert failure.page == visitor.build_url("/")  # browsers send the origin only


def test_opencart_prints_a_line_item_without_a_number(visitor, api, scenario):
    visitor.visit()

    visitor.open_and_wait(
        "conversion",
        "/thanks",
        'tap("conversionMulti", "order-1", [{sub_amount: NaN}, {sub_amount: 5}]);',
    )

    assert api("/conversions/") == []
    assert scenario.account.failed_page_calls.get().reason == "invalid_commissions"


SHOP_PLUGINS = {
    "shopify: eleven order lines": (
        "{meta_data: Object.fromEntries(Array.from({length: 11},"
        ' function (_, i) { return ["line " + i, "Lamp"]; }))}',
        None,
    ),
    "woocommerce: a long product name": (
        '{meta_data: {product: "x".repeat(300)}}',
        None,
    ),
    "prestashop: empty meta data": ("{meta_data: []}", None),
    "prestashop: a blank currency": ('{currency: ""}, ""', None),
    "magento: a nested value": ("{meta_data: {items: [{sku: 1}]}}", ["odd_meta_data"]),
    "magento: an unknown commission type": (
        '{}, "category-7"',
        ["odd_commission_type"],
    ),
    "woocommerce: an unknown program group": (
        '{program_group: "books"}',
        ["odd_program_group"],
    ),
}


@pytest.mark.parametrize("name", SHOP_PLUGINS)
def test_keeps_the_sale_of_a_shop_plugin(visitor, api, scenario, name):
    options, warnings = SHOP_PLUGINS[name]
    visitor.visit()

    visitor.open_and_wait(
        "conversion", "/thanks", f'tap("conversion", "order-1", 49.90, {options});'
    )

    [conversion] = api("/conversions/")
    assert (conversion["amount"], conversion["warnings"]) == (49.9, warnings)
    assert conversion["affiliate"]["id"] == "minakessler"
    assert scenario.account.failed_page_calls.count() == 0


def test_woocommerce_lower_cases_a_coupon(visitor, api, scenario):
    visitor.open_and_wait(
        "conversion",
        "/thanks",
        f'tap("conversion", "order-1", 20, {{coupons: ["{scenario.odette.coupon.lower()}"]}});',
    )

    assert api("/conversions/")[0]["affiliate"]["id"] == "odettevarga"


def test_always_callback_calls_back_without_a_click(visitor):
    visitor.open(
        "/",
        "window.results = [];"
        'tap("detect", function () { results.push("never"); });'
        'tap("detect", {always_callback: true},'
        " function (error, click) { results.push([error, click]); });",
    )
    visitor.page.wait_for_function("() => window.results.length")

    assert visitor.page.evaluate("results") == [[None, None]]


def test_test_mode_only_logs(visitor, scenario):
    console_lines = []
    visitor.page.on("console", lambda line: console_lines.append(line.text))
    visitor.open(f"/?ref={scenario.mina.code}&tap_test=true", 'tap("detect");')
    visitor.page.wait_for_function("() => tap.loaded")

    assert visitor.tracking_calls == []
    assert visitor.cookies == {}
    assert [line for line in console_lines if line.startswith("tap: click")] != []


def test_works_with_a_strict_content_security_policy(visitor, api, scenario):
    origin = visitor.script.removesuffix("/tap.js")
    headers = {"Content-Security-Policy": STRICT.format(origin=origin)}
    console_lines = []
    visitor.page.on("console", lambda line: console_lines.append(line.text))

    visitor.visit(headers=headers)
    visitor.open_and_wait("conversion", "/thanks", CONVERSION_CALL, headers=headers)

    assert len(api("/conversions/")) == 1
    assert [line for line in console_lines if "Content Security Policy" in line] == []


def test_page_works_if_the_script_is_blocked(visitor, scenario):
    visitor.page.route("**/tap.js", lambda route: route.abort())

    visitor.open(
        f"/?ref={scenario.mina.code}",
        f'tap("detect"); {CONVERSION_CALL} window.after = 1;',
    )

    assert visitor.page.evaluate("window.after") == 1
    assert visitor.errors == []


def test_page_works_if_the_server_is_unreachable(visitor, scenario):
    visitor.page.route("**/track/**", lambda route: route.abort())

    visitor.open(
        f"/?ref={scenario.mina.code}",
        "window.results = [];"
        'tap("detect", function (error) { results.push(String(error)); });'
        'tap("getTrackingId", function (id) { results.push(id); });'
        'tap("conversion", "o", 5, {customer_id: "a"},'
        " function (error) { results.push(!!error); });",
    )
    visitor.page.wait_for_function("() => window.results.length === 3")

    assert visitor.page.evaluate("results") == [
        "TypeError: Failed to fetch",
        None,
        True,
    ]
    assert visitor.errors == []


@pytest.mark.parametrize(
    "call",
    [
        'tap("dance");',
        "tap();",
        'tap("conversion");',
        'tap("customer", null, null, null);',
        'tap("getTrackingId");',
        'tap("getTrackingId", function () { throw new Error("mine"); });',
    ],
)
def test_throws_no_errors(visitor, call):
    visitor.open("/", f"{call} window.after = 1;")
    visitor.page.wait_for_function("() => tap.loaded")

    visitor.page.evaluate(f"() => {{ {call} }}")

    assert visitor.page.evaluate("window.after") == 1
    assert visitor.errors == []


def test_clicks_belong_to_one_account(visitor, api, scenario):
    visitor.visit()
    other = AccountFactory(slug=f"{scenario.account.slug}-b")

    visitor.open_and_wait(
        "conversion",
        "/thanks",
        CONVERSION_CALL,
        create=f'tap("create", "{other.slug}");',
    )

    assert api("/conversions/") == []
    assert other.conversions.count() == 0


def test_records_one_click_for_repeated_visits(visitor, api, scenario):
    for _ in range(3):
        visitor.visit()

    assert len(api("/clicks/")) == 1


def test_uses_a_referral_code_of_the_page(visitor, api, scenario):
    visitor.open_and_wait(
        "click",
        "/?ref=nobody",
        f'tap("detect", {{referral_code: "{scenario.odette.code}"}});',
    )

    assert api("/clicks/")[0]["affiliate"]["id"] == "odettevarga"


@pytest.mark.parametrize("widens", [True, False], ids=["widens", "narrows"])
def test_last_click_wins_over_a_cookie_of_another_domain(visitor, api, scenario, widens):
    """Visitors of a shop that adds `cookie_domain` still have the older cookie."""
    host = "www.shop.localhost"
    slug = scenario.account.slug
    wide = f'tap("create", "{slug}", {{cookie_domain: "shop.localhost"}});'
    first, second = ("", wide) if widens else (wide, "")
    visitor.visit(host=host, create=first)
    visitor.visit(scenario.odette.code, host=host, create=second)

    visitor.open_and_wait("conversion", "/thanks", CONVERSION_CALL, host=host, create=second)

    assert api("/conversions/")[0]["affiliate"]["id"] == "odettevarga"
    assert len(visitor.context.cookies()) == 1


@pytest.mark.parametrize(
    ("call", "amount", "type_index"),
    [
        ('tap("conversion", "o", null, {currency: "EUR"}, "accessories")', 0, 1),
        ('tap("conversion", "o", {currency: "EUR"}, "accessories")', 0, 1),
        ('tap("conversion", "o", undefined, {}, "accessories")', 0, 1),
        ('tap("conversion", "o", 20, {}, null)', 20, 0),
        ('tap("conversion", "o", "49.90", {}, "accessories")', 49.9, 1),
    ],
)
def test_accepts_all_argument_forms_of_a_conversion(
    visitor, api, scenario, call, amount, type_index
):
    scenario.create_commission_type("accessories", "7.5", kind=RateKind.FIXED)
    visitor.visit()

    visitor.open_and_wait("conversion", "/thanks", call)

    [conversion] = api("/conversions/")
    [commission] = conversion["commissions"]
    assert conversion["amount"] == amount
    assert commission["commission_type"] == ["standard", "accessories"][type_index]


def test_drops_meta_data_that_the_server_rejects(visitor, api, scenario):
    visitor.open_and_wait(
        "click",
        f"/?ref={scenario.mina.code}&tm_nul=a%00b&tm_long={'x' * 256}&tm_fits=1",
        'tap("detect");',
    )

    assert api("/clicks/")[0]["meta_data"] == {"fits": "1"}


def test_works_without_fetch(visitor, scenario):
    visitor.open(
        f"/?ref={scenario.mina.code}",
        "window.fetch = undefined; window.results = [];"
        'tap("detect", function (error) { results.push(!!error); });'
        'tap("getTrackingId", function (id) { results.push(id); });',
    )
    visitor.page.wait_for_function("() => window.results.length === 2")

    assert visitor.page.evaluate("results") == [True, None]
    assert visitor.errors == []


def test_sends_many_line_items(visitor, api):
    visitor.visit()
    line_items = "Array(100).fill({sub_amount: 1, comment: Array(900).join('x')})"

    visitor.open_and_wait(
        "conversion", "/thanks", f'tap("conversionMulti", "order-1", {line_items});'
    )

    assert api("/conversions/")[0]["amount"] == 100


def test_keeps_the_tracking_id_when_created_again(visitor, scenario):
    create = f'tap("create", "{scenario.account.slug}", {{cookie: false}});'
    vid = visitor.visit(create=create)

    visitor.page.evaluate(f"() => {{ {create} }}")

    assert visitor.page.evaluate("tap.vid") == vid


def test_sends_nothing_for_a_blank_coupon(visitor):
    visitor.open(
        "/",
        'tap("conversion", "a", 1, {coupons: [""]});'
        'tap("conversion", "b", 1, {coupons: " "});'
        'tap("customer", "c", {coupons: []}, function () { window.results = 1; });',
    )
    visitor.page.wait_for_function("() => window.results")

    assert visitor.tracking_calls == []


def sign_conversion(account, *values):
    """Sign a conversion as the server of the shop does."""
    secret = create_signing_secret(account, at=timezone.now())
    return calculate_signature(secret.secret, ["conversion", *values])


@pytest.mark.parametrize("is_signed", [True, False], ids=["signed", "unsigned"])
def test_signed_page_reports_a_fact(visitor, scenario, is_signed):
    scenario.program.update_row(auto_approve_commissions=True)
    signature = sign_conversion(scenario.account, "order-1", "49.90", "EUR", "acct-1")
    options = {"currency": "EUR", "customer_id": "acct-1"}
    if is_signed:
        options["signature"] = signature
    visitor.visit()

    call = f'tap("conversion", "order-1", "49.90", {json.dumps(options)});'
    visitor.open_and_wait("conversion", "/thanks", call)

    conversion = scenario.account.conversions.get()
    assert conversion.claim_status == (None if is_signed else "open")
    assert conversion.customer.is_confirmed is is_signed
    status = scenario.get_commission(conversion).status
    assert status == ("approved" if is_signed else "pending")


def test_page_with_changed_values_is_refused(visitor, scenario):
    signature = sign_conversion(scenario.account, "order-1", "49.90", "", "")
    visitor.visit()

    options = json.dumps({"signature": signature})
    call = f'tap("conversion", "order-1", "4990", {options});'
    response = visitor.open_and_wait("conversion", "/thanks", call)

    assert response.status == 204
    assert not scenario.account.conversions.exists()
    assert scenario.account.failed_page_calls.get().reason == "invalid_signature"


def test_signed_customer_is_confirmed(visitor, scenario):
    secret = create_signing_secret(scenario.account, at=timezone.now())
    signature = calculate_signature(secret.secret, ["customer", "acct-1", "trial"])
    visitor.visit()

    options = json.dumps({"signature": signature})
    visitor.open_and_wait("customer", "/welcome", f'tap("trial", "acct-1", {options});')

    customer = scenario.account.customers.get()
    assert (customer.status, customer.is_confirmed) == ("trial", True)
