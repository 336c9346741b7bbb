"""The API and the back office stay English, whatever browsers and clients ask for."""

import re

import pytest

pytestmark = pytest.mark.usefixtures("shared_scenario")

GERMAN = {"Accept-Language": "de"}


def read(response):
    body = re.sub(r'"traceId":"\w+"', "", response.content.decode())
    return response.status_code, body


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("get", "/programs/", None, 200),
        ("get", "/affiliates/", None, 200),
        ("get", "/affiliates/nobody/", None, 404),
        ("post", "/affiliates/", {}, 400),
        ("post", "/affiliates/", {"firstname": 1, "lastname": "x" * 300}, 400),
        ("post", "/programs/", None, 405),
    ],
)
def test_the_api_answers_in_english(api, method, path, body, status):
    send = getattr(api, method)
    arguments = [path] if body is None else [path, body]
    plain = send(*arguments)
    assert plain.status_code == status
    assert read(send(*arguments, **GERMAN)) == read(plain)


@pytest.mark.parametrize("path", ["", "tracking/affiliate/", "payouts/payout-runs/"])
def test_the_back_office_is_in_english(staff_client, path):
    client = staff_client()
    client.cookies["language"] = "de"
    page = client.get(f"/admin/{path}", headers=GERMAN).content.decode()
    assert '<html lang="en' in page
    for word in ("Abmelden", "Partner", "Verkäufe", "Speichern"):
        assert f">{word}<" not in page
