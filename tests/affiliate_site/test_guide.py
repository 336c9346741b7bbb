"""The guides at /docs/guide/, and the links of all documents."""

import re
from html.parser import HTMLParser

import pytest
from django.conf import settings

from affiliate_site import guide
from tests.command_line import ROOT

pytestmark = pytest.mark.engine_independent

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
BROWSER = {"Accept": "text/html"}


class Page(HTMLParser):
    """The addresses, anchors and text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links, self.resources, self.anchors, self.text = [], [], [], ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if "id" in values:
            self.anchors.append(values["id"])
        if tag == "a":
            self.links.append(values.get("href"))
        else:
            self.resources += [values[n] for n in ("src", "href") if n in values]

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def pages() -> dict[str, Page]:
    return {guide.get_address(name): Page(guide.render_page(name)) for name in guide.PAGES}


@pytest.mark.parametrize("name", guide.PAGES)
def test_serves_each_guide(client, name):
    response = client.get(guide.get_address(name))

    assert response.status_code == 200
    assert response["Content-Type"] == "text/html; charset=utf-8"
    page = Page(response.text)
    assert page.text.count(guide.PAGES[name]) >= 2
    assert set(page.links) >= {guide.get_address(other) for other in guide.PAGES}


@pytest.mark.parametrize("path", ["unknown/", "integration/", "glossary/", "%2e%2e/"])
def test_has_one_address_for_each_guide(client, path):
    assert client.get(f"/docs/guide/{path}").status_code == 404


def test_only_reads(client):
    response = client.post("/docs/guide/")

    assert (response.status_code, response["Allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("name", guide.PAGES)
def test_lists_the_headings(pages, name):
    text = (ROOT / "docs" / f"{name}.md").read_text()
    without_code = re.sub(r"(?ms)^```.*?^```", "", text)
    page = pages[guide.get_address(name)]

    headings = len(re.findall(r"(?m)^##{1,2} ", without_code))

    assert len([link for link in page.links if link.startswith("#")]) - 1 >= headings
    assert len(page.anchors) == len(set(page.anchors))


def test_links_lead_somewhere(client, db, pages):
    broken = []
    for address, page in pages.items():
        for link in page.links:
            path, _, anchor = link.partition("#")
            target = path or address
            if target in pages:
                if anchor and anchor not in pages[target].anchors:
                    broken.append((address, link))
            elif not link.startswith("https://") and client.get(target).status_code not in (
                200,
                302,
            ):
                broken.append((address, link))

    assert broken == []


def test_needs_no_other_server(pages):
    resources = [resource for page in pages.values() for resource in page.resources]

    assert resources
    assert [link for link in resources if not link.startswith("/static/")] == []


def test_shows_the_address_of_the_installation(pages):
    assert all(guide.EXAMPLE_URL not in page.text for page in pages.values())
    assert f'src="{settings.PUBLIC_URL}/tap.js"' in pages["/docs/guide/"].text


def test_escapes_html():
    markdown = guide.create_markdown()

    html = markdown.render("<b>\n\n```html\n<script>\n```\n")

    assert "&lt;b&gt;" in html
    assert "&lt;script&gt;" in html


def test_numbers_equal_headings():
    tokens = guide.create_markdown().parse("# A `b`, c\n\n## A\n\n## A\n")

    headings = guide.set_anchors(tokens)

    assert tokens[0].attrGet("id") == "a-b-c"
    assert [(heading.anchor, heading.text) for heading in headings] == [
        ("a", "A"),
        ("a-1", "A"),
    ]


@pytest.mark.parametrize("path", ["/docs/", "/nothing/", "/admin/login/"])
def test_public_pages_lead_to_the_guide(client, db, path):
    page = Page(client.get(path, headers=BROWSER).text)

    assert "/docs/guide/" in page.links


def list_anchors(text: str) -> set[str]:
    tokens = guide.create_markdown().parse(text)
    guide.set_anchors(tokens)
    return {token.attrGet("id") for token in tokens if token.attrGet("id")}


def list_links(text: str) -> list[str]:
    return [
        str(child.attrGet("href") or child.attrGet("src"))
        for token in guide.create_markdown().parse(text)
        for child in token.children or []
        if child.type in ("link_open", "image")
    ]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_between_documents_lead_somewhere(document):
    broken = []
    for link in list_links(document.read_text()):
        if link.startswith(("https://", "http://")):
            continue
        file, _, anchor = link.partition("#")
        target = (document.parent / file).resolve() if file else document
        if not target.exists() or (anchor and anchor not in list_anchors(target.read_text())):
            broken.append(link)

    assert broken == []
