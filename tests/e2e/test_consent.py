"""Consent, visit and purchase in every order (docs/consent.md), in Chromium."""

import pytest

pytestmark = [pytest.mark.integration, pytest.mark.engine_independent]

SALE = (
    'tap("conversion", "order-1", 49.90, function (error, result) {'
    " window.sale = [error, result]; });"
)
AGREE, REFUSE = 'tap("consent", true);', 'tap("consent", false);'
SENT = [None, {"external_id": "order-1"}]
NOT_SENT = [None, None]


class ConsentVisitor:
    """A visitor of a shop whose pages wait for consent."""

    def __init__(self, visitor) -> None:
        self.visitor, self.page = visitor, visitor.page
        slug = visitor.scenario.account.slug
        self.create = f'tap("create", "{slug}", {{ consent: false }});'

    def open(self, path, script="", *, detects=True):
        """Open a page; what it calls is done, or waits for consent."""
        detect = 'tap("detect");' if detects else ""
        self.visitor.open(path, detect + script, create=self.create)
        self.page.wait_for_function("() => tap.loaded")

    def visit(self, script=""):
        """Open a page by Mina's link."""
        self.open(f"/?ref={self.visitor.scenario.mina.code}", script)

    def run(self, script):
        """Do something on the open page."""
        self.page.evaluate(f"() => {{ {script} }}")

    def wait_for_visit(self):
        """Wait until the visit is reported."""
        self.page.wait_for_function("() => tap.vid")

    def wait_for_sale(self):
        """Return what the callback of the sale gets."""
        return self.page.wait_for_function("() => window.sale").json_value()

    @property
    def cookie(self):
        """The value of the cookie; None without one."""
        return self.visitor.cookies.get("tap_vid", {}).get("value")


@pytest.fixture
def shopper(visitor):
    shopper = ConsentVisitor(visitor)
    yield shopper
    assert visitor.errors == []


def assert_earned_by_mina(api):
    """Check that there is one visit, and one sale of its affiliate."""
    assert len(api("/clicks/")) == 1
    (conversion,) = api("/conversions/")
    assert conversion["affiliate"]["id"] == "minakessler"
    assert conversion["amount"] == 49.9


def test_visit_consent_sale(shopper, api):
    shopper.visit()
    assert (shopper.cookie, shopper.visitor.tracking_calls) == (None, [])
    shopper.run(AGREE)
    shopper.wait_for_visit()
    assert len(shopper.cookie) == 32
    shopper.open("/thanks", SALE)

    assert shopper.wait_for_sale() == SENT
    assert_earned_by_mina(api)


def test_consent_visit_sale(shopper, api):
    shopper.open("/", AGREE)
    assert (shopper.cookie, shopper.visitor.tracking_calls) == ("-", [])
    shopper.visit()  # the banner does not ask again
    shopper.wait_for_visit()
    shopper.open("/thanks", SALE)

    assert shopper.wait_for_sale() == SENT
    assert_earned_by_mina(api)


def test_visit_consent_on_the_next_page_sale(shopper, api):
    shopper.open("/lamps")
    shopper.visit()
    # As a link would: `goto` sends no referrer.
    shopper.run('location.href = "/lamps";')
    shopper.page.wait_for_url("**/lamps")
    shopper.page.wait_for_function("() => window.tap && tap.loaded")
    assert (shopper.cookie, shopper.visitor.tracking_calls) == (None, [])
    shopper.run(AGREE)
    shopper.wait_for_visit()
    shopper.open("/thanks", SALE)

    assert shopper.wait_for_sale() == SENT
    assert_earned_by_mina(api)
    (click,) = api("/clicks/")
    assert "?ref=" in click["details"]["landing_page"]


def test_visit_sale_consent_on_one_page(shopper, api):
    shopper.visit(SALE)
    assert shopper.page.evaluate("() => window.sale") is None
    shopper.run(AGREE)

    assert shopper.wait_for_sale() == SENT
    assert_earned_by_mina(api)


def test_consent_is_known_when_the_page_is_made(shopper, visitor, api):
    shopper.create = shopper.create.replace("false", "true")
    shopper.visit(SALE)

    assert shopper.wait_for_sale() == SENT
    assert_earned_by_mina(api)


@pytest.mark.parametrize("calls", [f"{AGREE} %s", f"%s {AGREE}"])
def test_consent_and_create_come_in_any_order(shopper, scenario, api, calls):
    """Also when the script has loaded before both."""
    calls %= shopper.create
    shopper.create = " "
    shopper.open(f"/?ref={scenario.mina.code}", detects=False)
    shopper.run(f'{calls} tap("detect"); {SALE}')

    assert shopper.wait_for_sale() == SENT
    assert_earned_by_mina(api)


def test_refused_then_visit_and_sale(shopper, api):
    shopper.open("/", REFUSE)
    shopper.visit(REFUSE + SALE)

    assert shopper.wait_for_sale() == NOT_SENT
    assert (shopper.cookie, shopper.visitor.tracking_calls) == (None, [])
    assert api("/clicks/") == []


@pytest.mark.parametrize("first", ["refuses", "sells"])
def test_refused_then_accepted_on_the_page_of_the_sale(shopper, api, first):
    shopper.visit(REFUSE + SALE if first == "refuses" else SALE + REFUSE)
    assert shopper.wait_for_sale() == NOT_SENT
    with shopper.page.expect_response("**/track/conversion/"):
        shopper.run(AGREE)

    assert_earned_by_mina(api)


def test_an_earlier_cookie_is_consent(shopper, api):
    shopper.visit(AGREE)
    shopper.wait_for_visit()
    vid = shopper.cookie
    shopper.open("/thanks", SALE, detects=False)

    assert shopper.wait_for_sale() == SENT
    assert shopper.cookie == vid
    assert_earned_by_mina(api)


def test_withdrawn_consent_deletes_the_cookie(shopper, api):
    shopper.visit(AGREE)
    shopper.wait_for_visit()
    shopper.open("/settings", REFUSE)
    assert shopper.cookie is None
    shopper.open("/thanks", SALE + REFUSE)

    assert shopper.wait_for_sale() == NOT_SENT
    assert api("/conversions/") == []


def test_a_banner_that_says_no_before_it_says_yes_loses_nothing(shopper, api):
    shopper.visit(AGREE)
    shopper.wait_for_visit()
    vid = shopper.cookie
    shopper.open("/thanks", REFUSE + AGREE + SALE)

    assert shopper.wait_for_sale() == SENT
    assert shopper.cookie == vid
    assert_earned_by_mina(api)


@pytest.mark.parametrize("ends", ["refused", "left"])
def test_a_coupon_needs_no_consent(shopper, scenario, api, ends):
    coupon = f'{{coupons: ["{scenario.odette.coupon}"]}}'
    sale = SALE.replace("49.90,", f"49.90, {coupon},")
    shopper.visit(sale)
    assert shopper.visitor.tracking_calls == []
    with shopper.page.expect_request("**/track/conversion/") as request:
        if ends == "refused":
            shopper.run(REFUSE)
        else:  # the request of a page that is gone cannot be observed
            shopper.run('window.dispatchEvent(new Event("pagehide"));')

    assert "vid" not in request.value.post_data_json
    assert shopper.wait_for_sale() == SENT
    (conversion,) = api("/conversions/")
    assert conversion["affiliate"]["id"] == "odettevarga"
    assert api("/clicks/") == []
    assert shopper.cookie is None


def test_a_consent_that_is_not_known_changes_nothing(shopper):
    shopper.visit('tap("consent"); tap("consent", "granted"); ' + SALE)

    assert (shopper.cookie, shopper.visitor.tracking_calls) == (None, [])
    assert shopper.page.evaluate("() => window.sale") is None


def test_pages_that_need_no_consent_do_not_wait(visitor, api):
    visitor.visit()
    visitor.open_and_wait("conversion", "/thanks", SALE)

    assert_earned_by_mina(api)
