"""Pages of 25 and their `Link` header (docs/api-contract.md, section 1.6)."""

from datetime import timedelta
from urllib.parse import urlencode

import pytest

from accounts.services import row_counts
from affiliate_site.api import pagination
from tests.affiliate_site.responses import build_field_error, has_only_errors
from tests.conftest import NOW
from tests.factories.tracking import ProgramFactory

BASE = "http://testserver/1.6/programs/"


def build_link_header(base=BASE, kept="", **pages):
    """Return the expected header, with its entries in this order."""
    return ", ".join(f'<{base}?{kept}page={page}>; rel="{rel}"' for rel, page in pages.items())


@pytest.fixture
def programs(account):
    """80 programs, newest first: four pages, with five rows on the last."""
    return [
        ProgramFactory(account=account, slug=f"p-{n:02}", created_at=NOW - timedelta(days=n))
        for n in range(80)
    ]


def slugs(response):
    return [row["id"] for row in response.json()]


PAGES = {
    1: (build_link_header(next=2, last=4, first=1), 25),
    2: (build_link_header(next=3, last=4, first=1, prev=1), 25),
    3: (build_link_header(next=4, last=4, first=1, prev=2), 25),
    4: (build_link_header(last=4, first=1, prev=3), 5),
    5: (build_link_header(last=4, first=1, prev=4), 0),
    999_999_999: (build_link_header(last=4, first=1, prev=4), 0),
}


@pytest.mark.parametrize("page", PAGES)
def test_returns_a_page_and_links_to_others(api, programs, page):
    header, length = PAGES[page]

    response = api.get(f"/programs/?page={page}")

    offset = (page - 1) * 25
    assert response.status_code == 200
    assert response["Link"] == header
    assert slugs(response) == [row.slug for row in programs][offset : offset + 25]
    assert len(response.json()) == length


@pytest.mark.parametrize("query", ["", "?", "?page=", "?page=1"])
def test_defaults_to_the_first_page(api, programs, query):
    response = api.get(f"/programs/{query}")

    assert response["Link"] == build_link_header(next=2, last=4, first=1)
    assert slugs(response)[0] == "p-00"


@pytest.mark.parametrize(
    ("rows", "header"),
    [
        *((rows, build_link_header(last=1, first=1)) for rows in (0, 1, 24, 25)),
        (26, build_link_header(next=2, last=2, first=1)),
        (50, build_link_header(next=2, last=2, first=1)),
        (51, build_link_header(next=2, last=3, first=1)),
    ],
)
def test_links_from_the_first_page_to_others(api, account, rows, header):
    ProgramFactory.create_batch(rows, account=account)

    response = api.get("/programs/")

    assert response.status_code == 200
    assert len(response.json()) == min(rows, 25)
    assert response["Link"] == header


@pytest.mark.parametrize("page", [2, 3, 100])
def test_links_back_from_a_page_of_an_empty_list(api, page):
    response = api.get(f"/programs/?page={page}")

    assert response.status_code == 200
    assert response.json() == []
    assert response["Link"] == build_link_header(last=1, first=1, prev=1)


def test_returns_every_row_by_following_next(api, programs):
    path, rows = "/programs/", []
    while path:
        response = api.get(path)
        rows += slugs(response)
        entry = response["Link"].split(", ")[0]
        url = entry[1:].partition(">")[0] if 'rel="next"' in entry else ""
        path = url.removeprefix("http://testserver/1.6")

    assert rows == [row.slug for row in programs]


def test_breaks_ties_by_id_descending(api, account):
    earlier, later, last = (ProgramFactory(account=account, created_at=NOW) for _ in range(3))

    assert slugs(api.get("/programs/")) == [last.slug, later.slug, earlier.slug]


def test_counts_rows_of_the_account_only(api, other_account, programs):
    ProgramFactory.create_batch(30, account=other_account)

    assert api.get("/programs/")["Link"] == build_link_header(next=2, last=4, first=1)


# URLs


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
        ('x="<a>,;next&y=%20z', "x=%22%3Ca%3E,;next&y=%20z&"),
        ("a=1;b=2", "a=1;b=2&"),
    ],
)
def test_keeps_other_parameters_unchanged(api, query, kept):
    response = api.get(f"/programs/?{query}")

    prev = {"prev": 1} if "ge=2" in query else {}
    assert response.status_code == 200
    assert response["Link"] == build_link_header(kept=kept, last=1, first=1, **prev)


@pytest.mark.parametrize("query", ["limit=5", "per-page=5", "per_page=5", "size=5"])
def test_page_size_is_fixed(api, programs, query):
    response = api.get(f"/programs/?{query}")

    assert len(response.json()) == 25


def test_last_page_parameter_counts(api, programs):
    response = api.get("/programs/?page=x&page=4&page=2")

    assert response["Link"] == build_link_header(next=3, last=4, first=1, prev=1)
    assert slugs(response)[0] == "p-25"


def test_links_use_the_requested_host_and_port(api, settings):
    settings.ALLOWED_HOSTS = ["aff.example.net"]

    response = api.get("/programs/", Host="aff.example.net:8443")

    assert response["Link"] == build_link_header(
        "http://aff.example.net:8443/1.6/programs/", last=1, first=1
    )


def test_links_use_the_scheme_of_a_trusted_proxy(api, settings):
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

    response = api.get("/programs/", **{"Host": "testserver", "X-Forwarded-Proto": "https"})

    assert response["Link"] == build_link_header(
        "https://testserver/1.6/programs/", last=1, first=1
    )


def test_links_ignore_the_scheme_of_an_untrusted_proxy(api):
    response = api.get("/programs/", **{"X-Forwarded-Proto": "https"})

    assert response["Link"] == build_link_header(last=1, first=1)


def test_links_end_their_path_with_a_slash(api):
    response = api.get("/programs?a=1")

    assert response["Link"] == build_link_header(kept="a=1&", last=1, first=1)


def test_sends_no_link_with_one_object_or_an_error(api, program):
    responses = [
        api.get("/programs/harbor-lamp-partners/"),
        api.get("/programs/unknown/"),
        api.get("/programs/?page=0"),
    ]

    assert not any("Link" in response for response in responses)


# Invalid pages


INVALID_PAGES = [
    *("0", "-1", "%2B1", "+1", "01", "%EF%BC%91", "%D9%A1", "%C2%B2", str(10**30)),
    *("1" + "0" * 9, "last", "next", "1.0", "1e3", "1_0", "0x1", "%20", "%201", "1%20"),
    *("1%0A", "1%00", "1%FF", "1,2", "null", "true", "1" * 100_000, "1;DROP TABLE x"),
]


@pytest.mark.parametrize("value", INVALID_PAGES, ids=lambda text: text[:30])
def test_rejects_an_invalid_page(api, program, value):
    response = api.get(f"/programs/?page={value}")

    assert has_only_errors(response, build_field_error("page", "Invalid page"))


def test_ignores_a_page_in_brackets(api, programs):
    response = api.get("/programs/?page[]=2&page%5B0%5D=x")

    assert response.status_code == 200
    assert slugs(response)[0] == "p-00"


# Queries


def test_number_of_queries_does_not_depend_on_the_page(api, programs, capture_queries):
    api.get("/programs/")

    counts = []
    for page in (1, 4):
        with capture_queries() as queries:
            api.get(f"/programs/?page={page}")
        counts.append(len(queries))

    assert counts[0] == counts[1]


FILTERS = [
    {},
    {"date_from": "2026-03-02"},
    {"date_to": "2026-03-02"},
    {"date_from": "2026-03-01", "date_to": "2026-03-03"},
    {"program_id": "harbor-lamp-partners"},
    {"affiliate_id": "minakessler"},
    {"affiliate_id": "unknown"},
    {"affiliate_id": "minakessler", "date_to": "2026-03-01"},
]


@pytest.mark.parametrize("name", ["clicks", "conversions", "customers"])
def test_stored_row_counts_change_no_answer(api, scenario, account, monkeypatch, subtests, name):
    for n in range(27):
        at = NOW - timedelta(days=n % 7, minutes=n)
        scenario.create_click(at=at)
        scenario.create_conversion("1", customer_id=f"member-{n}", at=at)
    monkeypatch.setattr(pagination, "PAGE_SIZE", 5)

    for filters in FILTERS:
        with subtests.test(filters=filters):
            account.daily_row_counts.all().delete()
            query = urlencode(filters)
            monkeypatch.setattr(row_counts, "MAX_UNSTORED_ROWS", 1_000_000)
            before = get_pages(api, f"/{name}/?{query}")
            assert not account.daily_row_counts.exists()
            monkeypatch.setattr(row_counts, "MAX_UNSTORED_ROWS", 0)
            get_pages(api, f"/{name}/?{query}")

            assert account.daily_row_counts.exists() == (before[0][0] != b"[]")
            assert get_pages(api, f"/{name}/?{query}") == before


def get_pages(api, path):
    """Return bodies and links of the pages of 27 rows, and of the page after them."""
    pages = [api.get(f"{path}&page={n}") for n in range(1, 8)]
    return [(page.content, page["Link"]) for page in pages]
