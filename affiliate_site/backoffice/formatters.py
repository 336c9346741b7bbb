"""How values are shown on the screens of the back office."""

from datetime import datetime
from functools import wraps

from django.utils import timezone

from tracking.money import get_exponent

EMPTY_VALUE = "-"
# Colours of the status labels, by the name of the status.
STATUS_COLORS = {
    "pending": "warning",
    "approved": "success",
    "disapproved": "danger",
    "failing": "danger",
}


def format_money(amount, currency: str) -> str:
    """`4,263.74 EUR`; more decimals than the currency has are kept."""
    if amount is None:
        return EMPTY_VALUE
    whole, _, decimals = f"{amount:,f}".partition(".")
    decimals = decimals.rstrip("0").ljust(get_exponent(currency), "0")
    return f"{whole}.{decimals} {currency}" if decimals else f"{whole} {currency}"


def format_totals(totals_by_currency) -> str:
    """`249.90 EUR, 20.00 USD`; `0` without any."""
    totals = [
        format_money(total, currency)
        for currency, total in sorted(totals_by_currency.items())
    ]
    return ", ".join(totals) or "0"


def format_datetime(at: datetime, *, timespec: str = "minutes") -> str:
    """`2026-11-21 00:54 CET`, in the time zone of the account; also with seconds."""
    local = timezone.localtime(at)
    text = local.replace(tzinfo=None).isoformat(" ", timespec)
    return f"{text} {local.tzname()}"


def format_key_values(data) -> str:
    """A JSON object, one key per line."""
    return (
        "\n".join(f"{name}: {value}" for name, value in (data or {}).items())
        or EMPTY_VALUE
    )


def cached_per_request(method):
    """Compute an expensive column once per row: the theme reads it several times."""
    attribute = f"cached_{method.__name__}"

    @wraps(method)
    def get_cached(model_admin, row):
        if attribute not in vars(row):
            setattr(row, attribute, method(model_admin, row))
        return getattr(row, attribute)

    return get_cached
