"""Recording of clicks (docs/api-contract.md, section 2.8)."""

import pytest

from tests.conftest import NOW
from tests.factories.tracking import AffiliateFactory, EnrollmentFactory
from tracking.attribution import TrackingParameters
from tracking.models.clicks import parse_client_ip
from tracking.services.clicks import Visit, normalize_url, record_click


@pytest.fixture
def odette(account, program):
    affiliate = AffiliateFactory(account=account, slug="odettevarga")
    return EnrollmentFactory(account=account, program=program, affiliate=affiliate, code="qv7kd2p")


def get_asset_and_source(program, affiliate):
    """The parameters of the program's asset and the affiliate's source."""
    account = program.account
    return {
        "asset_id": str(account.assets.get(program=program)),
        "source_id": str(account.sources.get(affiliate=affiliate)),
    }


def make_click(account, parameters=None, **fields):
    if parameters is None:
        parameters = {"referral_code": "qv7kd2p"}
    visit = Visit(parameters=TrackingParameters(**parameters), **fields)
    return record_click(account, visit=visit, at=NOW)


URLS = [
    ("https://shop.example.net/?ref=qv7kd2p", True),
    ("http://shop.example.net", True),
    ("HTTPS://Shop.Example.NET/Lamps", True),
    ("https://shop.example.net:8443/a?b=c&d=%20#e", True),
    ("https://müller.example/lämp", True),
    ("https://[2001:db8::1]/", True),
    (None, False),
    ("", False),
    (" ", False),
    ("shop.example.net", False),
    ("/lamps", False),
    ("//shop.example.net/lamps", False),
    ("ftp://shop.example.net/", False),
    ("javascript:alert(1)", False),
    ("data:text/html,https://shop.example.net", False),
    ("android-app://com.example", False),
    ("https://", False),
    ("https:///lamps", False),
    ("https:shop.example.net", False),
    ("http://[", False),
    ("http://[nonsense]/", False),
    ("x" * 3000, False),
]


@pytest.mark.parametrize(("url", "is_valid"), URLS, ids=[ascii(url)[:40] for url, _ in URLS])
def test_accepts_only_absolute_http_urls(url, is_valid):
    assert normalize_url(url) == (url if is_valid else None)


@pytest.mark.parametrize("length", [2048, 2049, 9000])
def test_truncates_urls_to_2048_characters(length):
    url = "https://shop.example.net/🛶".ljust(length, "x")

    assert normalize_url(url) == url[:2048]


FORWARDED = [
    (None, None),
    ("", None),
    (" , ,", None),
    ("203.0.113.7", "203.0.113.7"),
    (" 203.0.113.7 ", "203.0.113.7"),
    ("203.0.113.7, 198.51.100.2", "203.0.113.7"),
    ("unknown, 198.51.100.2,203.0.113.7", "198.51.100.2"),
    ("203.0.113.700, 198.51.100.2", "198.51.100.2"),
    ("2001:DB8::1", "2001:db8::1"),
    ("2001:0db8:0000::0001, 203.0.113.7", "2001:db8::1"),
    ("fe80::1%eth0", "fe80::1"),
    ("fe80::1%" + "a" * 5000, "fe80::1"),
    ("%eth0, 203.0.113.7%1", "203.0.113.7"),
    ("203.0.113", None),
    ("3405803783", None),
    ("localhost", None),
]


@pytest.mark.parametrize(("header", "ip"), FORWARDED, ids=repr)
def test_uses_the_first_valid_address_of_a_list(header, ip):
    assert parse_client_ip(header) == ip


def test_stores_a_visit(account, odette):
    click = make_click(
        account,
        referrer="https://notes.example.org/lamps",
        landing_page="https://shop.example.net/?ref=qv7kd2p",
        user_agent=" agent ",
        ip="unknown, 203.0.113.7",
        meta_data={"subid1": "newsletter-12"},
    ).reload()

    assert click.enrollment == odette
    assert (click.program, click.affiliate) == (odette.program, odette.affiliate)
    assert click.referrer == "https://notes.example.org/lamps"
    assert click.landing_page == "https://shop.example.net/?ref=qv7kd2p"
    assert click.user_agent == " agent "
    assert click.ip == "203.0.113.7"
    assert click.meta_data == {"subid1": "newsletter-12"}
    assert click.created_at == NOW


@pytest.mark.parametrize("ip", ["fe80::1%eth0", "::ffff:203.0.113.7", "::", "240.0.0.1"], ids=str)
def test_accepts_unusual_addresses(account, odette, ip):
    assert make_click(account, ip=ip).reload().enrollment == odette


def test_stores_nothing_for_missing_or_invalid_values(account, odette):
    click = make_click(account, referrer="notes", landing_page="/", ip="nowhere").reload()

    assert (click.referrer, click.landing_page, click.ip) == (None, None, None)
    assert (click.user_agent, click.meta_data) == (None, {})


def test_click_ids_are_ordered_by_time(account, odette):
    ids = [str(make_click(account)) for _ in range(5)]

    assert [click_id[:8] for click_id in ids] == sorted(click_id[:8] for click_id in ids)
    assert {click_id[14] for click_id in ids} == {"7"}


def test_prefers_the_referral_code(account, odette):
    rival = EnrollmentFactory(account=account)
    parameters = get_asset_and_source(rival.program, rival.affiliate) | {"referral_code": "qv7kd2p"}

    assert make_click(account, parameters).enrollment == odette


@pytest.mark.parametrize(
    ("query", "sub_id"),
    [
        ("?sub_id=spring_1.a-B&ref=x", "spring_1.a-B"),
        ("?ref=x&sub_id=a&sub_id=b#c", "a"),
        (f"?sub_id={'x' * 64}", "x" * 64),
        (f"?sub_id={'x' * 65}", None),
        ("?sub_id=", None),
        ("?sub_id=a%20b", None),
        ("?sub_id=lämp", None),
        ("?my_sub_id=a", None),
        ("?a=sub_id=a", None),
        ("#?sub_id=a", None),
        ("", None),
    ],
)
def test_takes_the_sub_id_from_the_landing_page(account, odette, query, sub_id):
    click = make_click(account, landing_page=f"https://shop.example.net/{query}")
    assert click.reload().sub_id == sub_id


def test_has_no_sub_id_of_an_invalid_landing_page(account, odette):
    assert make_click(account, landing_page="/?sub_id=a").sub_id is None
