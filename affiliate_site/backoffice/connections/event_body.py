"""The body of an event, with personal data folded away."""

import json
import re
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

# Names under which shops send what identifies a person, also as endings.
PERSONAL_KEY_PATTERN = re.compile(
    r"(e_?mail|phone|name|address(_?[12])?)$"
    r"|^(ip|.*_ip|user_?agent|note|customer_note|city|post_?code|postal_code|zip"
    r"|latitude|longitude|company|birth_?date|tax_?id"
    r"|shipping(_details)?|billing(_details)?|(client|customer)_details)$",
    re.IGNORECASE,
)
HIDDEN = "…"


def hide_personal_values(value: Any) -> Any:
    """Return JSON with `…` instead of the values of personal keys."""
    if isinstance(value, list):
        return [hide_personal_values(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: HIDDEN
        if each and PERSONAL_KEY_PATTERN.search(key)
        else hide_personal_values(each)
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
