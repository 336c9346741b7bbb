"""Host resolution: only public addresses (docs/api-contract.md, section 6.3)."""

import socket

import pytest

from accounts.url_safety import ParsedUrl, is_public
from affiliate_site.safe_http import (
    HostUnreachable,
    resolve_addresses,
)

PUBLIC = [
    "93.184.215.14",
    "8.8.8.8",
    "2606:4700:4700::1111",
    "2001:4860:4860::8888",
    "2002:5db8:d70e::1",  # 6to4 of 93.184.215.14
]
NOT_PUBLIC = [
    "127.0.0.1",
    "127.255.255.254",
    "0.0.0.0",  # noqa: S104 - no binding
    *("10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1"),
    *("192.0.0.1", "192.0.2.1", "198.18.0.1", "224.0.0.1", "239.255.255.250"),
    *("240.0.0.1", "255.255.255.255", "::", "::1", "fe80::1", "fe80::1%1"),
    *("fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1", "2001:db8::1"),
    *("::127.0.0.1", "::ffff:127.0.0.1", "::ffff:7f00:1"),
    *("::ffff:169.254.169.254", "::ffff:224.0.0.1"),
    "2002:7f00:1::",  # 6to4 of 127.0.0.1
    "2002:a9fe:a9fe::1",  # of 169.254.169.254
    "2001:0:7f00:1::",  # Teredo by a server 127.0.0.1
    "2001:0:5db8:d70e:0:0:80ff:fffe",  # Teredo of a client 127.0.0.1
    *("64:ff9b::127.0.0.1", "64:ff9b::8.8.8.8", "64:ff9b:1::7f00:1", "192.0.0.9"),
    *("192.88.99.1", "3fff::1"),
    "2606:4700::5efe:10.0.0.1",  # ISATAP of 10.0.0.1
    "2606:4700::200:5efe:7f00:1",
]


def resolve(host, *, is_allowed=False):
    target = ParsedUrl("https", host, 443, "/", is_allowed=is_allowed)
    return resolve_addresses(target, timeout_seconds=10)


@pytest.fixture
def fake_dns(monkeypatch):
    """A resolver for these names: `fake_dns["shop.example.net"] = [address, …]`."""
    addresses = {}

    def getaddrinfo(host, port, **_):
        if host not in addresses:
            raise socket.gaierror(-2, "Name or service not known")
        return [(0, 0, 0, "", (address, port)) for address in addresses[host]]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return addresses


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_allowed(address):
    assert is_public(address)


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_other_addresses_are_not_public(address):
    assert not is_public(address)


def test_returns_addresses_in_resolver_order(fake_dns):
    fake_dns["shop.example.net"] = ["8.8.8.8", "2606:4700::1", "8.8.8.8"]

    assert resolve("shop.example.net") == ["8.8.8.8", "2606:4700::1"]


@pytest.mark.parametrize("addresses", [["8.8.8.8", "10.0.0.1"], ["10.0.0.1"], None])
def test_does_not_say_which_inner_names_there_are(fake_dns, addresses):
    """An unknown name is answered like a private one."""
    if addresses:
        fake_dns["shop.example.net"] = addresses

    with pytest.raises(HostUnreachable) as error:
        resolve("shop.example.net")

    assert str(error.value) == (
        "the name shop.example.net is not known, or not public; your operator can add"
        " shop.example.net:443 to WEBHOOK_ALLOWED_HOSTS"
    )


def test_allows_private_address_of_allowed_host(fake_dns):
    fake_dns["hooks.internal"] = ["10.0.0.1"]

    assert resolve("hooks.internal", is_allowed=True) == ["10.0.0.1"]


@pytest.mark.parametrize(
    "spelling", ["127.1", "0x7f.1", "2130706433", "0177.0.0.1", "127.0.0.1", "::1", "0"]
)
def test_rejects_every_spelling_of_loopback(spelling):
    """The real resolver accepts all of them as loopback."""
    with pytest.raises(HostUnreachable, match="not public"):
        resolve(spelling)


def test_reports_an_unknown_name_that_is_allowed(fake_dns):
    with pytest.raises(HostUnreachable, match=r"the name nowhere\.example is not known$"):
        resolve("nowhere.example", is_allowed=True)


def test_reports_invalid_name_as_unknown():
    with pytest.raises(HostUnreachable, match="is not known"):
        resolve(f"{'x' * 64}.example")
