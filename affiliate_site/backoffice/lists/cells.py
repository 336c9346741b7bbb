"""The cells of lists as the theme renders them."""

from django.template import Library
from django.utils.safestring import SafeString
from django.utils.text import capfirst

register = Library()


@register.filter
def capitalize_label(cell: SafeString) -> SafeString:
    """On phones the label of a field begins with a capital, as the heading of its column."""
    before, attribute, label = cell.partition(' data-label="')
    return SafeString(f"{before}{attribute}{capfirst(label)}")
