"""reliability.md, section 11, and contract 6.3: which addresses are called."""

import socket

import pytest

from accounts.targets import Target, is_public
from affiliate_site.webhooks.addresses import Unreachable, addresses_of

PUBLIC = [
    "93.184.215.14",
    "8.8.8.8",
    "2606:4700:4700::1111",
    "2001:4860:4860::8888",
    "2002:5db8:d70e::1",  # 6to4 of 93.184.215.14
]
INSIDE = [
    "127.0.0.1",
    "127.255.255.254",
    "0.0.0.0",  # noqa: S104 - no binding
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "192.0.0.1",
    "192.0.2.1",
    "198.18.0.1",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "fe80::1",
    "fe80::1%1",
    "fec0::1",
    "fc00::1",
    "fd00:ec2::254",
    "ff02::1",
    "2001:db8::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "::ffff:169.254.169.254",
    "::ffff:224.0.0.1",
    "2002:7f00:1::",  # 6to4 of 127.0.0.1
    "2002:a9fe:a9fe::1",  # of 169.254.169.254
    "2001:0:7f00:1::",  # Teredo by a server 127.0.0.1
    "2001:0:5db8:d70e:0:0:80ff:fffe",  # Teredo of a client 127.0.0.1
    "64:ff9b::127.0.0.1",
    "64:ff9b::8.8.8.8",
    "64:ff9b:1::7f00:1",
    "192.0.0.9",
    "192.88.99.1",
    "3fff::1",
    "2606:4700::5efe:10.0.0.1",  # ISATAP of 10.0.0.1
    "2606:4700::200:5efe:7f00:1",
]


def target(host, *, excused=False):
    return Target("https", host, 443, "/", excused=excused)


def found(target):
    return addresses_of(target, seconds=10)


@pytest.fixture
def names(monkeypatch):
    """A resolver that knows these names: `names["shop.example.net"] = [address, …]`."""
    known = {}

    def resolve(host, port, **_):
        if host not in known:
            raise socket.gaierror(-2, "Name or service not known")
        return [(0, 0, 0, "", (address, port)) for address in known[host]]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return known


@pytest.mark.parametrize("address", PUBLIC)
def test_calls_what_lies_outside(address):
    assert is_public(address)


@pytest.mark.parametrize("address", INSIDE)
def test_calls_nothing_inside(address):
    assert not is_public(address)


def test_tells_the_addresses_in_the_order_of_the_resolver(names):
    names["shop.example.net"] = ["8.8.8.8", "2606:4700::1", "8.8.8.8"]

    assert found(target("shop.example.net")) == ["8.8.8.8", "2606:4700::1"]


def test_refuses_a_name_one_of_whose_addresses_lies_inside(names):
    names["shop.example.net"] = ["8.8.8.8", "10.0.0.1"]

    with pytest.raises(Unreachable) as refused:
        found(target("shop.example.net"))

    assert str(refused.value) == (
        "shop.example.net leads to 10.0.0.1, which is not public"
    )


def test_calls_inside_what_the_operator_excuses(names):
    names["hooks.internal"] = ["10.0.0.1"]

    assert found(target("hooks.internal", excused=True)) == ["10.0.0.1"]


@pytest.mark.parametrize(
    "spelled", ["127.1", "0x7f.1", "2130706433", "0177.0.0.1", "127.0.0.1", "::1", "0"]
)
def test_looks_at_addresses_and_not_at_how_they_are_spelled(spelled):
    """The real resolver: it takes them all for loopback."""
    with pytest.raises(Unreachable, match="which is not public"):
        found(target(spelled))


def test_says_that_a_name_is_not_known(names):
    with pytest.raises(Unreachable, match=r"the name nowhere\.example is not known"):
        found(target("nowhere.example"))


def test_says_so_of_a_name_that_cannot_be_one():
    with pytest.raises(Unreachable, match="is not known"):
        found(target(f"{'x' * 64}.example"))
