"""Contract 1.6: 25 a page, newest first, and a `Link` that older clients can read."""

from datetime import timedelta

import pytest

from tests.conftest import NOW
from tests.factories.tracking import ProgramFactory

BASE = "http://testserver/1.6/programs/"
INVALID_PAGE = {
    "errors": [
        {
            "message": "Invalid page",
            "message_raw": "Invalid page",
            "property_path": "page",
        }
    ]
}


def link(base=BASE, kept="", **pages):
    """The header that the contract asks for, its entries in the order given."""
    return ", ".join(
        f'<{base}?{kept}page={page}>; rel="{rel}"' for rel, page in pages.items()
    )


@pytest.fixture
def programs(account):
    """80 programs, the first one the newest: four pages, the last of five rows."""
    return [
        ProgramFactory(
            account=account, slug=f"p-{n:02}", created_at=NOW - timedelta(days=n)
        )
        for n in range(80)
    ]


def slugs(response):
    return [row["id"] for row in response.json()]


PAGES = [
    pytest.param(1, link(next=2, last=4, first=1), 25, id="first"),
    pytest.param(2, link(next=3, last=4, first=1, prev=1), 25, id="second"),
    pytest.param(3, link(next=4, last=4, first=1, prev=2), 25, id="third"),
    pytest.param(4, link(last=4, first=1, prev=3), 5, id="last"),
    pytest.param(5, link(last=4, first=1, prev=4), 0, id="past the end"),
    pytest.param(6, link(last=4, first=1, prev=4), 0, id="further past the end"),
    pytest.param(999_999_999, link(last=4, first=1, prev=4), 0, id="far past the end"),
]


@pytest.mark.parametrize(("page", "header", "length"), PAGES)
def test_shows_a_page_and_the_way_to_others(api, programs, page, header, length):
    response = api.get(f"/programs/?page={page}")

    first = (page - 1) * 25
    assert response.status_code == 200
    assert response["Link"] == header
    assert slugs(response) == [row.slug for row in programs][first : first + 25]
    assert len(response.json()) == length


@pytest.mark.parametrize("query", ["", "?", "?page=", "?page=1"])
def test_begins_with_the_first_page(api, programs, query):
    response = api.get(f"/programs/{query}")

    assert response["Link"] == link(next=2, last=4, first=1)
    assert slugs(response)[0] == "p-00"


@pytest.mark.parametrize(
    ("rows", "header"),
    [
        (0, link(last=1, first=1)),
        (1, link(last=1, first=1)),
        (24, link(last=1, first=1)),
        (25, link(last=1, first=1)),
        (26, link(next=2, last=2, first=1)),
        (50, link(next=2, last=2, first=1)),
        (51, link(next=2, last=3, first=1)),
    ],
)
def test_tells_the_way_from_the_first_page(api, account, rows, header):
    ProgramFactory.create_batch(rows, account=account)

    response = api.get("/programs/")

    assert response.status_code == 200
    assert len(response.json()) == min(rows, 25)
    assert response["Link"] == header


@pytest.mark.parametrize("page", [2, 3, 100])
def test_leads_back_from_beyond_an_empty_list(api, page):
    response = api.get(f"/programs/?page={page}")

    assert response.status_code == 200
    assert response.json() == []
    assert response["Link"] == link(last=1, first=1, prev=1)


def test_says_next_only_where_there_is_one(api, programs):
    without = [api.get(f"/programs/?page={page}")["Link"] for page in (4, 5)]

    assert not any("next" in header for header in without)


def test_reads_whole_by_following_next(api, programs):
    address, found = "/programs/", []
    while address:
        response = api.get(address)
        found += slugs(response)
        entry = response["Link"].split(", ")[0]
        address = entry[1:].partition(">")[0] if 'rel="next"' in entry else ""
        address = address.removeprefix("http://testserver/1.6")

    assert found == [row.slug for row in programs]


def test_breaks_ties_by_id_descending(api, account):
    earlier, later, last = (
        ProgramFactory(account=account, created_at=NOW) for _ in range(3)
    )

    assert slugs(api.get("/programs/")) == [last.slug, later.slug, earlier.slug]


def test_counts_rows_of_the_account_alone(api, other_account, programs):
    ProgramFactory.create_batch(30, account=other_account)

    assert api.get("/programs/")["Link"] == link(next=2, last=4, first=1)


# Addresses


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("a=1&b=2", "a=1&b=2&"),
        ("page=2&a=1", "a=1&"),
        ("a=1&page=2&b=2", "a=1&b=2&"),
        ("b=2&a=1&a=1", "b=2&a=1&a=1&"),
        ("a=%20+%2B%26&page=2", "a=%20+%2B%26&"),
        ("a=caf%C3%A9&A=%e2%82%ac", "a=caf%C3%A9&A=%e2%82%ac&"),
        ("a=&b", "a=&b&"),
        ("a=b=c", "a=b=c&"),
        ("pages=7&xpage=8&page_=9", "pages=7&xpage=8&page_=9&"),
        ("a[page]=7", "a[page]=7&"),
        ("a=page=7", "a=page=7&"),
        ("limit=5&per-page=5&per_page=5", "limit=5&per-page=5&per_page=5&"),
        ("page=3&page=2", ""),
        ("p%61ge=2", ""),
        ("a=%0d%0aSet-Cookie:x", "a=%0d%0aSet-Cookie:x&"),
        ("a=%3E%22", "a=%3E%22&"),
        ("a=1;b=2", "a=1;b=2&"),
    ],
)
def test_keeps_every_other_parameter_as_sent(api, query, kept):
    response = api.get(f"/programs/?{query}")

    prev = {"prev": 1} if "ge=2" in query else {}
    assert response.status_code == 200
    assert response["Link"] == link(kept=kept, last=1, first=1, **prev)


@pytest.mark.parametrize("query", ["limit=5", "per-page=5", "per_page=5", "size=5"])
def test_has_one_length_of_a_page(api, programs, query):
    response = api.get(f"/programs/?{query}")

    assert len(response.json()) == 25


def test_lets_the_last_page_parameter_count(api, programs):
    response = api.get("/programs/?page=x&page=4&page=2")

    assert response["Link"] == link(next=3, last=4, first=1, prev=1)
    assert slugs(response)[0] == "p-25"


def test_names_the_host_and_port_that_were_asked(api, settings):
    settings.ALLOWED_HOSTS = ["aff.example.net"]

    response = api.get("/programs/", Host="aff.example.net:8443")

    assert response["Link"] == link(
        "http://aff.example.net:8443/1.6/programs/", last=1, first=1
    )


def test_names_the_scheme_that_the_trusted_proxy_saw(api, settings):
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

    response = api.get(
        "/programs/", **{"Host": "testserver", "X-Forwarded-Proto": "https"}
    )

    assert response["Link"] == link("https://testserver/1.6/programs/", last=1, first=1)


def test_believes_no_scheme_of_a_stranger(api):
    response = api.get("/programs/", **{"X-Forwarded-Proto": "https"})

    assert response["Link"] == link(last=1, first=1)


def test_puts_the_slash_into_every_address(api):
    response = api.get("/programs?a=1")

    assert response["Link"] == link(kept="a=1&", last=1, first=1)


def test_sends_no_link_with_one_object_or_a_refusal(api, program):
    answers = [
        api.get("/programs/harbor-lamp-partners/"),
        api.get("/programs/unknown/"),
        api.get("/programs/?page=0"),
    ]

    assert not any("Link" in response for response in answers)


# Odd pages


ODD = {
    "nought": "0",
    "below nought": "-1",
    "a plus": "%2B1",
    "a raw plus": "+1",
    "a leading nought": "01",
    "full-width": "%EF%BC%91",
    "Arabic-Indic": "%D9%A1",
    "superscript": "%C2%B2",
    "10**30": str(10**30),
    "ten digits": "1" + "0" * 9,
    "last": "last",
    "next": "next",
    "a fraction": "1.0",
    "an exponent": "1e3",
    "an underscore": "1_0",
    "hexadecimal": "0x1",
    "white space": "%20",
    "white space before": "%201",
    "white space behind": "1%20",
    "a line break behind": "1%0A",
    "NUL behind": "1%00",
    "a broken byte": "1%FF",
    "two numbers": "1,2",
    "null": "null",
    "true": "true",
    "100,000 digits": "1" * 100_000,
    "a statement": "1;DROP TABLE x",
}


@pytest.mark.parametrize("value", ODD.values(), ids=ODD)
def test_refuses_an_odd_page(api, program, value):
    response = api.get(f"/programs/?page={value}")

    assert response.status_code == 400
    assert response.json() == INVALID_PAGE


def test_counts_a_bracketed_page_as_unknown(api, programs):
    response = api.get("/programs/?page[]=2&page%5B0%5D=x")

    assert response.status_code == 200
    assert slugs(response)[0] == "p-00"


# How much is asked


def test_asks_as_much_for_many_as_for_few(api, programs, statements):
    api.get("/programs/")

    counts = []
    for page in (1, 4):
        with statements() as asked:
            api.get(f"/programs/?page={page}")
        counts.append(len(asked))

    assert counts[0] == counts[1]
