"""Contract 5.1: the browser script at its one address."""

import gzip
from pathlib import Path

import pytest
import rjsmin
from django.test import Client

FOLDER = Path(__file__).resolve().parents[3] / "affiliate_site/browser"
SOURCE = (FOLDER / "tap.js").read_text()
SMALL = (FOLDER / "tap.min.js").read_text()


def test_is_the_small_form_of_what_people_read():
    assert rjsmin.jsmin(SOURCE) == SMALL.strip()


def test_is_small():
    assert len(gzip.compress(SMALL.encode(), mtime=0)) < 6 * 1024


def test_is_served_with_its_tag_and_a_short_lifetime():
    answer = Client().get("/tap.js")

    assert answer.status_code == 200
    assert answer.content.decode() == SMALL
    assert answer["Content-Type"] == "text/javascript; charset=utf-8"
    assert answer["Cache-Control"] == "public, max-age=300"
    assert answer["ETag"].startswith('"')
    assert "Set-Cookie" not in answer


def test_is_not_sent_again_to_whoever_has_it():
    tag = Client().get("/tap.js")["ETag"]

    answer = Client().get("/tap.js", headers={"If-None-Match": tag})

    assert (answer.status_code, answer.content) == (304, b"")
    assert (answer["ETag"], answer["Cache-Control"]) == (tag, "public, max-age=300")
    assert "Content-Length" not in answer


def test_answers_head_without_a_body():
    answer = Client().head("/tap.js")

    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_takes_no_other_method(method):
    answer = Client().generic(method, "/tap.js")

    assert answer.status_code == 405
    assert answer["Allow"] == "GET, HEAD"
