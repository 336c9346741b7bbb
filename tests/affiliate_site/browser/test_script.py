"""The browser script `/tap.js` (docs/api-contract.md, section 5.1)."""

import gzip
from pathlib import Path

import pytest
import rjsmin
from django.test import Client

FOLDER = Path(__file__).resolve().parents[3] / "affiliate_site/browser"
SOURCE = (FOLDER / "tap.js").read_text()
MINIFIED = (FOLDER / "tap.min.js").read_text()


def test_minified_script_matches_source():
    assert rjsmin.jsmin(SOURCE) == MINIFIED.strip()


def test_minified_script_is_small():
    assert len(gzip.compress(MINIFIED.encode(), mtime=0)) < 6 * 1024


def test_served_with_etag_and_short_cache_lifetime():
    response = Client().get("/tap.js")

    assert response.status_code == 200
    assert response.content.decode() == MINIFIED
    assert response["Content-Type"] == "text/javascript; charset=utf-8"
    assert response["Cache-Control"] == "public, max-age=300"
    assert response["ETag"].startswith('"')
    assert "Set-Cookie" not in response


def test_not_modified_for_matching_etag():
    etag = Client().get("/tap.js")["ETag"]

    response = Client().get("/tap.js", headers={"If-None-Match": etag})

    assert (response.status_code, response.content) == (304, b"")
    assert (response["ETag"], response["Cache-Control"]) == (
        etag,
        "public, max-age=300",
    )
    assert "Content-Length" not in response


def test_head_has_no_body():
    response = Client().head("/tap.js")

    assert (response.status_code, response.content) == (200, b"")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_rejects_other_methods(method):
    response = Client().generic(method, "/tap.js")

    assert response.status_code == 405
    assert response["Allow"] == "GET, HEAD"
