"""The body of an event, with personal data folded away."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

from affiliate_site.shops.other import format_value
from tracking.dotted_paths import is_path

# Names under which shops send what identifies a person, also as endings.
PERSONAL_KEY_PATTERN = re.compile(
    r"(e_?mail|phone|name|address(_?[12])?)$"
    r"|^(ip|.*_ip|user_?agent|note|customer_note|city|post_?code|postal_code|zip"
    r"|latitude|longitude|company|birth_?date|tax_?id"
    r"|shipping(_details)?|billing(_details)?|(client|customer)_details)$",
    re.IGNORECASE,
)
HIDDEN = "…"
PATHS_ID = "sample-paths"  # of the list from which fields offer paths
MAX_LISTED_PATHS = 300
MAX_SHOWN_LENGTH = 100


@dataclass(frozen=True)
class PathValue:
    """A path into a body and the value there, which may be personal."""

    path: str
    value: Any
    is_personal: bool

    @property
    def text(self) -> str:
        """The value as conditions compare it, shortened."""
        text = format_value(self.value) if self.value not in ([], {}) else ""
        return text if len(text) <= MAX_SHOWN_LENGTH else text[:MAX_SHOWN_LENGTH] + "…"

    @property
    def shown_text(self) -> str:
        """The same, hidden if it is personal."""
        return HIDDEN if self.is_personal and self.text else self.text


def list_paths(
    value: Any, parents: tuple[str, ...] = (), *, is_personal: bool = False
) -> Iterator[PathValue]:
    """Yield the paths of all values that are neither an object nor a list of some.

    A key with a dot cannot be part of a path.
    """
    path = ".".join(parents)
    if parents and not is_path(path):
        return
    if not isinstance(value, dict | list) or not value:
        yield PathValue(path, value, is_personal)
        return
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in pairs:
        name = str(key)
        if "." not in name:
            yield from list_paths(
                each,
                (*parents, name),
                is_personal=is_personal or bool(PERSONAL_KEY_PATTERN.search(name)),
            )


def hide_personal_values(value: Any) -> Any:
    """Return JSON with `…` instead of the values of personal keys."""
    if isinstance(value, list):
        return [hide_personal_values(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: HIDDEN if each and PERSONAL_KEY_PATTERN.search(key) else hide_personal_values(each)
        for key, each in value.items()
    }


def render_body(text: str) -> SafeString:
    """The body as HTML: without personal values, and folded with them."""
    block = '<pre class="event-body">{}</pre>'
    folded = "<details><summary>{}</summary>" + block + "</details>"
    try:
        body = json.loads(text)
        hidden = hide_personal_values(body)
    except (ValueError, RecursionError):
        return format_html(folded, "Show the body", text)
    shown = format_html(block, write_json(hidden))
    if hidden == body:
        return shown
    whole = format_html(folded, "Show it with personal data", write_json(body))
    return format_html("{}{}", shown, whole)


def write_json(value: Any) -> str:
    """JSON in lines."""
    return json.dumps(value, indent=2, ensure_ascii=False)
