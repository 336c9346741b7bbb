"""reliability.md, section 11: which URLs may be called at all."""

import pytest

from accounts.errors import OddUrl
from accounts.targets import Target, target_of

EXCUSED = {"127.0.0.1:9000", "odd.internal:80", "[::1]:9000", "hooks.internal:8443"}


def read(url):
    return target_of(url, excused=EXCUSED)


@pytest.mark.parametrize(
    ("url", "target"),
    [
        (
            "https://shop.example.net/hook?a=1",
            Target("https", "shop.example.net", 443, "/hook?a=1", excused=False),
        ),
        (
            "HTTPS://Shop.Example.NET:443",
            Target("https", "shop.example.net", 443, "/", excused=False),
        ),
        (
            "https://[2606:4700::1111]/",
            Target("https", "2606:4700::1111", 443, "/", excused=False),
        ),
        (
            "http://127.0.0.1:9000/hook",
            Target("http", "127.0.0.1", 9000, "/hook", excused=True),
        ),
        ("http://[::1]:9000/", Target("http", "::1", 9000, "/", excused=True)),
        (
            "https://HOOKS.internal:8443/",
            Target("https", "hooks.internal", 8443, "/", excused=True),
        ),
    ],
    ids=lambda it: it if isinstance(it, str) else "",
)
def test_takes_a_url_apart(url, target):
    assert read(url) == target


@pytest.mark.parametrize(
    ("url", "why"),
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
        ("", "something else than visible ASCII"),
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
        ("https://127.0.0.1/", "127.0.0.1 is not public"),
        ("https://[::1]/", "::1 is not public"),
        ("https://[64:ff9b::7f00:1]/", "64:ff9b::7f00:1 is not public"),
        ("https://localhost/", "localhost is not public"),
    ],
    ids=lambda it: it[:40],
)
def test_says_what_is_wrong_with_a_url(url, why):
    with pytest.raises(OddUrl, match="The URL cannot be called") as refused:
        read(url)

    assert why in refused.value.text
