"""Visitors who go from one host of a shop to another one (contract, section 5.5)."""

from datetime import timedelta

import pytest
from django.test import Client

from tests.factories.accounts import AccountFactory
from tests.program_scenario import ProgramScenario

pytestmark = pytest.mark.usefixtures("shared_scenario")

AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
SHOP, CHECKOUT = "https://shop.example.net", "https://pay.example:8443"
OWN = "0123456789abcdef" * 2  # a visitor of the other host


class Hosts:
    """The pages of a shop on two hosts, of which its program names both."""

    def __init__(self, scenario) -> None:
        self.scenario = scenario
        scenario.program.update_row(shop_hosts=["pay.example:8443"])
        self.vid = self.call(SHOP, "click", referral_code=scenario.mina.code)["vid"]

    def call(self, origin, call, **data):
        response = Client().post(
            f"/track/{call}/",
            {"account": "harbor"} | data,
            content_type="application/json",
            headers={"User-Agent": AGENT} | ({"Origin": origin} if origin else {}),
        )
        assert response.status_code == 200
        return response.json()

    def sign(self, *hosts, origin=SHOP, **data):
        """The parameters that a page on the first host gets."""
        hosts = list(hosts) or ["pay.example:8443"]
        data = {"vid": self.vid, "hosts": hosts} | data
        return self.call(origin, "handover", **data)["handovers"]

    def hand_in(self, handover, *, origin=CHECKOUT, **data):
        """The visitor whom a page on the other host gets."""
        page = f"{origin}/?tap_visitor=x"
        data = {"handover": handover, "landing_page": page} | data
        return self.call(origin, "click", **data)["vid"]

    @property
    def problems(self):
        failures = self.scenario.account.failed_page_calls
        return list(failures.values_list("reason", flat=True))


@pytest.fixture
def hosts(scenario, time_machine):
    time_machine.move_to("2026-03-04T12:00:00Z", tick=False)
    return Hosts(scenario)


def test_the_visitor_is_the_same_on_the_other_host(hosts, scenario, time_machine):
    (handover,) = hosts.sign().values()
    time_machine.shift(timedelta(minutes=2))

    assert hosts.hand_in(handover) == hosts.vid
    assert hosts.hand_in(handover, vid=OWN) == hosts.vid
    assert (scenario.account.clicks.count(), hosts.problems) == (1, [])
    assert handover.startswith(f"{hosts.vid}~")  # by which the script knows its own


@pytest.mark.parametrize("own", [None, OWN, "x; y", 5])
def test_an_expired_one_leaves_the_visitor_as_it_was(hosts, time_machine, own):
    (handover,) = hosts.sign().values()
    time_machine.shift(timedelta(minutes=2, seconds=1))

    vid = hosts.hand_in(handover, vid=own)

    assert vid == OWN if own == OWN else vid not in (hosts.vid, own)
    assert hosts.problems == ["expired_handover"]


@pytest.mark.parametrize(
    "forge",
    [
        lambda text: text.replace(text[:4], "beef", 1),
        lambda text: text[:-1] + ("a" if text[-1] != "a" else "b"),
        lambda text: text.replace("shop.example.net", "evil.example"),
        lambda _: "beef",
        lambda _: "beef:1:x\u20ac",
    ],
)
def test_a_forged_one_counts_for_nobody(hosts, forge):
    (handover,) = hosts.sign().values()
    assert hosts.hand_in(forge(handover)) not in (hosts.vid, forge(handover))
    assert hosts.problems == ["refused_handover"]


@pytest.mark.parametrize(
    ("source", "target", "used_on"),
    [
        (SHOP, "evil.example", "https://evil.example"),
        (SHOP, "pay.example:8443", "https://evil.example"),
        (SHOP, "pay.example:8443", "https://pay.example"),
        ("https://evil.example", "pay.example:8443", CHECKOUT),
        (None, "pay.example:8443", CHECKOUT),
        ("https://[evil", "pay.example:8443", CHECKOUT),
        (SHOP, "pay.example:8443", None),
    ],
)
def test_a_host_that_the_program_does_not_name(hosts, source, target, used_on):
    (handover,) = hosts.sign(target, origin=source).values()
    assert hosts.hand_in(handover, origin=used_on) != hosts.vid
    assert hosts.problems == ["refused_handover"]


def test_both_hosts_are_of_one_program_and_account(hosts, scenario):
    (handover,) = hosts.sign().values()
    scenario.program.update_row(shop_hosts=["www.pay.example:8443"])
    assert hosts.hand_in(handover) == hosts.vid  # www. need not be named
    other = ProgramScenario(AccountFactory(slug="quay"))
    other.program.update_row(shop_hosts=["shop.example.net", "pay.example:8443"])
    assert hosts.hand_in(handover, account="quay") != hosts.vid
    scenario.program.update_row(shop_hosts=None)
    assert hosts.hand_in(handover) != hosts.vid


def test_signing_says_nothing_of_what_exists(hosts):
    known = hosts.sign("pay.example:8443", "evil.example")
    unknown = hosts.sign("pay.example:8443", "evil.example", account="nobody")
    made_up = hosts.sign("pay.example:8443", "evil.example", vid=OWN)
    assert list(known) == list(unknown) == list(made_up)
    assert len({len(text) for text in [*known.values(), *made_up.values()]}) == 1


@pytest.mark.parametrize(
    "data",
    [
        {"vid": None},
        {"vid": "x~evil.example"},
        {"vid": ["a"]},
        {"hosts": "pay.example"},
        {"hosts": None},
        {"hosts": [5, None, {}]},
    ],
)
def test_signs_no_odd_values(hosts, data):
    assert hosts.sign(**data) == {}
    assert hosts.problems == []


def test_signs_for_at_most_ten_hosts(hosts):
    names = [f"{number}.example" for number in range(12)]
    assert list(hosts.sign(*names)) == names[:10]


def test_a_link_of_an_affiliate_is_newer(hosts, scenario):
    (handover,) = hosts.sign().values()
    vid = hosts.hand_in(handover, referral_code=scenario.mina.code)
    assert vid != hosts.vid
    assert scenario.account.visitors.get(tracking_id=vid)
