"""Affiliate links (docs/api-contract.md, sections 2.0 and 5.3)."""

from urllib.parse import parse_qs, urlsplit

import pytest
from django.conf import settings

from affiliate_site.links import build_asset_link
from tracking.referral_links import build_referral_link

SHOP = "https://shop.example.net/"


@pytest.mark.parametrize(
    ("page", "link"),
    [
        (SHOP, "https://shop.example.net/?ref=qv7kd2p"),
        ("https://shop.example.net", "https://shop.example.net/?ref=qv7kd2p"),
        (f"{SHOP}lamps?hue=red", f"{SHOP}lamps?hue=red&ref=qv7kd2p"),
        (f"{SHOP}lamps#top", f"{SHOP}lamps?ref=qv7kd2p#top"),
        ("", f"{settings.PUBLIC_URL}/?ref=qv7kd2p"),
    ],
)
def test_appends_code_as_last_parameter(page, link):
    assert build_referral_link(page, "qv7kd2p") == link


@pytest.mark.parametrize(
    ("page", "link"),
    [
        (SHOP, f"{SHOP}?tap_a=4-b81d20&tap_s=77-0ce9fa"),
        (f"{SHOP}?hue=red#top", f"{SHOP}?hue=red&tap_a=4-b81d20&tap_s=77-0ce9fa#top"),
        ("", f"{settings.PUBLIC_URL}/?tap_a=4-b81d20&tap_s=77-0ce9fa"),
    ],
)
def test_appends_asset_and_source(page, link):
    assert build_asset_link(page, "4-b81d20", "77-0ce9fa") == link


@pytest.mark.parametrize("code", ["a b", "a&b=c", "50%", "a#b", "a+b", "mina/é", "?"])
def test_encodes_every_code(code):
    link = urlsplit(build_referral_link(f"{SHOP}?hue=red", code))

    assert parse_qs(link.query) == {"hue": ["red"], "ref": [code]}
    assert link.fragment == ""
    assert link.geturl().isascii()
