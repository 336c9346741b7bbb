"""Contract 5 in a real browser: from the link to the sale, over two origins."""

from datetime import timedelta

import pytest

from tests.factories.accounts import AccountFactory

SALE = 'tap("conversion", "order-1", 49.90);'
STRICT = (
    "default-src 'none'; script-src 'nonce-lamp' {origin}; connect-src {origin};"
    " style-src 'none'; base-uri 'none'"
)


def test_tells_of_a_visit_a_sign_up_and_a_purchase(visitor, api, shop):
    link = f"/lamps?ref={shop.mina.code}&tm_subid1=spring&tm_odd%2Fkey=x&tm_=y"
    vid = visitor.until("click", link, 'tap("detect");').json()["vid"]
    visitor.page.wait_for_function("() => tap.vid")
    visitor.open("/about", 'tap("detect");')
    visitor.until(
        "customer", "/hello", 'tap("customer", "acct-1", {meta_data: {a: "b"}});'
    )
    visitor.until(
        "conversion",
        "/thanks",
        'tap("conversion", "order-1", 49.90,'
        ' {customer_id: "acct-1", meta_data: {plan: "pro"}});',
    )

    [click] = api("/clicks/")
    [customer] = api("/customers/")
    [sale] = api("/conversions/")
    assert click["affiliate"]["id"] == "minakessler"
    assert click["meta_data"] == {"subid1": "spring"}
    assert click["details"]["landing_page"] == visitor.address(link)
    assert customer["customer_id"] == "acct-1"
    assert customer["meta_data"] == {"a": "b"}
    assert customer["affiliate"]["id"] == "minakessler"
    assert sale["external_id"] == "order-1"
    assert sale["amount"] == 49.9
    assert sale["affiliate"]["id"] == "minakessler"
    assert sale["customer"]["customer_id"] == "acct-1"
    assert sale["meta_data"] == {"plan": "pro"}
    assert sale["click"]["created_at"] == click["created_at"]
    assert [it["amount"] for it in sale["commissions"]] == [4.99]
    assert visitor.cookies["tap_vid"]["value"] == vid
    assert visitor.asked == ["/track/click/", "/track/customer/", "/track/conversion/"]
    assert visitor.faults == []


def test_keeps_a_random_id_and_nothing_else(visitor):
    vid = visitor.visit()

    cookie = visitor.cookies["tap_vid"]
    assert list(visitor.cookies) == ["tap_vid"]
    assert (cookie["value"], len(vid)) == (vid, 32)
    assert (cookie["sameSite"], cookie["path"]) == ("Lax", "/")
    assert cookie["domain"] == "shop.localhost"
    age = timedelta(
        seconds=cookie["expires"] - visitor.page.evaluate("Date.now() / 1000")
    )
    assert timedelta(days=364) < age <= timedelta(days=365, seconds=5)


def test_lets_the_last_click_win(visitor, api, shop):
    first = visitor.visit()
    assert visitor.visit(shop.odette.code) != first

    visitor.until("conversion", "/thanks", SALE)

    assert api("/conversions/")[0]["affiliate"]["id"] == "odettevarga"


def test_lets_a_coupon_beat_the_cookie(visitor, api, shop):
    visitor.visit()

    visitor.until(
        "conversion",
        "/thanks",
        'tap("conversion", "order-1", 20,'
        f' {{coupons: ["X", "{shop.odette.coupon}"]}});',
    )

    assert api("/conversions/")[0]["affiliate"]["id"] == "odettevarga"


def test_lets_a_coupon_count_without_any_cookie(visitor, api, shop):
    visitor.until(
        "customer",
        "/hello",
        f'tap("trial", "acct-1", {{coupons: "{shop.odette.coupon}"}});',
    )

    [customer] = api("/customers/")
    assert (customer["affiliate"]["id"], customer["status"]) == ("odettevarga", "trial")


def test_counts_no_sale_of_an_expired_cookie(visitor, api, shop):
    visitor.visit()
    click = shop.account.clicks.get()
    click.change(created_at=click.created_at - timedelta(days=46))

    answer = visitor.until("conversion", "/thanks", SALE)

    assert answer.status == 204
    assert api("/conversions/") == []


def test_works_without_a_cookie_in_one_page(visitor, api, shop):
    create = f'tap("create", "{shop.account.slug}", {{cookie: false}});'
    visitor.until(
        "conversion",
        f"/?ref={shop.mina.code}",
        f'tap("detect"); {SALE}',
        create=create,
    )
    visitor.open("/next", SALE, create=create)
    visitor.page.wait_for_function("() => tap.loaded")

    assert visitor.cookies == {}
    assert len(api("/conversions/")) == 1
    assert visitor.asked == ["/track/click/", "/track/conversion/"]


def test_lets_what_was_called_at_once_wait_for_the_click(visitor, api, shop):
    visitor.until(
        "conversion",
        f"/?ref={shop.mina.code}",
        f'tap("detect"); tap("lead", "acct-1"); {SALE}',
    )

    assert api("/conversions/")[0]["affiliate"]["id"] == "minakessler"
    assert visitor.asked[0] == "/track/click/"


def test_creates_first_whatever_the_order_of_the_page(visitor, api, shop):
    slug = shop.account.slug

    visitor.until(
        "click",
        f"/?ref={shop.mina.code}",
        create=f'tap("detect"); tap("create", "{slug}");',
    )

    assert len(api("/clicks/")) == 1


def test_reads_a_link_with_another_parameter(visitor, api, shop):
    visitor.until(
        "click",
        f"/?partner={shop.odette.code}&ref={shop.mina.code}",
        'tap("detect", {referral_code_param: "partner"});',
    )

    assert api("/clicks/")[0]["affiliate"]["id"] == "odettevarga"


@pytest.mark.parametrize("beside", [False, True])
def test_reads_an_asset_link_and_lets_a_code_beside_it_count(
    visitor, api, shop, beside
):
    link = f"/?tap_a={shop.odette.asset_id}&tap_s={shop.odette.source_id}"

    visitor.until(
        "click", link + f"&ref={shop.mina.code}" * beside, 'tap("detectClick");'
    )

    earner = "minakessler" if beside else "odettevarga"
    assert api("/clicks/")[0]["affiliate"]["id"] == earner


def test_widens_the_cookie_to_subdomains(visitor, api, shop):
    create = (
        f'tap("create", "{shop.account.slug}", {{cookie_domain: "shop.localhost"}});'
    )
    visitor.visit(create=create, host="www.shop.localhost")

    visitor.until("conversion", "/thanks", SALE, host="pay.shop.localhost")

    assert len(api("/conversions/")) == 1
    assert visitor.cookies["tap_vid"]["domain"] == ".shop.localhost"


def test_tells_the_parts_of_a_sale(visitor, api, shop):
    shop.type("accessories", "7.5")
    visitor.visit()

    visitor.until(
        "conversion",
        "/thanks",
        'tap("conversionMulti", "order-1", {currency: "EUR"},'
        ' [{sub_amount: 100}, {sub_amount: 10, commission_type: "accessories"}]);',
    )
    visitor.until(
        "conversion", "/more", 'tap("conversion", "order-2", [{sub_amount: 5}]);'
    )
    visitor.until(
        "conversion", "/last", 'tap("conversion", "order-3", 10, null, "accessories");'
    )

    sales = {it["external_id"]: it for it in api("/conversions/")}
    assert {name: it["amount"] for name, it in sales.items()} == {
        "order-1": 110,
        "order-2": 5,
        "order-3": 10,
    }
    assert [it["amount"] for it in sales["order-3"]["commissions"]] == [0.75]


def test_sends_nothing_for_a_visitor_whom_nobody_brought(visitor, api):
    visitor.open(
        "/",
        'tap("detect"); tap("conversion", "order-1", 20); tap("customer", "acct-1");'
        ' tap("getTrackingId", function (id) { window.told = id; });',
    )
    visitor.page.wait_for_function("() => window.told === null")

    assert visitor.asked == []
    assert visitor.cookies == {}


def test_tells_callbacks_what_came_of_it(visitor, shop):
    visitor.open(
        f"/?ref={shop.mina.code}",
        "window.told = [];"
        'tap("detect", function (error, it) { told.push([error, it.tracking_id]); });'
        'tap("getTrackingId", function (id) { told.push(id); });'
        'tap("conversion", "order-1", 20, function (error) { told.push(error); });',
    )
    visitor.page.wait_for_function("() => window.told.length === 3")

    vid = visitor.page.evaluate("tap.vid")
    assert visitor.page.evaluate("told") == [[None, vid], vid, None]
    assert visitor.page.evaluate("tap.vids") == [vid]


def test_calls_back_without_a_click_where_that_is_asked_for(visitor):
    visitor.open(
        "/",
        "window.told = [];"
        'tap("detect", function () { told.push("never"); });'
        'tap("detect", {always_callback: true},'
        " function (error, it) { told.push([error, it]); });",
    )
    visitor.page.wait_for_function("() => window.told.length")

    assert visitor.page.evaluate("told") == [[None, None]]


def test_only_logs_where_a_page_is_being_tried(visitor, shop):
    logged = []
    visitor.page.on("console", lambda it: logged.append(it.text))
    visitor.open(f"/?ref={shop.mina.code}&tap_test=true", 'tap("detect");')
    visitor.page.wait_for_function("() => tap.loaded")

    assert visitor.asked == []
    assert visitor.cookies == {}
    assert [it for it in logged if it.startswith("tap: click")] != []


def test_works_under_a_strict_policy(visitor, api, shop):
    origin = visitor.script.removesuffix("/tap.js")
    headers = {"Content-Security-Policy": STRICT.format(origin=origin)}
    refused = []
    visitor.page.on("console", lambda it: refused.append(it.text))

    visitor.visit(headers=headers)
    visitor.until("conversion", "/thanks", SALE, headers=headers)

    assert len(api("/conversions/")) == 1
    assert [it for it in refused if "Content Security Policy" in it] == []


def test_leaves_the_page_alone_where_the_script_is_blocked(visitor, shop):
    visitor.page.route("**/tap.js", lambda route: route.abort())

    visitor.open(f"/?ref={shop.mina.code}", f'tap("detect"); {SALE} window.after = 1;')

    assert visitor.page.evaluate("window.after") == 1
    assert visitor.faults == []


def test_leaves_the_page_alone_where_the_service_is_away(visitor, shop):
    visitor.page.route("**/track/**", lambda route: route.abort())

    visitor.open(
        f"/?ref={shop.mina.code}",
        "window.told = [];"
        'tap("detect", function (error) { told.push(String(error)); });'
        'tap("getTrackingId", function (id) { told.push(id); });'
        'tap("conversion", "o", 5, {customer_id: "a"},'
        " function (error) { told.push(!!error); });",
    )
    visitor.page.wait_for_function("() => window.told.length === 3")

    assert visitor.page.evaluate("told") == [
        "TypeError: Failed to fetch",
        None,
        True,
    ]
    assert visitor.faults == []


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
def test_never_throws_into_the_page(visitor, call):
    visitor.open("/", f"{call} window.after = 1;")
    visitor.page.wait_for_function("() => tap.loaded")

    visitor.page.evaluate(f"() => {{ {call} }}")

    assert visitor.page.evaluate("window.after") == 1
    assert visitor.faults == []


def test_keeps_to_its_own_account(visitor, api, shop):
    visitor.visit()
    other = AccountFactory(slug=f"{shop.account.slug}-b")

    visitor.until(
        "conversion",
        "/thanks",
        SALE,
        create=f'tap("create", "{other.slug}");',
    )

    assert api("/conversions/") == []
    assert other.conversions.count() == 0


def test_is_one_click_however_often_a_page_is_opened_again(visitor, api, shop):
    for _ in range(3):
        visitor.visit()

    assert len(api("/clicks/")) == 1


def test_takes_a_code_that_the_page_knows(visitor, api, shop):
    visitor.until(
        "click",
        "/?ref=nobody",
        f'tap("detect", {{referral_code: "{shop.odette.code}"}});',
    )

    assert api("/clicks/")[0]["affiliate"]["id"] == "odettevarga"


@pytest.mark.parametrize("widens", [True, False], ids=["widens", "narrows"])
def test_lets_the_last_click_win_over_a_cookie_of_another_domain(
    visitor, api, shop, widens
):
    """A shop that adds `cookie_domain` has visitors with the older cookie."""
    host = "www.shop.localhost"
    wide = f'tap("create", "{shop.account.slug}", {{cookie_domain: "shop.localhost"}});'
    first, then = ("", wide) if widens else (wide, "")
    visitor.visit(host=host, create=first)
    visitor.visit(shop.odette.code, host=host, create=then)

    visitor.until("conversion", "/thanks", SALE, host=host, create=then)

    assert api("/conversions/")[0]["affiliate"]["id"] == "odettevarga"
    assert len(visitor.context.cookies()) == 1


@pytest.mark.parametrize(
    ("call", "amount", "kind"),
    [
        ('tap("conversion", "o", null, {currency: "EUR"}, "accessories")', 0, 1),
        ('tap("conversion", "o", {currency: "EUR"}, "accessories")', 0, 1),
        ('tap("conversion", "o", undefined, {}, null)', 0, 0),
        ('tap("conversion", "o", "49.90", {}, "accessories")', 49.9, 1),
    ],
)
def test_tells_the_arguments_of_a_sale_apart(visitor, api, shop, call, amount, kind):
    shop.type("accessories", "7.5")
    visitor.visit()

    visitor.until("conversion", "/thanks", call)

    [sale] = api("/conversions/")
    [commission] = sale["commissions"]
    assert sale["amount"] == amount
    assert commission["commission_type"] == ["standard", "accessories"][kind]


def test_drops_what_the_server_would_refuse(visitor, api, shop):
    visitor.until(
        "click",
        f"/?ref={shop.mina.code}&tm_nul=a%00b&tm_long={'x' * 256}&tm_fits=1",
        'tap("detect");',
    )

    assert api("/clicks/")[0]["meta_data"] == {"fits": "1"}


def test_goes_on_where_a_browser_cannot_send(visitor, shop):
    visitor.open(
        f"/?ref={shop.mina.code}",
        "window.fetch = undefined; window.told = [];"
        'tap("detect", function (error) { told.push(!!error); });'
        'tap("getTrackingId", function (id) { told.push(id); });',
    )
    visitor.page.wait_for_function("() => window.told.length === 2")

    assert visitor.page.evaluate("told") == [True, None]
    assert visitor.faults == []


def test_sends_a_sale_of_many_parts(visitor, api):
    visitor.visit()
    parts = "Array(100).fill({sub_amount: 1, comment: Array(900).join('x')})"

    visitor.until(
        "conversion", "/thanks", f'tap("conversionMulti", "order-1", {parts});'
    )

    assert api("/conversions/")[0]["amount"] == 100


def test_knows_a_visitor_without_cookie_when_it_is_set_up_again(visitor, shop):
    create = f'tap("create", "{shop.account.slug}", {{cookie: false}});'
    vid = visitor.visit(create=create)

    visitor.page.evaluate(f"() => {{ {create} }}")

    assert visitor.page.evaluate("tap.vid") == vid


def test_sends_nothing_for_a_blank_coupon(visitor):
    visitor.open(
        "/",
        'tap("conversion", "a", 1, {coupons: [""]});'
        'tap("conversion", "b", 1, {coupons: " "});'
        'tap("customer", "c", {coupons: []}, function () { window.told = 1; });',
    )
    visitor.page.wait_for_function("() => window.told")

    assert visitor.asked == []
