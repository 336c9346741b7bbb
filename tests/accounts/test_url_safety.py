"""docs/reliability.md, section 6: which URLs webhooks may call."""

import pytest

from accounts.errors import InvalidUrl
from accounts.url_safety import ParsedUrl, parse_url, read_parameters

ALLOWED_HOSTS = {
    "127.0.0.1:9000",
    "odd.internal:80",
    "[::1]:9000",
    "hooks.internal:8443",
}


def parse(url):
    return parse_url(url, allowed_hosts=ALLOWED_HOSTS)


@pytest.mark.parametrize(
    ("url", "parsed"),
    [
        (
            "https://shop.example.net/hook?a=1",
            ParsedUrl("https", "shop.example.net", 443, "/hook?a=1", is_allowed=False),
        ),
        (
            "HTTPS://Shop.Example.NET:443",
            ParsedUrl("https", "shop.example.net", 443, "/", is_allowed=False),
        ),
        (
            "https://[2606:4700::1111]/",
            ParsedUrl("https", "2606:4700::1111", 443, "/", is_allowed=False),
        ),
        (
            "http://127.0.0.1:9000/hook",
            ParsedUrl("http", "127.0.0.1", 9000, "/hook", is_allowed=True),
        ),
        ("http://[::1]:9000/", ParsedUrl("http", "::1", 9000, "/", is_allowed=True)),
        (
            "https://HOOKS.internal:8443/",
            ParsedUrl("https", "hooks.internal", 8443, "/", is_allowed=True),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_parses_a_url(url, parsed):
    assert parse(url) == parsed


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://shop.example.net/", "only https on port 443"),
        ("https://shop.example.net:8443/", "only https on port 443"),
        ("http://127.0.0.1:9001/", "only https on port 443"),
        ("http://shop.example.net:443/", "only https on port 443"),
        ("ftp://odd.internal:80/", "not like https://host/path"),
        ("ftp://shop.example.net/", "not like https://host/path"),
        ("shop.example.net/hook", "not like https://host/path"),
        ("https:///hook", "not like https://host/path"),
        ("https://", "not like https://host/path"),
        ("", "characters other than visible ASCII"),
        ("https://mina:secret@shop.example.net/", "a user or a fragment"),
        ("https://@shop.example.net/", "a user or a fragment"),
        ("https://good.example\\@127.0.0.1/", "a user or a fragment"),
        ("https://shop.example.net/#top", "a user or a fragment"),
        ("https://shop.example.net/a b", "visible ASCII"),
        ("https://shop.example.net/\r\nX-Evil: 1", "visible ASCII"),
        ("https://bücher.example/", "visible ASCII"),
        ("https://shop.example.net:99999/", "not like https://host/path"),
        ("https://shop.example.net:port/", "not like https://host/path"),
        ("https://[::1/", "not like https://host/path"),
        ("https://exa$mple.net/", "not like https://host/path"),
        ("https://-shop.example.net/", "not like https://host/path"),
        ("https://fe80::1%25eth0/", "not like https://host/path"),
        ("https://[::1]x/", "not like https://host/path"),
        ("https://x[::1]/", "not like https://host/path"),
        ("https://shop.example.net:/", "not like https://host/path"),
        (f"https://{'a' * 64}.example/", "not like https://host/path"),
        (f"https://{'a.' * 127}example/", "not like https://host/path"),
        (
            "https://127.0.0.1/",
            "127.0.0.1 is not public; your operator can add 127.0.0.1:443 to WEBHOOK_ALLOWED_HOSTS",
        ),
        ("https://[::1]/", "operator can add [::1]:443 to WEBHOOK_ALLOWED_HOSTS"),
        ("https://[64:ff9b::7f00:1]/", "64:ff9b::7f00:1 is not public"),
        ("https://localhost/", "localhost is not public"),
    ],
    ids=lambda text: text[:40],
)
def test_rejects_an_invalid_url(url, reason):
    with pytest.raises(InvalidUrl, match="Invalid URL") as error:
        parse(url)

    assert reason in error.value.text


MANGLED_ADDRESSES = {
    "?ref=a": "a",
    "?ref=a&ref=b": "b",
    "?ref=a&ref=": "a",
    "?a=1&amp;ref=a": "a",
    "?a=b?ref=a": "a",
    "?a=b&ref=a?x=1": "a",
    "#/?ref=a": "a",
    "#/lamps?x=1&ref=a": "a",
    "?ref=a#/?ref=b": "b",
    "?x=ref=a": None,
    "#ref=a": None,
    "?q=who?": None,
}


@pytest.mark.parametrize("end", MANGLED_ADDRESSES)
def test_reads_parameters_of_mangled_addresses(end):
    found = read_parameters(f"https://shop.example.net/{end}")
    assert found.get("ref") == MANGLED_ADDRESSES[end]
