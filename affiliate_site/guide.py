"""The guides for integrators and affiliates: files of `docs/` at `/docs/guide/`."""

import re
from dataclasses import dataclass
from functools import cache
from html import escape
from itertools import pairwise

from django.conf import settings
from django.http import HttpResponse
from django.template.loader import render_to_string
from markdown_it import MarkdownIt
from markdown_it.token import Token

from affiliate_site import http_errors
from affiliate_site.env import BASE_DIR

ADDRESS = "/docs/guide/"
# Pages in the order of the navigation: name of the file, and its title there.
PAGES = {
    "integration": "Integration",
    "browser-script": "Browser script",
    "consent": "Consent",
    "shops": "Shops",
    "tracking-trust": "Claims and facts",
    "api-contract": "API contract",
    "affiliates": "For affiliates",
}
FIRST_PAGE = "integration"
# The installation in the examples; the pages show the address of this one.
EXAMPLE_URL = "https://aff.example.net"


@dataclass(frozen=True)
class Heading:
    """A heading of level 2 or 3, as the navigation shows it."""

    level: int
    anchor: str
    text: str


def get_address(page: str) -> str:
    return ADDRESS if page == FIRST_PAGE else f"{ADDRESS}{page}/"


@http_errors.allow_methods("GET", "HEAD")
def show_guide(request, page: str = FIRST_PAGE):
    """Serve a guide."""
    if page not in PAGES or request.path_info != get_address(page):
        return http_errors.not_found(request)
    return HttpResponse(render_page(page))


@cache
def render_page(page: str) -> str:
    """Render a guide with its navigation, once per process."""
    text = (BASE_DIR / "docs" / f"{page}.md").read_text()
    markdown = create_markdown()
    tokens = markdown.parse(text.replace(EXAMPLE_URL, settings.PUBLIC_URL))
    headings = set_anchors(tokens)
    set_addresses(tokens)
    context = {
        "title": PAGES[page],
        "pages": [
            {"title": title, "address": get_address(name), "is_current": name == page}
            for name, title in PAGES.items()
        ],
        "headings": headings,
        "content": markdown.renderer.render(tokens, markdown.options, {}),
    }
    return render_to_string("guide/page.html", context)


def create_markdown() -> MarkdownIt:
    """CommonMark with tables; HTML in the text is escaped."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    markdown.add_render_rule("fence", render_snippet)
    markdown.add_render_rule("table_open", render_table_start)
    markdown.add_render_rule("table_close", render_table_end)
    return markdown


def render_snippet(renderer, tokens, index, options, env) -> str:
    """A code block with a button that copies it (copy.js)."""
    snippet = f"snippet-{index}"
    return (
        f'<div class="snippet"><pre id="{snippet}" tabindex="0">'
        f"<code>{escape(tokens[index].content)}</code></pre>"
        f'<button type="button" data-copy-target="{snippet}">Copy</button></div>\n'
    )


def render_table_start(renderer, tokens, index, options, env) -> str:
    """Wide tables scroll, also by keyboard."""
    return '<div class="table" tabindex="0"><table>\n'


def render_table_end(renderer, tokens, index, options, env) -> str:
    return "</table></div>\n"


def set_anchors(tokens: list[Token]) -> list[Heading]:
    """Give each heading the anchor that code hosting sites give it; list those of
    levels 2 and 3."""
    headings = []
    anchors: set[str] = set()
    for opening, inline in pairwise(tokens):
        if opening.type != "heading_open":
            continue
        text = "".join(child.content for child in inline.children or [])
        slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        anchor, number = slug, 0
        while anchor in anchors:
            number += 1
            anchor = f"{slug}-{number}"
        anchors.add(anchor)
        opening.attrSet("id", anchor)
        if opening.tag in ("h2", "h3"):
            headings.append(Heading(int(opening.tag[1]), anchor, text))
    return headings


def set_addresses(tokens: list[Token]) -> None:
    """Lead links between the files to their pages; raises KeyError without a page."""
    addresses = {f"{page}.md": get_address(page) for page in PAGES}
    for token in tokens:
        for child in token.children or []:
            href = str(child.attrGet("href") or "")
            if child.type == "link_open" and not href.startswith(("https://", "#")):
                file, _, anchor = href.partition("#")
                child.attrSet("href", addresses[file] + (anchor and f"#{anchor}"))
