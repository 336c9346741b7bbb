"""What the theme's markup lacks: landmarks for those who do not see it, and a field."""

from django import template
from django.utils.safestring import SafeString, mark_safe

register = template.Library()
BUTTONS = '<div class="flex flex-col gap-3 mt-6">'  # of the sign-in


@register.filter
def with_main(page: SafeString, place: str) -> SafeString:
    """The theme's markup, in which this element is the page's main landmark.

    Text of others cannot be taken for it: its quotation marks are escaped.
    """
    marked = f'id="{place}" role="main" tabindex="-1"'
    return mark_safe(page.replace(f'id="{place}"', marked, 1))  # noqa: S308 - it was safe


@register.filter
def with_field(page: SafeString, field) -> SafeString:
    """The theme's sign-in, which asks for one thing more before its buttons."""
    marked = f"{field.as_field_group()}{BUTTONS}"
    return mark_safe(page.replace(BUTTONS, marked, 1))  # noqa: S308 - it was safe
