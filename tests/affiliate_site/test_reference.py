"""The API reference at /docs/."""

import json
import re
import shlex
from html import unescape

import pytest

from affiliate_site import reference
from affiliate_site.env import BASE_DIR

DOCUMENT = json.loads((BASE_DIR / "openapi.json").read_text())
OPERATIONS = [(path, method) for path, methods in DOCUMENT["paths"].items() for method in methods]


@pytest.fixture(scope="module")
def page():
    return reference.render_reference()


def test_shows_each_operation_with_a_command(page):
    commands = re.findall(r"curl -X (\w+) &quot;\S+?(/1\.[67]/[^?&]+)", page)

    assert sorted(commands) == sorted((method.upper(), path) for path, method in OPERATIONS)


def test_shows_each_webhook_and_object(page):
    for event in DOCUMENT["webhooks"]:
        assert f"<code>{event}</code>" in page
    for name in DOCUMENT["components"]["schemas"]:
        assert f'id="schema-{name}"' in page


def test_links_lead_to_anchors_of_the_page(page):
    anchors = re.findall(r' id="([^"]+)"', page)

    assert len(anchors) == len(set(anchors))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(anchors)


def test_commands_have_arguments_that_a_shell_passes_on(page):
    commands = re.findall(r"<code>(curl.+?)</code>", page, re.DOTALL)

    for command in commands:
        program, option, _, _, *others = shlex.split(unescape(command))
        assert (program, option) == ("curl", "-X")
        if "-d" in others:
            json.loads(others[others.index("-d") + 1])
    assert len(commands) == len(OPERATIONS)


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, ("string", "")),
        ({"type": ["string", "null"]}, ("string or null", "")),
        ({"enum": ["a", "b"], "type": "string"}, ('"a" | "b"', "")),
        ({"$ref": "#/components/schemas/Click"}, ("Click", "Click")),
        (
            {"type": "array", "items": {"$ref": "#/components/schemas/Click"}},
            ("array of Click", "Click"),
        ),
        (
            {"oneOf": [{"$ref": "#/components/schemas/Click"}, {"type": "null"}]},
            ("Click or null", "Click"),
        ),
        ({}, ("any", "")),
    ],
)
def test_describes_types_in_words(schema, expected):
    assert reference.describe_type(schema) == expected


def test_is_small_and_needs_no_script_to_be_read(client, db):
    response = client.get("/docs/")

    assert len(response.content) < 500_000
    assert response.text.count("<script") == 1  # of the copy buttons
