"""Page calls through the shop's own host, and what its proxy must prove."""

import pytest
from django.test import Client

from accounts.services.api_keys import create_api_key, revoke_api_key
from affiliate_site import throttling
from tests.conftest import NOW
from tests.factories.accounts import AccountFactory
from tests.program_scenario import ProgramScenario

pytestmark = pytest.mark.usefixtures("shared_scenario")

AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
PROXY_IP = "203.0.113.7"
VISITOR_IP = "198.51.100.20"


class Shop:
    """The pages of a shop behind its own proxy."""

    def __init__(self, scenario) -> None:
        self.scenario = scenario
        self.key, self.text = create_api_key(scenario.account, name="shop", role="proxy", at=NOW)
        self.headers = {
            "X-Affiliate-Proxy": self.text,
            "X-Visitor-Address": VISITOR_IP,
            "Origin": "https://shop.example.net",
            "User-Agent": AGENT,
        }

    def call(self, call="click", **data):
        data = {"account": "harbor", "referral_code": self.scenario.mina.code} | data
        return Client().post(
            f"/track/{call}/",
            data,
            content_type="application/json",
            headers={name: text for name, text in self.headers.items() if text},
            REMOTE_ADDR=PROXY_IP,
        )

    def follow(self):
        path = f"/r/harbor/{self.scenario.mina.code}/"
        return Client().get(path, headers=self.headers, REMOTE_ADDR=PROXY_IP)

    @property
    def addresses(self):
        return list(self.scenario.account.clicks.values_list("ip", flat=True))

    @property
    def problems(self):
        failures = self.scenario.account.failed_page_calls
        return list(failures.values_list("reason", "count"))


@pytest.fixture
def shop(scenario):
    return Shop(scenario)


def test_the_visitor_counts_whom_a_proven_proxy_names(shop):
    shop.call()
    shop.headers["X-Visitor-Address"] = "[2001:db8::1]:4711"
    shop.call()
    shop.headers["X-Visitor-Address"] = "198.51.100.21"
    assert shop.follow().status_code == 302

    assert sorted(shop.addresses) == ["198.51.100.20", "198.51.100.21", "2001:db8::1"]
    assert shop.problems == []
    assert shop.key.reload().last_used_at is not None


@pytest.mark.parametrize(
    ("headers", "problem"),
    [
        ({"X-Affiliate-Proxy": ""}, None),
        ({"X-Affiliate-Proxy": "x"}, "wrong_proxy_key"),
        ({"X-Visitor-Address": ""}, "proxy_without_address"),
        ({"X-Visitor-Address": "unknown"}, "proxy_without_address"),
        ({"X-Visitor-Address": f"{VISITOR_IP}, 10.0.0.1"}, "proxy_without_address"),
    ],
)
def test_without_proof_the_call_counts_and_its_headers_do_not(shop, headers, problem):
    shop.headers |= headers
    response = shop.call()

    assert (response.status_code, list(response.json())) == (200, ["vid"])
    assert shop.addresses == [PROXY_IP]
    assert shop.problems == ([(problem, 1)] if problem else [])

    shop.follow()
    assert set(shop.addresses) == {PROXY_IP}


@pytest.mark.parametrize("role", ["viewer", "manager", "owner"])
def test_a_key_of_another_role_proves_no_proxy(shop, scenario, role):
    _, text = create_api_key(scenario.account, name="", role=role, at=NOW)
    shop.headers["X-Affiliate-Proxy"] = text
    shop.call()
    assert shop.addresses == [PROXY_IP]
    assert shop.problems == [("wrong_proxy_key", 1)]


def test_a_revoked_key_or_that_of_another_account_proves_nothing(shop, scenario):
    other = ProgramScenario(AccountFactory(slug="quay"))
    _, foreign = create_api_key(other.account, name="", role="proxy", at=NOW)
    shop.headers["X-Affiliate-Proxy"] = foreign
    shop.call()
    revoke_api_key(scenario.account, prefix=shop.key.prefix, at=NOW)
    shop.headers["X-Affiliate-Proxy"] = shop.text
    shop.call()
    assert shop.addresses == [PROXY_IP]  # one visitor: one click
    assert shop.problems == [("wrong_proxy_key", 2)]


def test_limits_are_per_visitor_and_per_account(shop, monkeypatch):
    rate = throttling.ClientRate("1/m", throttling.BROWSER_CALLS.per_48)
    monkeypatch.setattr(throttling, "BROWSER_CALLS", rate)

    def call(visitor, key=shop.text):
        shop.headers |= {"X-Affiliate-Proxy": key, "X-Visitor-Address": visitor}
        return shop.call().status_code

    assert [call("198.51.100.1"), call("198.51.100.1")] == [200, 429]
    assert call("198.51.100.2") == 200
    # Without proof it is the proxy that is limited, and never whom it names.
    assert [call("198.51.100.3", "x"), call("198.51.100.4", "x")] == [200, 429]
    # What a proxy names uses up nothing of visitors who call directly.
    shop.headers |= {"X-Affiliate-Proxy": ""}
    response = Client().post("/track/click/", {}, REMOTE_ADDR="198.51.100.1")
    assert response.status_code != 429


def test_a_proven_proxy_takes_no_statement_more(shop, capture_queries):
    shop.call()  # the use of the key is recorded once a minute
    numbers = []
    for headers in ({}, {"X-Affiliate-Proxy": ""}):
        shop.headers |= headers
        shop.call()  # opens the counter of this address
        with capture_queries() as queries:
            shop.call()
        numbers.append(len(queries))
    assert numbers[0] == numbers[1]


def test_a_key_of_a_proxy_opens_no_api(shop, scenario):
    for method, path in (("GET", "/1.6/programs/"), ("POST", "/1.7/pb/con/c/")):
        response = Client().generic(method, path, headers={"X-Api-Key": shop.text})
        assert response.status_code == 403
    assert scenario.account.conversions.count() == 0


# The cookie of the visitor.


def read_cookie(response):
    """The cookie that a response sets, with its attributes, or None."""
    morsel = response.cookies.get("tap_vid")
    if morsel is None:
        return None
    assert list(response.cookies) == ["tap_vid"]
    assert morsel.value == response.json()["vid"]
    return {name: value for name, value in morsel.items() if value}


def test_the_server_sets_the_cookie_where_a_proxy_is_proven(shop):
    expected = {"max-age": 31_536_000, "path": "/", "samesite": "Lax", "secure": True}
    cookies = [
        read_cookie(shop.call(**data))
        for data in ({}, {"referral_code": "nobody"}, {"referral_code": None})
    ]
    for cookie in cookies:
        assert cookie.pop("expires")
    # A page cannot tell whether the code is known.
    assert cookies == [expected] * 3

    shop.headers["Origin"] = "http://shop.example.net:8080"
    assert "secure" not in read_cookie(shop.call())
    assert shop.call("customer", customer_id="c").cookies == {}


@pytest.mark.parametrize("key", ["", "x", None])
def test_other_responses_set_no_cookie(shop, key):
    shop.headers["X-Affiliate-Proxy"] = key if key is not None else shop.text
    account = "nobody" if key is None else "harbor"
    assert read_cookie(shop.call(account=account)) is None
    assert shop.follow().cookies == {}


@pytest.mark.parametrize(
    ("origin", "wanted", "domain"),
    [
        ("https://www.shop.example", "shop.example", "shop.example"),
        ("https://www.shop.example", ".Shop.example", "shop.example"),
        ("https://shop.example", "shop.example", "shop.example"),
        ("https://shop.example", "www.shop.example", None),
        ("https://shop.example", "other.example", None),
        ("https://eshop.example", "shop.example", None),
        ("https://shop.example", "example", None),
        ("https://shop.example", "shop.example; Secure", None),
        ("https://shop.example", ["shop.example"], None),
        ("https://[shop.example", "shop.example", None),
        ("null", "shop.example", None),
        (None, "shop.example", None),
    ],
)
def test_the_domain_of_the_cookie_is_above_the_page(shop, origin, wanted, domain):
    shop.headers["Origin"] = origin
    cookie = read_cookie(shop.call(cookie_domain=wanted))
    assert cookie.get("domain") == domain
