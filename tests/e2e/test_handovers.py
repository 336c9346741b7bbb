"""A visitor goes to another host of the shop, and buys there, in Chromium."""

import pytest

pytestmark = [pytest.mark.integration, pytest.mark.engine_independent]

CHECKOUT = "checkout.localhost"
SALE = 'tap("detect"); tap("conversion", "order-1", 49.90, note);'
DONE = "function note(error, result) { window.done = [error, result]; }"
NOT_SENT = [None, None]


class Shop:
    """A shop whose checkout has a host of its own."""

    def __init__(self, visitor) -> None:
        self.visitor, self.page = visitor, visitor.page
        self.scenario = visitor.scenario
        self.checkout = visitor.build_url("/pay", CHECKOUT)
        slug, host = self.scenario.account.slug, self.checkout.split("/")[2]
        self.create = f'tap("create", "{slug}", {{ linker: ["{host}"] }});'
        self.name_hosts(host)
        visitor.serve("/pay", DONE + SALE)

    def name_hosts(self, *further):
        """Let the program name the host of the shop, and these."""
        page = self.visitor.build_url("/")
        self.scenario.program.update_row(landing_page=page, shop_hosts=list(further))

    def visit(self):
        """Open the shop by Mina's link; return the tracking ID."""
        with self.page.expect_response("**/track/handover/"):
            return self.visitor.visit(create=self.create)

    def pay(self, html='<a id="go" href="{url}">Pay</a>'):
        """Go to the checkout, and return what the callback of the sale gets."""
        html = html.format(url=self.checkout)
        self.page.evaluate("html => document.body.insertAdjacentHTML('beforeend', html)", html)
        self.page.click("#go")
        return self.wait_for_sale()

    def wait_for_sale(self):
        self.page.wait_for_url(f"{self.checkout}*")
        return self.page.wait_for_function("() => window.done").json_value()

    @property
    def checkout_vid(self):
        """The visitor in the cookie of the checkout; None without one."""
        cookies = self.visitor.context.cookies(self.checkout)
        return next((it["value"] for it in cookies if it["name"] == "tap_vid"), None)

    @property
    def problems(self):
        failures = self.scenario.account.failed_page_calls
        return sorted(failures.values_list("reason", flat=True))


@pytest.fixture
def shop(visitor):
    yield Shop(visitor)
    assert visitor.errors == []


@pytest.mark.parametrize(
    "way",
    [
        '<a href="{url}?a=b#c"><b id="go">Pay</b></a>',
        '<form method="post" action="{url}"><button id="go">Pay</button></form>',
        "<button id='go' onclick=\"tap('link', '{url}', function (error, url) {{"
        ' location.href = url; }})">Pay</button>',
    ],
    ids=["link", "form", "call"],
)
def test_the_sale_on_the_other_host_names_the_affiliate(shop, api, way):
    vid = shop.visit()
    assert shop.pay(way) == [None, {"external_id": "order-1"}]

    (sale,) = api("/conversions/")
    assert sale["affiliate"]["id"] == shop.scenario.mina.affiliate.slug
    assert shop.checkout_vid == vid
    assert len(api("/clicks/")) == 1
    calls = len(shop.visitor.tracking_calls)
    shop.page.goto(
        shop.page.url.removesuffix("#c")
    )  # the visitor is there already: nothing is handed in
    shop.wait_for_sale()
    assert shop.visitor.tracking_calls[calls:] == ["/track/conversion/"]
    assert shop.problems == []


def test_the_newer_of_two_visits_is_handed_over(shop, api):
    shop.visitor.visit(shop.scenario.odette.code, create=shop.create)
    vid = shop.visitor.visit(create=shop.create)  # begins as the earlier visitor
    shop.page.wait_for_load_state("networkidle")
    shop.pay()
    (sale,) = api("/conversions/")
    assert sale["affiliate"]["id"] == shop.scenario.mina.affiliate.slug
    assert shop.checkout_vid == vid


def test_a_host_that_no_program_names_earns_nothing(shop, api):
    shop.name_hosts()
    vid = shop.visit()
    shop.pay()
    assert (api("/conversions/"), shop.checkout_vid == vid) == ([], False)
    assert shop.problems == ["invalid_tracking_id", "refused_handover"]


@pytest.mark.parametrize("handover", ["beef", "beef~a:1vabcd:x", "%00", "", "~"])
def test_a_forged_parameter_earns_nothing(shop, api, handover):
    shop.page.goto(f"{shop.checkout}?tap_visitor={handover}")
    shop.wait_for_sale()
    assert api("/conversions/") == []


def test_a_parameter_leaves_the_visitor_of_the_page_as_it_was(shop, api):
    shop.visitor.open_and_wait(
        "click", f"/?ref={shop.scenario.odette.code}", 'tap("detect");', host=CHECKOUT
    )
    shop.page.wait_for_function("() => tap.vid")
    shop.page.goto(f"{shop.checkout}?tap_visitor=beef")
    shop.wait_for_sale()
    (sale,) = api("/conversions/")
    assert sale["affiliate"]["id"] == shop.scenario.odette.affiliate.slug


def test_other_links_stay_as_they_are(shop):
    shop.visit()
    links = ["https://pay.example/", "mailto:a@b.example", "http://[", "/lamps"]
    html = "".join(f'<a href="{link}">Go</a>' for link in links)
    shop.page.evaluate("html => { document.body.innerHTML = html; }", html)
    for link in shop.page.locator("a").all():
        link.hover()
    found = "() => [...document.links].map(link => link.getAttribute('href'))"
    assert shop.page.evaluate(found) == links


def test_without_consent_nobody_is_handed_over(shop, api):
    options = shop.create.replace("linker:", "consent: false, linker:")
    shop.visitor.open(f"/?ref={shop.scenario.mina.code}", 'tap("detect");', create=options)
    shop.page.wait_for_function("() => tap.loaded")
    assert shop.pay() == NOT_SENT
    assert (api("/clicks/"), shop.checkout_vid) == ([], None)
    assert shop.page.url == shop.checkout
