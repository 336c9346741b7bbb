"""What the page of a customer shows."""

from django.utils.html import format_html_join

from affiliate_site.backoffice.conversions.conversion_details import format_warnings
from affiliate_site.backoffice.conversions.customer_timeline import (
    list_timeline_entries,
)
from affiliate_site.backoffice.details import (
    Details,
    Section,
    link_to,
)
from affiliate_site.backoffice.formatters import (
    format_datetime,
    format_key_values,
)


def get_customer_details(customer) -> Details:
    """Facts, and everything that happened."""
    labels = [(customer.status, "")]
    if customer.deleted_at:
        labels = [("removed", "danger")]
    meta_data = customer.meta_data
    return Details(
        headline=customer.customer_id or customer.public_id,
        labels=labels,
        is_removed=customer.deleted_at is not None,
        sections=[
            Section(
                "Customer",
                facts=[
                    ("ID", customer.public_id),
                    ("Affiliate", link_to(customer.affiliate)),
                    ("Program", link_to(customer.program, customer.program.title)),
                    ("Click", link_to(customer.click)),
                    ("Created", format_datetime(customer.created_at)),
                    (
                        "Removed",
                        customer.deleted_at and format_datetime(customer.deleted_at),
                    ),
                    (
                        "Reported by",
                        "" if customer.is_confirmed else "a page, not confirmed yet",
                    ),
                    ("Risk indicators", format_warnings(customer.warnings)),
                    ("Metadata", meta_data and format_key_values(meta_data)),
                    ("IP address", customer.ip),
                    ("User agent", customer.user_agent),
                ],
            ),
            Section("Timeline", lines=render_timeline(customer)),
        ],
    )


def render_timeline(customer) -> str:
    """The click, status changes, conversions and commissions, oldest first."""
    return format_html_join(
        "",
        '<div class="backoffice-lines">{} {}</div>',
        (
            (format_datetime(entry.at, timespec="seconds"), entry.html)
            for entry in list_timeline_entries(customer)
        ),
    )
