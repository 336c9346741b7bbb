"""Requests as existing clients of the public 1.6 API send them, and what they read."""

import re
from datetime import timedelta

import pytest

from tests.conftest import NOW
from tests.factories.tracking import ProgramFactory

pytestmark = pytest.mark.urls("tests.dummy_endpoints")


@pytest.fixture
def programs(account):
    """Three pages, the first one the newest."""
    return [
        ProgramFactory(account=account, slug=f"p-{n}", created_at=NOW - timedelta(days=n)).slug
        for n in range(60)
    ]


@pytest.fixture
def call(client, api):
    """Send requests as most clients do: `Api-Key`, no slash at the end of the path."""

    def send(method, path, body=b"", **headers):
        return client.generic(
            method,
            f"/1.6/{path}",
            body,
            content_type=headers.pop("content_type", "application/json"),
            headers={"Api-Key": api.key, "User-Agent": "library/3.1"} | headers,
        )

    return send


def slugs(response):
    return [row["id"] for row in response.json()]


def test_serves_a_client_that_sends_api_key_and_no_slash(call, program):
    response = call("GET", "programs/harbor-lamp-partners")

    assert response.status_code == 200
    assert response.json()["id"] == "harbor-lamp-partners"


def test_serves_a_client_that_follows_the_first_entry(call, programs):
    path, found = "programs", []
    while path:
        response = call("GET", path)
        found += slugs(response)
        first = response["Link"].split(",")[0]
        path = re.sub(r"^<http://testserver/1.6/|>.*$", "", first)
        path = path if "next" in response["Link"] else None

    assert found == programs


def test_serves_a_client_that_reads_the_second_link_as_the_last_page(call, programs):
    header = call("GET", "programs")["Link"]

    second = header.split(", ")[1]
    page = re.search(r"[?&]page=([0-9]+)>", second)[1]
    assert [slugs(call("GET", f"programs?page={n}")) for n in range(1, int(page) + 1)] == [
        programs[:25],
        programs[25:50],
        programs[50:],
    ]


def test_serves_a_client_that_parses_links_by_a_pattern(call, programs):
    header = call("GET", "programs?page=2")["Link"]

    found = {rel: address for address, rel in re.findall(r'<([^>]*)>; rel="([a-z]*)"', header)}
    assert list(found) == ["next", "last", "first", "prev"]
    assert all("page=" in address for address in found.values())


def test_serves_a_script_in_a_shops_page(client, api, program):
    origin = {"Origin": "https://shop.example.net"}
    headers = origin | {
        "Access-Control-Request-Method": "GET",
        "Access-Control-Request-Headers": "x-api-key",
    }

    preflight = client.options("/1.6/programs", headers=headers)
    response = client.get("/1.6/programs", headers=origin | {"X-Api-Key": api.key})

    assert preflight.status_code == 204
    assert "X-Api-Key" in preflight["Access-Control-Allow-Headers"]
    assert response["Access-Control-Allow-Origin"] == "*"
    assert "Link" in response["Access-Control-Expose-Headers"]
