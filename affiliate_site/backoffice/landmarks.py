"""Landmarks: where the content of a page begins, for those who do not see it."""

from django import template
from django.utils.safestring import SafeString, mark_safe

register = template.Library()


@register.filter
def with_main(page: SafeString, place: str) -> SafeString:
    """The theme's markup, in which this element is the page's main landmark.

    Text of others cannot be taken for it: its quotation marks are escaped.
    """
    marked = f'id="{place}" role="main" tabindex="-1"'
    return mark_safe(page.replace(f'id="{place}"', marked, 1))  # noqa: S308 - it was safe
