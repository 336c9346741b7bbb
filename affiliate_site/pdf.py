"""Templates as PDF, by WeasyPrint."""

from functools import cache
from importlib import import_module
from threading import local
from typing import Any

from django.template.loader import render_to_string

from payouts.errors import Unprintable
from payouts.fonts import PACKAGES, find_unprintable

MAX_SHOWN = 50  # characters

thread = local()


@cache
def find_weasyprint() -> Any:
    """The module of WeasyPrint; None where its library Pango is not installed."""
    try:
        return import_module("weasyprint")
    except OSError:
        return None


def write_pdf(template: str, context: dict[str, Any]) -> bytes:
    """A template as a PDF, which reads nothing from files or the network.

    Raises `Unprintable` instead of printing boxes.
    """
    text = render_to_string(template, context)
    if characters := find_unprintable(text):
        raise Unprintable(texts=characters[:MAX_SHOWN], packages=PACKAGES)
    weasyprint = find_weasyprint()
    refuse_all = weasyprint.urls.URLFetcher(allowed_protocols=())
    html = weasyprint.HTML(string=text, url_fetcher=refuse_all)
    return html.write_pdf(font_config=get_fonts())


def get_fonts() -> Any:
    """The fonts of this thread: Pango does not share them between threads.

    Fonts that are loaded for each PDF take a third of its time, and 0.2 MB of memory
    that is never freed.
    """
    if not hasattr(thread, "fonts"):
        thread.fonts = find_weasyprint().text.fonts.FontConfiguration()
    return thread.fonts
